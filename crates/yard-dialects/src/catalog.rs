//! Every tool of every toolset: the one list that routes, MCP lists, command-line help and documentation are made
//! from. Embedders register tools of their own. It knows no dialect by name: `standard.rs` has the table of Toolyard's
//! own.

mod approvals;
mod refused_parts;

pub use approvals::CHANGED_BY_PERSON;
pub use refused_parts::{REFUSED_BY_PERSON, refused_in_words};

use std::borrow::Cow;

use serde_json::Value;
use yard_core::{Call, Fault, FaultCode};
use yard_gate::{ApprovalStatus, Asks, Awaited, CallLog, Origin, Pending, Session, UnwrittenTurn};

use crate::dialect::{Answer, Dialect};
use crate::nearest::nearest;
use crate::stop::Stop;
use crate::synonyms::meant_tool;
use crate::tool::{AnyTool, ErasedReply, Tool, Work};

/// The answer to a call, and the work that is left to the door.
pub struct CallOutcome {
    /// What the caller gets.
    pub answer: Answer,
    /// The line to write to the transcript of the chat, if its calls are recorded.
    pub transcript_line: Option<UnwrittenTurn>,
    /// The root in which to make the call instead (R15); nothing was tried here. If the call comes from there already,
    /// the answer is the caller's: it says that the call is about two roots.
    pub other_root: Option<String>,
    /// The call was cancelled before it did anything, so that it may be made again. Never so for a tool that runs commands
    /// or reaches the web: what it began there is not known.
    pub was_cancelled: bool,
}

/// The toolsets and their tools, in the order in which they were registered.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// The dialect that answers calls of unknown toolsets and tools.
    fallback: Dialect,
    toolsets: Vec<Toolset>,
    /// The tools that every toolset has besides its own.
    history: Vec<AnyTool>,
    /// Whether callers see the history tools.
    shows_history: bool,
}

#[derive(Clone, Debug)]
struct Toolset {
    dialect: Dialect,
    tools: Vec<AnyTool>,
}

impl Toolset {
    fn get(&self, name: &str) -> Option<&AnyTool> {
        let exact = self.tools.iter().find(|tool| tool.name() == name);
        exact.or_else(|| self.tools.iter().find(|tool| tool.function_name() == name))
    }
}

impl Catalog {
    /// A catalog without tools. `fallback` answers calls of unknown toolsets and tools; `history` are the tools that
    /// every toolset may have besides its own.
    pub(crate) fn new(fallback: Dialect, history: Vec<AnyTool>) -> Self {
        Self { fallback, toolsets: Vec::new(), history, shows_history: false }
    }

    /// Adds the tool `T` to the toolset of `dialect`, which is created with its first tool. A tool
    /// of the same name is replaced.
    pub fn register<T: Tool>(&mut self, dialect: &Dialect) {
        self.add(dialect, AnyTool::of::<T>());
    }

    pub(crate) fn add(&mut self, dialect: &Dialect, tool: AnyTool) {
        let toolset = self.toolset_or_new(dialect);
        match toolset.tools.iter_mut().find(|known| known.name() == tool.name()) {
            Some(known) => *known = tool,
            None => toolset.tools.push(tool),
        }
    }

    fn toolset_or_new(&mut self, dialect: &Dialect) -> &mut Toolset {
        let at = self.toolsets.iter().position(|toolset| toolset.dialect.name == dialect.name);
        let at = at.unwrap_or_else(|| {
            self.toolsets.push(Toolset { dialect: *dialect, tools: Vec::new() });
            self.toolsets.len() - 1
        });
        &mut self.toolsets[at]
    }

    /// Lets callers list and undo steps in every toolset.
    #[must_use]
    pub fn with_history(self) -> Self {
        Self { shows_history: true, ..self }
    }

    /// The tools that callers see besides a toolset's own.
    fn shared_tools(&self) -> &[AnyTool] {
        if self.shows_history { &self.history } else { &[] }
    }

    /// The dialects, in order.
    pub fn dialects(&self) -> impl Iterator<Item = &Dialect> {
        self.toolsets.iter().map(|toolset| &toolset.dialect)
    }

