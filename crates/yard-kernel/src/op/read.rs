//! read: a slice of a text, at any size. What the caller does not want is not computed; what it does
//! want of a large file is streamed past, never held.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read as _, Seek, SeekFrom};
use std::sync::Arc;

use yard_core::hash::ContentHasher;
use yard_core::op::{LineStart, Read, ReadAnswer, Slice, Want};
use yard_core::text::{self, Encoding};
use yard_core::{
    Call, ContentHash, Effect, EffectKind, Fault, FaultCode, KeptText, Result, Subject, Text,
    WsPath, lines,
};
use yard_disk::{Stat, each_piece, io_fault, is_folder, read_all};

use crate::glimpse::{Gist, Seen, Told, When};
use crate::proposal::{Execute, Planned};
use crate::recent;
use crate::spilled;
use crate::workspace::Workspace;

/// Files up to this size are read whole: faster than streaming, and bounded.
const WHOLE: u64 = 1 << 20;
/// How much of a large file its encoding is told from.
const HEAD: usize = 64 << 10;

impl Execute for Read {
    fn asked(&self) -> Vec<WsPath> {
        vec![self.path.clone()]
    }

    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<ReadAnswer>> {
        if let Some(planned) = plan_elsewhere(self, workspace, &self.path, call)? {
            return Ok(planned);
        }
        let when = workspace.glimpses.begin(call.world().now());
        let last = workspace.glimpses.last(&self.path, when);
        let opened = open(workspace, &self.path, last.is_some());
        if let Some(led) = led_elsewhere(workspace, &self.path, &opened)?
            && let Some(planned) = plan_elsewhere(self, workspace, &led, call)?
        {
            return Ok(planned);
        }
        let (path, mut file, stat) = opened?;
        let (part, told) = if stat.size() <= WHOLE {
            let bytes = read_all(&mut file, stat.size(), &path)?;
            let last = if path == self.path { last } else { workspace.glimpses.last(&path, when) };
            looked_at(self, workspace, bytes, (when, last), &path, &stat, call)?
        } else {
            let want = self.want.of_size(stat.size());
            let read = Self { want, ..self.clone() };
            let mut part = streamed(&read, &mut file, &path, call)?;
            let (told, known) = ask_store_for_all(&read, workspace, part.hash, &path, &stat, call)?;
            part.hash = part.hash.or(known.filter(|_| self.want.hash));
            (part, told)
        };
        let effect = Effect::one(EffectKind::Read, path.clone());
        Ok(Planned::Answer { effect, answer: part.answer(path, stat.size(), told) })
    }

    fn reads(&self) -> Vec<WsPath> {
        vec![self.path.clone()]
    }
}

/// Opens the file that a path means. Where there was a regular one at the last look, that is tried first:
/// it spares a look before it.
fn open(workspace: &Workspace, path: &WsPath, was_file: bool) -> Result<(WsPath, File, Stat)> {
    if was_file && let Ok((file, stat)) = workspace.disk.open_again(path) {
        return Ok((path.clone(), file, stat));
    }
    workspace.disk.open_wherever(path)
}

/// The slice of a file whose bytes are all here, and what the store says of it. What the last look at the
/// same bytes came to is not worked out again.
fn looked_at(
    read: &Read,
    workspace: &Workspace,
    bytes: Vec<u8>,
    (when, last): (When, Option<Seen>),
    path: &WsPath,
    stat: &Stat,
    call: &Call,
) -> Result<(Part, Option<Told>)> {
    let glimpses = &workspace.glimpses;
    let same = last.and_then(|(gist, told)| {
        workspace.recent.text(&gist.hash, &bytes).map(|text| (text, gist, told))
    });
    if let Some((text, gist, told)) = same {
        let good = told.filter(|_| read.want.synced);
        let told = match good {
            Some(_) => good,
            None => ask_store(read, workspace, Some(gist.hash), path, stat, call)?,
        };
        if let Some(told) = told.filter(|_| good.is_none()) {
            glimpses.keep(path, when, gist, told);
        }
        return Ok((known(read, text, gist), told));
    }
    let part = whole(read, &bytes, path)?;
    let told = ask_store(read, workspace, part.hash, path, stat, call)?;
    if let (Some(hash), Some(lines), Some(told)) = (part.hash, part.line_count, told)
        && bytes.len() <= recent::LARGEST
        && !bytes.starts_with(BOM_UTF8)
        && let Ok(text) = String::from_utf8(bytes)
    {
        workspace.recent.keep_text(hash, text);
        glimpses.keep(path, when, Gist { hash, lines }, told);
    }
    Ok((part, told))
}

