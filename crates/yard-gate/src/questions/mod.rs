//! Questions to people (W15): agents ask them, only people answer them, and they are stored for good.

mod leave_plan_mode;

use serde_json::{Map, Value};
use yard_core::{
    Call, ChatId, ContentHash, Fault, FaultCode, QuestionId, Result, Timestamp, WsPath,
};
use yard_store::{NewQuestion, Question as Row, QuestionAnswer, QuestionFilter, StoreError, Via};

use crate::{Attempt, ListPage, QuestionForm, Session, transcript};

/// A question, answered or not.
#[derive(Clone, Debug, PartialEq)]
pub struct AskedQuestion {
    /// Its id.
    pub id: QuestionId,
    /// The chat that it belongs to.
    pub chat: ChatId,
    /// The actor who asked.
    pub asked_by: String,
    /// When.
    pub at: Timestamp,
    /// The form.
    pub form: QuestionForm,
    /// The answer, once it was given.
    pub answer: Option<GivenAnswer>,
    /// The plan that Accept is for, as it was when the question was asked, if it can approve one. A question of an older
    /// version has all plans of that time.
    pub(crate) plans: Vec<(WsPath, ContentHash)>,
    /// Whether the answer has opened build mode, which it does once.
    pub(crate) used: bool,
}

/// The answer of a person.
#[derive(Clone, Debug, PartialEq)]
pub struct GivenAnswer {
    /// The answers by the names of the questions.
    pub answers: Map<String, Value>,
    /// The actor who answered.
    pub by: String,
    /// Whether a button was clicked or a text typed.
    pub via: Via,
    /// When.
    pub at: Timestamp,
}

impl AskedQuestion {
    /// The plan that Accept is for, and the hash of the only content that it is good for.
    pub fn plan(&self) -> Option<(&WsPath, ContentHash)> {
        match self.plans.as_slice() {
            [(path, hash)] => Some((path, *hash)),
            _ => None,
        }
    }

    pub(crate) fn of(row: Row) -> Result<Self> {
        Ok(Self {
            id: row.id,
            chat: row.chat,
            asked_by: row.asked_by,
            at: row.at,
            form: QuestionForm::from_json(&row.form)?,
            answer: row.given.map(given_answer).transpose()?,
            plans: row.plans,
            used: row.used,
        })
    }
}

fn given_answer(given: QuestionAnswer) -> Result<GivenAnswer> {
    let answers = serde_json::from_str(&given.answers).map_err(|error| {
        Fault::new(FaultCode::Io, format!("the store holds an answer that is none: {error}"))
    })?;
    Ok(GivenAnswer { answers, by: given.by, via: given.via, at: given.at })
}

/// The questions of a workspace, as one session sees them: an agent its own (R16), a person all.
pub struct Questions<'a>(pub(crate) &'a Session);

