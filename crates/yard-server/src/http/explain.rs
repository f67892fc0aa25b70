//! What would happen with a call, over HTTP: which rule, preset or mode decides, and why. Nothing is done.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use yard_gate::{ExplainedEffect, Verdict};

use super::chats;
use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::tools;

/// The toolset, unless the request names another one.
/// How many effects an answer lists.
const MAX_EFFECTS: usize = 200;

/// A call of an agent.
#[derive(Deserialize, JsonSchema)]
pub(super) struct CallToExplain {
    /// The toolset (default `workspace`).
    toolset: Option<String>,
    /// The tool.
    tool: String,
    /// Its arguments.
    args: Map<String, Value>,
    /// The chat that the call would belong to: its mode counts, and what people allowed in it.
    chat_id: Option<String>,
}

/// What would happen.
#[derive(Serialize, JsonSchema)]
pub(super) struct Explanation {
    /// `allow`, `ask` or `deny`: the strictest of what is decided about each effect.
    decision: &'static str,
    /// The effects, each with `kind` and `path`, or `kind` and `asked` for what is asked of other hosts; the decisive ones
    /// first.
    effect: Vec<Value>,
    /// How many effects are left out.
    more: usize,
    /// The rule that decides, as `GET .../policy` lists it; null where no rule does.
    rule: Option<Value>,
    /// The place of the rule in the list, from 1.
    rule_number: Option<usize>,
    /// What decides, in words.
    why: String,
    /// What the agent would be told, if the call is not simply done.
    message: Option<String>,
}

/// An explanation, by name.
#[derive(Serialize, JsonSchema)]
pub(super) struct OneExplanation {
    explanation: Explanation,
}

fn word_and_message(verdict: &Verdict) -> (&'static str, Option<&str>) {
    match verdict {
        Verdict::Allow => ("allow", None),
        Verdict::Ask(reason) => ("ask", Some(reason)),
        Verdict::Deny(reason) => ("deny", Some(reason)),
    }
}

fn strictness(explained: &ExplainedEffect) -> u8 {
    match explained.verdict {
        Verdict::Allow => 0,
        Verdict::Ask(_) => 1,
        Verdict::Deny(_) => 2,
    }
}

fn effects(explained: &ExplainedEffect) -> impl Iterator<Item = Value> {
    let paths = explained.effect.paths.iter();
    let paths =
        paths.map(|effect| json!({"kind": effect.kind.word(), "path": effect.path.to_string()}));
    let dials = explained.effect.dials.iter();
    paths.chain(dials.map(|dial| json!({"kind": dial.kind.word(), "asked": dial.asked})))
}

/// What is explained of a call, as one answer. `rules` are those of the policy.
fn summary(mut explained: Vec<ExplainedEffect>, rules: &[Value]) -> Explanation {
    explained.sort_by_key(|one| std::cmp::Reverse(strictness(one)));
    let count: usize = explained.iter().map(|one| effects(one).count()).sum();
    let effect: Vec<Value> = explained.iter().flat_map(effects).take(MAX_EFFECTS).collect();
    let Some(decisive) = explained.first() else {
        let why = "nothing happens, so nothing decides".to_owned();
        return Explanation {
            decision: "allow",
            effect,
            more: 0,
            rule: None,
            rule_number: None,
            why,
            message: None,
        };
    };
    let (decision, message) = word_and_message(&decisive.verdict);
    Explanation {
        decision,
        more: count - effect.len(),
        effect,
        rule: decisive.rule.and_then(|at| rules.get(at).cloned()),
        rule_number: decisive.rule.map(|at| at + 1),
        why: decisive.because.clone(),
        message: message.map(str::to_owned),
    }
}

pub(super) fn explain(request: &HttpRequest) -> Result<Reply, Problem> {
    let CallToExplain { toolset, tool, args, chat_id } = request.json()?;
    let toolset = toolset.as_deref().unwrap_or(tools::TOOLSET);
    let (catalog, session) = (&request.app.catalog, request.session()?);
    if catalog.get(toolset, &tool).is_none() {
        return Err(Problem::invalid("tool", catalog.unknown_tool_message(toolset, &tool)));
    }
    let chat = chat_id.as_deref().map(chats::id).transpose()?;
    let agent = session.agent_to_explain(chat)?;
    let call = request.call.clone().within_millis(session.limits().call_millis);
    let rules = session.settings()?.rules;
    match catalog.explain(toolset, &tool, Value::Object(args), &agent, &call) {
        Ok(explained) => Reply::ok(&OneExplanation { explanation: summary(explained, &rules) }),
        // The call would fail before anything is decided.
        Err(answer) => Err(Problem::invalid("args", answer.failure_message())),
    }
}