/// What the store says of a file with that content, if that is wanted.
fn ask_store(
    read: &Read,
    workspace: &Workspace,
    hash: Option<ContentHash>,
    path: &WsPath,
    stat: &Stat,
    call: &Call,
) -> Result<Option<Told>> {
    ask_store_for_all(read, workspace, hash, path, stat, call).map(|(told, _)| told)
}

/// The same, with the hash of what is on disk, if the store has that.
fn ask_store_for_all(
    read: &Read,
    workspace: &Workspace,
    hash: Option<ContentHash>,
    path: &WsPath,
    stat: &Stat,
    call: &Call,
) -> Result<(Option<Told>, Option<ContentHash>)> {
    if !read.want.synced {
        return Ok((None, None));
    }
    let known = workspace.known(path, stat, hash, call)?;
    let (synced, state) = (known.synced, known.node.and_then(|node| node.state));
    let json = state.as_ref().is_some_and(|state| state.json);
    let content = state.and_then(|state| state.content).filter(|_| synced);
    Ok((Some(Told { synced, json }), content))
}

/// Where links lead to, if it may be out of the workspace's own folder; asked only if a link was followed
/// or nothing found.
fn led_elsewhere(
    workspace: &Workspace,
    asked: &WsPath,
    opened: &Result<(WsPath, File, Stat)>,
) -> Result<Option<WsPath>> {
    let elsewhere = match opened {
        Ok((path, ..)) => path != asked,
        Err(fault) => fault.code() == FaultCode::NotFound,
    };
    if !elsewhere {
        return Ok(None);
    }
    let spot = workspace.disk.locate(asked, true)?;
    Ok(workspace.leads_to_theirs(asked, &spot))
}

/// The answer for what is not in the workspace's own folder: there is no version of it that could differ.
fn plan_elsewhere(
    read: &Read,
    workspace: &Workspace,
    path: &WsPath,
    call: &Call,
) -> Result<Option<Planned<ReadAnswer>>> {
    match path.is_command_output() {
        true => plan_spilled(read, workspace, path, call).map(Some),
        false => plan_virtual(read, workspace, path, call),
    }
}

/// The answer for what a command said, from the byte on that its name may say.
fn plan_spilled(
    read: &Read,
    workspace: &Workspace,
    asked: &WsPath,
    call: &Call,
) -> Result<Planned<ReadAnswer>> {
    let (path, from) = spilled::from_byte(asked);
    let seen = workspace.spilled(&path)?;
    let (mut file, stat) = workspace.disk_of(&path).open_seen(&path, &seen)?;
    let part = match from {
        0 if stat.size() <= WHOLE => whole(read, &read_all(&mut file, stat.size(), &path)?, &path)?,
        0 => streamed(read, &mut file, &path, call)?,
        from => rest_of(read, &mut file, from, &path, call)?,
    };
    let told = read.want.synced.then_some(Told { synced: true, json: false });
    let effect = Effect::one(EffectKind::Read, path.clone());
    Ok(Planned::Answer { effect, answer: part.answer(path, stat.size(), told) })
}

/// A slice of what stands after a byte of a file, as if it were all. Where it goes on is told by bytes of
/// the file. Nobody asks for the hash of a rest.
fn rest_of(read: &Read, file: &mut File, from: u64, path: &WsPath, call: &Call) -> Result<Part> {
    let want = Want { hash: false, ..read.want };
    let rest = match read.slice {
        Slice::Lines { start: LineStart::FromStart(line), limit } => {
            rewind(file, from, path)?;
            let mut window = Window::new(line, limit, read.max_bytes);
            (window.at, window.start) = (from, from);
            let sums =
                stream_through(&Read { want, ..read.clone() }, file, path, call, &mut window)?;
            return Ok(window.part(Encoding::Utf8, sums));
        }
        Slice::Bytes { offset, limit } => {
            Slice::Bytes { offset: offset.saturating_add(from), limit }
        }
        from_end @ Slice::Lines { .. } => from_end,
    };
    streamed(&Read { want, slice: rest, ..read.clone() }, file, path, call)
}

