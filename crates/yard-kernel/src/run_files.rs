//! The small files in the folder of a run, beside its layer: what they are called, and how they say how the run
//! ended.

use std::fmt::Write as _;
use std::time::Duration;

use yard_sandbox::{CommandEnd, Exit, StopReason};

/// How each of the two streams of a command is called.
pub(crate) const STDOUT: &str = "stdout";
pub(crate) const STDERR: &str = "stderr";
/// How the stream of a terminal is called, among the kept output.
pub(crate) const LOG: &str = "terminal";
/// Says how a run ended.
pub(crate) const ENDED: &str = "ended";
/// How a terminal ended that nobody ended.
pub(crate) const INTERRUPTED: &[u8] = b"interrupted";
/// Says how many files were masked.
pub(crate) const MASKED: &str = "masked";
/// Says what a command did with the hosts that it asked for, line by line.
pub(crate) const HOSTS: &str = "hosts";
/// Says that a person is asked about a run.
pub(crate) const WAITING: &str = "waiting";
/// Says that a run changes the workspace itself.
pub(crate) const IN_PLACE: &str = "in-place";
/// Says what a terminal is, in the words of the caller that opened it.
pub(crate) const NOTE: &str = "terminal";
/// Says that the end of a terminal was reported.
pub(crate) const TOLD: &str = "told";

/// How a run ended, as its folder says it: what became of it, why, and after how many milliseconds.
pub(crate) fn ended_text(ended: &CommandEnd) -> String {
    let mut text = match ended.exit {
        Exit::Code(code) => format!("code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    };
    let why = ended.stopped.map_or("-", StopReason::word);
    let _ = write!(text, " {why} {}", ended.took.as_millis());
    text
}

/// How a run ended, as [`ended_text`] wrote it.
pub(crate) fn ended_of(text: &[u8]) -> Option<CommandEnd> {
    let text = std::str::from_utf8(text).ok()?;
    let words: Vec<&str> = text.split(' ').collect();
    let [kind, number, why, took] = words[..] else { return None };
    let number = number.parse().ok()?;
    let exit = match kind {
        "code" => Exit::Code(number),
        _ => Exit::Signal(number),
    };
    let stopped = StopReason::from_word(why);
    Some(CommandEnd { exit, stopped, took: Duration::from_millis(took.parse().ok()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_a_run_ended_reads_back() {
        for exit in [Exit::Code(0), Exit::Code(255), Exit::Signal(9)] {
            for stopped in StopReason::ALL.map(Some).into_iter().chain([None]) {
                let ended = CommandEnd { exit, stopped, took: Duration::from_millis(1_234) };
                assert_eq!(ended_of(ended_text(&ended).as_bytes()), Some(ended));
            }
        }
        assert_eq!(ended_of(b""), None);
    }
}
