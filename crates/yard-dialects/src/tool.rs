//! What a tool is: a name, its arguments, its reply, one function. [`AnyTool`] is the same with the
//! types erased, so that a catalog can hold tools of every shape and embedders can add their own.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use yard_core::{Call, Fault, FaultCode, Limits, PathError, Subject, WsPath};
use yard_gate::{Asks, Attempt, Completion, Execute, Pending, Served, Session};

use crate::args::{self, Fields, Shape};
use crate::json::Json;
use crate::{filesystem, relative, roots, schema};

/// What a tool's work is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// It looks at a few files: mostly microseconds.
    Look,
    /// It walks a tree.
    Walk,
    /// It changes one entry, and waits for the disk once.
    Save,
    /// It may change many entries.
    Change,
    /// It runs a command or asks the web, for as long as that takes.
    Run,
}

/// What a call of a tool can do at most, whatever its arguments: true, so that a client may rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub reads_only: bool,
    /// It may change or remove what is there.
    pub destroys: bool,
    /// Calling it again with the same arguments does nothing more.
    pub repeats: bool,
    /// It reaches beyond the workspace and its box.
    pub open_world: bool,
}

impl Hints {
    /// It looks at the workspace.
    pub const LOOKS: Self =
        Self { reads_only: true, destroys: false, repeats: true, open_world: false };
    /// It makes what is not there yet, and leaves alone what is.
    pub const ADDS: Self =
        Self { reads_only: false, destroys: false, repeats: false, open_world: false };
    /// It may change anything in the workspace.
    pub const CHANGES: Self = Self { destroys: true, ..Self::ADDS };

    /// What follows from the kind of work.
    const fn of(work: Work) -> Self {
        match work {
            Work::Look | Work::Walk => Self::LOOKS,
            Work::Save | Work::Change | Work::Run => Self::CHANGES,
        }
    }

    /// The same, where a second call finds everything done.
    #[must_use]
    pub const fn repeating(self) -> Self {
        Self { repeats: true, ..self }
    }

    /// The same, reaching the web.
    #[must_use]
    pub const fn reaching_out(self) -> Self {
        Self { open_world: true, ..self }
    }
}

/// What a tool's schema asks of a caller. Either way an argument that is left out gets its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calling {
    /// Arguments with a default may be left out.
    Lenient,
    /// Every argument is to be sent (X1): what vendors call strict function calling.
    Strict,
}

/// What a path means that a caller of a dialect writes (R2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paths {
    /// `/` is the root of the workspace.
    Rooted,
    /// Paths are relative to the root of the workspace; an absolute one is taken only if it lies in
    /// the workspace's own directory.
    Relative,
    /// Paths of the host at or below the workspace's own directory, or relative to it; for a caller that
    /// may not see them, as [`Paths::Rooted`].
    Host,
}

impl Paths {
    fn read(self, text: &str, host_root: &[u8]) -> Result<WsPath, PathError> {
        match self {
            Self::Rooted => WsPath::parse_under(text, host_root),
            Self::Relative | Self::Host => WsPath::parse_relative(text, host_root),
        }
    }

    /// As [`Paths::read`], with white space around it as part of the path.
    fn read_exactly(self, text: &str, host_root: &[u8]) -> Result<WsPath, PathError> {
        match self {
            Self::Rooted => WsPath::under_shown(text, host_root),
            Self::Relative | Self::Host => WsPath::relative_shown(text, host_root),
        }
    }

    /// How a path is to be written.
    fn advice(self) -> &'static str {
        match self {
            Self::Rooted => "Send a path that starts at /, the root of the workspace",
            Self::Relative => {
                "Send a path relative to the root of the workspace, without a leading slash, such \
                 as src/main.rs; the root itself is ."
            }
            Self::Host => {
                "Send a path below a directory that list_allowed_directories names, or one relative \
                 to it, such as src/main.rs"
            }
        }
    }

    fn fault(self, text: &str, error: PathError) -> Fault {
        let code = match error {
            PathError::Outside | PathError::Elsewhere => FaultCode::PathOutside,
            _ => FaultCode::BadPath,
        };
        let wrong = match error {
            PathError::Empty => "the path is empty".to_owned(),
            error => format!("{error} ({})", args::shown(text)),
        };
        Fault::new(code, format!("{wrong}. {}", self.advice()))
    }
}

