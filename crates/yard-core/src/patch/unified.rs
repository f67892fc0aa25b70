//! The parser of unified diffs, of git and of GNU diff. It corrects counts that the lines contradict, refuses what it
//! cannot apply (binary patches, links, merges), and ignores text between sections, such as that of mails and commit
//! messages.

use super::names::{self, Named};
use super::reader::Reader;
use super::{
    Action, FilePatch, Hunk, HunkLine, Patch, PatchError, PatchForm, Sign, Stated, Transfer,
};

type Result<T> = std::result::Result<T, PatchError>;

/// The part of a git mode that says what kind of entry it is.
const KIND: u32 = 0o170_000;
const LINK: u32 = 0o120_000;
const SUBMODULE: u32 = 0o160_000;

/// Whether a section begins with `line`, if no hunk is open before it.
pub(super) fn begins_section(line: &str, next: &str) -> bool {
    line.starts_with("diff --git ")
        || is_binary(line)
        || is_merge(line)
        || line.starts_with("--- ") && next.starts_with("+++ ")
}

pub(super) fn parse(text: &str) -> Result<Patch> {
    let is_complete = text.ends_with('\n');
    let mut reader = Reader { lines: patch_lines(text), at: 0, is_complete };
    let mut files = Vec::new();
    while let Some(line) = reader.peek() {
        if let Some(names) = line.strip_prefix("diff --git ") {
            files.push(git_section(&mut reader, names)?);
        } else if reader.is_at_names() {
            files.push(plain_section(&mut reader)?);
        } else {
            refuse(&reader, line)?;
            reader.at += 1;
        }
    }
    Ok(Patch { files })
}

/// The lines of the patch. If its first header ends in `\r`, every line came with one on the way
/// here, and none belongs to a file.
fn patch_lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop_if(|last| last.is_empty());
    let nexts = lines.iter().skip(1).copied().chain([""]);
    let header = lines.iter().zip(nexts).find(|(line, next)| begins_section(line, next));
    if header.is_some_and(|(line, _)| line.ends_with('\r')) {
        for line in &mut lines {
            *line = line.strip_suffix('\r').unwrap_or(line);
        }
    }
    lines
}

/// Stops at a line between sections that is part of a diff after all.
fn refuse(reader: &Reader<'_>, line: &str) -> Result<()> {
    if is_binary(line) {
        return Err(reader.error(
            "a binary file; only text can be patched. Leave this file out and write it as a whole",
        ));
    }
    if is_merge(line) {
        return Err(reader.error(
            "a combined diff of a merge; send a diff against one of the parents (`git diff A B`)",
        ));
    }
    if hunk_header(line).is_some() {
        return Err(reader.error(
            "a hunk, but no line above it says of which file: expected `--- path` and `+++ path`",
        ));
    }
    Ok(())
}

fn is_binary(line: &str) -> bool {
    let line = line.trim_end();
    line == "GIT binary patch"
        || (line.starts_with("Binary files ") || line.starts_with("Files "))
            && line.contains(" and ")
            && line.ends_with(" differ")
}

fn is_merge(line: &str) -> bool {
    line.starts_with("diff --cc ")
        || line.starts_with("diff --combined ")
        || line.starts_with("@@@ -")
}

impl Reader<'_> {
    /// Whether a `---` line with its `+++` line comes next.
    fn is_at_names(&self) -> bool {
        let next = self.lines.get(self.at + 1);
        self.peek().is_some_and(|line| line.starts_with("--- "))
            && next.is_some_and(|next| next.starts_with("+++ "))
    }

    /// The names of the `---` and the `+++` line that come next.
    fn names(&mut self) -> Result<(Named, Named)> {
        Ok((self.name("--- ")?, self.name("+++ ")?))
    }

    fn name(&mut self, sign: &str) -> Result<Named> {
        let rest = self.peek().and_then(|line| line.strip_prefix(sign));
        let named = rest.and_then(names::read).filter(|named| named.name.as_deref() != Some(""));
        let named =
            named.ok_or_else(|| self.error(format!("expected `{sign}` and the name of a file")))?;
        self.at += 1;
        Ok(named)
    }
}

