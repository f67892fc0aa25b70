//! Converts SQLite's errors to those of a store. No other module knows their codes.

use rusqlite::{Error, ErrorCode, ffi};

use crate::StoreError;

impl From<Error> for StoreError {
    fn from(error: Error) -> Self {
        match &error {
            Error::SqliteFailure(failure, _) => classified(failure.code, error.to_string()),
            Error::SqlInputError { error: failure, .. } => {
                classified(failure.code, error.to_string())
            }
            Error::FromSqlConversionFailure(..)
            | Error::IntegralValueOutOfRange(..)
            | Error::Utf8Error(..)
            | Error::InvalidColumnType(..) => Self::Corrupt(error.to_string()),
            _ => Self::Io(error.to_string()),
        }
    }
}

fn classified(code: ErrorCode, text: String) -> StoreError {
    match code {
        ErrorCode::DiskFull => StoreError::Full,
        ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied => {
            StoreError::Refused(text)
        }
        ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => StoreError::Corrupt(text),
        _ => StoreError::Io(text),
    }
}

/// Whether a row was refused because another one holds what must be unique.
pub(super) fn is_taken(error: &Error) -> bool {
    let unique = [ffi::SQLITE_CONSTRAINT_UNIQUE, ffi::SQLITE_CONSTRAINT_PRIMARYKEY];
    error.sqlite_error().is_some_and(|error| unique.contains(&error.extended_code))
}

/// A value of the database that no version of this program writes.
pub(super) fn corrupt(what: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(what.to_string())
}
