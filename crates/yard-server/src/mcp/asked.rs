//! What a person is asked through the client (elicitation), and what their word becomes: a decision on an
//! approval, or the answers to a question. It counts as a person's word only where the seat says so.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Map, Value, json};
use yard_core::{Call, Fault, FaultCode, Result};
use yard_dialects::Catalog;
use yard_gate::{Approval, Awaited, Pending, Question, Ruling, Scope, Session, Via, effects_told};

/// Bytes of a diff that a person reads in a dialog.
const DIFF_BYTES: usize = 4 << 10;
/// Effects that a dialog names.
const EFFECTS: usize = 20;

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

/// How a person is asked.
pub(super) enum Asking {
    /// By a form of the client, which brings back what they said.
    Form(ElicitRequestParams),
    /// By a page of ours, which the client sends them to: what they said does not come back this way.
    Page(ElicitRequestParams),
}

impl Asking {
    /// What the client is asked to do.
    pub(super) fn params(self) -> ElicitRequestParams {
        match self {
            Self::Form(params) | Self::Page(params) => params,
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
pub(super) fn form(pending: &Pending, person: &Session) -> Result<Option<ElicitRequestParams>> {
    let (message, schema) = match &pending.awaited {
        Awaited::Approval(id) => {
            let approval = person.approvals().get(*id)?;
            (approval_told(&approval), approval_schema())
        }
        Awaited::Question(id) => {
            let question = person.questions().get(*id)?;
            (question_told(&question), question_schema(&question))
        }
    };
    // The type knows what the protocol calls flat; anything else is asked elsewhere.
    let schema: Option<ElicitationSchema> = serde_json::from_value(schema).ok();
    Ok(schema.map(|requested_schema| ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema,
    }))
}

/// Does what the person said.
pub(super) fn settle(
    catalog: &Catalog,
    person: &Session,
    call: &Call,
    pending: &Pending,
    said: &ElicitResult,
) -> Result<Word> {
    match &pending.awaited {
        Awaited::Approval(id) => {
            let Some(ruling) = ruling(said)? else { return Ok(Word::None) };
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

/// A yes or a no; `None` if the person turned away.
fn ruling(said: &ElicitResult) -> Result<Option<Ruling>> {
    let content = said.content.as_ref();
    let text = |name: &str| content.and_then(|content| content[name].as_str());
    let reason = text("reason").map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let ruling = |approves, scope| {
        Ok(Some(Ruling { approves, scope, reason: reason.clone(), args: None, state: None }))
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

fn approval_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "decision": {"type": "string", "title": "Decision", "enum": [ONCE, CHAT, DENY]},
            "reason": {"type": "string", "title": "A word to the agent",
                "description": "Optional; the agent reads it."},
        },
        "required": ["decision"],
    })
}

fn approval_told(approval: &Approval) -> String {
    let request = &approval.request;
    let mut lines = vec![format!("{}.{}: {}", request.toolset, request.tool, request.reason)];
    lines.extend(request.root.as_ref().map(|root| format!("in the root {root}")));
    let effects = effects_told(approval);
    let named = effects.iter().take(EFFECTS).map(|(kind, what)| format!("  {kind} {what}"));
    lines.extend(named);
    if effects.len() > EFFECTS {
        lines.push(format!("  and {} more", effects.len() - EFFECTS));
    }
    match request.diff.is_empty() {
        true => lines.push(format!("arguments: {}", bounded(&request.args))),
        false => lines.push(bounded(&request.diff)),
    }
    lines.push(format!("(approval {})", approval.id));
    lines.join("\n")
}

fn bounded(text: &str) -> String {
    let end = text.floor_char_boundary(DIFF_BYTES.min(text.len()));
    match text.len() - end {
        0 => text.to_owned(),
        rest => format!("{}\n… {rest} bytes more: `toolyard approve` shows all", &text[..end]),
    }
}

fn question_told(question: &Question) -> String {
    let items = question.form.items();
    items.iter().map(|item| item.question.as_str()).collect::<Vec<_>>().join("\n")
}

/// The questions as properties of one object, each with its words.
fn question_schema(question: &Question) -> Value {
    let items = question.form.items();
    let property = |item: &yard_gate::Item| {
        let mut schema = item.schema.clone();
        if let Value::Object(members) = &mut schema {
            members.entry("title").or_insert_with(|| item.name.clone().into());
            members.entry("description").or_insert_with(|| item.question.clone().into());
        }
        (item.name.clone(), schema)
    };
    let properties: Map<String, Value> = items.iter().map(property).collect();
    let required: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
    json!({"type": "object", "properties": properties, "required": required})
}