/// The answer for a file that is not on disk.
fn plan_virtual(
    read: &Read,
    workspace: &Workspace,
    path: &WsPath,
    call: &Call,
) -> Result<Option<Planned<ReadAnswer>>> {
    let Some(bytes) = workspace.virtual_text(path, call)? else {
        return match workspace.shown_below(path)?.are_in(path) {
            true => Err(is_folder(path)),
            false => Ok(None),
        };
    };
    let told = read.want.synced.then_some(Told { synced: true, json: false });
    let answer = whole(read, &bytes, path)?.answer(path.clone(), bytes.len() as u64, told);
    Ok(Some(Planned::Answer { effect: Effect::one(EffectKind::Read, path.clone()), answer }))
}

/// What a slice came to.
#[derive(Default)]
struct Part {
    text: Text,
    first_line: u64,
    lines: u64,
    truncated: bool,
    cut_at_byte: Option<u64>,
    line_count: Option<u64>,
    hash: Option<ContentHash>,
}

impl Part {
    fn answer(self, path: WsPath, size: u64, told: Option<Told>) -> ReadAnswer {
        let (synced, json) = (told.map(|told| told.synced), told.is_some_and(|told| told.json));
        let Part { text, first_line, lines, truncated, cut_at_byte, line_count, hash } = self;
        ReadAnswer {
            path,
            text,
            first_line,
            lines,
            truncated,
            cut_at_byte,
            line_count,
            hash,
            size,
            synced,
            json,
        }
    }
}

/// The slice of a text in plain UTF-8 that was looked at before.
fn known(read: &Read, text: Arc<KeptText>, gist: Gist) -> Part {
    let Gist { hash, lines } = gist;
    let start = LineStart::FromStart(0);
    let is_all = matches!(read.slice, Slice::Lines { start: from, limit }
        if from == start && limit.is_none_or(|limit| limit >= lines));
    let part = if is_all && text.as_str().len() as u64 <= read.max_bytes {
        Part { text: text.into(), lines, ..Part::default() }
    } else {
        sliced(read, text.as_str().as_bytes(), Encoding::Utf8)
    };
    let line_count = part.line_count.or((is_all || read.want.line_count).then_some(lines));
    Part { hash: read.want.hash.then_some(hash), line_count, ..part }
}

fn sliced(read: &Read, bytes: &[u8], encoding: Encoding) -> Part {
    match read.slice {
        Slice::Bytes { offset, limit } => {
            bytes_of(bytes, encoding, offset, limit.min(read.max_bytes))
        }
        Slice::Lines { start, limit } => lines_of(bytes, encoding, start, limit, read.max_bytes),
    }
}

fn whole(read: &Read, bytes: &[u8], path: &WsPath) -> Result<Part> {
    let encoding = detect(bytes, path)?;
    let mut part = sliced(read, bytes, encoding);
    if read.want.hash {
        part.hash = Some(ContentHash::of(bytes));
    }
    if read.want.line_count && part.line_count.is_none() {
        part.line_count = Some(count_lines(bytes, encoding));
    }
    Ok(part)
}

/// How a file is written. What a command said is shown as it came, whatever it is.
fn detect(bytes: &[u8], path: &WsPath) -> Result<Encoding> {
    if path.is_command_output() {
        return Ok(Encoding::Utf8);
    }
    text::detect(bytes).map_err(|not_text| {
        let message = format!(
            "{path} is not a text: the file is {not_text}. It cannot be read or edited as text"
        );
        Fault::new(FaultCode::Binary, message).about(Subject::Path)
    })
}

fn is_wide(encoding: Encoding) -> bool {
    matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be)
}

