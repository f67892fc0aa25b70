//! What an approval allows beyond its call: a rule about the same effects, or the same changes to the same paths in its
//! chat. Nothing is decided or stored here.

use serde_json::{Value, json};
use yard_core::{Effect, EffectKind, Fault, FaultCode, Result, WsPath};
use yard_store::{Approval, ApprovalRequest, Decision, Grant, Scope};

use super::effect::{effect_of, has_more_paths, is_connection};
use crate::policy::presets::{APPROVED_CHANGES, ApprovedChange, EffectPart};
use crate::policy::rules::covered_kinds;
use crate::{Asks, Rule};

/// How many paths a saved rule may name.
const MAX_RULE_PATHS: usize = 50;

/// What an approval allows beyond this call.
pub(super) fn grant_of(
    approval: &Approval,
    decision: &Decision,
    asks: Asks,
    is_edited: bool,
    writing_rule: &str,
) -> Result<Option<Grant>> {
    if !decision.approves || decision.parts.is_some() {
        return Ok(None);
    }
    let effect = effect_of(&approval.request);
    if is_edited {
        // The person was shown other arguments than those that are executed: no rule can be derived from them.
        return match decision.scope {
            Scope::Once => Ok(None),
            Scope::Chat | Scope::Rule => Err(Fault::new(
                FaultCode::BadArgument,
                "a yes with other arguments is for this call only: leave the scope out",
            )),
        };
    }
    if decision.scope == Scope::Once {
        return Ok(grant_for_paths(approval, decision, &effect));
    }
    let rule = rule_of(approval, decision.scope, asks, &effect, writing_rule)?;
    Rule::parse(&rule).map_err(|error| Fault::new(FaultCode::BadArgument, error))?;
    let chat = (decision.scope == Scope::Chat).then_some(approval.chat);
    let (by, at) = (decision.by.clone(), decision.at);
    Ok(Some(Grant { chat, rule: rule.to_string(), by, at }))
}

/// The rule that an approval for the chat, or for all chats, saves.
fn rule_of(
    approval: &Approval,
    scope: Scope,
    asks: Asks,
    effect: &Effect,
    writing_rule: &str,
) -> Result<Value> {
    let ApprovalRequest { toolset, tool, .. } = &approval.request;
    let kinds = covered_kinds(asks, effect);
    let is_for_chat = scope == Scope::Chat;
    let whole = format!("{toolset}.{tool}");
    let hosts = || effect.dials.iter().map(|dial| globset::escape(&dial.host)).collect();
    let starts = effect.paths.iter().all(|one| one.kind == EffectKind::Run);
    Ok(if is_connection(effect) {
        Rule::allowing_commands(hosts())
    } else if effect.paths.is_empty() && !effect.dials.is_empty() {
        Rule::allowing_hosts(&kinds, &whole, hosts())
    } else if effect.paths.iter().any(|one| asks.always_asks_for(EffectPart::Path(one))) {
        let message = format!(
            "{toolset}.{tool} {}: leave the scope out, a yes is for this call",
            asks.about()
        );
        return Err(Fault::new(FaultCode::BadArgument, message));
    } else if is_for_chat && asks.is_remembered() {
        Rule::allowing(&kinds, &format!("{toolset}.*"), None)
    } else if is_for_chat || (asks == Asks::ToStart && starts) {
        // A rule about a start covers a start in any folder.
        Rule::allowing(&kinds, &whole, None)
    } else {
        let paths = exact_paths(approval, effect, writing_rule)?;
        Rule::allowing(&kinds, &whole, Some(paths))
    })
}

/// A grant of the same changes to the same paths, for the chat of the approval.
fn grant_for_paths(approval: &Approval, decision: &Decision, effect: &Effect) -> Option<Grant> {
    let changes = effect.paths.iter().filter_map(|one| {
        let change = ApprovedChange::of(one)?;
        Some(json!([change.word(), one.path.to_string()]))
    });
    let changes: Vec<Value> = changes.collect();
    if changes.is_empty() {
        return None;
    }
    let rule = json!({ APPROVED_CHANGES: changes }).to_string();
    let (by, at) = (decision.by.clone(), decision.at);
    Some(Grant { chat: Some(approval.chat), rule, by, at })
}

/// The paths of a request as globs that match nothing else.
fn exact_paths(approval: &Approval, effect: &Effect, writing_rule: &str) -> Result<Vec<String>> {
    let has_more = has_more_paths(&approval.request);
    let mut paths = effect.paths.iter().map(|one| one.path.to_string());
    // A path with a backslash cannot be escaped in a glob, and the root would cover everything.
    let has_unfit_path = paths.any(|path| path.contains('\\') || path == "/");
    if has_more || has_unfit_path || effect.paths.is_empty() || effect.paths.len() > MAX_RULE_PATHS
    {
        let message = format!(
            "a rule of its own names at most {MAX_RULE_PATHS} paths, each a plain text below the root: \
             approve this once or for the chat, or write a rule{writing_rule}"
        );
        return Err(Fault::new(FaultCode::BadArgument, message));
    }
    let glob = |path: &WsPath, with_contents: bool| {
        let exact = globset::escape(&path.to_string());
        if with_contents { format!("{}/**", exact.trim_end_matches('/')) } else { exact }
    };
    Ok(effect.paths.iter().map(|one| glob(&one.path, one.with_contents)).collect())
}