/// One tool of one dialect.
///
/// What a model reads about it is derived: the doc comment of `Args` is its description, the doc
/// comments and serde defaults of the fields are its schema. A tool makes any number of reads and at
/// most one mutation, all through [`Context::perform`].
pub trait Tool: 'static {
    /// What a caller sends. Optional ones are `Option` or have a serde default.
    type Args: DeserializeOwned + JsonSchema;
    /// What a caller gets.
    type Reply: Serialize + JsonSchema;
    /// Its name in its toolset.
    const NAME: &'static str;
    /// What its work is like, for doors that keep different work apart.
    const WORK: Work = Work::Change;
    /// What it asks a person for first, where the policy leaves that to its dialect.
    const ASKS: Asks = Asks::Never;
    /// What a call of it can do at most.
    const HINTS: Hints = Hints::of(Self::WORK);
    /// What its schema asks of a caller.
    const CALLING: Calling = Calling::Lenient;
    /// Which process can serve its answer: a terminal lives in the one that opened it.
    const SERVED: Served = Served::Anywhere;

    /// Does the work.
    fn run(args: Self::Args, context: &Context<'_>) -> Result<Self::Reply, Stop>;

    /// The reply as JSON.
    fn told(reply: Self::Reply) -> serde_json::Result<Json> {
        Json::of(&reply)
    }

    /// What a reply still waits for, if it does. The door may wait for it and then ask [`Tool::resume`];
    /// no thread does.
    fn pending(_reply: &Self::Reply) -> Option<Pending> {
        None
    }

    /// The reply once what was waited for may have happened; it may be pending again.
    fn resume(_pending: &Pending, _context: &Context<'_>) -> Result<Self::Reply, Stop> {
        let message = format!("{} never waits: call it again", Self::NAME);
        Err(Stop::Fault(Fault::new(FaultCode::BadArgument, message)))
    }
}

/// Why a tool has no reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The arguments are wrong; nothing was tried.
    Arguments(Fields),
    /// The operation did not happen.
    Fault(Fault),
    /// The same, with more to tell.
    Detailed(Fault, Value),
    /// A person is asked first.
    Pending(Pending),
    /// The call is about another root, of this name (R15); or about two, which is a fault. Nothing was tried.
    Elsewhere(String, Fault),
}

impl Stop {
    /// One argument is wrong.
    pub fn argument(name: &str, message: impl Into<String>) -> Self {
        Self::Arguments(Fields::one(name, message))
    }

    /// The same, with its fault (if it is one) put into the tool's own words.
    #[must_use]
    pub fn map_fault(self, reword: impl FnOnce(Fault) -> Stop) -> Self {
        match self {
            Self::Fault(fault) => reword(fault),
            other => other,
        }
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Fields> for Stop {
    fn from(fields: Fields) -> Self {
        Self::Arguments(fields)
    }
}

/// What a tool may reach: one attempt of its caller's session, and nothing else.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The way to the workspace, for what is judged.
    pub attempt: &'a Attempt<'a>,
    /// What a path means.
    pub paths: Paths,
}

impl<'a> Context<'a> {
    /// Who is calling.
    pub fn session(&self) -> &'a Session {
        self.attempt.session()
    }

    /// Deadline, cancel flag, clock.
    pub fn call(&self) -> &'a Call {
        self.attempt.call()
    }

    /// The same for another attempt of the caller.
    pub(crate) fn with<'b>(&self, attempt: &'b Attempt<'b>) -> Context<'b> {
        Context { attempt, paths: self.paths }
    }
}

