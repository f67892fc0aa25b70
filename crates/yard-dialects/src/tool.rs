//! A tool: a name, its arguments, its reply, one function. [`AnyTool`] is a tool with its types
//! erased, so that a catalog can hold tools of every kind and embedders can add their own.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use yard_core::{Fault, FaultCode, Limits};
use yard_gate::{Asks, ExecutableBy, Pending};

use crate::args::{self, CompiledSchema};
use crate::json::Json;
use crate::schema;

pub(crate) use crate::context::Context;
pub(crate) use crate::path_style::PathStyle;
pub(crate) use crate::stop::Stop;

/// The kind of work that a tool does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Reads a few files: mostly microseconds.
    Look,
    /// Walks a tree.
    Walk,
    /// Changes entries, and waits for the disk.
    Change,
    /// Runs a command or sends requests to the web, for as long as that takes.
    Run,
}

/// What a call of a tool can do at most, whatever its arguments are. A client may rely on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hints {
    /// It changes nothing.
    pub reads_only: bool,
    /// It may change or remove existing files.
    pub destroys: bool,
    /// A second call with the same arguments changes nothing more.
    pub repeats: bool,
    /// It reaches beyond the workspace and its box.
    pub open_world: bool,
}

impl Hints {
    /// Reads the workspace.
    pub const LOOKS: Self =
        Self { reads_only: true, destroys: false, repeats: true, open_world: false };
    /// Makes new files, and changes no existing ones.
    pub const ADDS: Self =
        Self { reads_only: false, destroys: false, repeats: false, open_world: false };
    /// May change anything in the workspace.
    pub const CHANGES: Self = Self { destroys: true, ..Self::ADDS };

    const fn of(work: Work) -> Self {
        match work {
            Work::Look | Work::Walk => Self::LOOKS,
            Work::Change | Work::Run => Self::CHANGES,
        }
    }

    /// The same, for a tool whose second call with the same arguments changes nothing more.
    #[must_use]
    pub const fn repeating(self) -> Self {
        Self { repeats: true, ..self }
    }

    /// The same, for a tool that reaches the web.
    #[must_use]
    pub const fn reaching_out(self) -> Self {
        Self { open_world: true, ..self }
    }
}

/// What one call is like. It is the same for all calls of most tools; a tool whose arguments choose between reading
/// and changing implements [`Tool::traits`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallTraits {
    /// The kind of its work.
    pub work: Work,
    /// What it asks a person for first.
    pub asks: Asks,
    /// What it can do at most.
    pub hints: Hints,
}

/// Which arguments a tool's schema requires. Either way an argument that is not sent gets its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calling {
    /// Those without a default.
    Lenient,
    /// All of them (X1): what vendors call strict function calling.
    Strict,
}

/// One tool of one dialect.
///
/// What a model reads about it is derived: the doc comment of `Args` is its description, the doc
/// comments and serde defaults of the fields are its schema. A tool makes any number of reads and at
/// most one change: by [`Context::perform`], or for commands, terminals and questions by [`Context::attempt`].
pub trait Tool: 'static {
    /// What a caller sends. Optional ones are `Option` or have a serde default.
    type Args: DeserializeOwned + JsonSchema;
    /// What a caller gets.
    type Reply: Serialize + JsonSchema;
    /// Its name in its toolset.
    const NAME: &'static str;
    /// The kind of its work, for doors that have a thread pool for each kind.
    const WORK: Work = Work::Change;
    /// What it asks a person for first, where the policy leaves that to its dialect.
    const ASKS: Asks = Asks::Never;
    /// What a call of it can do at most.
    const HINTS: Hints = Hints::of(Self::WORK);
    /// Which arguments its schema requires.
    const CALLING: Calling = Calling::Lenient;
    /// Which process can execute its approved calls: a terminal lives in the process that opened it.
    const SERVED: ExecutableBy = ExecutableBy::AnyProcess;

    /// What a call with these arguments, as they were sent, is like: at most what the three constants say.
    fn traits(_args: &Value) -> CallTraits {
        CallTraits { work: Self::WORK, asks: Self::ASKS, hints: Self::HINTS }
    }

    /// Does the work.
    fn run(args: Self::Args, context: &Context<'_>) -> Result<Self::Reply, Stop>;

    /// What the call still waits for. A door may wait for it, without a thread, and then call [`Tool::resume`].
    fn pending(_reply: &Self::Reply) -> Option<Pending> {
        None
    }

    /// The present reply of a call that was pending; it may still be.
    fn resume(_pending: &Pending, _context: &Context<'_>) -> Result<Self::Reply, Stop> {
        let message = format!("{} never waits: call it again", Self::NAME);
        Err(Stop::Fault(Fault::new(FaultCode::BadArgument, message)))
    }
}