/// A section that git did not make.
fn plain_section(reader: &mut Reader<'_>) -> Result<FilePatch> {
    let line = reader.number();
    let (mut old, mut new) = reader.names()?;
    let hunks = hunks(reader)?;
    let whole = |number: fn(&Stated) -> usize| matches!(hunks.as_slice(), [hunk] if hunk.stated.as_ref().is_some_and(|s| number(s) == 0));
    // Without `/dev/null`, the time stamp says that one side is not there.
    if old.epoch && whole(|stated| stated.old) {
        old.name = None;
    } else if new.epoch && whole(|stated| stated.new) {
        new.name = None;
    }
    let (old_path, new_path) = plain_paths(old.name, new.name, line)?;
    let is_move = old_path.is_some() && new_path.is_some() && old_path != new_path;
    let transfer = is_move.then_some(Transfer::Rename);
    finish(FilePatch { line, old_path, new_path, transfer, hunks, ..empty_section() })
}

type Paths = (Option<String>, Option<String>);

fn plain_paths(old: Option<String>, new: Option<String>, line: usize) -> Result<Paths> {
    match (old, new) {
        (Some(old), Some(new)) if names::have_prefixes(&old, &new) => {
            let (bare_old, bare_new) = (names::without_prefix(&old), names::without_prefix(&new));
            if old.starts_with("a/") && names::one_file(&bare_old, &bare_new).is_none() {
                // Who writes git's prefixes by hand, and two names, means a move.
                return Ok((Some(bare_old), Some(bare_new)));
            }
            one_path(&bare_old, &bare_new, line)
        }
        (Some(old), Some(new)) => one_path(&old, &new, line),
        (old, new) => {
            let old = old.map(|name| names::without_side(&name, "a/"));
            Ok((old, new.map(|name| names::without_side(&name, "b/"))))
        }
    }
}

fn one_path(old: &str, new: &str, line: usize) -> Result<Paths> {
    let path = names::one_file(old, new).ok_or_else(|| {
        PatchError::new(
            line,
            format!(
                "the names {old} and {new} are of two files; expected the same name twice. To \
                 rename a file, write the lines `diff --git`, `rename from` and `rename to` of git"
            ),
        )
    })?;
    Ok((Some(path.clone()), Some(path)))
}

fn empty_section() -> FilePatch {
    FilePatch {
        form: PatchForm::Unified,
        line: 0,
        action: Action::Update,
        old_path: None,
        new_path: None,
        transfer: None,
        old_mode: None,
        new_mode: None,
        hunks: Vec::new(),
    }
}

/// What git says of a file above its hunks.
#[derive(Default)]
struct Extended {
    old_mode: Option<u32>,
    new_mode: Option<u32>,
    added: bool,
    deleted: bool,
    from: Option<String>,
    to: Option<String>,
    transfer: Option<Transfer>,
}

impl Extended {
    fn refuse_contradiction(&self, line: usize) -> Result<()> {
        let comes_or_goes = self.added || self.deleted;
        let contradicts = comes_or_goes && self.transfer.is_some()
            || self.added && self.old_mode.is_some()
            || self.deleted && self.new_mode.is_some();
        if contradicts {
            let message = "the lines of git contradict each other: expected that the file is new, \
                           deleted, renamed, copied or changed, and one of these only";
            return Err(PatchError::new(line, message));
        }
        Ok(())
    }
}

fn git_section(reader: &mut Reader<'_>, names: &str) -> Result<FilePatch> {
    let line = reader.number();
    let named = names::split_git_line(names);
    reader.at += 1;
    let extended = extended_headers(reader)?;
    let written = own_names(reader, &extended, named.as_ref())?;
    let hunks = if written.is_some() { hunks(reader)? } else { Vec::new() };
    extended.refuse_contradiction(line)?;
    let (old_path, new_path) = git_paths(&extended, named, written, line)?;
    let section = FilePatch {
        line,
        old_path,
        new_path,
        transfer: extended.transfer,
        old_mode: extended.old_mode,
        new_mode: extended.new_mode,
        hunks,
        ..empty_section()
    };
    // A file that is renamed to what it is called already goes nowhere.
    let stays = section.old_path == section.new_path && section.transfer != Some(Transfer::Copy);
    let says_nothing = section.hunks.is_empty()
        && (section.transfer.is_none() || stays)
        && section.old_mode.is_none()
        && section.new_mode.is_none();
    if says_nothing {
        return Err(PatchError::new(
            line,
            "a section that changes nothing: expected `--- path`, `+++ path` and hunks, or a line \
             of git that renames the file or changes its mode",
        ));
    }
    finish(section)
}

