//! `toolyard call`: one tool of one dialect, as the agent.

use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::time::Duration;

use serde_json::{Value, json};
use yard_core::{FaultCode, Limits};
use yard_dialects::{Answer, Catalog};
use yard_gate::{Actor, Awaited, Pending, Session};

use crate::context::{CommandContext, LocalSession};
use crate::failure::Failure;
use crate::log;
use crate::reply::{Body, Reply};

const EXAMPLES: &str = "\
Examples:
  toolyard call ls '{\"path\": \"/\"}'
  toolyard call edit '{\"path\": \"/a.py\", \"old_string\": \"x = 1\", \"new_string\": \"x = 2\"}'
  echo '{\"path\": \"/a.py\"}' | toolyard call read

The answer is JSON on standard output, whether the tool succeeds (exit code 0) or fails (1).
JSON that does not parse: exit code 2. Waits for a person, who has not decided yet: exit code 3.";

/// How long `--wait` waits if it names no time.
const WAIT_SECONDS: &str = "30";
/// How often a waiting call checks whether a person has decided in another process.
const CHECKS_PER_SECOND: u64 = 4;
/// The exit code of a call that still waits for a person.
const STILL_PENDING: u8 = 3;

/// Call a tool, as an agent would
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Toolset of the tool: workspace, file, coder, assistant, codex or filesystem
    #[arg(long, value_name = "NAME", default_value = "workspace")]
    toolset: String,
    /// Chat that the call belongs to (`toolyard chats` lists them) [default: the agent's own]
    #[arg(long, value_name = "ID")]
    chat: Option<String>,
    /// Refuse at once whatever would ask a person: for runs that nobody watches
    #[arg(long)]
    no_person: bool,
    /// Wait for the person whom the call asks, if it asks one
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
          default_missing_value = WAIT_SECONDS, conflicts_with = "no_person")]
    wait: Option<u64>,
    /// Tool to call (`toolyard tools` lists those of the toolset)
    tool: String,
    /// Its arguments, a JSON object; `-`, or nothing when there is a pipe, reads standard input
    json: Option<String>,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let _log = log::start_if_asked()?;
        let arguments = self.arguments()?;
        let local = context.open(Actor::LocalAgent)?;
        let session = match &self.chat {
            Some(text) => local.session.in_chat(super::chats::chat_id(text)?)?,
            None => local.session.clone(),
        };
        let session = if self.no_person { session.without_person() } else { session };
        let session = session.for_one_call();
        let catalog = Catalog::standard();
        let call = local.call_of(catalog.get(&self.toolset, &self.tool));
        let first = catalog.call(&self.toolset, &self.tool, arguments, &session, &call);
        if let Some(toolset) = self.toolset_with_the_tool(&catalog) {
            let tool = &self.tool;
            advise(&format!(
                "hint: {tool} is a tool of the toolset {toolset}: toolyard call --toolset {toolset} {tool} '{{...}}'"
            ));
        }
        let answer = match first.pending.clone() {
            Some(pending) => self.wait_for_person(first, &pending, &catalog, &session, &local),
            None => first,
        };
        if session.stop_all_terminals() > 0 {
            // Its output and its changes are kept, but this process cannot send it input any more.
            advise(
                "hint: the terminal ended with this command; `toolyard serve` keeps terminals running",
            );
        }
        let exit = match answer.pending.as_ref().map(|pending| &pending.awaited) {
            Some(Awaited::Approval(id)) => {
                advise(&format!(
                    "hint: a person decides with `toolyard approve {id}`; `toolyard call --wait` waits for that"
                ));
                STILL_PENDING
            }
            Some(Awaited::Question(_)) if self.wait.is_some() => STILL_PENDING,
            // A question that is asked without waiting is a success.
            Some(Awaited::Question(_)) | None => u8::from(!answer.ok),
        };
        Ok(Reply { body: Body::Json(answer.body.into_value()), exit })
    }

    /// Another toolset that has the tool, if the toolset of the call has none of that name.
    fn toolset_with_the_tool(&self, catalog: &Catalog) -> Option<&'static str> {
        let has_it = |toolset: &str| catalog.get(toolset, &self.tool).is_some();
        if has_it(&self.toolset) {
            return None;
        }
        Catalog::toolset_names().into_iter().find(|toolset| has_it(toolset))
    }

    /// The answer once the person has decided, or the last one when the time that `--wait` names is over.
    fn wait_for_person(
        &self,
        first: Answer,
        pending: &Pending,
        catalog: &Catalog,
        session: &Session,
        local: &LocalSession,
    ) -> Answer {
        let checks = self.wait.unwrap_or_default().saturating_mul(CHECKS_PER_SECOND);
        if checks > 0 {
            let (command, id) = match &pending.awaited {
                Awaited::Approval(id) => ("approve", id.to_string()),
                Awaited::Question(id) => ("answer", id.to_string()),
            };
            advise(&format!("waiting for a person: toolyard {command} {id}"));
        }
        let mut answer = first;
        for _ in 0..checks {
            std::thread::sleep(Duration::from_millis(1_000 / CHECKS_PER_SECOND));
            let call = local.call_of(catalog.get(&self.toolset, &self.tool));
            answer = catalog.resume(&self.toolset, &self.tool, pending, session, &call);
            if answer.pending.is_none() {
                break;
            }
        }
        answer
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

/// Writes a line to standard error, because standard output has only the answer.
fn advise(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn parse(text: &[u8]) -> Result<Value, Failure> {
    if text.trim_ascii().is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_slice(text).map_err(|error| {
        let reason = if error.is_eof() {
            "they end before every bracket and quote is closed".to_owned()
        } else {
            format!(
                "what stands at line {}, column {} does not belong there",
                error.line(),
                error.column()
            )
        };
        Failure::misuse(
            FaultCode::BadArgument,
            format!("the arguments are not valid JSON: {reason}"),
        )
        .with_hint(
            "give one JSON object, in single quotes on a shell, such as '{\"path\": \"/a.txt\"}', or on standard \
             input",
        )
    })
}

/// Reads all of standard input, up to the limit of a request (R12).
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