fn count_lines(bytes: &[u8], encoding: Encoding) -> u64 {
    if is_wide(encoding) {
        return lines::count(text::decode(bytes, encoding).as_bytes());
    }
    lines::count(bytes)
}

/// Lines of bytes that are all here. Of UTF-16 the lines are those of the decoded text.
fn lines_of(
    bytes: &[u8],
    encoding: Encoding,
    start: LineStart,
    limit: Option<u64>,
    max: u64,
) -> Part {
    let decoded;
    let wide = is_wide(encoding);
    let body = if wide {
        decoded = text::decode(bytes, encoding).into_owned();
        decoded.as_bytes()
    } else {
        bytes
    };
    let slice = lines::slice(body, start, limit);
    let mut part = Part {
        first_line: slice.first_line,
        lines: slice.lines,
        truncated: slice.truncated,
        line_count: Some(slice.total),
        ..Part::default()
    };
    let shown = &body[slice.range.clone()];
    if wide {
        let before = String::from_utf8_lossy(&body[..slice.range.start]);
        let start = BOM_UTF16 + encoded_len(&before, encoding);
        fit(&mut part, shown, String::from_utf8_lossy(shown), start, encoding, max);
    } else {
        let start = slice.range.start as u64;
        let mark = if start == 0 { mark_len(bytes, encoding) } else { 0 };
        let raw = &shown[usize::try_from(mark).unwrap_or(0)..];
        fit(&mut part, raw, decode_at(shown, start, encoding), start + mark, encoding, max);
    }
    part
}

/// Bytes of the mark that every UTF-16 file here begins with.
const BOM_UTF16: u64 = 2;
const BOM_UTF8: &[u8] = b"\xef\xbb\xbf";

/// How many bytes of a file that is not UTF-16 are its mark.
fn mark_len(bytes: &[u8], encoding: Encoding) -> u64 {
    let marked = encoding == Encoding::Utf8Bom && bytes.starts_with(BOM_UTF8);
    if marked { BOM_UTF8.len() as u64 } else { 0 }
}

/// Decodes what stands at `offset` of a file: a mark is one at its very start only, elsewhere it is a
/// character like any other.
fn decode_at(bytes: &[u8], offset: u64, encoding: Encoding) -> Cow<'_, str> {
    let mark: &[u8] = match encoding {
        Encoding::Utf8 | Encoding::Utf8Bom | Encoding::DamagedUtf8 => BOM_UTF8,
        Encoding::Utf16Le => b"\xff\xfe",
        Encoding::Utf16Be => b"\xfe\xff",
        Encoding::Legacy(_) => return text::decode(bytes, encoding),
    };
    match bytes.strip_prefix(mark) {
        Some(rest) if offset > 0 => Cow::Owned(format!("\u{feff}{}", text::decode(rest, encoding))),
        _ => text::decode(bytes, encoding),
    }
}

/// Takes the text of a slice, cut to what an answer may hold: at a line end if one fits, else within
/// the line. `raw` are the bytes that it stands for, and `start` is where they begin in the file.
fn fit(part: &mut Part, raw: &[u8], shown: Cow<'_, str>, start: u64, encoding: Encoding, max: u64) {
    let max = usize::try_from(max).unwrap_or(usize::MAX);
    if shown.len() <= max {
        part.text = shown.into_owned().into();
        return;
    }
    let end = match memchr::memrchr(b'\n', &shown.as_bytes()[..max]) {
        Some(at) => at + 1,
        None => {
            let end = shown.floor_char_boundary(max);
            part.cut_at_byte = Some(start + length_in(raw, &shown[..end], encoding));
            end
        }
    };
    part.truncated = true;
    part.lines = lines::count(&shown.as_bytes()[..end]);
    part.text = shown[..end].to_owned().into();
}

/// How many of these bytes the first piece of their text stands for.
fn length_in(raw: &[u8], text: &str, encoding: Encoding) -> u64 {
    if !matches!(encoding, Encoding::Utf8 | Encoding::Utf8Bom | Encoding::DamagedUtf8) {
        return encoded_len(text, encoding);
    }
    // What is no UTF-8 is shown as another character, which is longer.
    let (mut length, mut left) = (0, text.len());
    for chunk in raw.utf8_chunks() {
        let valid = chunk.valid().len().min(left);
        (length, left) = (length + valid, left - valid);
        if left == 0 {
            break;
        }
        length += chunk.invalid().len();
        left = left.saturating_sub(char::REPLACEMENT_CHARACTER.len_utf8());
    }
    length as u64
}

