//! What may happen in one session: its role, the folders and toolsets that it keeps to, the rules, the preset and
//! plan mode. Nothing here asks anybody, and nothing here changes anything.

use yard_core::op::{Land, Operation as _};
use yard_core::{Call, Effect, EffectKind, Fault, FaultCode, PathEffect, Result, Whose, WsPath};
use yard_kernel::{Execute, Proposal, store_fault};
use yard_store::Mode;

use super::{CallChat, Session};
use crate::policy::Preset;
use crate::rules::Allowed;
use crate::{Asks, Judgement, Origin, Rule, Rules, Verdict, approvals, plan_mode};

/// The toolset that reading and changing files counts as where no tool is called.
pub const FILES_TOOLSET: &str = "workspace";
/// What audit rows name instead of a toolset where no tool is called.
const DOORS: [&str; 2] = ["http", "mcp"];

impl Session {
    /// The same session, whose caller may use these toolsets and no other. What reads or changes files
    /// without any toolset counts as [`FILES_TOOLSET`].
    #[must_use]
    pub fn speaking(&self, toolsets: &[String]) -> Self {
        Self { toolsets: Some(toolsets.into()), ..self.clone() }
    }

    /// The same session where nobody can be asked: whatever would ask is refused at once.
    #[must_use]
    pub fn without_person(&self) -> Self {
        Self { has_no_person: true, ..self.clone() }
    }

    /// The same session in a process that ends with the call: terminals end with it.
    #[must_use]
    pub fn for_one_call(&self) -> Self {
        Self { is_for_one_call: true, ..self.clone() }
    }

    /// Whether what a call leaves running ends with the call.
    pub fn is_for_one_call(&self) -> bool {
        self.is_for_one_call
    }

    /// A fault if the caller may not use a toolset.
    pub fn check_toolset(&self, toolset: &str) -> Result<()> {
        let Some(own) = &self.toolsets else { return Ok(()) };
        let meant = if DOORS.contains(&toolset) { FILES_TOOLSET } else { toolset };
        if own.iter().any(|own| own == meant) {
            return Ok(());
        }
        let message = format!(
            "this caller may use the toolset {} and no other: call a tool of it. {meant} is not among them",
            own.join(", ")
        );
        Err(Fault::new(FaultCode::Denied, message))
    }

    /// Finds out what the gate has to know of a change, where anybody could ask or deny.
    pub(super) fn weigh<O: Execute>(
        &self,
        chat: &CallChat,
        origin: Origin<'_>,
        call: &Call,
        proposal: &mut Proposal<O::Answer>,
    ) -> Result<()> {
        let rules = self.open.rules(call)?;
        let preset = self.preset_of(&rules);
        let is_open = preset == Preset::Open && rules.is_empty() && origin.asks != Asks::Always;
        if is_open || self.is_inner {
            return Ok(());
        }
        let whose = match chat.get(self)? {
            Some(chat) => Whose { chat: Some(chat.id), default_of: chat.default_of.clone() },
            None => Whose { chat: None, default_of: Some(self.actor.name()) },
        };
        self.open.workspace.weigh(proposal, &whose, O::EDITS, call)?;
        if self.actor.is_person() && O::VERB != Land::VERB {
            // Who would be asked is who calls. What a command did is shown to its person all the same.
            for one in &mut proposal.effect.paths {
                (one.own, one.decides) = (true, false);
            }
        }
        Ok(())
    }

    /// Gives the places of an effect the names that rules and the caller have for them.
    pub(super) fn name_otherwise<O: Execute>(
        &self,
        call: &Call,
        op: &O,
        effect: &mut Effect,
    ) -> Result<()> {
        let rules = self.open.rules(call)?;
        if !rules.is_empty() && !self.is_inner {
            let asked = op.asked();
            let names = asked.iter().chain(rules.named_folders());
            self.open.workspace.name_otherwise(effect, names);
        }
        Ok(())
    }