    /// The tools of one toolset, in order; none if there is no such toolset.
    pub fn list(&self, toolset: &str) -> impl Iterator<Item = &AnyTool> {
        let known = self.toolset(toolset).into_iter();
        known.flat_map(|toolset| toolset.tools.iter().chain(self.shared_tools()))
    }

    /// One tool, by its name or by the one under which it is exported (F6).
    pub fn get(&self, toolset: &str, name: &str) -> Option<&AnyTool> {
        let known = self.toolset(toolset)?;
        known.get(name).or_else(|| self.shared_tools().iter().find(|tool| tool.name() == name))
    }

    fn toolset(&self, name: &str) -> Option<&Toolset> {
        self.toolsets.iter().find(|toolset| toolset.dialect.name == name)
    }

    /// Calls one tool. Failures are answers, too. The call is logged (R17), and recorded in the transcript of its chat.
    pub fn call(
        &self,
        toolset: &str,
        tool: &str,
        args: Value,
        session: &Session,
        call: &Call,
    ) -> Answer {
        let outcome = self.call_deferring_transcript(toolset, tool, args, session, call);
        if let Some(line) = outcome.transcript_line {
            line.write();
        }
        outcome.answer
    }

    /// As [`Catalog::call`], for a door that answers before it writes the transcript, and that can make the call in
    /// another root.
    pub fn call_deferring_transcript(
        &self,
        toolset: &str,
        tool: &str,
        args: Value,
        session: &Session,
        call: &Call,
    ) -> CallOutcome {
        let (dialect, found) = match self.find(toolset, tool) {
            Ok(found) => found,
            Err(answer) => {
                // Unknown names are the caller's text: the log leaves them out (R13).
                let origin = Origin { toolset: "?", tool: "?", asks: Asks::Never };
                let log = CallLog::begin(session.attempt(origin, call), &args);
                log.end("NoSuchTool", || &answer.body);
                return CallOutcome {
                    answer: *answer,
                    transcript_line: None,
                    other_root: None,
                    was_cancelled: false,
                };
            }
        };
        let traits = found.traits(&args);
        let mut attempt = session.attempt(dialect.origin(found, traits.asks), call);
        let may_ask = attempt.check_toolset().and_then(|()| session.may_ask(call, traits.asks));
        if let Ok(true) = may_ask {
            // An approved call is executed later with these arguments.
            attempt = attempt.repeatable(args.clone());
        }
        let recorded_args = session.records_call(traits.hints.reads_only).then(|| args.clone());
        if recorded_args.is_some() {
            attempt = attempt.tracked();
        }
        let log = CallLog::begin(attempt.clone(), &args);
        let context = dialect.context(log.attempt());
        let outcome = match may_ask {
            Ok(_) => log.within(|| found.run(args, &context)),
            Err(fault) => Err(Stop::Fault(fault)),
        };
        let outcome_name = outcome_name(&outcome);
        let other_root = match &outcome {
            Err(Stop::OtherRoot(name, _)) => Some(name.clone()),
            _ => None,
        };
        let was_cancelled = call.is_cancelled()
            && matches!(&outcome, Err(Stop::Fault(fault)) if fault.code() == FaultCode::Timeout)
            && found.work() != Work::Run
            && !attempt.has_changed();
        let answer = dialect.answer(found, outcome);
        log.end(&outcome_name, || &answer.body);
        let answer = self.execute_if_approved(answer, session, call);
        let transcript_line =
            recorded_args.and_then(|args| attempt.transcript_turn(&args, answer.ok, &answer.body));
        CallOutcome { answer, transcript_line, other_root, was_cancelled }
    }

    /// If a call waits for an approval that a person has given already, and that no process has executed, executes it
    /// and returns its answer.
    fn execute_if_approved(&self, answer: Answer, session: &Session, call: &Call) -> Answer {
        let Some(Pending { awaited: Awaited::Approval(id), .. }) = answer.pending else {
            return answer;
        };
        match session.approvals().get(id) {
            Ok(approval) if approval.status == ApprovalStatus::Approved => {
                self.answer_waiting_call(id, session, call)
            }
            _ => answer,
        }
    }

