//! How a chat leaves plan mode (W16): only a person's `Accept` of the plan, as it is, leads out of it.

use serde_json::{Map, Value};
use yard_core::op::{Changed, Write};
use yard_core::{ChatId, ContentHash, Fault, FaultCode, QuestionId, Result, WsPath};
use yard_kernel::store_fault;
use yard_store::{Mode, QuestionFilter, StepSideEffect, Via};

use crate::questions::AskedQuestion;
use crate::{Attempt, CallerWords, Completion, MOST_ROWS, transcript};

impl Attempt<'_> {
    /// Leaves plan mode on the strength of a person's `Accept`, writing the approved plan as it shall
    /// be from now on. `write.expected` is the plan that was accepted. The answer is used up, the mode
    /// set and the file written together, or nothing of it happens. `notes` go into the transcript.
    pub fn leave_plan_mode(&self, write: Write, notes: Value) -> Result<Changed> {
        let (session, call) = (self.session(), self.call());
        let (path, hash) = (write.path.clone(), write.expected);
        let side_effect = || {
            let approved = self.approval(&path, hash);
            let (chat, question) = match approved? {
                Ok(approval) => approval,
                Err(why) => {
                    return session.refuse(call, "leave plan mode", &path.to_string(), &why);
                }
            };
            let why = format!("{path} was accepted (question {question}).");
            let (at, actor) = (call.world().now(), session.actor().name());
            let turn = transcript::mode(at, actor, Mode::Build, &why, &notes);
            Ok(Some(StepSideEffect::LeavePlan { chat, question, turn }))
        };
        match self.perform_with(write, &side_effect)? {
            Completion::Done(changed) => Ok(changed),
            Completion::Pending(_) => Err(Fault::new(
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
        let words = &self.open().words;
        let Some(chat) = self.session().current_chat()? else {
            return Ok(Err(not_asked(path, words)));
        };
        let filter = QuestionFilter { chat: Some(chat.id), ..QuestionFilter::default() };
        let rows = self.open().desk.questions(&filter, None, MOST_ROWS).map_err(store_fault)?;
        let mut about = Vec::new();
        for row in rows.into_iter().filter(|row| row.plans.iter().any(|(plan, _)| plan == path)) {
            about.push(AskedQuestion::of(row)?);
        }
        // Of several answers the last one that was given counts.
        let answered = about.iter().filter(|question| question.answer.is_some());
        let last = answered.max_by_key(|question| question.answer.as_ref().map(|given| given.at));
        let verdict = match (last, about.first()) {
            (Some(question), _) => judge_answer(question, path, hash, words),
            (None, Some(waiting)) => Err(format!(
                "question {} is not answered yet. Wait for the person's answer",
                waiting.id
            )),
            (None, None) => Err(not_asked(path, words)),
        };
        Ok(verdict.map(|question| (chat.id, question)))
    }
}

/// Whether an answer approves a plan in this state.
fn judge_answer(
    question: &AskedQuestion,
    path: &WsPath,
    hash: Option<ContentHash>,
    words: &CallerWords,
) -> std::result::Result<QuestionId, String> {
    let (id, again) = (question.id, words.asking_again);
    let none = Map::<String, Value>::new();
    let (answers, via) = match &question.answer {
        Some(given) => (&given.answers, given.via),
        None => (&none, Via::Text),
    };
    let asked = question.plans.iter().find(|(plan, _)| plan == path).map(|(_, hash)| *hash);
    if !question.form.is_accepted(answers) {
        return Err(format!(
            "the answer to question {id} is not Accept. Ask the person what to change, revise {path} \
             and ask again{again}"
        ));
    }
    if via != Via::Button {
        return Err(format!(
            "question {id} was answered by text; only a click on Accept counts. Ask again{again}"
        ));
    }
    if question.used {
        return Err(format!(
            "the answer to question {id} was used already: each Accept counts once. {}",
            not_asked(path, words)
        ));
    }
    if asked.is_none() || asked != hash {
        return Err(format!(
            "{path} changed after question {id} was asked. Ask again{again} for the plan as it \
             is now"
        ));
    }
    Ok(id)
}

fn not_asked(path: &WsPath, words: &CallerWords) -> String {
    format!("no person was asked in this chat to accept {path}. {}", words.asking_to_accept)
}
