//! Questions over HTTP (W15): agents ask with a tool, people list and answer them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yard_gate::{AskedQuestion, QuestionFilter, Via};

use super::chats;
use super::paging::Paging;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::word::Word;

/// Whether a question waits.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Status {
    /// It does.
    Pending,
    /// It was answered.
    Answered,
}

/// Which questions.
#[derive(Deserialize, JsonSchema)]
pub(super) struct QuestionsQuery {
    /// Only those that wait, or only those that were answered.
    status: Option<Status>,
    /// Only those of this chat.
    chat_id: Option<String>,
    /// At most that many, 1 to 1,000 (default 100).
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<usize>,
    /// Where to go on: the `next` of the answer before.
    cursor: Option<String>,
}

/// An answer.
#[derive(Deserialize, JsonSchema)]
pub(super) struct NewAnswer {
    /// By the questions' names.
    answers: Map<String, Value>,
    /// Whether a choice was clicked or the answer typed.
    via: Word<Via>,
}

/// The plan that a question asks to accept. Accept is good for this content alone: show it, and nothing newer.
#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct AskedPlan {
    path: String,
    /// SHA-256 of its content.
    hash: String,
}

/// A question, answered or not.
#[derive(Clone, Serialize, JsonSchema)]
pub(super) struct QuestionRow {
    id: String,
    chat_id: String,
    /// `pending` or `answered`.
    status: &'static str,
    /// Who asked, as `person:ID` or `key:ID`.
    asked_by: String,
    asked_at: String,
    /// One to four, each with `name`, `question`, `schema` and, if there are any, `buttons`.
    questions: Vec<Value>,
    /// The plan that Accept is for, if the question asks for one.
    #[serde(skip_serializing_if = "Option::is_none")]
    plan: Option<AskedPlan>,
    /// By name.
    answers: Option<Map<String, Value>>,
    answered_by: Option<String>,
    answered_at: Option<String>,
    /// `button` or `text`.
    via: Option<&'static str>,
}

impl From<&AskedQuestion> for QuestionRow {
    fn from(question: &AskedQuestion) -> Self {
        let given = question.answer.as_ref();
        let items = question.form.questions().iter();
        Self {
            id: question.id.to_string(),
            chat_id: question.chat.to_string(),
            status: if given.is_some() { "answered" } else { "pending" },
            asked_by: question.asked_by.clone(),
            asked_at: question.at.to_string(),
            questions: items.filter_map(|item| serde_json::to_value(item).ok()).collect(),
            plan: question
                .plan()
                .map(|(path, hash)| AskedPlan { path: path.to_string(), hash: hash.to_string() }),
            answers: given.map(|given| given.answers.clone()),
            answered_by: given.map(|given| given.by.clone()),
            answered_at: given.map(|given| given.at.to_string()),
            via: given.map(|given| given.via.word()),
        }
    }
}

/// A question: its fields, and the same once more by name, as every other answer has it.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneQuestion {
    #[serde(flatten)]
    fields: QuestionRow,
    question: QuestionRow,
}

impl From<&AskedQuestion> for OneQuestion {
    fn from(question: &AskedQuestion) -> Self {
        let row = QuestionRow::from(question);
        Self { fields: row.clone(), question: row }
    }
}

/// Questions, newest first.
#[derive(Serialize, JsonSchema)]
pub(super) struct QuestionList {
    questions: Vec<QuestionRow>,
    /// Older ones remain: send this as `cursor`.
    next: Option<String>,
}

pub(super) fn list(request: &HttpRequest) -> Result<Reply, Problem> {
    let QuestionsQuery { status, chat_id, limit, cursor } = request.query()?;
    let paging = Paging { limit, cursor };
    let filter = QuestionFilter {
        answered: status.map(|status| matches!(status, Status::Answered)),
        asked_by: None,
        chat: chat_id.as_deref().map(chats::id).transpose()?,
    };
    let session = request.session()?;
    let page = session.questions().list(filter, paging.cursor()?, paging.limit()?)?;
    let next = page.rows.last().filter(|_| page.truncated).map(|row| row.id.to_string());
    Reply::ok(&QuestionList { questions: page.rows.iter().map(QuestionRow::from).collect(), next })
}

pub(super) fn read(request: &HttpRequest) -> Result<Reply, Problem> {
    let question = request.session()?.questions().get(request.id("question_id", "question")?)?;
    Reply::ok(&OneQuestion::from(&question))
}

pub(super) fn answer(request: &HttpRequest) -> Result<Reply, Problem> {
    let NewAnswer { answers, via: Word(via) } = request.json()?;
    let id = request.id("question_id", "question")?;
    let question = request.session()?.questions().answer(&request.call, id, &answers, via)?;
    Reply::ok(&OneQuestion::from(&question))
}
