//! Plan mode (W16): in it only plan files change, and only a person's `Accept` leads out of it.

use serde_json::{Map, Value};
use yard_core::op::{Changed, Find, FindBy, SizeRange, Stat, Want, Write};
use yard_core::{
    Call, ChatId, ContentHash, Effect, EffectKind, Fault, FaultCode, FileType, PathEffect,
    QuestionId, Result, WsPath,
};
use yard_kernel::store_fault;
use yard_store::{Mode, QuestionFilter, StepSideEffect, Via};

use crate::questions::Question;
use crate::{MOST_ROWS, Origin, Outcome, Session, Verdict, transcript};

/// How the name of a plan file ends.
const PLAN_END: &[u8] = b".plan";
/// Most plans whose state a question remembers.
const MOST_PLANS: usize = 1_000;

/// How a caller gets out of plan mode, with the tools that its toolset has.
fn how_out(toolset: &str) -> &'static str {
    match toolset {
        "workspace" => {
            "Write the plan (plan_write), ask a person with ask_user, in one question with the schema \
             {\"type\":\"string\",\"enum\":[\"Accept\",\"Reject\"]}, and once it is accepted call exit_plan_mode"
        }
        _ => {
            "Write the plan into a file whose name ends in .plan, and tell the person that it is ready: only \
             they can let this chat go on to change other files"
        }
    }
}

/// Judges what an operation would do in a chat in plan mode.
pub(crate) fn judge(toolset: &str, effect: &Effect) -> Verdict {
    let how_out = how_out(toolset);
    let mut changes = effect.paths.iter().filter(|effect| effect.kind.changes());
    if let Some(dial) = effect.dials.iter().find(|dial| dial.kind == EffectKind::Connect) {
        return Verdict::Deny(format!(
            "this chat is in plan mode, where no command reaches another host: {}:{}. {how_out}",
            dial.host, dial.port
        ));
    }
    if let Some(dial) = effect.dials.iter().find(|dial| dial.kind == EffectKind::Send) {
        return Verdict::Deny(format!(
            "this chat is in plan mode, where nothing is sent that may change something elsewhere: {}. \
             GET is allowed. {how_out}",
            dial.asked
        ));
    }
    match changes.find(|change| !may_change(change, effect)) {
        None => Verdict::Allow,
        Some(change) => {
            let path = &change.path;
            let why = match change.file_type {
                Some(FileType::Plan) | None => String::new(),
                Some(file_type) if is_plan_name(path) => format!(
                    " (its name ends in .plan, but its type is {}: only a new file, or one of type plan, \
                     may be written)",
                    file_type.word()
                ),
                Some(_) => String::new(),
            };
            Verdict::Deny(format!(
                "this chat is in plan mode, where only plan files (*.plan) change: {path} may not {}{why}. \
                 {how_out}",
                verb(change.kind),
            ))
        }
    }
}

fn may_change(change: &PathEffect, effect: &Effect) -> bool {
    let named = is_plan_name(&change.path);
    match (change.kind, change.file_type) {
        (kind, _) if !kind.changes() => true,
        // A folder comes to be only on the way to a plan.
        (EffectKind::Create, Some(FileType::Folder)) => effect.paths.iter().any(|other| {
            other.file_type != Some(FileType::Folder)
                && is_plan_name(&other.path)
                && other.path.is_within(&change.path)
        }),
        (EffectKind::Create, _) => named,
        // What is purged does not come back: that is no planning.
        (EffectKind::Purge, _) => false,
        (_, file_type) => named && file_type == Some(FileType::Plan),
    }
}

fn is_plan_name(path: &WsPath) -> bool {
    path.name().is_some_and(|name| name.as_bytes().ends_with(PLAN_END))
}

fn verb(kind: EffectKind) -> &'static str {
    match kind {
        EffectKind::Read => "be read",
        EffectKind::List => "be listed",
        EffectKind::Create => "be created",
        EffectKind::Modify => "be changed",
        EffectKind::Touch => "be touched",
        EffectKind::MoveFrom => "be moved",
        EffectKind::MoveTo => "be moved to",
        EffectKind::Remove => "be removed",
        EffectKind::Purge => "be purged",
        EffectKind::Run => "be run in",
        EffectKind::Fetch => "be fetched",
        EffectKind::Send => "be sent",
        EffectKind::Connect => "be connected to",
    }
}

