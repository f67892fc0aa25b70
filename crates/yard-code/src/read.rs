//! Reads one file for the index: its words and its definitions. Bounded in size, words and time.

use std::borrow::Cow;

use tree_sitter::Parser;
use yard_core::text::{self, Encoding};
use yard_core::{Call, ContentHash, Result, WsPath};
use yard_disk::{Disk, is_settled, read_all};
use yard_search::is_passing;
use yard_store::Signature;

use crate::definitions::{Syntax, read_syntax};
use crate::grammar::grammar_of;
use crate::index::{Reading, Standing};
use crate::words;

/// Larger files are not indexed: they are data, or made by a program.
const LARGEST: u64 = 1 << 20;

/// What a look at a file came to.
pub(super) enum Look {
    /// What it holds now.
    New(Box<Reading>),
    /// It holds what it did; the content while its signature is too young to be trusted.
    Same(WsPath, Option<ContentHash>),
    /// It is gone, or may not be read.
    Gone(WsPath),
}

/// A file that is to be read.
pub(super) struct Wanted {
    pub(super) path: WsPath,
    /// What it held under the same signature, when that was too young to be trusted.
    pub(super) young: Option<(Signature, ContentHash)>,
}

/// Reads files, one after the other.
pub(super) struct Reader<'a> {
    disk: &'a Disk,
    call: &'a Call,
    parser: Parser,
}

impl<'a> Reader<'a> {
    pub(super) fn new(disk: &'a Disk, call: &'a Call) -> Self {
        Self { disk, call, parser: Parser::new() }
    }

    pub(super) fn look(&mut self, wanted: &Wanted) -> Result<Look> {
        self.call.check()?;
        match self.read(wanted) {
            Err(fault) if is_passing(fault.code()) => Ok(Look::Gone(wanted.path.clone())),
            read => read,
        }
    }

    fn read(&mut self, Wanted { path, young }: &Wanted) -> Result<Look> {
        let (mut file, stat) = self.disk.open_listed(path)?;
        let mut reading = Reading {
            path: path.clone(),
            signature: stat.signature,
            young: None,
            standing: Standing::TooLarge,
            length: 0,
            terms: Vec::new(),
            definitions: Vec::new(),
        };
        if stat.size() > LARGEST {
            return Ok(Look::New(Box::new(reading)));
        }
        let settled = is_settled(&stat.signature, self.call);
        let bytes = read_all(&mut file, stat.size(), path)?;
        if !settled {
            reading.young = Some(ContentHash::of(&bytes));
        }
        if let Some((signature, hash)) = young
            && *signature == stat.signature
            && ContentHash::of(&bytes) == *hash
        {
            return Ok(Look::Same(path.clone(), reading.young));
        }
        match text_of(&bytes) {
            Some(text) => self.text(&text, &mut reading)?,
            None => reading.standing = Standing::Binary,
        }
        Ok(Look::New(Box::new(reading)))
    }

    fn text(&mut self, text: &str, reading: &mut Reading) -> Result<()> {
        let counted = words::count(text, &reading.path.to_string());
        let syntax = match grammar_of(&reading.path) {
            Some(grammar) => read_syntax(&mut self.parser, grammar, text, self.call)?,
            None => Syntax::default(),
        };
        let partly = counted.is_cut || syntax.is_cut;
        reading.standing = if partly { Standing::Partly } else { Standing::Known };
        reading.definitions = syntax.definitions;
        reading.terms = counted.terms;
        reading.length = counted.length;
        Ok(())
    }
}

/// The bytes of a file as text, without a byte order mark; `None` if they are none.
pub fn text_of(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let encoding = text::detect(bytes).ok()?;
    if encoding == Encoding::Utf8
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Some(Cow::Borrowed(text));
    }
    Some(text::decode(bytes, encoding))
}
