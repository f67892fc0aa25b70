//! Every tool of every toolset. Routes, MCP lists, command-line help and documentation read it; there
//! is nowhere else to write the same fact. Embedders register tools of their own. It knows no dialect by name:
//! `standard.rs` has the table of Toolyard's own.

mod approved;

pub use approved::CHANGED_BY_PERSON;

use std::borrow::Cow;

use serde_json::Value;
use yard_core::{Call, Fault, FaultCode};
use yard_gate::{ApprovalStatus, Asks, Awaited, CallLog, Origin, Pending, Session, UnwrittenTurn};

use crate::dialect::{Answer, Dialect};
use crate::nearest::nearest;
use crate::stop::Stop;
use crate::tool::{AnyTool, Replied, Tool};

/// What a call came to, for who does the rest.
pub struct Called {
    /// What the caller gets.
    pub answer: Answer,
    /// The line of the transcript, where calls are kept.
    pub line: Option<UnwrittenTurn>,
    /// The root in which to call again (R15): nothing was tried here. Whoever was there already has the
    /// answer, which says so.
    pub elsewhere: Option<String>,
}

/// The toolsets and their tools, in the order in which they were registered.
#[derive(Clone, Debug)]
pub struct Catalog {
    /// The dialect in whose words a call is refused that no dialect can answer.
    refusals: Dialect,
    toolsets: Vec<Toolset>,
    /// What every toolset has besides its own tools.
    history: Vec<AnyTool>,
    /// Whether callers see that.
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
    /// A catalog without tools. What is no dialect's matter (an unknown tool) is refused in the words of
    /// `refusals`; `history` are the tools that every toolset may have besides its own.
    pub(crate) fn new(refusals: Dialect, history: Vec<AnyTool>) -> Self {
        Self { refusals, toolsets: Vec::new(), history, shows_history: false }
    }

    /// Adds the tool `T` to the toolset of `dialect`, which comes to be with its first tool. A tool
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

    /// The same catalog, whose callers can list and undo steps in every toolset.
    #[must_use]
    pub fn with_history(self) -> Self {
        Self { shows_history: true, ..self }
    }

    /// What callers see besides a toolset's own tools.
    fn besides(&self) -> &[AnyTool] {
        if self.shows_history { &self.history } else { &[] }
    }

    /// The dialects, in order.
    pub fn dialects(&self) -> impl Iterator<Item = &Dialect> {
        self.toolsets.iter().map(|toolset| &toolset.dialect)
    }

    /// The tools of one toolset, in order; none if there is no such toolset.
    pub fn list(&self, toolset: &str) -> impl Iterator<Item = &AnyTool> {
        let known = self.toolset(toolset).into_iter();
        known.flat_map(|toolset| toolset.tools.iter().chain(self.besides()))
    }

    /// One tool, by its name or by the one under which it is exported (F6).
    pub fn get(&self, toolset: &str, name: &str) -> Option<&AnyTool> {
        let known = self.toolset(toolset)?;
        known.get(name).or_else(|| self.besides().iter().find(|tool| tool.name() == name))
    }

    fn toolset(&self, name: &str) -> Option<&Toolset> {
        self.toolsets.iter().find(|toolset| toolset.dialect.name == name)
    }

    /// Calls one tool. Whatever happens is an answer; it is logged (R17), and kept in the transcript where
    /// calls are.
    pub fn call(
        &self,
        toolset: &str,
        tool: &str,
        args: Value,
        session: &Session,
        call: &Call,
    ) -> Answer {
        let called = self.call_first(toolset, tool, args, session, call);
        if let Some(line) = called.line {
            line.write();
        }
        called.answer
    }

    /// The same for who answers first and writes the transcript after, and can call it in another root.
    pub fn call_first(
        &self,
        toolset: &str,
        tool: &str,
        args: Value,
        session: &Session,
        call: &Call,
    ) -> Called {
        let (dialect, found) = match self.find(toolset, tool) {
            Ok(found) => found,
            Err(answer) => {
                // Names that nobody registered are the caller's text: the log leaves them out (R13).
                let origin = Origin { toolset: "?", tool: "?", asks: Asks::Never };
                let log = CallLog::begin(session.attempt(origin, call), &args);
                log.end("NoSuchTool", || &answer.body);
                return Called { answer: *answer, line: None, elsewhere: None };
            }
        };
        let refused = |fault| {
            let answer = (dialect.stopped)(found.name(), &Stop::Fault(fault));
            Called { answer, line: None, elsewhere: None }
        };
        if let Err(fault) = session.check_toolset(dialect.name) {
            return refused(fault);
        }
        let nature = found.nature(&args);
        let mut attempt = session.attempt(dialect.origin(found, nature.asks), call);
        match session.may_ask(call, nature.asks) {
            // Keep the arguments: an approved call is executed again later.
            Ok(true) => attempt = attempt.repeatable(args.clone()),
            Ok(false) => {}
            Err(fault) => return refused(fault),
        }
        let sent = session.records_call(nature.hints.reads_only).then(|| args.clone());
        if sent.is_some() {
            attempt = attempt.tracked();
        }
        let log = CallLog::begin(attempt.clone(), &args);
        let context = dialect.context(log.attempt());
        let outcome = log.within(|| found.run(args, &context));
        let word = outcome_word(&outcome);
        let elsewhere = match &outcome {
            Err(Stop::Elsewhere(name, _)) => Some(name.clone()),
            _ => None,
        };
        let answer = dialect.answer(found, outcome);
        log.end(&word, || &answer.body);
        let answer = self.taken_up(answer, session, call);
        let line = sent.and_then(|args| attempt.transcript_turn(&args, answer.ok, &answer.body));
        Called { answer, line, elsewhere }
    }

