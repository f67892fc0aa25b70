//! What a person is asked through the client (elicitation), and what their word becomes: a decision on an
//! approval, or the answers to a question. It counts as a person's word only where the seat says so.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Map, Value, json};
use yard_core::{ApprovalId, Call, ContentHash, Fault, FaultCode, Result};
use yard_dialects::Catalog;
use yard_gate::{
    Approval, AskedQuestion, Awaited, Item, Pending, Ruling, Scope, Session, Via, effect_words,
};

/// Bytes of a request that a person reads in a dialog: a longer one cannot be approved there.
const SHOWN_BYTES: usize = 16 << 10;

const ONCE: &str = "Allow once";
const CHAT: &str = "Allow for this chat";
const DENY: &str = "Deny";

/// What came of asking.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The person has spoken: the call can be resumed.
    Given,
    /// The person said nothing; it waits on.
    None,
}

/// A form, and the state of the request that it shows.
pub(super) struct Form {
    pub(super) params: ElicitRequestParams,
    /// Nothing, where a question is asked.
    pub(super) shown: Option<ContentHash>,
}

/// How a person is asked.
pub(super) enum Asking {
    /// By a form of the client, which brings back what they said.
    Form(Form),
    /// By a page of ours, which the client sends them to: what they said does not come back this way.
    Page(ElicitRequestParams),
}

impl Asking {
    /// What the client is asked to do.
    pub(super) fn params(self) -> ElicitRequestParams {
        match self {
            Self::Form(Form { params, .. }) | Self::Page(params) => params,
        }
    }

    /// The state of the request that it shows.
    pub(super) fn shown(&self) -> Option<ContentHash> {
        match self {
            Self::Form(form) => form.shown,
            Self::Page(_) => None,
        }
    }
}

/// Sends a person to the page at `url`.
pub(super) fn page(pending: &Pending, url: String) -> ElicitRequestParams {
    let message = match &pending.awaited {
        Awaited::Approval(_) => "A person has to approve what the agent wants to do",
        Awaited::Question(_) => "The agent asks a person",
    };
    let message = format!("{message}. Log in on this page to see it and to decide.");
    let elicitation_id = pending.awaited.id();
    ElicitRequestParams::UrlElicitationParams { meta: None, message, url, elicitation_id }
}

/// What to ask; `None` if no form of the protocol can ask it.
pub(super) fn form(pending: &Pending, person: &Session) -> Result<Option<Form>> {
    let (message, schema, shown) = match &pending.awaited {
        Awaited::Approval(id) => {
            let approval = person.approvals().get(*id)?;
            let (message, is_whole) = approval_told(&approval);
            (message, approval_schema(is_whole), Some(approval.request.state))
        }
        Awaited::Question(id) => {
            let question = person.questions().get(*id)?;
            (question_told(&question), question_schema(&question), None)
        }
    };
    // The type knows what the protocol calls flat; anything else is asked elsewhere.
    let schema: Option<ElicitationSchema> = serde_json::from_value(schema).ok();
    Ok(schema.map(|requested_schema| {
        let params =
            ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        Form { params, shown }
    }))
}

/// Does what the person said, who was shown a request in the state `shown`.
pub(super) fn settle(
    catalog: &Catalog,
    person: &Session,
    call: &Call,
    pending: &Pending,
    shown: Option<ContentHash>,
    said: &ElicitResult,
) -> Result<Word> {
    match &pending.awaited {
        Awaited::Approval(id) => {
            let shown = shown.ok_or_else(|| not_shown(*id))?;
            let Some(ruling) = ruling(said, shown)? else { return Ok(Word::None) };
            let approval = person.approvals().get(*id)?;
            if ruling.approves && !approval_told(&approval).1 {
                return Err(not_shown(*id));
            }
            catalog.decide(*id, &ruling, person, call).map(|_| Word::Given)
        }
        Awaited::Question(id) => {
            let (ElicitationAction::Accept, Some(Value::Object(answers))) =
                (&said.action, &said.content)
            else {
                return Ok(Word::None);
            };
            let question = person.questions().get(*id)?;
            let clicked = question.form.items().iter().all(|item| !item.choices().is_empty());
            let via = if clicked { Via::Button } else { Via::Text };
            person.questions().answer(call, *id, answers, via).map(|_| Word::Given)
        }
    }
}

