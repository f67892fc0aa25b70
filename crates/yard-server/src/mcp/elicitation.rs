//! Asks a person through the client (elicitation), and turns the answer into a decision on an approval or the
//! answers to a question. Whether the answer counts as a person's is decided by the caller's transport.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use serde_json::{Map, Value, json};
use yard_core::invisible::{by_number, line_by_number};
use yard_core::{ApprovalId, Call, ContentHash, Fault, FaultCode, Result};
use yard_dialects::Catalog;
use yard_gate::{
    Approval, AskedQuestion, Awaited, Choice, DecisionInput, FormQuestion, Pending, Scope, Session,
    Via, effect_lines,
};

/// The longest request that a dialog shows, in bytes. A longer one cannot be approved there.
const SHOWN_BYTES: usize = 16 << 10;

const ONCE: &str = "Allow once";
const CHAT: &str = "Allow for this chat";
const DENY: &str = "Deny";

/// The outcome of an elicitation.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PersonAnswer {
    /// The person has decided or answered: the call can be resumed.
    Given,
    /// The person did neither: the call still waits.
    None,
}

/// A form, and the hash of the request that it shows.
pub(super) struct Form {
    pub(super) params: ElicitRequestParams,
    /// `None` for a question.
    pub(super) shown: Option<ContentHash>,
}

/// How a person is asked.
pub(super) enum PersonPrompt {
    /// By a form of the client, which returns the answer.
    Form(Form),
    /// By a page of this server, which the client opens: the answer does not come back through the client.
    Page(ElicitRequestParams),
}

impl PersonPrompt {
    /// The elicitation request to the client.
    pub(super) fn params(self) -> ElicitRequestParams {
        match self {
            Self::Form(Form { params, .. }) | Self::Page(params) => params,
        }
    }

