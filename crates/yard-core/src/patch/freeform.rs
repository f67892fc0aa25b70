//! The parser of the Begin/End Patch envelope. It is lenient about what models get wrong without
//! meaning anything by it (white space around headers, wrappers around the whole) and strict about
//! everything that could mean two things.

use super::check::key;
use super::reader::Reader;
use super::{Action, FilePatch, Hunk, HunkLine, Patch, PatchError, PatchForm, Sign, Transfer};

type Result<T> = std::result::Result<T, PatchError>;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";
const MOVE: &str = "*** Move to:";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";

const HEADERS: &str =
    "`*** Add File: path`, `*** Update File: path`, `*** Delete File: path` or `*** End Patch`";

/// Whether a line can only be one of an envelope.
pub(super) fn is_header(line: &str) -> bool {
    let trimmed = line.trim();
    is_begin(line) || trimmed == END || [ADD, DELETE, UPDATE].iter().any(|h| trimmed.starts_with(h))
}

fn is_begin(line: &str) -> bool {
    let before = line.trim().strip_suffix(BEGIN).map(str::trim);
    before.is_some_and(|before| before.is_empty() || before.starts_with("apply_patch"))
}

pub(super) fn parse(text: &str) -> Result<Patch> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop_if(|last| last.is_empty());
    let (begin, end) = envelope(&lines)?;
    let arrived_with_cr = lines.get(begin).is_some_and(|line| line.ends_with('\r'));
    lines.truncate(end);
    if arrived_with_cr {
        for line in &mut lines {
            *line = line.strip_suffix('\r').unwrap_or(line);
        }
    }
    let mut reader = Reader { lines, at: begin + 1, is_complete: true };
    let mut files = Vec::new();
    while let Some(header) = reader.header()? {
        files.push(section(&mut reader, &header)?);
    }
    if files.is_empty() {
        return Err(PatchError::new(
            end + 1,
            format!("the envelope has no section: expected {HEADERS} after `{BEGIN}`"),
        ));
    }
    Ok(Patch { files })
}

/// Where the envelope begins and ends. What stands around it (a heredoc, a fence, a word about it)
/// is no part of it. Its end is the last such line: an earlier one is text of the file.
fn envelope(lines: &[&str]) -> Result<(usize, usize)> {
    let Some(begin) = lines.iter().position(|line| is_begin(line)) else {
        let at = lines.iter().position(|line| is_header(line)).unwrap_or_default();
        return Err(PatchError::new(at + 1, format!("expected a line `{BEGIN}` before this one")));
    };
    if let Some(at) = lines.iter().take(begin).position(|line| is_header(line)) {
        return Err(PatchError::new(at + 1, format!("expected a line `{BEGIN}` before this one")));
    }
    match lines.iter().rposition(|line| line.trim() == END) {
        Some(end) if end > begin => Ok((begin, end)),
        _ => Err(PatchError::new(
            lines.len(),
            format!("the patch ends here: expected a line `{END}` at the end of the envelope"),
        )),
    }
}

/// A line that begins a section.
struct Header {
    action: Action,
    path: String,
    line: usize,
}

impl Reader<'_> {
    fn skip_blank(&mut self) {
        while self.peek().is_some_and(|line| line.trim().is_empty()) {
            self.at += 1;
        }
    }

    /// The header of the next section; none at the end of the envelope.
    fn header(&mut self) -> Result<Option<Header>> {
        self.skip_blank();
        let Some(line) = self.peek() else { return Ok(None) };
        let (action, path) = read_header(line).ok_or_else(|| self.no_header(line))?;
        if path.is_empty() {
            return Err(self.error("expected a path after the colon"));
        }
        let header = Header { action, path: path.to_owned(), line: self.number() };
        self.at += 1;
        Ok(Some(header))
    }

    fn no_header(&self, line: &str) -> PatchError {
        let trimmed = line.trim();
        if trimmed == BEGIN || trimmed == END {
            return self.error(format!(
                "`{trimmed}` within the envelope: expected one envelope, with all files in it"
            ));
        }
        let what = if trimmed.starts_with("***") { "an unknown header" } else { "no header" };
        self.error(format!("`{}` is {what}: expected {HEADERS}", shortened(trimmed)))
    }

    /// Whether the next line can only be a header: what a chunk holds begins with a sign.
    fn is_at_header(&self) -> bool {
        self.peek().is_some_and(|line| line.starts_with("***"))
    }
}

fn read_header(line: &str) -> Option<(Action, &str)> {
    let known = [(ADD, Action::Add), (DELETE, Action::Delete), (UPDATE, Action::Update)];
    let trimmed = line.trim();
    known.iter().find_map(|(words, action)| Some((*action, trimmed.strip_prefix(words)?.trim())))
}

/// Enough of a line to know it again.
fn shortened(line: &str) -> String {
    match line.char_indices().nth(60) {
        Some((cut, _)) => format!("{}…", line.get(..cut).unwrap_or_default()),
        None => line.to_owned(),
    }
}

fn section(reader: &mut Reader<'_>, header: &Header) -> Result<FilePatch> {
    let path = Some(header.path.clone());
    let mut section = FilePatch {
        form: PatchForm::Freeform,
        line: header.line,
        action: header.action,
        old_path: path.clone().filter(|_| header.action != Action::Add),
        new_path: path.filter(|_| header.action != Action::Delete),
        transfer: None,
        old_mode: None,
        new_mode: None,
        hunks: Vec::new(),
    };
    match header.action {
        Action::Add => section.hunks.extend(added_lines(reader)?),
        Action::Delete => {}
        Action::Update => update(reader, &mut section)?,
    }
    Ok(section)
}