impl Context<'_> {
    /// Performs one operation through the gate.
    pub fn perform<O: Execute>(&self, op: O) -> Result<O::Answer, Stop> {
        let named = op.asked();
        let performed = self.attempt.perform(op);
        match performed.map_err(|fault| self.told(fault, &named))? {
            Completion::Done(answer) => Ok(answer),
            Completion::Pending(pending) => Err(Stop::Pending(pending)),
        }
    }

    /// The bounds that answers keep.
    pub fn limits(&self) -> &Limits {
        self.session().limits()
    }

    /// Reads a path as the caller wrote it (R2).
    pub fn path(&self, text: &str) -> Result<WsPath, Stop> {
        self.path_about(text, Subject::Path)
    }

    /// A path as the caller reads and writes it.
    pub fn shown(&self, path: &WsPath) -> String {
        let from_top = self.mount().map(|mount| roots::from_top(mount, path));
        let path = from_top.as_ref().unwrap_or(path);
        match self.paths() {
            Paths::Rooted => path.to_string(),
            Paths::Relative => relative::shown(path),
            Paths::Host => filesystem::shown(self, path),
        }
    }

    /// A path that was sent, as it is shown; as it was sent if it is no path.
    pub fn shown_again(&self, text: &str) -> String {
        self.path(text).map_or_else(|_| text.to_owned(), |path| self.shown(&path))
    }

    /// A path that the caller did not write, as the workspace itself has it.
    pub(crate) fn own_path(&self, text: &str) -> Result<WsPath, Stop> {
        WsPath::parse(text).map_err(|error| self.path_stop(text, error, Subject::Path))
    }

    /// As [`Context::path`], for a path that is another argument.
    pub fn path_about(&self, text: &str, subject: Subject) -> Result<WsPath, Stop> {
        let text = &*self.session().with_real_root(text);
        if let Some(path) = self.exact_path(text, subject) {
            return Ok(path);
        }
        let read = self.paths().read(text, self.session().host_root());
        self.entered(text, read, WsPath::parse, subject)
    }

    /// What is at a path exactly as it was sent, where that begins or ends with white space: it comes
    /// before what the path means without it.
    fn exact_path(&self, text: &str, subject: Subject) -> Option<WsPath> {
        if text.trim() == text {
            return None;
        }
        let read = self.paths().read_exactly(text, self.session().host_root());
        let path = self.entered(text, read, WsPath::parse_shown, subject).ok()?;
        self.session().is_there(&path).then_some(path)
    }

    /// A path of a patch: white space is part of its name.
    pub(crate) fn patch_path(&self, text: &str) -> Result<WsPath, Stop> {
        let text = &*self.session().with_real_root(text);
        let path = match self.paths() {
            Paths::Rooted => WsPath::parse_shown(text),
            Paths::Relative | Paths::Host => {
                WsPath::relative_shown(text, self.session().host_root())
            }
        };
        self.entered(text, path, WsPath::parse_shown, Subject::Patch)
    }

    pub(crate) fn path_stop(&self, text: &str, error: PathError, subject: Subject) -> Stop {
        Stop::Fault(self.paths().fault(text, error).about(subject))
    }

    /// What a path means to this caller.
    pub(crate) fn paths(&self) -> Paths {
        match self.paths {
            Paths::Host if !self.session().shows_host_paths() => Paths::Rooted,
            paths => paths,
        }
    }
}

/// A tool with its types erased.
#[derive(Clone, Debug)]
pub struct AnyTool {
    name: &'static str,
    work: Work,
    asks: Asks,
    served: Served,
    hints: Hints,
    about: String,
    input: Value,
    shape: Shape,
    output: Value,
    run: fn(Value, &Context<'_>) -> Result<Replied, Stop>,
    resume: fn(&Pending, &Context<'_>) -> Result<Replied, Stop>,
}

/// A reply with its type erased, and what it still waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replied {
    /// The reply.
    pub reply: Json,
    /// What it waits for.
    pub pending: Option<Pending>,
}

impl AnyTool {
    /// The tool `T`, with its schemas derived.
    pub fn of<T: Tool>() -> Self {
        let (mut input, about) = schema::input::<T::Args>();
        let shape = Shape::of(&input);
        if T::CALLING == Calling::Strict {
            schema::require_all(&mut input);
        }
        Self {
            name: T::NAME,
            work: T::WORK,
            asks: T::ASKS,
            served: T::SERVED,
            hints: T::HINTS,
            about,
            shape,
            input,
            output: schema::output::<T::Reply>(),
            run: run::<T>,
            resume: resume::<T>,
        }
    }