/// A tool with its types erased.
#[derive(Clone, Debug)]
pub struct AnyTool {
    name: &'static str,
    work: Work,
    asks: Asks,
    served: ExecutableBy,
    hints: Hints,
    about: String,
    input: Value,
    accepted_input: CompiledSchema,
    output: Value,
    traits: fn(&Value) -> CallTraits,
    run: fn(Value, &Context<'_>) -> Result<ErasedReply, Stop>,
    resume: fn(&Pending, &Context<'_>) -> Result<ErasedReply, Stop>,
}

/// A reply with its type erased.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErasedReply {
    /// The reply.
    pub reply: Json,
    /// What the call still waits for.
    pub pending: Option<Pending>,
}

impl AnyTool {
    /// The tool `T`, with its schemas derived.
    pub fn of<T: Tool>() -> Self {
        let (mut input, about) = schema::input::<T::Args>();
        let accepted_input = CompiledSchema::of(&input);
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
            accepted_input,
            input,
            output: schema::output::<T::Reply>(),
            traits: T::traits,
            run: run::<T>,
            resume: resume::<T>,
        }
    }

    /// Its name in its toolset.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Its name where a name may have letters, digits, `_` and `-` only (F6).
    pub fn function_name(&self) -> String {
        self.name.replace('.', "_")
    }

    /// What a call with these arguments is like.
    pub fn traits(&self, args: &Value) -> CallTraits {
        (self.traits)(args)
    }

    /// The kind of its work.
    pub fn work(&self) -> Work {
        self.work
    }

    /// Milliseconds that a call of it may take.
    pub fn millis(&self, limits: &Limits) -> i64 {
        match self.work {
            // After the longest run its changes still have to land.
            Work::Run => limits.run_millis.saturating_add(limits.call_millis),
            Work::Look | Work::Walk | Work::Change => limits.call_millis,
        }
    }

    /// What it asks a person for first, at most.
    pub fn asks(&self) -> Asks {
        self.asks
    }

    /// Which process can execute its approved calls.
    pub fn served(&self) -> ExecutableBy {
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
    pub fn run(&self, sent: Value, context: &Context<'_>) -> Result<ErasedReply, Stop> {
        let accepted = args::accept(&self.accepted_input, sent)?;
        (self.run)(accepted, context)
    }

    /// The reply of a call that waited.
    pub fn resume(&self, pending: &Pending, context: &Context<'_>) -> Result<ErasedReply, Stop> {
        (self.resume)(pending, context)
    }
}

fn run<T: Tool>(accepted: Value, context: &Context<'_>) -> Result<ErasedReply, Stop> {
    let args = if holds_minus_zero(&accepted) {
        args::read(&mut serde_json::Deserializer::from_str(&accepted.to_string()))
    } else {
        args::read(accepted)
    };
    let args = args?;
    erase_reply::<T>(T::run(args, context)?)
}

/// Whether a value has the number `-0`, whose sign a deserializer keeps only when it reads text (W3).
fn holds_minus_zero(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_str() == "-0",
        Value::Array(items) => items.iter().any(holds_minus_zero),
        Value::Object(members) => members.values().any(holds_minus_zero),
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

fn resume<T: Tool>(pending: &Pending, context: &Context<'_>) -> Result<ErasedReply, Stop> {
    erase_reply::<T>(T::resume(pending, context)?)
}

fn erase_reply<T: Tool>(reply: T::Reply) -> Result<ErasedReply, Stop> {
    let pending = T::pending(&reply);
    let reply = Json::of(&reply).map_err(|error| {
        Stop::Fault(Fault::new(
            FaultCode::Io,
            format!("the reply cannot be written as JSON: {error}"),
        ))
    })?;
    Ok(ErasedReply { reply, pending })
}
