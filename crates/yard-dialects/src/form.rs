//! The inputs of doors besides the arguments of tools, such as the bodies of HTTP requests. They are parsed with the
//! same leniency, and wrong ones get the same messages (R1).

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::{self, CompiledSchema, Fields};
use crate::schema;

pub use crate::schema::{MARK, like};

/// A type that a caller sends: the schema that documents show, and its compiled form.
#[derive(Clone, Debug)]
pub struct InputForm {
    schema: Value,
    compiled: CompiledSchema,
}

impl InputForm {
    /// The form of a `T`.
    pub fn of<T: JsonSchema>() -> Self {
        let schema = input_schema::<T>();
        Self { compiled: CompiledSchema::of(&schema), schema }
    }

    /// Its schema.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// Parses `sent` as a `T`, whose form this is.
    pub fn read<T: DeserializeOwned>(&self, sent: Value) -> Result<T, Fields> {
        args::read(args::accept(&self.compiled, sent)?)
    }

    /// As [`InputForm::read`], but the member `name` is null in `T`, and its accepted value is returned beside `T`.
    /// This saves a second conversion of the value.
    pub fn read_around<T: DeserializeOwned>(
        &self,
        name: &str,
        sent: Value,
    ) -> Result<(T, Value), Fields> {
        let mut accepted = args::accept(&self.compiled, sent)?;
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
