//! Judges the effects of one attempt by the caller's role, the folders that it is confined to, the rules, the preset
//! and plan mode. Nothing here asks a person, and nothing here changes anything.

use yard_core::op::{Land, Operation as _};
use yard_core::{ChatScope, Effect, Result};
use yard_kernel::{Execute, Proposal};
use yard_store::Mode;

use super::{Attempt, CallChat, ExplainedEffect};
use crate::policy::plan_mode;
use crate::policy::workspace_policy::Allowed;
use crate::{Asks, Judgement, Preset, Verdict};

impl Attempt<'_> {
    /// Completes a planned change with what rules and presets judge by, unless no rule and no preset could ask or deny.
    pub(super) fn complete_effect<O: Execute>(
        &self,
        chat: &CallChat,
        proposal: &mut Proposal<O::Answer>,
    ) -> Result<()> {
        let (session, open) = (self.session, self.open());
        let policy = open.policy(self.call)?;
        let is_open = session.preset_of(&policy) == Preset::Open && policy.is_empty();
        if is_open && self.origin.asks != Asks::Always {
            return Ok(());
        }
        let whose = match chat.get(session)? {
            Some(chat) => ChatScope { chat: Some(chat.id), default_of: chat.default_of.clone() },
            None => ChatScope { chat: None, default_of: Some(session.actor().name()) },
        };
        open.workspace.classify_effects(proposal, &whose, O::IS_EDIT, self.call)?;
        if session.actor().is_person() && O::VERB != Land::VERB {
            // The caller is the person who would be asked. What a command changed is shown to that person all the same.
            for one in &mut proposal.effect.paths {
                (one.own, one.decides) = (true, false);
            }
        }
        Ok(())
    }

    /// Adds to the paths of an effect the other names that rules and the caller have for them.
    pub(super) fn add_other_names<O: Execute>(&self, op: &O, effect: &mut Effect) -> Result<()> {
        let policy = self.open().policy(self.call)?;
        if !policy.is_empty() {
            let asked = op.named_paths();
            let names = asked.iter().chain(policy.named_folders());
            self.open().workspace.add_path_aliases(effect, names);
        }
        Ok(())
    }

    /// Judges by the role, then by the policy, and in plan mode also by that mode.
    pub(crate) fn judge(&self, effect: &Effect) -> Result<Verdict> {
        self.judge_in(&CallChat::default(), effect)
    }

    pub(super) fn judge_in(&self, chat: &CallChat, effect: &Effect) -> Result<Verdict> {
        Ok(self.judge_by(chat, effect, Self::judgement)?.verdict)
    }

    /// The same judgement, with its reason for people.
    pub(super) fn explain_effect(&self, effect: &Effect) -> Result<ExplainedEffect> {
        let chat = CallChat::default();
        let judged = self.judge_by(&chat, effect, Self::judgement_with_reason)?;
        let Judgement { verdict, because, rule } = judged;
        Ok(ExplainedEffect { effect: effect.clone(), verdict, because, rule })
    }

    fn judge_by(
        &self,
        chat: &CallChat,
        effect: &Effect,
        by_policy: impl FnOnce(&Self, &Effect) -> Result<Judgement>,
    ) -> Result<Judgement> {
        let session = self.session;
        let before_policy = [
            (session.policy().judge_role(effect), "the caller's role may only read the workspace"),
            (session.judge_folders(effect), "the client offers other folders only"),
            (
                self.judge_command_output(effect),
                "the command could read files that the caller may not read",
            ),
        ];
        for (verdict, because) in before_policy {
            if verdict != Verdict::Allow {
                return Ok(Judgement::without_rule(verdict, because));
            }
        }
        let judged = by_policy(self, effect)?;
        let denied = matches!(judged.verdict, Verdict::Deny(_));
        let acts = effect.changes_anything() || effect.sends_anything();
        if denied || !acts || chat.mode(session)? == Mode::Build {
            return Ok(judged);
        }
        let how_out = self.open().hints.leaving_plan_mode(self.origin.toolset);
        Ok(match plan_mode::judge(how_out, effect) {
            Verdict::Allow => judged,
            verdict => Judgement::without_rule(verdict, "the chat is in plan mode"),
        })
    }

    /// The verdict of the policy about an effect, and the reason if it is not allowed.
    pub(crate) fn judgement(&self, effect: &Effect) -> Result<Judgement> {
        let policy = self.open().policy(self.call)?;
        if policy.is_empty() && self.session.preset_of(&policy).allows(self.origin.asks, effect) {
            // The usual case. The reason is not needed.
            return Ok(Judgement::without_rule(Verdict::Allow, String::new()));
        }
        self.judgement_with_reason(effect)
    }

    /// As [`Attempt::judgement`], with the reason also where the effect is allowed.
    fn judgement_with_reason(&self, effect: &Effect) -> Result<Judgement> {
        let policy = self.open().policy(self.call)?;
        let preset = self.session.preset_of(&policy);
        let judged = policy.judge(self.origin, effect, preset, &Allowed::default());
        if !matches!(judged.verdict, Verdict::Ask(_)) {
            return Ok(judged);
        }
        Ok(policy.judge(self.origin, effect, preset, &self.session.allowed_in_chat()?))
    }
}
