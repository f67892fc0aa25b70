//! The forms that doors take: the same leniency and the same words (R1) that tools have for their
//! arguments, for everything else that a caller can send.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::args::{self, Fields};
use crate::schema;

/// The schema of what a caller sends.
pub fn input_schema<T: JsonSchema>() -> Value {
    schema::input::<T>().0
}

/// The schema of what a caller gets.
pub fn output_schema<T: JsonSchema>() -> Value {
    schema::output::<T>()
}

/// What `sent` means as a `T`, whose schema is `schema`, or everything that is wrong with it.
pub fn read<T: DeserializeOwned>(schema: &Value, sent: Value) -> Result<T, Fields> {
    let accepted = args::accept(schema, sent)?;
    serde_json::from_value(accepted).map_err(|error| Fields::one(args::WHOLE, error.to_string()))
}
