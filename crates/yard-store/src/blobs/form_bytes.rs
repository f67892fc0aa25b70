//! The bytes of a prepared content that become part of a row: in memory, or in a file where those of a large step wait for
//! their commit.

use std::borrow::Cow;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use super::file;
use crate::Result;

#[derive(Clone, Debug)]
pub(crate) enum FormBytes {
    Memory(Vec<u8>),
    File { file: Arc<File>, at: u64, length: usize },
}

impl From<Vec<u8>> for FormBytes {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Memory(bytes)
    }
}

impl FormBytes {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Memory(bytes) => bytes.len(),
            Self::File { length, .. } => *length,
        }
    }

    pub(crate) fn in_memory(&self) -> Option<&[u8]> {
        match self {
            Self::Memory(bytes) => Some(bytes),
            Self::File { .. } => None,
        }
    }

    pub(crate) fn read(&self) -> Result<Cow<'_, [u8]>> {
        match self {
            Self::Memory(bytes) => Ok(Cow::Borrowed(bytes)),
            Self::File { file, at, length } => {
                let mut bytes = vec![0; *length];
                file.read_exact_at(&mut bytes, *at).map_err(|error| file::fault(&error))?;
                Ok(Cow::Owned(bytes))
            }
        }
    }
}