impl Questions<'_> {
    /// A question.
    pub fn get(&self, id: QuestionId) -> Result<AskedQuestion> {
        let row = self.0.open().records.question(id)?;
        let row = row.filter(|row| self.may_see(row)).ok_or_else(|| no_question(id))?;
        AskedQuestion::of(row)
    }

    /// Questions that were asked before `before`, newest first.
    pub fn list(
        &self,
        mut filter: QuestionFilter,
        before: Option<QuestionId>,
        limit: usize,
    ) -> Result<ListPage<AskedQuestion>> {
        if let Some(id) = before {
            self.get(id)?;
        }
        if !self.0.actor().is_person() {
            filter.asked_by = Some(self.0.actor().name());
        }
        let rows =
            ListPage::read(limit, |count| self.0.open().records.questions(&filter, before, count))?;
        rows.try_map(AskedQuestion::of)
    }

    /// The ids and times of the questions that wait for an answer, oldest first. Only for a person's session.
    pub(crate) fn pending(&self, limit: usize) -> Result<Vec<(QuestionId, Timestamp)>> {
        Ok(self.0.open().records.pending_questions(limit)?)
    }

    /// Answers a question, as a person. A second answer is a conflict.
    pub fn answer(
        &self,
        call: &Call,
        id: QuestionId,
        answers: &Map<String, Value>,
        via: Via,
    ) -> Result<AskedQuestion> {
        let session = self.0;
        session.check_record_write(call, "answer")?;
        if !session.actor().is_person() {
            let answering = session.open().hints.answering;
            let why = format!("an agent cannot answer a question: only a person can{answering}");
            return session.refuse(call, "answer", &format!("question {id}"), &why);
        }
        let question = self.get(id)?;
        if let Some(given) = &question.answer {
            return Err(answered_already(id, Some(given)));
        }
        let answers = question.form.accept(answers, via)?;
        if question.form.is_accepted(&answers) {
            self.check_plan(call, &question)?;
        }
        let answers = Value::Object(answers);
        let detail = format!("question {id} by {}", via.word());
        let audit = session.audit_entry(call, "answer", detail);
        let by = audit.actor.clone();
        let turn = transcript::answer(audit.at, by.clone(), &id.to_string(), &answers, via);
        let given = QuestionAnswer { answers: answers.to_string(), by, via, at: audit.at };
        match session.open().records.answer(id, &given, &turn, &audit) {
            Err(StoreError::Misfit(_)) => return Err(answered_already(id, None)),
            done => done?,
        }
        session.open().changes.notify();
        self.get(id)
    }

    /// A fault if the asker has another plan by now than the one that a question asks about: the person may have been shown
    /// that one.
    fn check_plan(&self, call: &Call, question: &AskedQuestion) -> Result<()> {
        let Some((path, hash)) = question.plan() else { return Ok(()) };
        let current = self.0.unjudged_reads(call).current_plan(&question.asked_by)?;
        if current.as_ref().is_some_and(|(now, content)| now == path && *content == hash) {
            return Ok(());
        }
        let message = format!(
            "question {} asks about {path} as it was at {}, and the plan changed since. Reject it, or let the agent ask again",
            question.id, question.at
        );
        Err(Fault::new(FaultCode::Stale, message))
    }

    fn may_see(&self, row: &Row) -> bool {
        self.0.actor().is_person() || row.asked_by == self.0.actor().name()
    }
}

fn no_question(id: QuestionId) -> Fault {
    Fault::new(FaultCode::NotFound, format!("there is no question {id} in this workspace"))
}

fn answered_already(id: QuestionId, given: Option<&GivenAnswer>) -> Fault {
    let by = given.map(|given| format!(" by {} at {}", given.by, given.at)).unwrap_or_default();
    let message = format!("question {id} was answered{by} already; an answer is not changed");
    Fault::new(FaultCode::Exists, message)
}

impl Session {
    /// The questions of the workspace.
    pub fn questions(&self) -> Questions<'_> {
        Questions(self)
    }
}

impl Attempt<'_> {
    /// Stores a question to a person; durable when it returns.
    pub fn ask_question(&self, form: QuestionForm) -> Result<AskedQuestion> {
        self.check_record_write("ask")?;
        let (session, origin) = (self.session(), self.origin());
        let plan = match form.can_approve() {
            true => self.unjudged_reads().current_plan(&session.actor().name())?,
            false => None,
        };
        let chat = session.needed_chat(self.call())?;
        let id = QuestionId::new(self.call().world());
        let detail = format!("{}.{} question {id}", origin.toolset, origin.tool);
        let audit = session.audit_entry(self.call(), "ask", detail);
        let turn = transcript::question(audit.at, audit.actor.clone(), &id.to_string(), &form);
        let asked = NewQuestion {
            id,
            chat: chat.id,
            asked_by: audit.actor.clone(),
            at: audit.at,
            form: form.to_json(),
            plans: plan.into_iter().collect(),
        };
        self.open().records.ask(&asked, &self.with_about(turn), &audit)?;
        self.open().changes.notify();
        session.questions().get(id)
    }
}
