//! Writes whatever `serde` can describe as compact JSON.

use serde::ser::{self, Serialize};
use serde_json::{Error, Result};

use super::text;

/// Under this name `serde_json` hands a number on as it was spelled.
const SPELLED: &str = "$serde_json::private::Number";
/// Under this name stands a place for what was written before.
pub(super) const HOLE: &str = "$yard::Hole";

/// Writes one value.
pub(super) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// What stands in a hole.
    filling: &'a [u8],
    /// A text is the spelling of a number.
    is_spelling: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut Vec<u8>, filling: &'a [u8]) -> Self {
        Self { out, filling, is_spelling: false }
    }

    fn word(self, word: &str) -> Result<()> {
        self.out.extend_from_slice(word.as_bytes());
        Ok(())
    }

    fn number(self, value: impl itoa::Integer) -> Result<()> {
        self.word(itoa::Buffer::new().format(value))
    }

    fn many(self, open: &str, close: &'static str) -> Result<Many<'a>> {
        let Self { out, filling, .. } = self;
        out.extend_from_slice(open.as_bytes());
        Ok(Many { out, filling, is_first: true, is_spelling: false, close })
    }

    fn variant(self, variant: &str, open: &str, close: &'static str) -> Result<Many<'a>> {
        self.out.push(b'{');
        text::write(self.out, variant);
        self.out.push(b':');
        self.many(open, close)
    }
}

macro_rules! numbers {
    ($($method:ident: $type:ty),* $(,)?) => {
        $(fn $method(self, value: $type) -> Result<()> {
            self.number(value)
        })*
    };
}

impl<'a> ser::Serializer for Writer<'a> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Many<'a>;
    type SerializeTuple = Many<'a>;
    type SerializeTupleStruct = Many<'a>;
    type SerializeTupleVariant = Many<'a>;
    type SerializeMap = Many<'a>;
    type SerializeStruct = Many<'a>;
    type SerializeStructVariant = Many<'a>;

    fn serialize_bool(self, value: bool) -> Result<()> {
        self.word(if value { "true" } else { "false" })
    }

    numbers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32,
        serialize_i64: i64, serialize_i128: i128, serialize_u8: u8, serialize_u16: u16,
        serialize_u32: u32, serialize_u64: u64, serialize_u128: u128,
    }

    // Fractions have more than one spelling: they are left to `serde_json`.
    fn serialize_f32(self, value: f32) -> Result<()> {
        self.word(&serde_json::to_string(&value)?)
    }

    fn serialize_f64(self, value: f64) -> Result<()> {
        self.word(&serde_json::to_string(&value)?)
    }

    fn serialize_char(self, value: char) -> Result<()> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Result<()> {
        match self.is_spelling {
            true => self.out.extend_from_slice(value.as_bytes()),
            false => text::write(self.out, value),
        }
        Ok(())
    }

    fn serialize_bytes(self, value: &[u8]) -> Result<()> {
        self.collect_seq(value)
    }

    fn serialize_none(self) -> Result<()> {
        self.word("null")
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<()> {
        self.word("null")
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<()> {
        if name == HOLE {
            self.out.extend_from_slice(self.filling);
            return Ok(());
        }
        self.word("null")
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<()> {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<()> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<()> {
        let mut many = self.variant(variant, "", "}")?;
        many.value(value)?;
        many.close()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Many<'a>> {
        self.many("[", "]")
    }

    fn serialize_tuple(self, _: usize) -> Result<Many<'a>> {
        self.many("[", "]")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Many<'a>> {
        self.many("[", "]")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Many<'a>> {
        self.variant(variant, "[", "]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Many<'a>> {
        self.many("{", "}")
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Many<'a>> {
        if name == SPELLED {
            let Self { out, filling, .. } = self;
            return Ok(Many { out, filling, is_first: true, is_spelling: true, close: "" });
        }
        self.many("{", "}")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Many<'a>> {
        self.variant(variant, "{", "}}")
    }
}

/// Writes the parts of a list or an object.
pub(super) struct Many<'a> {
    out: &'a mut Vec<u8>,
    filling: &'a [u8],
    is_first: bool,
    is_spelling: bool,
    close: &'static str,
}

impl Many<'_> {
    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.comma();
        self.value(value)
    }

    fn comma(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.out.push(b',');
        }
    }

    fn value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        let Self { filling, is_spelling, .. } = *self;
        value.serialize(Writer { out: self.out, filling, is_spelling })
    }

    /// A key is a text; what is plain otherwise is put between quotes.
    fn key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.comma();
        let start = self.out.len();
        self.value(key)?;
        match self.out.get(start) {
            Some(b'"') => {}
            Some(b'{' | b'[') | None => return Err(ser::Error::custom("a key must be a text")),
            Some(_) => {
                self.out.insert(start, b'"');
                self.out.push(b'"');
            }
        }
        self.out.push(b':');
        Ok(())
    }

    fn member<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<()> {
        if !self.is_spelling {
            self.comma();
            text::write(self.out, name);
            self.out.push(b':');
        }
        self.value(value)
    }

    fn close(self) -> Result<()> {
        self.out.extend_from_slice(self.close.as_bytes());
        Ok(())
    }
}

macro_rules! list {
    ($($trait:ident::$method:ident),* $(,)?) => {
        $(impl ser::$trait for Many<'_> {
            type Ok = ();
            type Error = Error;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
                self.item(value)
            }

            fn end(self) -> Result<()> {
                self.close()
            }
        })*
    };
}

list! {
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field,
}

macro_rules! object {
    ($($trait:ident),* $(,)?) => {
        $(impl ser::$trait for Many<'_> {
            type Ok = ();
            type Error = Error;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                name: &'static str,
                value: &T,
            ) -> Result<()> {
                self.member(name, value)
            }

            fn end(self) -> Result<()> {
                self.close()
            }
        })*
    };
}

object!(SerializeStruct, SerializeStructVariant);

impl ser::SerializeMap for Many<'_> {
    type Ok = ();
    type Error = Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<()> {
        self.key(key)
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<()> {
        self.value(value)
    }

    fn end(self) -> Result<()> {
        self.close()
    }
}
