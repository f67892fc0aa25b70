//! `toolyard call`: one tool of one dialect, as the agent.

use std::io::{self, IsTerminal as _, Read as _, Write as _};

use serde_json::{Value, json};
use yard_core::{FaultCode, Limits};
use yard_dialects::Catalog;
use yard_gate::Actor;

use crate::door::Door;
use crate::failure::Failure;
use crate::log;
use crate::reply::{Body, Reply};

const EXAMPLES: &str = "\
Examples:
  toolyard call ls '{\"path\": \"/\"}'
  toolyard call edit '{\"path\": \"/a.py\", \"old_string\": \"x = 1\", \"new_string\": \"x = 2\"}'
  echo '{\"path\": \"/a.py\"}' | toolyard call read

The answer is JSON on standard output, whether the tool succeeds (exit code 0) or fails (1).
JSON that does not parse: exit code 2.";

/// Call a tool, as an agent would
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Dialect that the tool belongs to
    #[arg(long, value_name = "NAME", default_value = "workspace")]
    toolset: String,
    /// Chat that the call belongs to (`toolyard chats` lists them) [default: the agent's own]
    #[arg(long, value_name = "ID")]
    chat: Option<String>,
    /// Refuse at once whatever would ask a person: for runs that nobody watches
    #[arg(long)]
    no_person: bool,
    /// Tool to call (`toolyard tools` lists them)
    tool: String,
    /// Its arguments, a JSON object; `-`, or nothing when there is a pipe, reads standard input
    json: Option<String>,
}

impl Options {
    pub(super) fn run(&self, door: &Door) -> Result<Reply, Failure> {
        let _log = log::start_if_asked()?;
        let arguments = self.arguments()?;
        let seat = door.open(Actor::LocalAgent)?;
        let session = match &self.chat {
            Some(text) => seat.session.in_chat(super::chats::chat_id(text)?)?,
            None => seat.session.clone(),
        };
        let session = if self.no_person { session.without_person() } else { session };
        let catalog = Catalog::standard();
        let call = seat.call_of(catalog.get(&self.toolset, &self.tool));
        let answer = catalog.call(&self.toolset, &self.tool, arguments, &session, &call);
        if session.leave() > 0 {
            // What it said and changed is kept; only nobody is here any more to type.
            let hint = "hint: the terminal ended with this command; `toolyard serve` keeps terminals running\n";
            let _ = io::stderr().write_all(hint.as_bytes());
        }
        Ok(Reply { body: Body::Json(answer.body.into_value()), exit: u8::from(!answer.ok) })
    }

    fn arguments(&self) -> Result<Value, Failure> {
        let text = match self.json.as_deref() {
            Some("-") => standard_input()?,
            Some(text) => text.as_bytes().to_vec(),
            None if io::stdin().is_terminal() => Vec::new(),
            None => standard_input()?,
        };
        parse(&text)
    }
}

fn parse(text: &[u8]) -> Result<Value, Failure> {
    if text.trim_ascii().is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_slice(text).map_err(|error| {
        Failure::misuse(
            FaultCode::BadArgument,
            format!("the arguments are not valid JSON: {error}"),
        )
        .hinting("give one JSON object, in single quotes on a shell, or on standard input")
    })
}

/// All of standard input, up to the bound on a request (R12).
fn standard_input() -> Result<Vec<u8>, Failure> {
    let bound = Limits::default().load_bytes;
    let mut text = Vec::new();
    let read = io::stdin().lock().take(bound + 1).read_to_end(&mut text);
    read.map_err(|error| Failure::io("standard input could not be read", &error))?;
    if text.len() as u64 > bound {
        let message = format!("the arguments are larger than {} MiB", bound >> 20);
        return Err(Failure::misuse(FaultCode::TooLarge, message));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_no_arguments_and_numbers_keep_their_spelling() {
        assert_eq!(parse(b" \n").unwrap(), json!({}));
        assert_eq!(parse(br#"{"b": 1.10, "a": 1}"#).unwrap().to_string(), r#"{"b":1.10,"a":1}"#);
        assert_eq!(parse(b"{").unwrap_err().exit(), 2);
    }
}
