//! The read restrictions of a session's caller. Nothing here is about changes.

use std::sync::Arc;

use serde_json::{Value, json};
use yard_core::{Call, EffectKind, ReadAccess, Result, WsPath};
use yard_store::NewTurn;

use super::Session;
use crate::policy::read_restrictions::ReadRestrictions;
use crate::transcript::visibility::{TouchedPaths, with_about};
use crate::{Asks, Origin};

/// The origin of reads for no particular tool. Rules that name tools do not match it.
pub(crate) const ANY_TOOL: Origin<'static> = Origin { toolset: "*", tool: "*", asks: Asks::Never };

impl Session {
    /// The read restrictions of a tool of this session; `None` if it has none.
    pub(crate) fn read_restrictions(
        &self,
        origin: Origin<'_>,
        call: &Call,
    ) -> Result<Option<ReadRestrictions>> {
        let policy = self.open().policy(call)?;
        if policy.is_empty() {
            return Ok(None);
        }
        let Some(restrictions) = ReadRestrictions::from_policy(&policy, origin) else {
            return Ok(None);
        };
        if !restrictions.asks() {
            return Ok(Some(restrictions));
        }
        let granted = self.allowed_in_chat()?.rules.into_iter().chain(policy.saved.iter().cloned());
        let granted = granted.filter(|rule| rule.is_about_kind(EffectKind::Read, origin));
        Ok(Some(restrictions.with_grants(granted)))
    }

    /// The same call with the read restrictions of its caller.
    pub(crate) fn restricted_call(&self, origin: Origin<'_>, call: &Call) -> Result<Call> {
        let restrictions = self.read_restrictions(origin, call)?;
        let reading =
            restrictions.map(|restrictions| Arc::new(restrictions) as Arc<dyn ReadAccess>);
        Ok(call.clone().with_read_access(reading))
    }

    /// Files that rules withhold from tools although git tracks them, so that the objects of git hold their contents.
    pub fn withheld_and_tracked(&self, call: &Call) -> Result<Vec<WsPath>> {
        let call = self.restricted_call(ANY_TOOL, call)?;
        self.open().workspace.withheld_and_tracked(&call)
    }

    /// A note of this caller's read restrictions, to be stored with an answer.
    pub fn reading_note(&self, call: &Call) -> Result<String> {
        let restrictions = self.read_restrictions(ANY_TOOL, call)?;
        Ok(restrictions
            .map_or_else(|| no_restrictions().to_string(), |restrictions| restrictions.note()))
    }

    /// Whether this caller may still see an answer that was stored with a note.
    pub fn may_see_stored_answer(&self, call: &Call, note: &str) -> Result<bool> {
        let restrictions = self.read_restrictions(ANY_TOOL, call)?;
        Ok(restrictions.is_none_or(|restrictions| restrictions.may_see(note)))
    }

    /// A turn of a transcript, with the paths by which it is decided later who may see it. `touched` are the paths of its
    /// call; without them the turn is about everything that its caller could read.
    pub(crate) fn with_about(
        &self,
        origin: Origin<'_>,
        call: &Call,
        turn: NewTurn,
        touched: Option<&TouchedPaths>,
    ) -> NewTurn {
        let Ok(restrictions) = self.read_restrictions(origin, call) else { return turn };
        let mut about: Value = match restrictions {
            Some(restrictions) => serde_json::from_str(&restrictions.note()).unwrap_or_default(),
            None => no_restrictions(),
        };
        match touched {
            Some(touched) => touched.describe(&mut about),
            None => about["wide"] = json!(true),
        }
        with_about(turn, about)
    }
}

fn no_restrictions() -> Value {
    json!({"withheld": [], "allowed": []})
}
