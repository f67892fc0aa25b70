//! What a tool is: a name, its arguments, its reply, one function. [`AnyTool`] is the same with the
//! types erased, so that a catalog can hold tools of every shape and embedders can add their own.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use yard_core::{Fault, FaultCode, Limits};
use yard_gate::{Asks, ExecutableBy, Pending};

use crate::args::{self, Shape};
use crate::json::Json;
use crate::schema;

pub(crate) use crate::context::Context;
pub(crate) use crate::paths::Paths;
pub(crate) use crate::stop::Stop;

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

/// What one call is like. Most tools are alike in all their calls; a tool whose arguments choose between
/// looking and changing says so by [`Tool::nature`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nature {
    /// What its work is like.
    pub work: Work,
    /// What it asks a person for first.
    pub asks: Asks,
    /// What it can do at most.
    pub hints: Hints,
}

/// What a tool's schema asks of a caller. Either way an argument that is left out gets its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calling {
    /// Arguments with a default may be left out.
    Lenient,
    /// Every argument is to be sent (X1): what vendors call strict function calling.
    Strict,
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
    const SERVED: ExecutableBy = ExecutableBy::AnyProcess;

    /// What a call with these arguments, as they were sent, is like: at most what the three constants say.
    fn nature(_args: &Value) -> Nature {
        Nature { work: Self::WORK, asks: Self::ASKS, hints: Self::HINTS }
    }

    /// Does the work.
    fn run(args: Self::Args, context: &Context<'_>) -> Result<Self::Reply, Stop>;

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
    shape: Shape,
    output: Value,
    nature: fn(&Value) -> Nature,
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
            nature: T::nature,
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

    /// What a call with these arguments is like.
    pub fn nature(&self, args: &Value) -> Nature {
        (self.nature)(args)
    }

    /// What its work is like at most.
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

    /// What it asks a person for first, at most.
    pub fn asks(&self) -> Asks {
        self.asks
    }

    /// Which process can serve its answer.
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
    let reply = Json::of(&reply).map_err(|error| {
        Stop::Fault(Fault::new(
            FaultCode::Io,
            format!("the reply cannot be written as JSON: {error}"),
        ))
    })?;
    Ok(Replied { reply, pending })
}
