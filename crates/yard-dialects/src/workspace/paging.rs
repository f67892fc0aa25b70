//! How much of an answer is given at once, and how a cut one goes on (R8, R12).

use yard_core::op::Found;
use yard_core::{Fault, FaultCode, Limits, Subject, WsPath};

use crate::tool::Stop;

/// The number of entries that a `limit` argument asks for; 0 is all that an answer may hold.
pub(super) fn entries(limit: u64, limits: &Limits) -> Option<usize> {
    match limit {
        0 => None,
        limit => Some(usize::try_from(limit).unwrap_or(usize::MAX).min(limits.answer_entries)),
    }
}

/// The number of lines that a `limit` argument asks for; 0 is all.
pub(super) fn lines(limit: u64) -> Option<u64> {
    (limit > 0).then_some(limit)
}

/// The path after which a cut search by name goes on.
pub(super) fn path_cursor(text: &str) -> Result<WsPath, Stop> {
    // A cursor is our own text: the slash keeps white space at its end from being trimmed.
    WsPath::parse(&format!("{text}/")).map_err(|error| {
        let message = format!("{error}; send back the `next` of the answer that was cut");
        Stop::Fault(Fault::new(FaultCode::BadArgument, message).about(Subject::Cursor))
    })
}

/// The cursor of what a search by name left out.
pub(super) fn next(found: &Found) -> Option<String> {
    let last = found.entries.last().filter(|_| found.truncated)?;
    Some(last.path.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_everything_and_more_than_an_answer_holds_is_cut() {
        let limits = Limits { answer_entries: 10, ..Limits::default() };
        assert_eq!(entries(0, &limits), None);
        assert_eq!(entries(3, &limits), Some(3));
        assert_eq!(entries(u64::MAX, &limits), Some(10));
        assert_eq!((lines(0), lines(7)), (None, Some(7)));
    }

    #[test]
    fn r8_a_cursor_keeps_white_space() {
        let path = WsPath::from_bytes(b"/a /b ").unwrap();
        assert_eq!(path_cursor(&path.to_string()), Ok(path));
        assert!(path_cursor("/../x").is_err());
    }
}