fn added_lines(reader: &mut Reader<'_>) -> Result<Option<Hunk>> {
    let mut hunk = Hunk { line: reader.number(), ..Hunk::default() };
    while let Some(text) = reader.peek().and_then(|line| line.strip_prefix('+')) {
        hunk.lines.push(HunkLine { sign: Sign::Add, text: text.to_owned() });
        reader.at += 1;
    }
    reader.skip_blank();
    match reader.peek() {
        Some(line) if !line.trim_start().starts_with("***") => Err(reader.error(format!(
            "expected `+` before every line of a new file (alone for an empty line), or {HEADERS}"
        ))),
        _ => Ok(Some(hunk).filter(|hunk| !hunk.lines.is_empty())),
    }
}

fn update(reader: &mut Reader<'_>, section: &mut FilePatch) -> Result<()> {
    let mut moved = false;
    if let Some(path) = reader.peek().and_then(|line| line.trim().strip_prefix(MOVE)) {
        let path = path.trim();
        if path.is_empty() {
            return Err(reader.error("expected a path after the colon"));
        }
        // Moving onto itself is no move.
        moved = true;
        if section.old_path.as_deref().map(key) != Some(key(path)) {
            section.transfer = Some(Transfer::Rename);
            section.new_path = Some(path.to_owned());
        }
        reader.at += 1;
    }
    while !is_after_chunks(reader, section, moved) {
        section.hunks.push(chunk(reader)?);
    }
    if section.hunks.is_empty() && !moved {
        return Err(reader.error(format!(
            "the update of {} has no chunk: expected `@@`, a line that begins with a space, `-` or \
             `+`, or `*** Move to: path` directly below its header",
            section.name()
        )));
    }
    Ok(())
}

/// Whether no chunk of the section comes next. Where a header is expected as much as a chunk, white
/// space before it does not make it a line of the file.
fn is_after_chunks(reader: &mut Reader<'_>, section: &FilePatch, moved: bool) -> bool {
    let begin = reader.at;
    match section.hunks.last() {
        Some(last) if last.at_end => {
            reader.skip_blank();
            return !reader.peek().is_some_and(|line| line.starts_with("@@"));
        }
        Some(_) => {}
        None => {
            reader.skip_blank();
            if moved && reader.peek().is_some_and(|line| read_header(line).is_some()) {
                return true;
            }
            // Empty lines above the first chunk set it apart; above its context they are context.
            let is_context = |line: &str| !line.starts_with("@@") && !line.starts_with("***");
            if reader.peek().is_some_and(is_context) {
                reader.at = begin;
            }
        }
    }
    reader.peek().is_none() || reader.is_at_header()
}

fn chunk(reader: &mut Reader<'_>) -> Result<Hunk> {
    let mut hunk = Hunk { line: reader.number(), ..Hunk::default() };
    while let Some(rest) = reader.peek().and_then(|line| line.strip_prefix("@@")) {
        hunk.anchors.extend(anchor(rest));
        reader.at += 1;
    }
    let mut separators = 0;
    while let Some(line) = reader.peek() {
        if line.trim_end() == END_OF_FILE {
            hunk.at_end = true;
            break;
        }
        if line.starts_with("@@") || reader.is_at_header() {
            break;
        }
        hunk.lines.push(chunk_line(reader, line)?);
        separators = if line.trim_end_matches('\r').is_empty() { separators + 1 } else { 0 };
        reader.at += 1;
    }
    if hunk.lines.is_empty() {
        return Err(reader
            .error("a chunk without lines: expected a line that begins with a space, `-` or `+`"));
    }
    reader.at += usize::from(hunk.at_end);
    drop_separators(&mut hunk, separators);
    // A patch may have very many chunks.
    hunk.lines.shrink_to_fit();
    Ok(hunk)
}

/// The line of the file that an `@@` line names. The line numbers of a unified diff name none.
fn anchor(rest: &str) -> Option<String> {
    let text = rest.strip_prefix(' ').unwrap_or(rest).trim_end();
    let numbers = text.starts_with('-') && text.contains(" +") && text.contains(" @@")
        || text.starts_with('-') && text.ends_with("@@");
    Some(text).filter(|text| !numbers && !text.trim().is_empty()).map(str::to_owned)
}

fn chunk_line(reader: &Reader<'_>, line: &str) -> Result<HunkLine> {
    let mut characters = line.chars();
    let sign = match characters.next() {
        None | Some(' ') => Sign::Context,
        Some('-') => Sign::Remove,
        Some('+') => Sign::Add,
        Some('\r') if line == "\r" => Sign::Context,
        Some(_) => {
            return Err(reader.error(format!(
                "`{}` begins with none of the three signs: expected a space (context), `-` or \
                 `+`, an `@@` line, or a header that begins with `***`",
                shortened(line)
            )));
        }
    };
    Ok(HunkLine { sign, text: characters.as_str().to_owned() })
}

/// Completely empty lines below lines that are only added separate sections; as context they would
/// move the addition to the next empty line of the file.
fn drop_separators(hunk: &mut Hunk, separators: usize) {
    let kept = hunk.lines.len() - separators;
    if kept > 0 && hunk.lines.iter().take(kept).all(|line| line.sign == Sign::Add) {
        hunk.lines.truncate(kept);
    }
}
