//! Reads one file for the index: its words and its definitions, within bounds of size, words and time.

use std::borrow::Cow;

use tree_sitter::Parser;
use yard_core::text::{self, Encoding};
use yard_core::{Call, ContentHash, Result, Signature, WsPath};
use yard_disk::{Disk, is_settled, read_all};
use yard_search::is_unsearchable;

use crate::definitions::{Syntax, read_syntax};
use crate::grammar::grammar_of;
use crate::index::{FileState, ParsedFile};
use crate::words;

/// Larger files are not indexed: they are data or generated code.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The result of reading a file.
pub(crate) enum ReadOutcome {
    /// The file is new or has changed.
    Changed(Box<ParsedFile>),
    /// The file has not changed. The hash is set while its signature is too recent to be trusted.
    Same(WsPath, Option<ContentHash>),
    /// The file is gone, or may not be read.
    Gone(WsPath),
}

/// A file that has to be read.
pub(crate) struct FileToRead {
    pub(crate) path: WsPath,
    /// Its indexed signature and content, if the signature was too recent to be trusted.
    pub(crate) unsettled: Option<(Signature, ContentHash)>,
}

/// Reads files, one after the other.
pub(crate) struct Reader<'a> {
    disk: &'a Disk,
    call: &'a Call,
    parser: Parser,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(disk: &'a Disk, call: &'a Call) -> Self {
        Self { disk, call, parser: Parser::new() }
    }

    /// Reads a file. One that cannot be searched counts as gone.
    pub(crate) fn read_for_index(&mut self, file: &FileToRead) -> Result<ReadOutcome> {
        self.call.check()?;
        match self.read(file) {
            Err(fault) if is_unsearchable(fault.code()) => Ok(ReadOutcome::Gone(file.path.clone())),
            read => read,
        }
    }

    fn read(&mut self, FileToRead { path, unsettled }: &FileToRead) -> Result<ReadOutcome> {
        let (mut file, stat) = self.disk.open_listed(path)?;
        let mut parsed = ParsedFile {
            path: path.clone(),
            signature: stat.signature,
            unsettled: None,
            state: FileState::TooLarge,
            length: 0,
            terms: Vec::new(),
            definitions: Vec::new(),
        };
        if stat.size() > MAX_FILE_BYTES {
            return Ok(ReadOutcome::Changed(Box::new(parsed)));
        }
        let settled = is_settled(&stat.signature, self.call);
        let bytes = read_all(&mut file, stat.size(), path)?;
        if !settled {
            parsed.unsettled = Some(ContentHash::of(&bytes));
        }
        if let Some((signature, hash)) = unsettled
            && *signature == stat.signature
            && ContentHash::of(&bytes) == *hash
        {
            return Ok(ReadOutcome::Same(path.clone(), parsed.unsettled));
        }
        match text_of(&bytes) {
            Some(text) => self.parse(&text, &mut parsed)?,
            None => parsed.state = FileState::Binary,
        }
        Ok(ReadOutcome::Changed(Box::new(parsed)))
    }

    fn parse(&mut self, text: &str, parsed: &mut ParsedFile) -> Result<()> {
        let counted = words::count(text, &parsed.path.to_string());
        let syntax = match grammar_of(&parsed.path) {
            Some(grammar) => read_syntax(&mut self.parser, grammar, text, self.call)?,
            None => Syntax::default(),
        };
        let is_partial = counted.is_cut || syntax.is_cut;
        parsed.state = if is_partial { FileState::Partial } else { FileState::Complete };
        parsed.definitions = syntax.definitions;
        parsed.terms = counted.terms;
        parsed.length = counted.length;
        Ok(())
    }
}

/// The bytes of a file as text, without a byte order mark; `None` if they are no text.
pub fn text_of(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let encoding = text::detect(bytes).ok()?;
    if encoding == Encoding::Utf8
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        return Some(Cow::Borrowed(text));
    }
    Some(text::decode(bytes, encoding))
}
