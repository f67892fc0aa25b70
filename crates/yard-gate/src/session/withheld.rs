//! What the rules withhold from the reading of one session's caller. It decides nothing about what may be changed.

use std::sync::Arc;

use serde_json::{Value, json};
use yard_core::{Call, EffectKind, ReadAccess, Result, WsPath};
use yard_store::NewTurn;

use super::Session;
use crate::reading::{Touched, Withheld, with_about};
use crate::{Asks, Origin};

/// Stands for every tool of every dialect: rules that name tools are not about it.
const ANY_TOOL: Origin<'static> = Origin { toolset: "*", tool: "*", asks: Asks::Never };

impl Session {
    /// What the rules withhold from a tool of this session; `None` where that is nothing.
    pub(crate) fn withheld(&self, origin: Origin<'_>, call: &Call) -> Result<Option<Withheld>> {
        let rules = self.open().rules(call)?;
        if rules.is_empty() {
            return Ok(None);
        }
        let Some(withheld) = Withheld::by(&rules, origin) else { return Ok(None) };
        if !withheld.asks() {
            return Ok(Some(withheld));
        }
        let granted = self.allowed_in_chat()?.rules.into_iter().chain(rules.saved.iter().cloned());
        let granted = granted.filter(|rule| rule.speaks_of(EffectKind::Read, origin));
        Ok(Some(withheld.without(granted)))
    }

    /// The same call, which knows what its caller may not read.
    pub(crate) fn reading(&self, origin: Origin<'_>, call: &Call) -> Result<Call> {
        let withheld = self.withheld(origin, call)?;
        let reading = withheld.map(|withheld| Arc::new(withheld) as Arc<dyn ReadAccess>);
        Ok(call.clone().with_read_access(reading))
    }

    /// Files that rules withhold from tools and that git tracks all the same, so that its objects hold them.
    pub fn withheld_and_tracked(&self, call: &Call) -> Result<Vec<WsPath>> {
        let call = self.reading(ANY_TOOL, call)?;
        self.open().workspace.withheld_and_tracked(&call)
    }

    /// What this caller may read, as a text to be kept beside an answer to it.
    pub fn reading_note(&self, call: &Call) -> Result<String> {
        let withheld = self.withheld(ANY_TOOL, call)?;
        Ok(withheld.map_or_else(|| nothing_withheld().to_string(), |withheld| withheld.note()))
    }

    /// Whether this caller may still see an answer that was kept with such a note.
    pub fn may_see_kept(&self, call: &Call, note: &str) -> Result<bool> {
        let withheld = self.withheld(ANY_TOOL, call)?;
        Ok(withheld.is_none_or(|withheld| withheld.may_see(note)))
    }

    /// A turn of a transcript, with what has to be known to decide later who may see it. `touched` is what its call
    /// read and changed; without it the turn is about everything that its caller could read.
    pub(crate) fn noted(
        &self,
        origin: Origin<'_>,
        call: &Call,
        turn: NewTurn,
        touched: Option<&Touched>,
    ) -> NewTurn {
        let Ok(withheld) = self.withheld(origin, call) else { return turn };
        let mut about: Value = match withheld {
            Some(withheld) => serde_json::from_str(&withheld.note()).unwrap_or_default(),
            None => nothing_withheld(),
        };
        match touched {
            Some(touched) => touched.describe(&mut about),
            None => about["wide"] = json!(true),
        }
        with_about(turn, about)
    }
}

fn nothing_withheld() -> Value {
    json!({"withheld": [], "allowed": []})
}
