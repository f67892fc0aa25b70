//! The toolset that the conformance suite asks for, in a dialect of its own: through the catalog, the gate
//! and the MCP door like every other. Tools that speak the protocol themselves are only listed here;
//! `conformance_extension.rs` answers them.

use std::thread;
use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, IgnoredAny};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use yard_core::{Fault, FaultCode};
use yard_dialects::{Catalog, Context, Dialect, Hints, PathStyle, Stop, Tool, Work, envelope};
use yard_gate::{Awaited, FormQuestion, Pending, QuestionForm};

pub(crate) const TOOLSET: &str = "conformance";
/// One red pixel.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8/5+hHgAHggJ/PchI7wAAAABJRU5ErkJggg==";
/// No sound.
const WAV: &str = "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=";
/// Three pulses of the door, which tells of progress once a second, and a little.
const THREE_PULSES: Duration = Duration::from_millis(3_300);

const DIALECT: Dialect = Dialect {
    name: TOOLSET,
    about: "What the conformance suite of MCP expects of a server.",
    path_style: PathStyle::Rooted,
    error_code: |_, _| "failed",
    wrap_reply: envelope::wrap_reply,
    wrap_stop: |_, stop| envelope::wrap_stop(stop, |failure| json!({"message": failure.message})),
};

/// A fixture of the conformance suite.
#[derive(Deserialize, JsonSchema)]
struct Nothing {}

/// A reply made of the protocol's own blocks, perhaps once a person has answered.
#[derive(Serialize, JsonSchema)]
struct Blocks {
    content: Vec<Value>,
    #[serde(skip)]
    pending: Option<Pending>,
}

fn blocks(content: Vec<Value>) -> Result<Blocks, Stop> {
    Ok(Blocks { content, pending: None })
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn image() -> Value {
    json!({"type": "image", "data": PNG, "mimeType": "image/png"})
}

fn resource(uri: &str, mime: &str, text: &str) -> Value {
    json!({"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": text}})
}

/// A tool without arguments.
macro_rules! tool {
    ($tool:ident, $name:literal, $reply:expr) => {
        struct $tool;

        impl Tool for $tool {
            type Args = Nothing;
            type Reply = Blocks;
            const NAME: &'static str = $name;
            const WORK: Work = Work::Look;

            fn run(_: Nothing, _: &Context<'_>) -> Result<Blocks, Stop> {
                $reply
            }
        }
    };
}