/// How many bytes of the file a piece of its text stands for.
fn encoded_len(text: &str, encoding: Encoding) -> u64 {
    match encoding {
        Encoding::Utf8 | Encoding::Utf8Bom | Encoding::DamagedUtf8 => text.len() as u64,
        Encoding::Utf16Le | Encoding::Utf16Be => 2 * text.encode_utf16().count() as u64,
        Encoding::Legacy(legacy) => legacy.encode(text).0.len() as u64,
    }
}

/// The nearest start of a character at or before `at`.
fn character_start(bytes: &[u8], at: usize, encoding: Encoding) -> usize {
    let continues = |byte: &u8| byte & 0xC0 == 0x80;
    match encoding {
        Encoding::Utf16Le | Encoding::Utf16Be => at - at % 2,
        Encoding::Legacy(_) => at,
        Encoding::Utf8 | Encoding::Utf8Bom | Encoding::DamagedUtf8 => {
            let back =
                (0..4).find(|back| at >= *back && !bytes.get(at - back).is_some_and(continues));
            at - back.unwrap_or(0)
        }
    }
}

fn bytes_of(bytes: &[u8], encoding: Encoding, offset: u64, limit: u64) -> Part {
    let at = |offset: u64| usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    let (start, end) = (at(offset), at(offset.saturating_add(limit)));
    let end =
        if end < bytes.len() { character_start(bytes, end, encoding).max(start) } else { end };
    let shown = decode_at(&bytes[start..end], offset, encoding).into_owned();
    Part {
        first_line: begun_lines(&bytes[..start], encoding),
        lines: lines::count(shown.as_bytes()),
        text: shown.into(),
        truncated: end < bytes.len(),
        cut_at_byte: (end < bytes.len()).then_some(end as u64),
        ..Part::default()
    }
}

/// The number of the line that goes on after these bytes.
fn begun_lines(bytes: &[u8], encoding: Encoding) -> u64 {
    let text = text::decode(bytes, encoding);
    lines::count(text.as_bytes()) - u64::from(!ends_line(text.as_bytes()))
}

fn ends_line(bytes: &[u8]) -> bool {
    bytes.last().is_none_or(|byte| *byte == b'\n')
}

/// A slice of a file that is not held in memory.
fn streamed(read: &Read, file: &mut File, path: &WsPath, call: &Call) -> Result<Part> {
    let encoding = detect_head(file, path)?;
    if is_wide(encoding) {
        let message = format!(
            "{path} is UTF-16 and larger than {WHOLE} bytes; convert it to UTF-8 to read it in slices"
        );
        return Err(Fault::new(FaultCode::TooLarge, message).about(Subject::Path));
    }
    match read.slice {
        Slice::Bytes { offset, limit } => {
            streamed_bytes(read, file, encoding, offset, limit, path, call)
        }
        Slice::Lines { start: LineStart::FromStart(line), limit } => {
            let mut window = Window::new(line, limit, read.max_bytes);
            stream_through(read, file, path, call, &mut window)
                .map(|sums| window.part(encoding, sums))
        }
        Slice::Lines { start: LineStart::FromEnd(count), limit } => {
            from_end(read, file, encoding, count, limit, path, call)
        }
    }
}

fn detect_head(file: &mut File, path: &WsPath) -> Result<Encoding> {
    let mut head = vec![0; HEAD];
    let mut filled = 0;
    while filled < HEAD {
        match file.read(&mut head[filled..]).map_err(|error| io_fault(&error, path))? {
            0 => break,
            length => filled += length,
        }
    }
    rewind(file, 0, path)?;
    // A prefix that ends within a character must not look like another encoding.
    let end = memchr::memrchr(b'\n', &head[..filled])
        .map_or_else(|| character_start(&head, filled, Encoding::Utf8), |at| at + 1);
    detect(&head[..end], path)
}