    /// Its name in its toolset.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its name where only letters, digits, `_` and `-` make a name (F6).
    pub fn function_name(&self) -> String {
        self.name.replace('.', "_")
    }

    /// What its work is like.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Milliseconds that a call of it may take.
    pub fn millis(&self, limits: &Limits) -> i64 {
        match self.work {
            // What it changed has to land, after it ran for as long as it may.
            Work::Run => limits.run_millis.saturating_add(limits.call_millis),
            Work::Look | Work::Walk | Work::Save | Work::Change => limits.call_millis,
        }
    }

    /// What it asks a person for first.
    pub fn asks(&self) -> Asks {
        self.asks
    }

    /// Which process can serve its answer.
    pub fn served(&self) -> Served {
        self.served
    }

    /// What a call of it can do at most.
    pub fn hints(&self) -> Hints {
        self.hints
    }

    /// What it does, for a model.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The schema of its arguments.
    pub fn input_schema(&self) -> &Value {
        &self.input
    }

    /// The schema of its reply.
    pub fn output_schema(&self) -> &Value {
        &self.output
    }

    /// Accepts the arguments (R1) and runs it.
    pub fn run(&self, sent: Value, context: &Context<'_>) -> Result<Replied, Stop> {
        let accepted = args::accept(&self.shape, sent)?;
        (self.run)(accepted, context)
    }

    /// The reply of a call that waited.
    pub fn resume(&self, pending: &Pending, context: &Context<'_>) -> Result<Replied, Stop> {
        (self.resume)(pending, context)
    }
}

fn run<T: Tool>(accepted: Value, context: &Context<'_>) -> Result<Replied, Stop> {
    let args = if holds_minus_zero(&accepted) {
        args::read(&mut serde_json::Deserializer::from_str(&accepted.to_string()))
    } else {
        args::read(accepted)
    };
    let args = args?;
    replied::<T>(T::run(args, context)?)
}

/// The one spelling of a number that gets lost on the way from a value to a type (`-0` is not `0`: W3), and
/// does not through text.
fn holds_minus_zero(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_str() == "-0",
        Value::Array(items) => items.iter().any(holds_minus_zero),
        Value::Object(members) => members.values().any(holds_minus_zero),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn resume<T: Tool>(pending: &Pending, context: &Context<'_>) -> Result<Replied, Stop> {
    replied::<T>(T::resume(pending, context)?)
}

fn replied<T: Tool>(reply: T::Reply) -> Result<Replied, Stop> {
    let pending = T::pending(&reply);
    let reply = T::told(reply).map_err(|error| {
        Stop::Fault(Fault::new(
            FaultCode::Io,
            format!("the reply cannot be written as JSON: {error}"),
        ))
    })?;
    Ok(Replied { reply, pending })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_a_path_that_climbs_out_is_told_from_a_malformed_one() {
        let fault = |text, error| Paths::Rooted.fault(text, error);
        assert_eq!(fault("/..", PathError::Outside).code(), FaultCode::PathOutside);
        assert_eq!(fault("", PathError::Empty).code(), FaultCode::BadPath);
        assert!(fault("/../x", PathError::Outside).message().contains("/../x"));
        let fault = Paths::Relative.fault("/etc/passwd", PathError::Elsewhere);
        assert_eq!(fault.code(), FaultCode::PathOutside);
        assert!(fault.message().contains("without a leading slash"), "{fault}");
    }
}