/// The names above the hunks of this section. Those of another file begin a section of their own.
fn own_names(
    reader: &mut Reader<'_>,
    extended: &Extended,
    named: Option<&(String, String)>,
) -> Result<Option<Paths>> {
    if !reader.is_at_names() {
        return Ok(None);
    }
    let begin = reader.at;
    let (old, new) = reader.names()?;
    let known = match (&extended.from, &extended.to) {
        (Some(from), Some(to)) => Some((from.as_str(), to.as_str())),
        _ => named.map(|(old, new)| (old.as_str(), new.as_str())),
    };
    let is_own = |written: &Option<String>, known: &str| {
        let bare = |name: &str| names::without_prefix(name);
        written.as_deref().is_none_or(|name| name == known || bare(name) == bare(known))
            || written.as_deref().is_some_and(|name| bare(name) == known)
    };
    if known.is_some_and(|known| !is_own(&old.name, known.0) || !is_own(&new.name, known.1)) {
        reader.at = begin;
        return Ok(None);
    }
    Ok(Some((old.name, new.name)))
}

/// The two paths, from whichever lines are the clearest about them.
fn git_paths(
    extended: &Extended,
    named: Option<(String, String)>,
    written: Option<Paths>,
    line: usize,
) -> Result<Paths> {
    if extended.transfer.is_some() {
        let (Some(from), Some(to)) = (&extended.from, &extended.to) else {
            return Err(PatchError::new(line, "expected both a `from` and a `to` line of git"));
        };
        return Ok((Some(from.clone()), Some(to.clone())));
    }
    let prefixes = match (&named, &written) {
        (Some((old, new)), _) => names::have_prefixes(old, new),
        (None, Some((Some(old), Some(new)))) => names::have_prefixes(old, new),
        (None, _) => true,
    };
    let bare = |name: String| if prefixes { names::without_prefix(&name) } else { name };
    let (old, new) = match (written, named) {
        (Some((old, new)), _) => (old.map(bare), new.map(bare)),
        (None, Some((old, new))) => (Some(bare(old)), Some(bare(new))),
        (None, None) => return Err(PatchError::new(line, "the two names cannot be told apart")),
    };
    let (old, new) = match (old, new) {
        (Some(old), Some(new)) => one_path(&old, &new, line)?,
        one_sided => one_sided,
    };
    Ok((old.filter(|_| !extended.added), new.filter(|_| !extended.deleted)))
}

fn extended_headers(reader: &mut Reader<'_>) -> Result<Extended> {
    let mut extended = Extended::default();
    while let Some(line) = reader.peek() {
        if is_binary(line) {
            refuse(reader, line)?;
        }
        if !extended_header(reader, line, &mut extended)? {
            break;
        }
        reader.at += 1;
    }
    Ok(extended)
}

/// Takes one line of git's; false if it is none.
fn extended_header(reader: &Reader<'_>, line: &str, extended: &mut Extended) -> Result<bool> {
    let after = |start: &str| line.strip_prefix(start);
    if let Some(text) = after("old mode ") {
        extended.old_mode = Some(mode(reader, text)?);
    } else if let Some(text) = after("new mode ") {
        extended.new_mode = Some(mode(reader, text)?);
    } else if let Some(text) = after("new file mode ") {
        extended.new_mode = Some(mode(reader, text)?);
        extended.added = true;
    } else if let Some(text) = after("deleted file mode ") {
        extended.old_mode = Some(mode(reader, text)?);
        extended.deleted = true;
    } else if let Some(text) = after("rename from ").or_else(|| after("copy from ")) {
        extended.from = Some(bare_name(reader, text)?);
        extended.transfer = Some(transfer(line));
    } else if let Some(text) = after("rename to ").or_else(|| after("copy to ")) {
        extended.to = Some(bare_name(reader, text)?);
        extended.transfer = Some(transfer(line));
    } else if let Some(text) = after("index ") {
        if let Some((_, text)) = text.trim_end().split_once(' ') {
            mode(reader, text)?;
        }
    } else {
        return Ok(after("similarity index ").or_else(|| after("dissimilarity index ")).is_some());
    }
    Ok(true)
}