    /// The present answer to a call that was pending; it may still be.
    pub fn resume(
        &self,
        toolset: &str,
        tool: &str,
        pending: &Pending,
        session: &Session,
        call: &Call,
    ) -> Answer {
        if let Awaited::Approval(id) = pending.awaited {
            return self.answer_waiting_call(id, session, call);
        }
        let (dialect, found) = match self.find(toolset, tool) {
            Ok(found) => found,
            Err(answer) => return *answer,
        };
        let attempt = session.attempt(dialect.origin(found, found.asks()), call);
        let outcome = found.resume(pending, &dialect.context(&attempt));
        let outcome_name = outcome_name(&outcome);
        let answer = dialect.answer(found, outcome);
        // A door polls; only the last answer is logged.
        if answer.pending.is_none() {
            let log = CallLog::begin(attempt.clone(), &Value::Null);
            log.end(&outcome_name, || &answer.body);
        }
        answer
    }

    /// The answer to a call without a reply, in its dialect.
    pub(crate) fn wrap_stop(&self, toolset: &str, tool: &str, stop: &Stop) -> Answer {
        let dialect = self.toolset(toolset).map_or(&self.fallback, |known| &known.dialect);
        (dialect.wrap_stop)(tool, stop)
    }

    /// The tool, if callers see it. The answer for an unknown one is the same in all dialects (F1).
    pub(crate) fn find(
        &self,
        toolset: &str,
        tool: &str,
    ) -> Result<(&Dialect, &AnyTool), Box<Answer>> {
        let refuse = |stop| Box::new((self.fallback.wrap_stop)(tool, &stop));
        let Some(known) = self.toolset(toolset) else {
            let names = self.dialects().map(|dialect| dialect.name);
            let names: Vec<&str> = names.collect();
            let meant = nearest(toolset, names.iter().copied());
            return Err(refuse(not_found("Toolset", toolset, meant, &names)));
        };
        match self.get(toolset, tool) {
            Some(found) => Ok((&known.dialect, found)),
            None => {
                let names = self.list(toolset).map(AnyTool::name);
                let names: Vec<&str> = names.collect();
                let meant = meant_tool(tool, &names);
                Err(refuse(not_found("Tool", tool, meant, &names)))
            }
        }
    }

    /// The tool of an approved call. It may be a history tool that callers of this catalog do not see: another door
    /// showed it to the caller.
    pub(crate) fn find_approved(
        &self,
        toolset: &str,
        tool: &str,
    ) -> Result<(&Dialect, &AnyTool), Box<Answer>> {
        let history_tool = self.history.iter().find(|known| known.name() == tool);
        match (self.toolset(toolset), history_tool) {
            (Some(known), Some(found)) if known.get(tool).is_none() => Ok((&known.dialect, found)),
            _ => self.find(toolset, tool),
        }
    }

    /// The error message for an unknown tool; empty for a known one.
    pub fn unknown_tool_message(&self, toolset: &str, name: &str) -> String {
        match self.find(toolset, name) {
            Ok(_) => String::new(),
            Err(answer) => answer.failure_message(),
        }
    }
}

/// The outcome of a call, for the log.
pub(crate) fn outcome_name(outcome: &Result<ErasedReply, Stop>) -> Cow<'static, str> {
    match outcome {
        Ok(ErasedReply { pending: Some(_), .. }) | Err(Stop::Pending(_)) => "pending".into(),
        Ok(_) => "ok".into(),
        Err(Stop::Arguments(_)) => "BadArguments".into(),
        Err(Stop::OtherRoot(..)) => "elsewhere".into(),
        Err(Stop::Fault(fault) | Stop::Detailed(fault, _)) => format!("{:?}", fault.code()).into(),
    }
}

fn not_found(what: &str, name: &str, meant: Option<&str>, known: &[&str]) -> Stop {
    let hint = match meant {
        Some(meant) => format!("; did you mean '{meant}'?"),
        None => ".".to_owned(),
    };
    let name: String = name.chars().take(80).collect();
    let message = format!("{what} '{name}' not found{hint} Known: {}", known.join(", "));
    Stop::Fault(Fault::new(FaultCode::NotFound, message))
}