fn rewind(file: &mut File, to: u64, path: &WsPath) -> Result<()> {
    file.seek(SeekFrom::Start(to)).map(|_| ()).map_err(|error| io_fault(&error, path))
}

/// What the whole file sums up to, as far as it was wanted.
#[derive(Default)]
struct Sums {
    hash: Option<ContentHash>,
    line_count: Option<u64>,
}

/// Streams the file past a window of lines, and on to the end only if hash or line count are wanted.
fn stream_through(
    read: &Read,
    file: &mut File,
    path: &WsPath,
    call: &Call,
    window: &mut Window,
) -> Result<Sums> {
    let to_the_end = read.want.hash || read.want.line_count;
    let mut hasher = read.want.hash.then(ContentHasher::new);
    each_piece(file, path, call, |piece| {
        if !path.is_command_output() && memchr::memchr(0, piece).is_some() {
            let message = format!(
                "{path} is not a text: the file is binary data (it holds a NUL byte). It cannot be read or edited \
                     as text"
            );
            return Err(Fault::new(FaultCode::Binary, message).about(Subject::Path));
        }
        if let Some(hasher) = &mut hasher {
            hasher.update(piece);
        }
        window.take(piece);
        Ok(to_the_end || !window.is_full())
    })?;
    let line_count = read.want.line_count.then(|| window.total());
    Ok(Sums { hash: hasher.map(ContentHasher::finish), line_count })
}

/// The lines of a stream from one line on.
struct Window {
    first: u64,
    limit: Option<u64>,
    max: usize,
    line: u64,
    at: u64,
    open: bool,
    start: u64,
    taken: Vec<u8>,
    more: bool,
}

impl Window {
    fn new(first: u64, limit: Option<u64>, max: u64) -> Self {
        let max = usize::try_from(max).unwrap_or(usize::MAX);
        Self {
            first,
            limit,
            max,
            line: 0,
            at: 0,
            open: false,
            start: 0,
            taken: Vec::new(),
            more: false,
        }
    }

    fn is_full(&self) -> bool {
        self.more
    }

    fn total(&self) -> u64 {
        self.line + u64::from(self.open)
    }

    fn end(&self) -> u64 {
        self.limit.map_or(u64::MAX, |limit| self.first.saturating_add(limit))
    }

    fn take(&mut self, piece: &[u8]) {
        let mut rest = piece;
        while !rest.is_empty() {
            if self.line >= self.end() || self.more {
                self.more = true;
                self.skip(rest, u64::MAX);
                return;
            }
            if self.line < self.first {
                rest = self.skip(rest, self.first);
                continue;
            }
            rest = self.take_line(rest);
        }
    }

    /// Passes over bytes until line `until` begins; what is left.
    fn skip<'b>(&mut self, bytes: &'b [u8], until: u64) -> &'b [u8] {
        for at in memchr::memchr_iter(b'\n', bytes) {
            self.line += 1;
            if self.line == until {
                self.open = false;
                self.at += at as u64 + 1;
                self.start = self.at;
                return &bytes[at + 1..];
            }
        }
        self.open = bytes.last() != Some(&b'\n');
        self.at += bytes.len() as u64;
        &[]
    }

    fn take_line<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let end = memchr::memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
        let room = self.max.saturating_add(1).saturating_sub(self.taken.len());
        self.taken.extend_from_slice(&bytes[..end.min(room)]);
        self.open = bytes[end - 1] != b'\n';
        self.line += u64::from(!self.open);
        self.at += end as u64;
        self.more |= self.taken.len() > self.max;
        &bytes[end..]
    }

    fn part(self, encoding: Encoding, sums: Sums) -> Part {
        let seen = self.total();
        let mut part = Part {
            first_line: self.first.min(seen),
            lines: lines::count(&self.taken),
            truncated: self.more,
            line_count: sums.line_count,
            hash: sums.hash,
            ..Part::default()
        };
        let end = match self.more {
            true => character_start(&self.taken, self.taken.len(), encoding),
            false => self.taken.len(),
        };
        let shown = decode_at(&self.taken[..end], self.start, encoding);
        let mark = if self.start == 0 { mark_len(&self.taken, encoding) } else { 0 };
        let raw = &self.taken[usize::try_from(mark).unwrap_or(0)..end];
        fit(&mut part, raw, shown, self.start + mark, encoding, self.max as u64);
        part
    }
}