    /// A word against what lies outside of the folders that the caller keeps to.
    pub(super) fn judge_confines(&self, effect: &Effect) -> Verdict {
        let Some(folders) = &self.confines else { return Verdict::Allow };
        let is_inside = |one: &PathEffect| {
            // A command sees all of the workspace, wherever it starts.
            let least = if one.kind == EffectKind::Run { &WsPath::root() } else { &one.path };
            folders.iter().any(|folder| least.is_within(folder))
        };
        match effect.paths.iter().find(|one| !is_inside(one)) {
            None => Verdict::Allow,
            Some(outside) => {
                let folders: Vec<String> = folders.iter().map(ToString::to_string).collect();
                Verdict::Deny(format!(
                    "{} is outside of what the client offers: {}. Name a path at or below one of these",
                    outside.path,
                    folders.join(", ")
                ))
            }
        }
    }

    /// The role's word, then the policy's, and in plan mode also that mode's.
    pub(crate) fn judge(
        &self,
        origin: Origin<'_>,
        call: &Call,
        effect: &Effect,
    ) -> Result<Verdict> {
        self.judge_in(&CallChat::default(), origin, call, effect)
    }

    pub(super) fn judge_in(
        &self,
        chat: &CallChat,
        origin: Origin<'_>,
        call: &Call,
        effect: &Effect,
    ) -> Result<Verdict> {
        let words = [
            self.policy.judge_role(effect),
            self.judge_confines(effect),
            self.judge_kept_output(call, effect),
        ];
        for word in words {
            if word != Verdict::Allow {
                return Ok(word);
            }
        }
        let verdict = self.judgement(origin, call, effect)?.verdict;
        let denied = matches!(verdict, Verdict::Deny(_));
        let acts = effect.changes_anything() || effect.sends_anything();
        if denied || !acts || chat.mode(self)? == Mode::Build {
            return Ok(verdict);
        }
        Ok(match plan_mode::judge(origin.toolset, effect) {
            Verdict::Allow => verdict,
            refused => refused,
        })
    }

    /// What the policy says of an effect, and why.
    pub(crate) fn judgement(
        &self,
        origin: Origin<'_>,
        call: &Call,
        effect: &Effect,
    ) -> Result<Judgement> {
        let rules = self.open.rules(call)?;
        if rules.is_empty() && self.preset_of(&rules).lets_pass(origin.asks, effect) {
            // The usual way, without a word.
            return Ok(Judgement { verdict: Verdict::Allow, because: String::new() });
        }
        self.judged_in_words(origin, call, effect)
    }

    /// As [`Session::judgement`], also where nobody would ask why.
    pub(crate) fn judged_in_words(
        &self,
        origin: Origin<'_>,
        call: &Call,
        effect: &Effect,
    ) -> Result<Judgement> {
        let rules = self.open.rules(call)?;
        let preset = self.preset_of(&rules);
        let judged = rules.judge(origin, effect, preset, &Allowed::default());
        if !matches!(judged.verdict, Verdict::Ask(_)) {
            return Ok(judged);
        }
        Ok(rules.judge(origin, effect, preset, &self.allowed_in_chat()?))
    }

    /// The preset that the workspace's policy names, or else the one of this caller's door.
    pub(crate) fn preset_of(&self, rules: &Rules) -> Preset {
        rules.preset.unwrap_or_else(|| self.policy.preset())
    }

    /// What persons allowed in this session's chat.
    pub(crate) fn allowed_in_chat(&self) -> Result<Allowed> {
        let Some(chat) = self.current_chat()? else { return Ok(Allowed::default()) };
        let grants = self.open.desk.grants(Some(chat.id)).map_err(store_fault)?;
        let mut allowed = Allowed::default();
        for grant in grants.iter().filter(|grant| grant.chat.is_some()) {
            // One that cannot be read allows nothing: that is the safe side.
            let value = serde_json::from_str(&grant.rule).unwrap_or_default();
            match approvals::remembered(&value) {
                Some(before) => allowed.before.0.extend(before),
                None => allowed.rules.extend(Rule::parse(&value)),
            }
        }
        Ok(allowed)
    }
}
