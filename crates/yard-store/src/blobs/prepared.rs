//! A content that is ready to be stored: hashed, and in the form in which it will be stored.

use std::sync::Arc;

use yard_core::ContentHash;

use super::compressed;
use super::form_bytes::FormBytes;
use super::prepared_files::PreparedFile;
use crate::Result;

/// Up to this size compression saves less than it costs.
pub(crate) const TINY: usize = 1 << 10;

/// The version before a content, against which it may be stored.
#[derive(Clone, Copy)]
pub struct Base<'a> {
    /// Its hash.
    pub hash: ContentHash,
    /// Its bytes.
    pub bytes: &'a [u8],
}

/// How hard to try to make a content small before it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// A caller waits: unless a splice makes it small, the content is compressed later.
    Quick,
    /// The content is stored in its smallest form.
    Thorough,
}

/// How long the kernel keeps a file that holds a content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retention {
    /// As long as the store names it.
    Keep,
    /// Until its space is needed: the content can be made again.
    Evictable,
}

/// A file of the kernel's that holds a content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptFile {
    /// Its name in the kernel's folder.
    pub name: String,
    /// How long it stays there.
    pub retention: Retention,
}

/// A content that is ready to be appended.
#[derive(Clone, Debug)]
pub struct Prepared {
    pub(crate) hash: ContentHash,
    pub(crate) size: u64,
    pub(crate) form: Form,
}

#[derive(Clone, Debug)]
pub(crate) enum Form {
    /// As it is.
    Raw(FormBytes),
    /// Compressed.
    Zstd(FormBytes),
    /// Another content with its middle replaced, which puts it at that depth of its chain.
    Splice { base: ContentHash, depth: u8, data: FormBytes },
    /// Compressed and a file of the store's, which is written and flushed. It is in its place already if there is no
    /// prepared one.
    Blob(Option<Arc<PreparedFile>>),
    /// A whole file that the kernel keeps.
    Kept(KeptFile),
}

impl Form {
    /// The bytes that become part of a row; none for a form that is a file.
    pub(super) fn bytes(&self) -> Option<&FormBytes> {
        match self {
            Self::Raw(bytes) | Self::Zstd(bytes) | Self::Splice { data: bytes, .. } => Some(bytes),
            Self::Blob(_) | Self::Kept(_) => None,
        }
    }

    pub(super) fn bytes_mut(&mut self) -> Option<&mut FormBytes> {
        match self {
            Self::Raw(bytes) | Self::Zstd(bytes) | Self::Splice { data: bytes, .. } => Some(bytes),
            Self::Blob(_) | Self::Kept(_) => None,
        }
    }
}

impl Prepared {
    /// A content as it is, for stores that keep everything in memory.
    pub fn raw(hash: ContentHash, bytes: &[u8]) -> Self {
        Self { hash, size: bytes.len() as u64, form: Form::Raw(bytes.to_vec().into()) }
    }

    /// A content too large to copy: the kernel moves the old file itself into its own folder, after the step
    /// that displaces it is durable.
    pub fn kept(hash: ContentHash, size: u64, file: KeptFile) -> Self {
        Self { hash, size, form: Form::Kept(file) }
    }

    /// The content's hash.
    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// The content's length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The bytes of a [`Prepared::raw`].
    pub fn raw_bytes(&self) -> Option<&[u8]> {
        match &self.form {
            Form::Raw(bytes) => bytes.in_memory(),
            _ => None,
        }
    }

    /// How many bytes of it are in memory until it is appended or dropped.
    pub fn bytes_in_memory(&self) -> u64 {
        let bytes = self.form.bytes().and_then(FormBytes::in_memory);
        bytes.map_or(0, |bytes| bytes.len() as u64)
    }

    /// Whether storing it gives a file its place.
    pub(crate) fn has_file(&self) -> bool {
        matches!(self.form, Form::Blob(Some(_)))
    }

    /// Whether it is stored uncompressed and the packer should try to compress it.
    pub(crate) fn is_hurried(&self) -> bool {
        matches!(&self.form, Form::Raw(bytes) if bytes.len() > TINY)
    }

    /// The same compressed, if the packer would compress it later.
    pub(crate) fn packed(&self) -> Result<Option<Self>> {
        match &self.form {
            Form::Raw(bytes) if self.is_hurried() => {
                let form = compressed(&bytes.read()?)?.map(|data| Form::Zstd(data.into()));
                Ok(form.map(|form| Self { hash: self.hash, size: self.size, form }))
            }
            _ => Ok(None),
        }
    }

    /// Whether it should replace a kept file of that retention: bytes in the store are better than a file, and
    /// a file that stays is better than one that may be evicted.
    pub fn is_better_than(&self, kept: Retention) -> bool {
        match self.kept_file() {
            None => true,
            Some(file) => kept == Retention::Evictable && file.retention == Retention::Keep,
        }
    }

    /// The file of a [`Prepared::kept`].
    pub fn kept_file(&self) -> Option<&KeptFile> {
        match &self.form {
            Form::Kept(file) => Some(file),
            _ => None,
        }
    }
}
