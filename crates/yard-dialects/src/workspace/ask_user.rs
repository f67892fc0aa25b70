//! `ask_user`: asks a person questions, which are stored until they are answered (W15).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yard_core::{Fault, FaultCode, QuestionId, WsPath};
use yard_gate::{AskedQuestion, Awaited, Button, FormQuestion, Pending, QuestionForm};

use crate::tool::{Context, Hints, Stop, Tool};

/// Asks the user one to four questions at once, each answered by a value that keeps its JSON Schema.
/// Use it when a request is unclear, when several ways are open, or before something that cannot be
/// taken back. Answers `question_pending` with a `question_id` at once, or waits up to `wait_ms` for
/// the answers. Offer `buttons` for single choices only; several choices are an array schema without
/// buttons. To have a plan accepted, ask one question with exactly the choices Accept and Reject.
#[derive(Deserialize, JsonSchema)]
pub(super) struct AskUser {
    /// The questions.
    #[schemars(length(min = 1, max = 4))]
    questions: Vec<Asked>,
    /// Milliseconds to wait for the answers; 0 returns at once.
    #[serde(default)]
    wait_ms: u64,
}

/// One question.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
struct Asked {
    /// The name under which it is answered.
    name: String,
    /// Its words: specific, with what is needed to answer it.
    question: String,
    /// The JSON Schema of an answer, as an object or as a string that holds it.
    schema: Value,
    /// The choices to click, for a schema that is a string enum.
    #[serde(skip_serializing_if = "Option::is_none")]
    buttons: Option<Vec<Choice>>,
}

/// One choice.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
struct Choice {
    /// What it says.
    label: String,
    /// What it answers.
    value: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// `question_pending`, or `answered`.
    status: &'static str,
    /// The id under which the question is kept.
    question_id: String,
    /// The questions, with their schemas as objects.
    questions: Vec<Asked>,
    /// Once answered: the answers by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    answers: Option<Map<String, Value>>,
    /// Once answered: `button` or `text`.
    #[serde(skip_serializing_if = "Option::is_none")]
    via: Option<&'static str>,
    /// Until it is answered: where the answer will be.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip)]
    pending: Option<Pending>,
}

impl Tool for AskUser {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "ask_user";
    const HINTS: Hints = Hints::ADDS;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let items = args.questions.into_iter().map(FormQuestion::from).collect();
        let form =
            QuestionForm::check(items).map_err(|flaw| Stop::argument(&flaw.at, flaw.message))?;
        let asked = context.attempt.ask_question(form)?;
        reply(asked, Some(args.wait_ms), context)
    }

    fn pending(reply: &Reply) -> Option<Pending> {
        reply.pending.clone()
    }

    fn resume(pending: &Pending, context: &Context<'_>) -> Result<Reply, Stop> {
        let Awaited::Question(id) = pending.awaited else {
            let message = "this call waits for an approval, not for an answer";
            return Err(Fault::new(FaultCode::BadArgument, message).into());
        };
        reply(context.session().questions().get(id)?, pending.wait_ms, context)
    }
}

impl From<Asked> for FormQuestion {
    fn from(asked: Asked) -> Self {
        let button = |Choice { label, value }| Button { label, value };
        let buttons = asked.buttons.unwrap_or_default().into_iter().map(button).collect();
        Self { name: asked.name, question: asked.question, schema: asked.schema, buttons }
    }
}

impl From<&FormQuestion> for Asked {
    fn from(item: &FormQuestion) -> Self {
        let choice = |button: &Button| {
            let Button { label, value } = button.clone();
            Choice { label, value }
        };
        let buttons: Vec<Choice> = item.buttons.iter().map(choice).collect();
        Self {
            name: item.name.clone(),
            question: item.question.clone(),
            schema: item.schema.clone(),
            buttons: (!buttons.is_empty()).then_some(buttons),
        }
    }
}

fn reply(
    question: AskedQuestion,
    wait_ms: Option<u64>,
    context: &Context<'_>,
) -> Result<Reply, Stop> {
    let waits_for = |id: QuestionId| Pending { awaited: Awaited::Question(id), wait_ms };
    let pending = question.answer.is_none().then(|| waits_for(question.id));
    let message = match &pending {
        Some(_) => Some(where_the_answer_will_be(&question, context)?),
        None => None,
    };
    Ok(Reply {
        status: if pending.is_some() { "question_pending" } else { "answered" },
        question_id: question.id.to_string(),
        questions: question.form.questions().iter().map(Asked::from).collect(),
        via: question.answer.as_ref().map(|given| given.via.word()),
        answers: question.answer.map(|given| given.answers),
        message,
        pending,
    })
}

/// Where the agent will find the answer: in the transcript, and over HTTP also by a route.
fn where_the_answer_will_be(
    question: &AskedQuestion,
    context: &Context<'_>,
) -> Result<String, Stop> {
    let (id, chat) = (question.id, context.session().chats().get(question.chat)?);
    let over_http = match context.session().shows_host_paths() {
        true => String::new(),
        false => format!(", or GET /api/v1/workspaces/{{id}}/questions/{id}"),
    };
    let own = format!("/chats/{}", chat.name);
    let transcript = WsPath::parse(&own).map_or(own, |path| context.display(&path));
    Ok(format!(
        "no person has answered yet; later the answer is in {transcript}, under `answer to {id}`{over_http}"
    ))
}
