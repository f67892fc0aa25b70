//! The arguments `limit` and `cursor`, and the `next` of an answer that was cut (R8, R12).

use yard_core::op::{Found, GrepAnswer, Listing, MatchCursor};
use yard_core::{Fault, FaultCode, Limits, Subject, WsPath};

use crate::tool::Stop;

/// The number of entries that a `limit` argument asks for; 0 is all that an answer may hold.
pub(crate) fn max_entries(limit: u64, limits: &Limits) -> Option<usize> {
    match limit {
        0 => None,
        limit => Some(usize::try_from(limit).unwrap_or(usize::MAX).min(limits.answer_entries)),
    }
}

/// The number of lines that a `limit` argument asks for; 0 is all.
pub(crate) fn max_lines(limit: u64) -> Option<u64> {
    (limit > 0).then_some(limit)
}

/// Whether a count is left out of an answer.
pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Whether a flag is left out of an answer.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
pub(crate) fn is_false(truth: &bool) -> bool {
    !truth
}

/// The cursor of a search by name: the path of the last match of the cut answer.
pub(crate) fn path_cursor(text: &str) -> Result<WsPath, Stop> {
    // The slash keeps white space at the end of the path from being trimmed.
    WsPath::parse(&format!("{text}/")).map_err(|error| {
        let message = format!("{error}; send back the `next` of the answer that was cut");
        Stop::Fault(Fault::new(FaultCode::BadArgument, message).about(Subject::Cursor))
    })
}

/// The cursor of a search by content: `path:line` of the last match of the cut answer.
pub(crate) fn match_cursor(text: &str) -> Result<MatchCursor, Stop> {
    let parts =
        text.rsplit_once(':').and_then(|(path, line)| Some((path, line.trim().parse().ok()?)));
    let (path, line) = parts.ok_or_else(|| {
        let message = "expected the `next` of the answer that was cut (path:line)";
        Stop::Fault(Fault::new(FaultCode::BadArgument, message).about(Subject::Cursor))
    })?;
    Ok(MatchCursor { path: path_cursor(path)?, line })
}

/// The `next` of a search by content.
pub(crate) fn next_match(answer: &GrepAnswer) -> Option<String> {
    let last = answer.matches.last().filter(|_| answer.truncated)?;
    Some(format!("{}:{}", last.path, last.line))
}

/// The cursor of a listing: how many entries the answers before had.
pub(crate) fn skip_cursor(cursor: Option<&str>) -> Result<usize, Stop> {
    let Some(text) = cursor else { return Ok(0) };
    text.trim().parse().map_err(|_| {
        let message = "expected the `next` of the answer that was cut (a number)";
        Stop::Fault(Fault::new(FaultCode::BadArgument, message).about(Subject::Cursor))
    })
}

/// The `next` of a listing.
pub(crate) fn next_skip(listing: &Listing, skip: usize) -> Option<String> {
    listing.truncated.then(|| skip.saturating_add(listing.entries.len()).to_string())
}

/// The `next` of a search by name.
pub(crate) fn next_path(found: &Found) -> Option<String> {
    let last = found.entries.last().filter(|_| found.truncated)?;
    Some(last.path.to_string())
}

#[cfg(test)]
mod tests {
    use yard_core::op::GrepMatch;

    use super::*;

    #[test]
    fn zero_is_everything_and_more_than_an_answer_holds_is_cut() {
        let limits = Limits { answer_entries: 10, ..Limits::default() };
        assert_eq!(max_entries(0, &limits), None);
        assert_eq!(max_entries(3, &limits), Some(3));
        assert_eq!(max_entries(u64::MAX, &limits), Some(10));
        assert_eq!((max_lines(0), max_lines(7)), (None, Some(7)));
    }

    #[test]
    fn r8_a_cut_search_carries_next_and_takes_it_back() {
        let path = WsPath::parse("/a:b /c").unwrap();
        let (before, after) = (Vec::new(), Vec::new());
        let found = GrepMatch { path: path.clone(), line: 7, text: "x".to_owned(), before, after };
        let answer = GrepAnswer { matches: vec![found], truncated: true, ignored: 0, withheld: 0 };
        let next = next_match(&answer).unwrap();
        assert_eq!(next, "/a:b /c:7");
        assert_eq!(match_cursor(&next), Ok(MatchCursor { path, line: 7 }));
        for bad in ["", "/a", "/a:", "/a:x", "/../b:1"] {
            assert!(match_cursor(bad).is_err(), "{bad}");
        }
        assert_eq!((skip_cursor(None), skip_cursor(Some(" 12 "))), (Ok(0), Ok(12)));
        assert!(skip_cursor(Some("/a")).is_err());
    }

    #[test]
    fn r8_a_cursor_keeps_white_space() {
        let path = WsPath::from_bytes(b"/a /b ").unwrap();
        assert_eq!(path_cursor(&path.to_string()), Ok(path));
        assert!(path_cursor("/../x").is_err());
    }
}