fn transfer(line: &str) -> Transfer {
    if line.starts_with("copy ") { Transfer::Copy } else { Transfer::Rename }
}

fn bare_name(reader: &Reader<'_>, text: &str) -> Result<String> {
    names::read_bare(text).ok_or_else(|| reader.error("expected the name of a file"))
}

fn mode(reader: &Reader<'_>, text: &str) -> Result<u32> {
    let mode = u32::from_str_radix(text.trim(), 8)
        .map_err(|_| reader.error(format!("expected a mode like 100644, not {text}")))?;
    match mode & KIND {
        LINK => Err(reader.error("a symbolic link (mode 120000); only files can be patched")),
        SUBMODULE => Err(reader.error("a submodule (mode 160000); only files can be patched")),
        _ => Ok(mode),
    }
}

/// Says what happens to the file, and refuses hunks that say something else.
fn finish(mut section: FilePatch) -> Result<FilePatch> {
    section.action = match (&section.old_path, &section.new_path) {
        (Some(_), Some(_)) => Action::Update,
        (None, Some(_)) => Action::Add,
        (Some(_), None) => Action::Delete,
        (None, None) => {
            return Err(PatchError::new(section.line, "expected the name of a file on one side"));
        }
    };
    if section.transfer == Some(Transfer::Rename) && section.old_path == section.new_path {
        section.transfer = None;
    }
    // What is not there has no mode, whatever a line above it says.
    section.old_mode = section.old_mode.filter(|_| section.action != Action::Add);
    section.new_mode = section.new_mode.filter(|_| section.action != Action::Delete);
    let forbidden = match section.action {
        Action::Add => Sign::Add,
        Action::Delete => Sign::Remove,
        Action::Update => return Ok(section),
    };
    let stray = |hunk: &&Hunk| hunk.lines.iter().any(|line| line.sign != forbidden);
    let wrong = section.hunks.iter().find(stray).or_else(|| section.hunks.get(1));
    match (wrong, section.action) {
        (Some(hunk), Action::Add) => Err(PatchError::new(
            hunk.line,
            "the file is new (its old name is /dev/null): expected one hunk of `+` lines",
        )),
        (Some(hunk), _) => Err(PatchError::new(
            hunk.line,
            "the file is deleted (its new name is /dev/null): expected one hunk of `-` lines",
        )),
        (None, _) => Ok(section),
    }
}

fn hunks(reader: &mut Reader<'_>) -> Result<Vec<Hunk>> {
    let mut hunks = Vec::new();
    while let Some(line) = reader.peek() {
        if let Some(header) = hunk_header(line) {
            hunks.push(hunk(reader, &header)?);
        } else if let Some(anchors) = unnumbered_header(line) {
            hunks.push(unnumbered_hunk(reader, anchors)?);
        } else if line.starts_with('\\') && hunks.is_empty() {
            // A remark on the whole file.
            reader.at += 1;
        } else {
            break;
        }
    }
    match reader.peek() {
        Some(line) if line.starts_with("@@") && !is_merge(line) => Err(reader.error(HUNK_EXPECTED)),
        _ if hunks.is_empty() => Err(reader.error(HUNK_EXPECTED)),
        _ => Ok(hunks),
    }
}

const HUNK_EXPECTED: &str =
    "expected a hunk of the form `@@ -<old line>,<old count> +<new line>,<new count> @@`";

/// The numbers of a hunk's header.
pub(crate) struct HunkHeader {
    pub(crate) stated: Stated,
    pub(crate) old_count: usize,
    pub(crate) new_count: usize,
}

/// Reads the header of a hunk with numbers; `None` for any other line.
pub(crate) fn hunk_header(line: &str) -> Option<HunkHeader> {
    let rest = line.strip_prefix("@@ -")?;
    let (old, rest) = rest.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let ((old, old_count), (new, new_count)) = (numbers(old)?, numbers(new)?);
    Some(HunkHeader { stated: Stated { old, new }, old_count, new_count })
}

