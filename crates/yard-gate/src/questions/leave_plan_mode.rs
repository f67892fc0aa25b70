//! How a chat leaves plan mode (W16): only after a person accepted the plan in its current state.

use serde_json::{Map, Value};
use yard_core::op::{Changed, Write};
use yard_core::{ChatId, ContentHash, Fault, FaultCode, QuestionId, Result, WsPath};
use yard_store::{Mode, QuestionFilter, StepSideEffect, Via};

use crate::questions::AskedQuestion;
use crate::{Attempt, CallerHints, Completion, MAX_ROWS, transcript};

impl Attempt<'_> {
    /// Leaves plan mode after a person's `Accept` and writes the plan file. `write.expected` is the hash of the accepted
    /// plan. The answer is used up, the mode set and the file written in one transaction. `notes` go into the
    /// transcript.
    pub fn leave_plan_mode(&self, write: Write, notes: Value) -> Result<Changed> {
        let (session, call) = (self.session(), self.call());
        let (path, hash) = (write.path.clone(), write.expected);
        let side_effect = || {
            let (chat, question) = match self.unused_accept(&path, hash)? {
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

    /// The unused `Accept` of a plan with this hash, or why there is none.
    fn unused_accept(
        &self,
        path: &WsPath,
        hash: Option<ContentHash>,
    ) -> Result<std::result::Result<(ChatId, QuestionId), String>> {
        let hints = &self.open().hints;
        let Some(chat) = self.session().current_chat()? else {
            return Ok(Err(not_asked(path, hints)));
        };
        let filter = QuestionFilter { chat: Some(chat.id), ..QuestionFilter::default() };
        let rows = self.open().records.questions(&filter, None, MAX_ROWS)?;
        let mut about = Vec::new();
        for row in rows.into_iter().filter(|row| row.plans.iter().any(|(plan, _)| plan == path)) {
            about.push(AskedQuestion::of(row)?);
        }
        // The newest answer counts.
        let answered = about.iter().filter(|question| question.answer.is_some());
        let last = answered.max_by_key(|question| question.answer.as_ref().map(|given| given.at));
        let verdict = match (last, about.first()) {
            (Some(question), _) => judge_answer(question, path, hash, hints),
            (None, Some(waiting)) => Err(format!(
                "question {} is not answered yet. Wait for the person's answer",
                waiting.id
            )),
            (None, None) => Err(not_asked(path, hints)),
        };
        Ok(verdict.map(|question| (chat.id, question)))
    }
}

/// Checks that an answer approves the plan with this hash.
fn judge_answer(
    question: &AskedQuestion,
    path: &WsPath,
    hash: Option<ContentHash>,
    hints: &CallerHints,
) -> std::result::Result<QuestionId, String> {
    let (id, again) = (question.id, hints.asking_again);
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
            not_asked(path, hints)
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

fn not_asked(path: &WsPath, hints: &CallerHints) -> String {
    format!("no person was asked in this chat to accept {path}. {}", hints.asking_to_accept)
}
