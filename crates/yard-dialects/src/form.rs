//! The forms that doors take: the same leniency and the same words (R1) that tools have for their
//! arguments, for everything else that a caller can send.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::{self, Fields, Shape};
use crate::schema;

pub use crate::schema::{MARK, like};

/// What a caller sends, as the schema that documents show and ready to be read.
#[derive(Clone, Debug)]
pub struct Form {
    schema: Value,
    shape: Shape,
}

impl Form {
    /// The form of a `T`.
    pub fn of<T: JsonSchema>() -> Self {
        let schema = input_schema::<T>();
        Self { shape: Shape::of(&schema), schema }
    }

    /// Its schema.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// What `sent` means as a `T`, whose form this is, or everything that is wrong with it.
    pub fn read<T: DeserializeOwned>(&self, sent: Value) -> Result<T, Fields> {
        args::read(args::accept(&self.shape, sent)?)
    }

    /// The same without its member `name`, which `T` reads as null and which is returned beside it, as it
    /// was accepted: it need not be read twice.
    pub fn read_around<T: DeserializeOwned>(
        &self,
        name: &str,
        sent: Value,
    ) -> Result<(T, Value), Fields> {
        let mut accepted = args::accept(&self.shape, sent)?;
        let member = accepted.get_mut(name).map(Value::take).unwrap_or_default();
        Ok((args::read(accepted)?, member))
    }
}

/// The schema of what a caller sends.
pub fn input_schema<T: JsonSchema>() -> Value {
    schema::input::<T>().0
}

/// The schema of what a caller gets.
pub fn output_schema<T: JsonSchema>() -> Value {
    schema::output::<T>()
}