fn streamed_bytes(
    read: &Read,
    file: &mut File,
    encoding: Encoding,
    offset: u64,
    limit: u64,
    path: &WsPath,
    call: &Call,
) -> Result<Part> {
    let mut nothing = Window::new(u64::MAX, None, 0);
    let sums = if read.want.hash || read.want.line_count {
        stream_through(read, file, path, call, &mut nothing)?
    } else {
        Sums::default()
    };
    rewind(file, offset, path)?;
    let limit = limit.min(read.max_bytes);
    let mut bytes = Vec::new();
    (&mut *file)
        .take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(|error| io_fault(&error, path))?;
    let mut part = bytes_of(&bytes, encoding, 0, limit);
    part.text = decode_at(&bytes[..shown_len(&part, &bytes)], offset, encoding).into_owned().into();
    part.cut_at_byte = part.cut_at_byte.map(|at| at + offset);
    part.first_line = newlines_before(file, offset, path, call)?;
    part.hash = sums.hash;
    part.line_count = sums.line_count;
    Ok(part)
}

/// How many of the bytes that were read a part shows.
fn shown_len(part: &Part, bytes: &[u8]) -> usize {
    part.cut_at_byte.map_or(bytes.len(), |end| usize::try_from(end).unwrap_or(bytes.len()))
}

/// How many lines end before `offset`.
fn newlines_before(file: &mut File, offset: u64, path: &WsPath, call: &Call) -> Result<u64> {
    rewind(file, 0, path)?;
    let (mut left, mut newlines) = (offset, 0);
    each_piece(file, path, call, |piece| {
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(piece.len());
        newlines += memchr::memchr_iter(b'\n', &piece[..taken]).count() as u64;
        left -= taken as u64;
        Ok(left > 0)
    })?;
    Ok(newlines)
}

/// The last lines of a large file: where they begin is found by reading backwards.
fn from_end(
    read: &Read,
    file: &mut File,
    encoding: Encoding,
    count: u64,
    limit: Option<u64>,
    path: &WsPath,
    call: &Call,
) -> Result<Part> {
    let start = start_of_last_lines(file, count, path, call)?;
    let mut counter = Window::new(u64::MAX, None, 0);
    rewind(file, 0, path)?;
    let sums = stream_through(
        &Read { want: Want { line_count: true, ..read.want }, ..read.clone() },
        file,
        path,
        call,
        &mut counter,
    )?;
    rewind(file, start, path)?;
    let mut window = Window::new(0, limit, read.max_bytes);
    window.at = start;
    window.start = start;
    let quiet = Read { want: Want::default(), ..read.clone() };
    stream_through(&quiet, file, path, call, &mut window)?;
    let total = sums.line_count.unwrap_or(0);
    let line_count = read.want.line_count.then_some(total);
    let mut part = window.part(encoding, Sums { line_count, ..sums });
    part.first_line = total.saturating_sub(count);
    Ok(part)
}

fn start_of_last_lines(file: &mut File, count: u64, path: &WsPath, call: &Call) -> Result<u64> {
    let told = |error| io_fault(&error, path);
    let size = file.seek(SeekFrom::End(0)).map_err(told)?;
    let mut buffer = vec![0; HEAD];
    let (mut end, mut found) = (size, 0);
    while end > 0 && count > 0 {
        call.check()?;
        let length = usize::try_from(end).unwrap_or(usize::MAX).min(HEAD);
        let begin = end - length as u64;
        rewind(file, begin, path)?;
        let piece = &mut buffer[..length];
        file.read_exact(piece).map_err(told)?;
        for at in memchr::memrchr_iter(b'\n', piece) {
            // The newline that ends the file begins no line.
            if begin + at as u64 + 1 == size {
                continue;
            }
            found += 1;
            if found == count {
                return Ok(begin + at as u64 + 1);
            }
        }
        end = begin;
    }
    Ok(if count == 0 { size } else { 0 })
}