impl Session {
    /// Leaves plan mode on the strength of a person's `Accept`, writing the approved plan as it shall
    /// be from now on. `write.expected` is the plan that was accepted. The answer is used up, the mode
    /// set and the file written together, or nothing of it happens. `notes` go into the transcript.
    pub fn leave_plan_mode(
        &self,
        origin: Origin<'_>,
        call: &Call,
        write: Write,
        notes: Value,
    ) -> Result<Changed> {
        let (path, hash) = (write.path.clone(), write.expected);
        let side_effect = || {
            let approved = self.approval(&path, hash);
            let (chat, question) = match approved? {
                Ok(approval) => approval,
                Err(why) => return self.refuse(call, "leave plan mode", &path.to_string(), &why),
            };
            let why = format!("{path} was accepted (question {question}).");
            let (at, actor) = (call.world().now(), self.actor().name());
            let turn = transcript::mode(at, actor, Mode::Build, &why, &notes);
            Ok(Some(StepSideEffect::LeavePlan { chat, question, turn }))
        };
        match self.perform_with(origin, call, write, &side_effect)? {
            Outcome::Done(changed) => Ok(changed),
            Outcome::Pending(_) => Err(Fault::new(
                FaultCode::Denied,
                "leaving plan mode was approved already and cannot wait for another approval",
            )),
        }
    }

    /// The unused `Accept` for a plan in this state, or why there is none.
    fn approval(
        &self,
        path: &WsPath,
        hash: Option<ContentHash>,
    ) -> Result<std::result::Result<(ChatId, QuestionId), String>> {
        let Some(chat) = self.current_chat()? else { return Ok(Err(not_asked(path))) };
        let filter = QuestionFilter { chat: Some(chat.id), ..QuestionFilter::default() };
        let rows = self.open().desk.questions(&filter, None, MOST_ROWS).map_err(store_fault)?;
        let mut about = Vec::new();
        for row in rows.into_iter().filter(|row| row.plans.iter().any(|(plan, _)| plan == path)) {
            about.push(Question::of(row)?);
        }
        // Of several answers the last one that was given counts.
        let answered = about.iter().filter(|question| question.answer.is_some());
        let last = answered.max_by_key(|question| question.answer.as_ref().map(|given| given.at));
        let verdict = match (last, about.first()) {
            (Some(question), _) => judge_answer(question, path, hash),
            (None, Some(waiting)) => Err(format!(
                "question {} is not answered yet. Wait for the person's answer",
                waiting.id
            )),
            (None, None) => Err(not_asked(path)),
        };
        Ok(verdict.map(|question| (chat.id, question)))
    }

    /// Every plan file as it is now.
    pub(crate) fn plans(
        &self,
        origin: Origin<'_>,
        call: &Call,
    ) -> Result<Vec<(WsPath, ContentHash)>> {
        let found = self.look(origin, call, all_plans())?;
        if found.truncated {
            let message = format!(
                "there are more than {MOST_PLANS} plan files, too many to say which one is accepted; \
                 remove old ones"
            );
            return Err(Fault::new(FaultCode::TooLarge, message));
        }
        let mut plans = Vec::with_capacity(found.entries.len());
        for entry in found.entries {
            let want = Want { hash: true, ..Want::default() };
            let stat = Stat { path: entry.path.clone(), want, follow: false };
            match self.look(origin, call, stat) {
                Ok(stat) => plans.extend(stat.hash.map(|hash| (entry.path, hash))),
                // Gone since it was found.
                Err(fault) if fault.code() == FaultCode::NotFound => {}
                Err(fault) => return Err(fault),
            }
        }
        Ok(plans)
    }
}

fn all_plans() -> Find {
    Find {
        path: WsPath::root(),
        by: FindBy::Globs(vec!["*.plan".to_owned()]),
        file_type: Some(FileType::Plan),
        size: SizeRange::default(),
        recursive: true,
        include_ignored: true,
        limit: Some(MOST_PLANS),
        after: None,
    }
}