/// A yes to something of which the dialog could not show all.
fn not_shown(id: ApprovalId) -> Fault {
    let message = format!(
        "approval {id} was not shown as a whole, and cannot be approved here: `toolyard approve {id}` shows it"
    );
    Fault::new(FaultCode::Denied, message)
}

/// A yes or a no; `None` if the person turned away.
fn ruling(said: &ElicitResult, state: ContentHash) -> Result<Option<Ruling>> {
    let content = said.content.as_ref();
    let text = |name: &str| content.and_then(|content| content[name].as_str());
    let reason = text("reason").map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let ruling = |approves, scope| {
        Ok(Some(Ruling { approves, scope, reason: reason.clone(), args: None, state }))
    };
    match (&said.action, text("decision")) {
        (ElicitationAction::Accept, Some(ONCE)) => ruling(true, Scope::Once),
        (ElicitationAction::Accept, Some(CHAT)) => ruling(true, Scope::Chat),
        (ElicitationAction::Accept, Some(DENY)) | (ElicitationAction::Decline, _) => {
            ruling(false, Scope::Once)
        }
        (ElicitationAction::Accept, other) => {
            let message = format!(
                "the client sent no decision: expected one of {ONCE:?}, {CHAT:?}, {DENY:?}, got {other:?}"
            );
            Err(Fault::new(FaultCode::BadArgument, message))
        }
        // Whoever turned away, in words that are known or not, has not decided.
        _ => Ok(None),
    }
}

/// What can be decided: a yes only where all of the request is shown.
fn approval_schema(is_whole: bool) -> Value {
    let decisions: &[&str] = if is_whole { &[ONCE, CHAT, DENY] } else { &[DENY] };
    json!({
        "type": "object",
        "properties": {
            "decision": {"type": "string", "title": "Decision", "enum": decisions},
            "reason": {"type": "string", "title": "A word to the agent",
                "description": "Optional; the agent reads it."},
        },
        "required": ["decision"],
    })
}

/// A request in words, and whether that is all of it.
fn approval_told(approval: &Approval) -> (String, bool) {
    let request = &approval.request;
    let mut lines = vec![format!("{}.{}: {}", request.toolset, request.tool, request.reason)];
    lines.extend(request.root.as_ref().map(|root| format!("in the root {root}")));
    lines.extend(effect_words(approval).iter().map(|(kind, what)| format!("  {kind} {what}")));
    match request.diff.is_empty() {
        true => lines.push(format!("arguments: {}", request.args)),
        false => lines.push(request.diff.clone()),
    }
    let told = lines.join("\n");
    let end = told.floor_char_boundary(SHOWN_BYTES);
    let id = approval.id;
    match told.len() - end {
        0 => (format!("{told}\n(approval {id})"), true),
        rest => {
            let cut = format!(
                "{}\n… {rest} bytes more, so that it cannot be approved here: `toolyard approve {id}` \
                 shows all of it",
                &told[..end]
            );
            (cut, false)
        }
    }
}

fn question_told(question: &AskedQuestion) -> String {
    let items = question.form.items();
    items.iter().map(|item| item.question.as_str()).collect::<Vec<_>>().join("\n")
}

/// The questions as properties of one object, each with its words.
fn question_schema(question: &AskedQuestion) -> Value {
    let items = question.form.items();
    let property = |item: &Item| {
        let mut schema = item.schema.clone();
        if let Value::Object(members) = &mut schema {
            members.entry("title").or_insert_with(|| item.name.clone().into());
            members.entry("description").or_insert_with(|| item.question.clone().into());
            if let Some(labels) = labels(item) {
                members.insert("enumNames".to_owned(), labels.into());
            }
        }
        (item.name.clone(), schema)
    };
    let properties: Map<String, Value> = items.iter().map(property).collect();
    let required: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// What the values of an enum are called, where the buttons of all of them say something else than they answer.
fn labels(item: &Item) -> Option<Vec<String>> {
    let choices = item.choices();
    if choices.iter().all(|choice| choice.label == choice.answer) {
        return None;
    }
    let label = |value: &Value| {
        let choice =
            choices.iter().find(|choice| Some(choice.answer.as_str()) == value.as_str())?;
        Some(choice.label.clone())
    };
    item.schema["enum"].as_array()?.iter().map(label).collect()
}