/// `line,count` or `line`, whose count is 1.
fn numbers(text: &str) -> Option<(usize, usize)> {
    let number = |digits: &str| {
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u32>().ok().filter(|_| plain).and_then(|n| usize::try_from(n).ok())
    };
    match text.split_once(',') {
        Some((line, count)) => Some((number(line)?, number(count)?)),
        None => Some((number(text)?, 1)),
    }
}

/// The line of the file that an `@@` line without numbers names, if it names one. A line that seems to have
/// numbers is not such a line.
fn unnumbered_header(line: &str) -> Option<Vec<String>> {
    let rest = line.strip_prefix("@@")?;
    let rest = rest.trim_end().strip_suffix("@@").unwrap_or(rest).trim();
    let has_numbers = rest
        .strip_prefix(['-', '+'])
        .is_some_and(|rest| rest.trim_start().starts_with(|first: char| first.is_ascii_digit()));
    if is_merge(line) || has_numbers {
        return None;
    }
    let says_nothing =
        rest.chars().all(|character| matches!(character, '.' | '…' | '-' | '+' | ',' | ' '));
    Some(if says_nothing { Vec::new() } else { vec![rest.to_owned()] })
}

/// A hunk whose header has no numbers: its lines are those up to where something else clearly begins.
fn unnumbered_hunk(reader: &mut Reader<'_>, anchors: Vec<String>) -> Result<Hunk> {
    let unclear = reader.error(HUNK_EXPECTED);
    let (header, end) = counted_header(reader, Stated { old: 0, new: 0 }).ok_or(unclear)?;
    let hunk = counted_hunk(reader, &header)?;
    reader.at = end;
    Ok(Hunk { stated: None, anchors, ..hunk })
}

/// A hunk. Where its lines are not as many as its header counts they are counted anew, if it is clear where
/// they end.
fn hunk(reader: &mut Reader<'_>, header: &HunkHeader) -> Result<Hunk> {
    let begin = reader.at;
    counted_hunk(reader, header).or_else(|error| {
        reader.at = begin;
        let recounted = counted_header(reader, header.stated).filter(|(recounted, end)| {
            // Lines that are only added go where the header says, and a wrong one does not say it.
            let is_placed = recounted.old_count > 0 || header.old_count == 0;
            let lacks =
                recounted.old_count < header.old_count || recounted.new_count < header.new_count;
            let is_cut = lacks && !reader.is_complete && *end == reader.lines.len();
            is_placed && !is_cut
        });
        let Some((header, end)) = recounted else { return Err(error) };
        let hunk = counted_hunk(reader, &header).map_err(|_| error)?;
        reader.at = end;
        Ok(hunk)
    })
}

/// The header of the hunk that comes next, with the counts that its lines have, and where these end.
fn counted_header(reader: &Reader<'_>, stated: Stated) -> Option<(HunkHeader, usize)> {
    let end = reader.body_end()?;
    let mut body = reader.lines.get(reader.at + 1..end)?;
    // Empty lines set hunks apart as often as they are context.
    while let Some((last, rest)) = body.split_last()
        && last.trim_end().is_empty()
        && !last.starts_with(' ')
    {
        body = rest;
    }
    if !body.iter().any(|line| line.starts_with(['+', '-'])) {
        return None;
    }
    let without = |sign: char| body.iter().filter(|line| !line.starts_with([sign, '\\'])).count();
    Some((HunkHeader { stated, old_count: without('+'), new_count: without('-') }, end))
}

impl Reader<'_> {
    /// Where the lines of the hunk that comes next end, as its lines show; none if they leave that open.
    fn body_end(&self) -> Option<usize> {
        let line_at = |at: usize| self.lines.get(at).copied().unwrap_or_default();
        for at in self.at + 1..self.lines.len() {
            let (line, next) = (line_at(at), line_at(at + 1));
            let is_names = line.starts_with("--- ") && next.starts_with("+++ ");
            // The line above the name of a mail's program.
            let is_signature = line.trim_end() == "--" && !next.starts_with([' ', '+', '-', '@']);
            if line.starts_with("@@")
                || line.starts_with("diff --git ")
                || is_names && line_at(at + 2).starts_with("@@")
                || is_signature
            {
                return Some(at);
            }
            if !line.starts_with([' ', '+', '-', '\\']) && !line.trim_end().is_empty() {
                return None;
            }
        }
        Some(self.lines.len())
    }
}