    /// The hash of the request that it shows.
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

/// The form to show; `None` if no form of the protocol can show it.
pub(super) fn form(pending: &Pending, person: &Session) -> Result<Option<Form>> {
    let (message, schema, shown) = match &pending.awaited {
        Awaited::Approval(id) => {
            let approval = person.approvals().get(*id)?;
            let (message, is_whole) = describe_approval(&approval);
            (message, approval_schema(is_whole), Some(approval.request.state))
        }
        Awaited::Question(id) => {
            let question = person.questions().get(*id)?;
            (describe_question(&question), question_schema(&question), None)
        }
    };
    // The SDK's type accepts flat schemas only, as the protocol does; others need another channel.
    let schema: Option<ElicitationSchema> = serde_json::from_value(schema).ok();
    Ok(schema.map(|requested_schema| {
        let params =
            ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        Form { params, shown }
    }))
}

/// What a person was asked.
pub(super) struct Asked {
    /// What waits for the answer.
    pub(super) pending: Pending,
    /// The hash of the request that the person was shown: their decision counts only for that.
    pub(super) shown: Option<ContentHash>,
}

/// Whether the answer of a person allows a call.
pub(super) fn is_yes(asked: &Asked, result: &ElicitResult) -> bool {
    let word = result.content.as_ref().and_then(|content| content["decision"].as_str());
    matches!(asked.pending.awaited, Awaited::Approval(_))
        && matches!((&result.action, word), (ElicitationAction::Accept, Some(ONCE | CHAT)))
}

/// Applies the answer of a person.
pub(super) fn apply(
    catalog: &Catalog,
    person: &Session,
    call: &Call,
    asked: &Asked,
    result: &ElicitResult,
) -> Result<PersonAnswer> {
    match &asked.pending.awaited {
        Awaited::Approval(id) => {
            let shown = asked.shown.ok_or_else(|| not_shown(*id))?;
            let Some(decision) = decision(result, shown)? else { return Ok(PersonAnswer::None) };
            let approval = person.approvals().get(*id)?;
            if decision.approves && !describe_approval(&approval).1 {
                return Err(not_shown(*id));
            }
            catalog.decide(*id, &decision, person, call).map(|_| PersonAnswer::Given)
        }
        Awaited::Question(id) => {
            let (ElicitationAction::Accept, Some(Value::Object(answers))) =
                (&result.action, &result.content)
            else {
                return Ok(PersonAnswer::None);
            };
            let question = person.questions().get(*id)?;
            let clicked = question.form.questions().iter().all(|item| !item.choices().is_empty());
            let via = if clicked { Via::Button } else { Via::Text };
            person.questions().answer(call, *id, answers, via).map(|_| PersonAnswer::Given)
        }
    }
}

/// The fault for approving a request that the dialog did not show as a whole.
fn not_shown(id: ApprovalId) -> Fault {
    let message = format!(
        "approval {id} was not shown as a whole, and cannot be approved here: `toolyard approve {id}` shows it"
    );
    Fault::new(FaultCode::Denied, message)
}

/// The decision; `None` if the person closed the dialog.
fn decision(result: &ElicitResult, state: ContentHash) -> Result<Option<DecisionInput>> {
    let content = result.content.as_ref();
    let text = |name: &str| content.and_then(|content| content[name].as_str());
    let reason = text("reason").map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let decision = |approves, scope| {
        Ok(Some(DecisionInput {
            approves,
            scope,
            reason: reason.clone(),
            args: None,
            state,
            planned: None,
            parts: None,
        }))
    };
    match (&result.action, text("decision")) {
        (ElicitationAction::Accept, Some(ONCE)) => decision(true, Scope::Once),
        (ElicitationAction::Accept, Some(CHAT)) => decision(true, Scope::Chat),
        (ElicitationAction::Accept, Some(DENY)) | (ElicitationAction::Decline, _) => {
            decision(false, Scope::Once)
        }
        (ElicitationAction::Accept, other) => {
            let message = format!(
                "the client sent no decision: expected one of {ONCE:?}, {CHAT:?}, {DENY:?}, got {other:?}"
            );
            Err(Fault::new(FaultCode::BadArgument, message))
        }
        // Any other action, also an unknown one, is no decision.
        _ => Ok(None),
    }
}

/// The possible decisions: an approval only where the form shows the whole request.
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

/// The text of a request, and whether that is the whole of it.
fn describe_approval(approval: &Approval) -> (String, bool) {
    let request = &approval.request;
    let mut lines = vec![format!("{}.{}: {}", request.toolset, request.tool, request.reason)];
    lines.extend(request.root.as_ref().map(|root| format!("in the root {root}")));
    lines.extend(effect_lines(approval).iter().map(|(kind, what)| format!("  {kind} {what}")));
    match request.diff.is_empty() {
        true => lines.push(format!("arguments: {}", request.args)),
        false => lines.push(request.diff.clone()),
    }
    // A client may show the text in a terminal, and what cannot be seen in it must not hide from the person.
    let text = by_number(&lines.join("\n")).into_owned();
    let end = text.floor_char_boundary(SHOWN_BYTES);
    let id = approval.id;
    match text.len() - end {
        0 => (format!("{text}\n(approval {id})"), true),
        rest => {
            let cut = format!(
                "{}\n… {rest} bytes more, so that it cannot be approved here: `toolyard approve {id}` \
                 shows all of it",
                &text[..end]
            );
            (cut, false)
        }
    }
}

fn describe_question(question: &AskedQuestion) -> String {
    let items = question.form.questions();
    let mut lines: Vec<String> = items.iter().map(|item| item.question.clone()).collect();
    lines.extend(question.plan().map(|(path, _)| format!("(Accept is for the plan {path})")));
    by_number(&lines.join("\n")).into_owned()
}

/// The questions as properties of one object, each with its text.
fn question_schema(question: &AskedQuestion) -> Value {
    let items = question.form.questions();
    let property = |item: &FormQuestion| {
        let mut schema = item.schema.clone();
        if let Value::Object(members) = &mut schema {
            // Names and values stay as they are, because the answer is made of them.
            for (text, otherwise) in [("title", &item.name), ("description", &item.question)] {
                let shown = members.get(text).and_then(Value::as_str).unwrap_or(otherwise);
                let shown = by_number(shown).into_owned();
                members.insert(text.to_owned(), shown.into());
            }
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

/// The labels of an enum's values, where the buttons show other texts than their answers.
fn labels(item: &FormQuestion) -> Option<Vec<String>> {
    let choices = item.choices();
    let is_plain = |choice: &Choice| *line_by_number(&choice.label) == choice.answer;
    if choices.iter().all(is_plain) {
        return None;
    }
    let label = |value: &Value| {
        let choice =
            choices.iter().find(|choice| Some(choice.answer.as_str()) == value.as_str())?;
        Some(line_by_number(&choice.label).into_owned())
    };
    item.schema["enum"].as_array()?.iter().map(label).collect()
}
