//! The small files in the folder of a run, beside its layer: their names, and the format in which one of them says
//! how the run ended.

use std::fmt::Write as _;
use std::time::Duration;

use yard_sandbox::{CommandEnd, Exit, StopReason};

/// Names of the two output streams of a command.
pub(crate) const STDOUT: &str = "stdout";
pub(crate) const STDERR: &str = "stderr";
/// Name of the output stream of a terminal.
pub(crate) const TERMINAL_OUTPUT: &str = "terminal";
/// Holds how a run ended.
pub(crate) const ENDED: &str = "ended";
/// The content of [`ENDED`] for a terminal that a crash interrupted.
pub(crate) const INTERRUPTED: &[u8] = b"interrupted";
/// Holds how many files were masked.
pub(crate) const MASKED: &str = "masked";
/// Holds the hosts that a command tried to reach, one a line.
pub(crate) const HOSTS: &str = "hosts";
/// Exists while a person has to decide about a run.
pub(crate) const WAITING: &str = "waiting";
/// Exists if a run writes to the workspace itself.
pub(crate) const IN_PLACE: &str = "in-place";
/// Holds the description of a terminal; only terminals have it.
pub(crate) const TERMINAL_DESCRIPTION: &str = "terminal";
/// Exists once the end of a terminal was reported to a client. The name is that of older versions.
pub(crate) const REPORTED: &str = "told";

/// How a run ended, as text: exit code or signal, why it was stopped, and after how many milliseconds.
pub(crate) fn ended_text(ended: &CommandEnd) -> String {
    let mut text = match ended.exit {
        Exit::Code(code) => format!("code {code}"),
        Exit::Signal(signal) => format!("signal {signal}"),
    };
    let why = ended.stopped.map_or("-", StopReason::word);
    let _ = write!(text, " {why} {}", ended.took.as_millis());
    text
}

/// Reads what [`ended_text`] wrote.
pub(crate) fn ended_of(text: &[u8]) -> Option<CommandEnd> {
    let text = std::str::from_utf8(text).ok()?;
    let parts: Vec<&str> = text.split(' ').collect();
    let [kind, number, why, took] = parts[..] else { return None };
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
    fn the_text_of_an_end_parses_back_to_it() {
        for exit in [Exit::Code(0), Exit::Code(255), Exit::Signal(9)] {
            for stopped in StopReason::ALL.map(Some).into_iter().chain([None]) {
                let ended = CommandEnd { exit, stopped, took: Duration::from_millis(1_234) };
                assert_eq!(ended_of(ended_text(&ended).as_bytes()), Some(ended));
            }
        }
        assert_eq!(ended_of(b""), None);
    }
}
