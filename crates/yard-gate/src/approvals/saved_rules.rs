//! What a yes for more than one call would save, so that a person sees the rule before it counts. Nothing is decided here.

use serde_json::Value;
use yard_core::{Call, Fault, FaultCode, Result};
use yard_store::{Approval, Decision, Scope};

use super::Approvals;
use super::grants::grant_of;
use crate::Asks;

/// The rule that a yes with one scope would save.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulePreview {
    /// The scope of the yes.
    pub scope: Scope,
    /// The rule, or why there is no yes with that scope.
    pub rule: std::result::Result<Value, String>,
}

impl Approvals<'_> {
    /// The rules that a yes for the chat, and one for all chats, would save.
    pub fn rule_previews(
        &self,
        call: &Call,
        approval: &Approval,
        asks: Asks,
    ) -> Result<Vec<RulePreview>> {
        self.check_may_decide(call, approval.id)?;
        let preview = |scope| {
            let rule = self.previewed(call, approval, asks, scope);
            RulePreview { scope, rule: rule.map_err(|fault| fault.message().to_owned()) }
        };
        Ok([Scope::Chat, Scope::Rule].map(preview).into())
    }

    fn previewed(
        &self,
        call: &Call,
        approval: &Approval,
        asks: Asks,
        scope: Scope,
    ) -> Result<Value> {
        let at = call.world().now();
        let by = self.0.actor().name();
        let yes = Decision { approves: true, scope, parts: None, reason: None, by, at };
        let is_edited = approval.edited_args.is_some();
        let writing_rule = self.0.open().hints.writing_rule;
        let grant = grant_of(approval, &yes, asks, is_edited, writing_rule)?;
        let none = || Fault::new(FaultCode::BadArgument, "a yes to this call saves no rule");
        let rule = grant.ok_or_else(none)?.rule;
        serde_json::from_str(&rule).map_err(|_| none())
    }
}