tool!(SimpleText, "test_simple_text", blocks(vec![text("This is a simple text.")]));
tool!(Image, "test_image_content", blocks(vec![image()]));
tool!(
    Audio,
    "test_audio_content",
    blocks(vec![json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"})])
);
tool!(
    Embedded,
    "test_embedded_resource",
    blocks(vec![resource("test://embedded-resource", "text/plain", "This is embedded.")])
);
tool!(
    Mixed,
    "test_multiple_content_types",
    blocks(vec![
        text("Three kinds of content:"),
        image(),
        resource("test://mixed-content-resource", "application/json", r#"{"value":123}"#),
    ])
);
tool!(
    Fails,
    "test_error_handling",
    Err(Fault::new(FaultCode::BadArgument, "This tool fails, as it should").into())
);

/// It says nothing of progress itself: the door does, for whoever wants to know.
struct Progress;

impl Tool for Progress {
    type Args = Nothing;
    type Reply = Blocks;
    const NAME: &'static str = "test_tool_with_progress";
    const WORK: Work = Work::Run;
    const HINTS: Hints = Hints::LOOKS;

    fn run(_: Nothing, _: &Context<'_>) -> Result<Blocks, Stop> {
        thread::sleep(THREE_PULSES);
        blocks(vec![text("It went on for a while")])
    }
}

/// What is asked at once: names and types of the answers, and the words.
type Round = [(&'static str, &'static str, &'static str)];

/// A tool that asks a person, by way of the gate's questions: one round after the other. The door asks the
/// client by a request until 2025-11-25, and by a result with a sealed state from 2026-07-28 on.
macro_rules! asking {
    ($tool:ident, $name:literal, $args:ty, $($round:expr),+) => {
        struct $tool;

        impl $tool {
            const ROUNDS: &[&Round] = &[$($round),+];
        }

        impl Tool for $tool {
            type Args = $args;
            type Reply = Blocks;
            const NAME: &'static str = $name;
            const HINTS: Hints = Hints::ADDS;

            fn run(_: $args, context: &Context<'_>) -> Result<Blocks, Stop> {
                ask(context, Self::ROUNDS[0])
            }

            fn pending(reply: &Blocks) -> Option<Pending> {
                reply.pending.clone()
            }

            fn resume(pending: &Pending, context: &Context<'_>) -> Result<Blocks, Stop> {
                go_on(pending, context, Self::ROUNDS)
            }
        }
    };
}

fn ask(context: &Context<'_>, round: &Round) -> Result<Blocks, Stop> {
    let item = |(name, kind, question): &(&str, &str, &str)| FormQuestion {
        name: (*name).to_owned(),
        question: (*question).to_owned(),
        schema: json!({"type": kind}),
        buttons: Vec::new(),
    };
    let form = QuestionForm::check(round.iter().map(item).collect());
    let form = form.map_err(|flaw| Stop::argument(&flaw.at, flaw.message))?;
    let asked = context.attempt.ask_question(form)?;
    let pending = Pending { awaited: Awaited::Question(asked.id), wait_ms: Some(0) };
    Ok(Blocks { content: Vec::new(), pending: Some(pending) })
}

/// The next round once this one is answered; after the last, what was said.
fn go_on(pending: &Pending, context: &Context<'_>, rounds: &[&Round]) -> Result<Blocks, Stop> {
    let Awaited::Question(id) = pending.awaited else {
        return Err(Fault::new(FaultCode::BadArgument, "it waits for no question").into());
    };
    let question = context.session().questions().get(id)?;
    let Some(given) = question.answer else {
        return Ok(Blocks { content: Vec::new(), pending: Some(pending.clone()) });
    };
    let asked = question.form.questions()[0].name.as_str();
    let at = rounds.iter().position(|round| round[0].0 == asked);
    match at.and_then(|at| rounds.get(at + 1)) {
        Some(next) => ask(context, next),
        None => blocks(vec![text(&format!("state-ok: {}", Value::Object(given.answers)))]),
    }
}

/// A fixture of the conformance suite.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "the person is asked in the words of the fields")]
struct Message {
    /// The message that the person sees.
    message: String,
}

asking!(
    Elicitation,
    "test_elicitation",
    Message,
    &[("username", "string", "User's response"), ("email", "string", "User's email address")]
);
asking!(
    StreamingElicitation,
    "test_streaming_elicitation",
    Nothing,
    &[("name", "string", "What is your name?")]
);
asking!(
    RequestState,
    "test_input_required_result_request_state",
    Nothing,
    &[("ok", "boolean", "Please confirm")]
);
asking!(
    TamperedState,
    "test_input_required_result_tampered_state",
    Nothing,
    &[("ok", "boolean", "Please confirm")]
);
asking!(
    MultiRound,
    "test_input_required_result_multi_round",
    Nothing,
    &[("name", "string", "What is your name?")],
    &[("color", "string", "What is your favorite color?")]
);

/// Neither revision scores it.
struct Schema2020;

struct SchemaArgs;

impl<'de> Deserialize<'de> for SchemaArgs {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(from).map(|_| Self)
    }
}

impl JsonSchema for SchemaArgs {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SchemaArgs".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "description": "A fixture of the conformance suite.",
            "type": "object",
            "$defs": {"address": {"$anchor": "addressDef", "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
            "properties": {
                "name": {"type": "string"},
                "address": {"$ref": "#/$defs/address"},
                "contactMethod": {"type": "string", "enum": ["phone", "email"]},
                "phone": {"type": "string"},
                "email": {"type": "string"},
            },
            "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
            "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
            "then": {"required": ["phone"]},
            "else": {"required": ["email"]},
            "additionalProperties": false,
        })
    }
}

impl Tool for Schema2020 {
    type Args = SchemaArgs;
    type Reply = Blocks;
    const NAME: &'static str = "json_schema_2020_12_tool";
    const WORK: Work = Work::Look;

    fn run(_: SchemaArgs, _: &Context<'_>) -> Result<Blocks, Stop> {
        blocks(vec![text("ok")])
    }
}

/// Listed here, answered by the extension.
fn elsewhere() -> Result<Blocks, Stop> {
    Err(Fault::new(FaultCode::Io, "the extension did not answer this").into())
}

/// A fixture of the conformance suite.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "the extension reads it")]
struct Prompted {
    /// What the client's model is asked.
    prompt: String,
}

struct Sampling;

impl Tool for Sampling {
    type Args = Prompted;
    type Reply = Blocks;
    const NAME: &'static str = "test_sampling";

    fn run(_: Prompted, _: &Context<'_>) -> Result<Blocks, Stop> {
        elsewhere()
    }
}

tool!(Logging, "test_tool_with_logging", elsewhere());
tool!(LoggingTool, "test_logging_tool", elsewhere());
tool!(Defaults, "test_elicitation_sep1034_defaults", elsewhere());
tool!(Enums, "test_elicitation_sep1330_enums", elsewhere());
tool!(MissingCapability, "test_missing_capability", elsewhere());
tool!(BasicElicitation, "test_input_required_result_elicitation", elsewhere());
tool!(BasicSampling, "test_input_required_result_sampling", elsewhere());
tool!(BasicRoots, "test_input_required_result_list_roots", elsewhere());
tool!(MultipleInputs, "test_input_required_result_multiple_inputs", elsewhere());
tool!(Capabilities, "test_input_required_result_capabilities", elsewhere());

/// Every tool that Toolyard has, and these.
pub(crate) fn catalog() -> Catalog {
    let mut catalog = Catalog::standard();
    macro_rules! register {
        ($($tool:ty),* $(,)?) => { $(catalog.register::<$tool>(&DIALECT);)* };
    }
    register!(SimpleText, Image, Audio, Embedded, Mixed, Fails, Progress, Schema2020);
    register!(Elicitation, StreamingElicitation, RequestState, TamperedState, MultiRound);
    register!(Sampling, Logging, LoggingTool, Defaults, Enums, MissingCapability);
    register!(BasicElicitation, BasicSampling, BasicRoots, MultipleInputs, Capabilities);
    catalog
}