/// Whether an answer approves a plan in this state.
fn judge_answer(
    question: &Question,
    path: &WsPath,
    hash: Option<ContentHash>,
) -> std::result::Result<QuestionId, String> {
    let id = question.id;
    let none = Map::<String, Value>::new();
    let (answers, via) = match &question.answer {
        Some(given) => (&given.answers, given.via),
        None => (&none, Via::Text),
    };
    let asked = question.plans.iter().find(|(plan, _)| plan == path).map(|(_, hash)| *hash);
    if !question.form.is_accepted(answers) {
        return Err(format!(
            "the answer to question {id} is not Accept. Ask the person what to change, revise {path} \
             and ask again with ask_user"
        ));
    }
    if via != Via::Button {
        return Err(format!(
            "question {id} was answered by text; only a click on Accept counts. Ask again with ask_user"
        ));
    }
    if question.used {
        return Err(format!(
            "the answer to question {id} was used already: each Accept counts once. {}",
            not_asked(path)
        ));
    }
    if asked.is_none() || asked != hash {
        return Err(format!(
            "{path} changed after question {id} was asked. Ask again with ask_user for the plan as it \
             is now"
        ));
    }
    Ok(id)
}

fn not_asked(path: &WsPath) -> String {
    format!(
        "no person was asked in this chat to accept {path}. Call ask_user with one question, schema \
         {{\"type\":\"string\",\"enum\":[\"Accept\",\"Reject\"]}}, and wait for a click on Accept"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(changes: &[(EffectKind, &str, FileType)]) -> Effect {
        let mut effect = Effect::default();
        for (kind, path, file_type) in changes {
            effect.push(*kind, WsPath::parse(path).unwrap(), *file_type);
        }
        effect
    }

    #[test]
    fn w16_only_plan_files_change_in_plan_mode() {
        use EffectKind::{Create, Modify, MoveFrom, MoveTo, Remove, Touch};
        use FileType::{Document, Folder, Plan};
        let allowed: [&[(EffectKind, &str, FileType)]; 6] = [
            &[(Create, "/plans", Folder), (Create, "/plans/a.plan", Plan)],
            &[(Create, "/a.plan", Document)],
            &[(Modify, "/a.plan", Plan)],
            &[(Touch, "/a.plan", Plan)],
            &[(Remove, "/a.plan", Plan)],
            &[(MoveFrom, "/a.plan", Plan), (MoveTo, "/b.plan", Plan)],
        ];
        let refused: [&[(EffectKind, &str, FileType)]; 9] = [
            &[(Create, "/a.txt", Document)],
            &[(Create, "/a.txt", Plan)],
            &[(Create, "/plans", Folder)],
            &[(Create, "/a.plan", Folder)],
            &[(Modify, "/a.plan", Document)],
            &[(Modify, "/a.txt", Plan)],
            &[(MoveFrom, "/a.plan", Plan), (MoveTo, "/a.txt", Plan)],
            &[(MoveFrom, "/a.txt", Document), (MoveTo, "/a.plan", Document)],
            &[(Modify, "/a.plan", Plan), (Modify, "/a.txt", Document)],
        ];
        for changes in allowed {
            assert_eq!(judge("workspace", &effect(changes)), Verdict::Allow, "{changes:?}");
        }
        for changes in refused {
            assert!(
                matches!(judge("workspace", &effect(changes)), Verdict::Deny(_)),
                "{changes:?}"
            );
        }
        let reading = Effect::one(EffectKind::Read, WsPath::root());
        assert_eq!(judge("workspace", &reading), Verdict::Allow);
    }

    #[test]
    fn w16_a_refusal_names_tools_that_the_caller_has_and_the_type_that_is_wrong() {
        let words = |toolset, changes: &[(EffectKind, &str, FileType)]| match judge(
            toolset,
            &effect(changes),
        ) {
            Verdict::Deny(words) => words,
            other => panic!("{other:?}"),
        };
        let change = [(EffectKind::Create, "/a.txt", FileType::Document)];
        assert!(words("workspace", &change).contains("call exit_plan_mode"));
        for toolset in ["file", "coder", "assistant", "codex", "filesystem"] {
            let words = words(toolset, &change);
            assert!(
                words.ends_with("only they can let this chat go on to change other files"),
                "{words}"
            );
            assert!(!words.contains("plan_write") && !words.contains("ask_user"), "{words}");
        }
        let words = words("codex", &[(EffectKind::Modify, "/a.plan", FileType::Document)]);
        assert!(words.contains("ends in .plan, but its type is document"), "{words}");
    }
}