    /// A call that asks for what was approved already, and what no process has executed, is that call.
    fn taken_up(&self, answer: Answer, session: &Session, call: &Call) -> Answer {
        let Some(Pending { awaited: Awaited::Approval(id), .. }) = answer.pending else {
            return answer;
        };
        match session.approvals().get(id) {
            Ok(row) if row.status == ApprovalStatus::Approved => self.settled(id, session, call),
            _ => answer,
        }
    }

    /// Answers a call that was pending as it stands now. Whatever happens is an answer.
    pub fn resume(
        &self,
        toolset: &str,
        tool: &str,
        pending: &Pending,
        session: &Session,
        call: &Call,
    ) -> Answer {
        if let Awaited::Approval(id) = pending.awaited {
            return self.settled(id, session, call);
        }
        let (dialect, found) = match self.find(toolset, tool) {
            Ok(found) => found,
            Err(answer) => return *answer,
        };
        let attempt = session.attempt(dialect.origin(found, found.asks()), call);
        let outcome = found.resume(pending, &dialect.context(&attempt));
        let word = outcome_word(&outcome);
        let answer = dialect.answer(found, outcome);
        // A door asks again and again; only the last answer is news.
        if answer.pending.is_none() {
            let log = CallLog::begin(attempt.clone(), &Value::Null);
            log.end(&word, || &answer.body);
        }
        answer
    }

    /// Why a call has no reply, in the words of its dialect.
    pub(crate) fn stopped(&self, toolset: &str, tool: &str, stop: &Stop) -> Answer {
        let dialect = self.toolset(toolset).map_or(&self.refusals, |known| &known.dialect);
        (dialect.stopped)(tool, stop)
    }

    /// What was never run is no matter of a dialect: every caller reads it in the same words (F1).
    pub(crate) fn find(
        &self,
        toolset: &str,
        tool: &str,
    ) -> Result<(&Dialect, &AnyTool), Box<Answer>> {
        let refused = |stop| Box::new((self.refusals.stopped)(tool, &stop));
        let Some(known) = self.toolset(toolset) else {
            return Err(refused(self.no_toolset(toolset)));
        };
        match self.get(toolset, tool) {
            Some(found) => Ok((&known.dialect, found)),
            None => Err(refused(no_tool(tool, self.list(toolset)))),
        }
    }

    /// The same for what was approved, whoever sees it: the door that it came through did.
    pub(crate) fn find_approved(
        &self,
        toolset: &str,
        tool: &str,
    ) -> Result<(&Dialect, &AnyTool), Box<Answer>> {
        let besides = self.history.iter().find(|known| known.name() == tool);
        match (self.toolset(toolset), besides) {
            (Some(known), Some(found)) if known.get(tool).is_none() => Ok((&known.dialect, found)),
            _ => self.find(toolset, tool),
        }
    }

    /// The words for a name that is no tool's.
    pub fn no_such_tool(&self, toolset: &str, name: &str) -> String {
        match self.find(toolset, name) {
            Ok(_) => String::new(),
            Err(answer) => answer.failure_words(),
        }
    }

    fn no_toolset(&self, name: &str) -> Stop {
        not_found("Toolset", name, self.dialects().map(|dialect| dialect.name).collect())
    }
}

/// How a call ended, in a word for the log.
pub(crate) fn outcome_word(outcome: &Result<Replied, Stop>) -> Cow<'static, str> {
    match outcome {
        Ok(Replied { pending: Some(_), .. }) | Err(Stop::Pending(_)) => "pending".into(),
        Ok(_) => "ok".into(),
        Err(Stop::Arguments(_)) => "BadArguments".into(),
        Err(Stop::Elsewhere(..)) => "elsewhere".into(),
        Err(Stop::Fault(fault) | Stop::Detailed(fault, _)) => format!("{:?}", fault.code()).into(),
    }
}

fn no_tool<'a>(name: &str, tools: impl Iterator<Item = &'a AnyTool>) -> Stop {
    not_found("Tool", name, tools.map(AnyTool::name).collect())
}

fn not_found(what: &str, name: &str, known: Vec<&str>) -> Stop {
    let hint = match nearest(name, known.iter().copied()) {
        Some(meant) => format!("; did you mean '{meant}'?"),
        None => ".".to_owned(),
    };
    let name: String = name.chars().take(80).collect();
    let message = format!("{what} '{name}' not found{hint} Known: {}", known.join(", "));
    Stop::Fault(Fault::new(FaultCode::NotFound, message))
}