fn counted_hunk(reader: &mut Reader<'_>, header: &HunkHeader) -> Result<Hunk> {
    let mut hunk = Hunk { line: reader.number(), stated: Some(header.stated), ..Hunk::default() };
    reader.at += 1;
    let mut body = Body { header, hunk: &mut hunk, old: 0, new: 0 };
    while body.old < header.old_count || body.new < header.new_count {
        body.take(reader)?;
    }
    // The remark on the last line, and never the hunk after it.
    while reader.peek().is_some_and(|line| line.starts_with('\\')) {
        body.take(reader)?;
    }
    body.refuse_more(reader)?;
    if hunk.lines.is_empty() {
        return Err(PatchError::new(hunk.line, "a hunk without lines"));
    }
    // A patch may have very many hunks.
    hunk.lines.shrink_to_fit();
    Ok(hunk)
}

/// A hunk of which some lines are read.
struct Body<'a> {
    header: &'a HunkHeader,
    hunk: &'a mut Hunk,
    old: usize,
    new: usize,
}

impl Body<'_> {
    /// Takes the next line, which must be one that the counts still allow.
    fn take(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let Some(line) = reader.peek() else { return Err(self.miscounted(reader)) };
        let mut characters = line.chars();
        let sign = match characters.next() {
            // White space at the end of lines is lost easily, and here it is all there was.
            None | Some(' ') => Sign::Context,
            Some('-') => Sign::Remove,
            Some('+') => Sign::Add,
            Some('\\') => return self.take_remark(reader),
            Some('\r') if line == "\r" => return self.push(reader, Sign::Context, "\r"),
            Some(_) => return Err(self.miscounted(reader)),
        };
        self.push(reader, sign, characters.as_str())
    }

    fn push(&mut self, reader: &mut Reader<'_>, sign: Sign, text: &str) -> Result<()> {
        let (old, new) = (sign != Sign::Add, sign != Sign::Remove);
        let full =
            old && self.old == self.header.old_count || new && self.new == self.header.new_count;
        if full {
            return Err(self.miscounted(reader));
        }
        if old && self.hunk.old_open || new && self.hunk.new_open {
            return Err(reader.error(
                "a line after the one without a newline at the end of the file: expected none",
            ));
        }
        self.old += usize::from(old);
        self.new += usize::from(new);
        self.hunk.lines.push(HunkLine { sign, text: text.to_owned() });
        reader.at += 1;
        Ok(())
    }

    /// `\ No newline at end of file`, in whatever language.
    fn take_remark(&mut self, reader: &mut Reader<'_>) -> Result<()> {
        let Some(last) = self.hunk.lines.last() else {
            return Err(reader.error("expected a line of the hunk before this remark on it"));
        };
        self.hunk.old_open |= last.sign != Sign::Add;
        self.hunk.new_open |= last.sign != Sign::Remove;
        reader.at += 1;
        Ok(())
    }

    /// Stops where the lines of a hunk go on after all that its header counts were read.
    fn refuse_more(&self, reader: &Reader<'_>) -> Result<()> {
        let Some(line) = reader.peek() else { return Ok(()) };
        // The line above the name of a mail's program.
        let is_signature = matches!(line.trim_end(), "--");
        let goes_on = line.starts_with([' ', '+', '-']) && !line.trim().is_empty();
        if goes_on && !reader.is_at_names() && !is_signature {
            return Err(self.miscounted(reader));
        }
        Ok(())
    }

    fn miscounted(&self, reader: &Reader<'_>) -> PatchError {
        let HunkHeader { old_count, new_count, .. } = self.header;
        let found = match reader.peek() {
            None => "the patch ends here",
            Some(line) if line.starts_with([' ', '+', '-']) => "more follow here",
            Some(_) => "here comes something else",
        };
        let message = format!(
            "the hunk of line {} says {old_count} old and {new_count} new lines (context counts as \
             both), but {found} after {} old and {} new ones: expected the counts of its `@@` line \
             to be right",
            self.hunk.line, self.old, self.new
        );
        reader.error(message)
    }
}
