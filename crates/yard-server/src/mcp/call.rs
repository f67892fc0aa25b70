//! One call of one tool. It runs on a thread where it may block, reports progress to a client that asked for
//! it, stops when the client cancels it, and waits for a person's decision where it needs one.
//!
//! The two revisions of the protocol ask people differently. Until 2025-11-25 the server sends the client an
//! elicitation request, and the call goes on when it is answered. From 2026-07-28 on the call ends with the
//! request and a signed state, and the client calls again with the answer and the state.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CustomNotification, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest, InputRequiredResult,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, SealOptions, ServerNotification,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;
use tokio::time::{Instant, interval_at};
use yard_core::{ApprovalId, ContentHash, Fault, FaultCode};
use yard_dialects::{Answer, CallOutcome, Work};
use yard_gate::{ApprovalStatus, Awaited, Pending, TakenMessages, UnwrittenTurn};

use super::callers::{DecisionChannel, ToolCaller};
use super::elicitation::{self, Asked, Form, PersonAnswer, PersonPrompt};
use super::result;
use super::server::McpServer;
use super::tools::ReplyForm;
use crate::pool::{Overloaded, WorkKind};
use crate::{messages, waiting};

/// How often a long call reports progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// How long a person may take to answer in the client.
pub(super) const PERSON_TIMEOUT: Duration = Duration::from_secs(600);
/// How long a signed state is accepted.
const STATE_LIFETIME: Duration = Duration::from_secs(24 * 3_600);
/// The name of the elicitation request among the inputs that a call requires.
const PERSON: &str = "person";
/// Notifies a client that a person has decided on the page.
const PAGE_DONE: &str = "notifications/elicitation/complete";

/// The state that a waiting call gives its client, signed.
#[derive(Serialize, Deserialize)]
struct State {
    approval: Option<String>,
    question: Option<String>,
    /// The person was sent to a page: the client brings back only whether they went there.
    #[serde(default)]
    on_page: bool,
    /// The hash of the request that the person was shown: their decision counts only for that.
    #[serde(default)]
    shown: Option<String>,
}

/// A state that a client brought back, verified.
struct Opened {
    asked: Asked,
    on_page: bool,
}

/// One call of one tool.
pub(super) struct ToolCall<'a> {
    pub(super) server: &'a McpServer,
    pub(super) caller: ToolCaller,
    pub(super) context: &'a RequestContext<RoleServer>,
    pub(super) tool: String,
    pub(super) reply_form: ReplyForm,
    /// The same caller in another root, where there are several.
    pub(super) caller_in: &'a (dyn Fn(&str) -> yard_core::Result<ToolCaller> + Send + Sync),
}

impl ToolCall<'_> {
    /// Calls the tool, or goes on with a call that waited.
    pub(super) async fn run(
        mut self,
        params: CallToolRequestParams,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = params.arguments.unwrap_or_default();
        // Only a state is bound to the arguments: without one they need no hash.
        let has_state = params.request_state.is_some() || self.asks_in_rounds();
        let sent = has_state.then(|| hash_of(&arguments));
        if let Some(state) = params.request_state.as_deref() {
            let bound = self.state_binding(sent);
            let opened = self.open_state(state, &bound)?;
            let said = params.input_responses.and_then(|mut all| all.remove(PERSON));
            let response = self.continue_call(opened, said, &bound).await?;
            return Ok(self.with_messages(response).await);
        }
        let kept = self.caller.session.mount().map(|_| arguments.clone());
        let (mut outcome, mut messages) = self.call_tool(arguments).await?;
        if let (Some(root), Some(arguments)) = (&outcome.other_root, kept) {
            self.caller = match (self.caller_in)(root) {
                Ok(caller) => caller,
                Err(fault) => return Ok(result::refused(&fault).into()),
            };
            (outcome, messages) = self.call_tool(arguments).await?;
        }
        if let Some(metrics) = self.server.metrics() {
            let (catalog, toolset) = (self.server.catalog(), &self.caller.toolset);
            metrics.count_call(&catalog, toolset, &self.tool, &outcome.answer);
        }
        self.record(outcome.transcript_line);
        if outcome.answer.pending.is_none() {
            let result = result::from_answer(self.reply_form, outcome.answer);
            return Ok(self.with_taken_messages(result, messages).await.into());
        }
        let response = self.finish(outcome.answer, &self.state_binding(sent)).await?;
        Ok(self.with_messages(response).await)
    }

    /// The answer of the tool itself, and the messages to its agent if the answer is final.
    async fn call_tool(
        &self,
        arguments: Map<String, Value>,
    ) -> Result<(CallOutcome, Option<TakenMessages>), ErrorData> {
        let (catalog, session) = (self.server.catalog(), self.caller.session.clone());
        let (toolset, tool) = (self.caller.toolset.clone(), self.tool.clone());
        let known = catalog.get(&toolset, &tool);
        let limits = session.limits();
        let millis = known.map_or(limits.call_millis, |tool| tool.millis(limits));
        let work = known.map(|tool| tool.work());
        let runs = work == Some(Work::Run);
        let work = work.map_or(WorkKind::Look, WorkKind::from);
        let call = self.server.call_context().within_millis(millis);
        let cancel = call.cancel_flag();
        let calling = move || {
            let outcome = catalog.call_deferring_transcript(
                &toolset,
                &tool,
                Value::Object(arguments),
                &session,
                &call,
            );
            let is_final = outcome.answer.pending.is_none() && outcome.other_root.is_none();
            let messages = if is_final { messages::take(&session, &call) } else { None };
            (outcome, messages)
        };
        let running = self.server.pools().try_run(&self.caller.workspace_key, work, calling);
        let mut running = std::pin::pin!(running);
        let mut asking_about_hosts = std::pin::pin!(self.ask_about_hosts());
        let token = self.context.meta.get_progress_token();
        let began = Instant::now();
        let mut progress_interval = interval_at(began + PROGRESS_INTERVAL, PROGRESS_INTERVAL);
        let (mut cancelled, mut telling) = (false, None);
        loop {
            tokio::select! {
                biased;
                done = &mut running => return done.map_err(overloaded)?.ok_or_else(broke_off),
                () = self.context.ct.cancelled(), if !cancelled => {
                    // The loop goes on: the slot of the work is free only once the work has ended.
                    cancelled = true;
                    cancel.store(true, Ordering::Relaxed);
                }
                () = &mut asking_about_hosts, if runs => {}
                _ = progress_interval.tick(), if token.is_some() => {
                    // In a task of its own: a client that does not read must not keep the call from ending.
                    if telling.as_ref().is_none_or(JoinHandle::is_finished) {
                        telling = token.clone().map(|token| self.report_progress(token, began.elapsed()));
                    }
                }
            }
        }
    }

    /// The response with the messages to the agent. A response that asks the client for something has none: the client
    /// calls again.
    async fn with_messages(&self, response: CallToolResponse) -> CallToolResponse {
        let CallToolResponse::Complete(result) = response else { return response };
        let (session, call) = (self.caller.session.clone(), self.server.call_context());
        if self.context.ct.is_cancelled() {
            return result.into();
        }
        let take = move || messages::take(&session, &call);
        let taken = self.run_in_pool(WorkKind::Look, take).await.ok().flatten();
        self.with_taken_messages(result, taken).await.into()
    }

    /// The result with messages that were taken for it. If the client cancelled the call meanwhile, it does not read the
    /// result, and gets the messages with another one.
    async fn with_taken_messages(
        &self,
        mut result: CallToolResult,
        taken: Option<TakenMessages>,
    ) -> CallToolResult {
        let Some(taken) = taken else { return result };
        if !self.context.ct.is_cancelled() {
            result::add_messages(&mut result, &taken);
            return result;
        }
        let session = self.caller.session.clone();
        let put_back = move || session.put_back_messages(&taken);
        if let Ok(Err(fault)) = self.run_in_pool(WorkKind::Look, put_back).await {
            tracing::warn!("messages to an agent were in an answer that was cancelled: {fault}");
        }
        result
    }

    /// Notifies the client that the call still runs.
    fn report_progress(&self, token: ProgressToken, elapsed: Duration) -> JoinHandle<()> {
        let seconds = elapsed.as_secs();
        #[expect(clippy::cast_precision_loss, reason = "seconds of one call")]
        let progress = ProgressNotificationParam::new(token, seconds as f64)
            .with_message(format!("{} has been running for {seconds} s", self.tool));
        let peer = self.context.peer.clone();
        tokio::spawn(async move { drop(peer.notify_progress(progress).await) })
    }

    /// Writes the call into the transcript.
    fn record(&self, line: Option<UnwrittenTurn>) {
        match (line, &self.caller.transcript) {
            (Some(line), Some(transcript)) => transcript.push(line),
            (Some(line), None) => line.write(),
            (None, _) => {}
        }
    }

    /// The result of an answer, after a person has decided where one has to. If the client cancels the call
    /// meanwhile, the request for approval is withdrawn.
    async fn finish(&self, answer: Answer, bound: &[u8]) -> Result<CallToolResponse, ErrorData> {
        let Some(pending) = answer.pending.clone() else {
            return Ok(result::from_answer(self.reply_form, answer).into());
        };
        let waiter = match pending.awaited {
            Awaited::Approval(id) => Some((id, self.caller.session.approvals().wait_for(id))),
            Awaited::Question(_) => None,
        };
        // A person may take minutes, and the request was read.
        self.caller.body_memory.release();
        let finish = self.ask_person(pending, answer, bound).await;
        // The end of the connection also sets the token, but cancels no call.
        let cancelled = self.context.ct.is_cancelled() && !self.context.peer.is_transport_closed();
        if let Some((id, waiter)) = waiter
            && cancelled
            && waiter.leave()
        {
            self.withdraw(id).await;
        }
        finish
    }

    /// Withdraws a request for approval whose call was cancelled.
    async fn withdraw(&self, id: ApprovalId) {
        let (session, call) = (self.caller.session.clone(), self.server.approved_call_context());
        let withdraw = move || session.approvals().close(&call, id, ApprovalStatus::Withdrawn);
        if let Ok(Err(fault)) = self.run_in_pool(WorkKind::Change, withdraw).await {
            tracing::warn!("the request of a cancelled call still waits: {fault}");
        }
    }

    async fn ask_person(
        &self,
        pending: Pending,
        answer: Answer,
        bound: &[u8],
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(asking) = self.asking(&pending).await? else {
            return Ok(self.wait_for_decision(&pending, answer).await.into());
        };
        if self.asks_in_rounds() {
            let state = self.seal_state(&pending, &asking, bound)?;
            let request = InputRequest::Elicitation(ElicitRequest::new(asking.params()));
            let requests = BTreeMap::from([(PERSON.to_owned(), request)]);
            return Ok(InputRequiredResult::new(Some(requests), Some(state)).into());
        }
        match asking {
            PersonPrompt::Form(form) => self.ask_in_client(pending, form, bound).await,
            PersonPrompt::Page(page) => self.send_to_page(pending, page).await,
        }
    }

    /// Sends a person to a page and waits until they have decided there or have declined to open it.
    async fn send_to_page(
        &self,
        pending: Pending,
        page: ElicitRequestParams,
    ) -> Result<CallToolResponse, ErrorData> {
        let peer = &self.context.peer;
        let turned_away = async {
            let asked = peer.create_elicitation_with_timeout(page, Some(PERSON_TIMEOUT)).await;
            if asked.is_ok_and(|said| said.action == ElicitationAction::Accept) {
                // The person opens the page: only the page knows what they decide.
                std::future::pending::<()>().await;
            }
        };
        let answer = tokio::select! {
            answer = self.wait_until_decided(&pending) => answer,
            () = turned_away => None,
            () = self.context.ct.cancelled() => None,
        };
        let now = match answer {
            Some(answer) => {
                self.notify_page_done(&pending).await;
                answer
            }
            None => self.resume(&pending).await?,
        };
        Ok(self.current_result(now).into())
    }

    /// Waits for a decision, wherever it is made; `None` if nobody decides within the timeout.
    async fn wait_until_decided(&self, pending: &Pending) -> Option<Answer> {
        let resume = || self.try_resume(pending);
        let (session, stop) = (&self.caller.session, std::future::pending());
        waiting::wait_until_settled(session, PERSON_TIMEOUT, stop, resume).await
    }

    /// Notifies the client that nothing is left to do on the page.
    async fn notify_page_done(&self, pending: &Pending) {
        let id = pending.awaited.id();
        let done = CustomNotification::new(PAGE_DONE, Some(json!({"elicitationId": id})));
        // A client that disconnected needs no notification.
        let _ =
            self.context.peer.send_notification(ServerNotification::CustomNotification(done)).await;
    }

    /// The result of an answer that may still wait for a person.
    fn current_result(&self, answer: Answer) -> CallToolResult {
        match &answer.pending {
            Some(pending) => result::waiting(pending, &self.caller.decision_channel, &answer.body),
            None => result::from_answer(self.reply_form, answer),
        }
    }

    /// Asks the person through the client and applies the answer.
    async fn ask_in_client(
        &self,
        pending: Pending,
        form: Form,
        bound: &[u8],
    ) -> Result<CallToolResponse, ErrorData> {
        let Form { params, shown } = form;
        let said = {
            let asked =
                self.context.peer.create_elicitation_with_timeout(params, Some(PERSON_TIMEOUT));
            tokio::select! {
                said = asked => said.ok(),
                // Another person decided elsewhere.
                _ = self.wait_until_decided(&pending) => None,
                () = self.context.ct.cancelled() => None,
            }
        };
        if let Some(said) = said {
            return self.apply_person_answer(Asked { pending, shown }, said, bound).await;
        }
        let now = self.resume(&pending).await?;
        Ok(self.current_result(now).into())
    }

    /// Goes on with a call that the client made again with its state.
    async fn continue_call(
        &self,
        opened: Opened,
        said: Option<Value>,
        bound: &[u8],
    ) -> Result<CallToolResponse, ErrorData> {
        let Opened { asked, on_page } = opened;
        let said = said.map(serde_json::from_value::<ElicitResult>).transpose();
        let said = said.map_err(|error| {
            ErrorData::invalid_params(format!("inputResponses.{PERSON}: {error}"), None)
        })?;
        match said {
            Some(said) if on_page => {
                let answer = self.resume(&asked.pending).await?;
                match (&said.action, &answer.pending) {
                    // The person opens the page: wait a while for the decision.
                    (ElicitationAction::Accept, Some(pending)) => {
                        let pending = Pending { wait_ms: None, ..pending.clone() };
                        Ok(self.wait_for_decision(&pending, answer).await.into())
                    }
                    _ => Ok(self.current_result(answer).into()),
                }
            }
            Some(said) => self.apply_person_answer(asked, said, bound).await,
            None => {
                let answer = self.resume(&asked.pending).await?;
                self.finish(answer, bound).await
            }
        }
    }

    /// Applies the person's answer, and answers the call. A request that changed since it was shown is shown
    /// again.
    async fn apply_person_answer(
        &self,
        asked: Asked,
        said: ElicitResult,
        bound: &[u8],
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(person) = self.caller.person.clone() else {
            return Err(ErrorData::invalid_request("the client's word is no person's here", None));
        };
        let (catalog, call) = (self.server.catalog(), self.server.approved_call_context());
        let pending = asked.pending.clone();
        // A yes makes the call at once.
        let work = match elicitation::is_yes(&asked, &said) {
            true => waiting::work_of_approved(&catalog, &self.caller.toolset, &self.tool),
            false => WorkKind::Change,
        };
        let apply = move || elicitation::apply(&catalog, &person, &call, &asked, &said);
        let word = self.run_in_pool(work, apply).await?;
        let answer = self.resume(&pending).await?;
        match (word, &answer.pending) {
            (Ok(PersonAnswer::None), Some(pending)) => {
                Ok(result::waiting(pending, &self.caller.decision_channel, &answer.body).into())
            }
            (Err(fault), Some(_)) if fault.code() != FaultCode::Stale => {
                Ok(result::refused(&fault).into())
            }
            // Another person may have decided before, in which case there is an answer as well.
            _ => Box::pin(self.finish(answer, bound)).await,
        }
    }

    /// The current answer of the call.
    async fn resume(&self, pending: &Pending) -> Result<Answer, ErrorData> {
        self.try_resume(pending).await.map_err(overloaded)?.ok_or_else(broke_off)
    }

    /// The current answer of the call; `None` if resuming it panicked.
    async fn try_resume(&self, pending: &Pending) -> Result<Option<Answer>, Overloaded> {
        let (catalog, call) = (self.server.catalog(), self.server.approved_call_context());
        let (session, toolset) = (self.caller.session.clone(), self.caller.toolset.clone());
        let (tool, pending) = (self.tool.clone(), pending.clone());
        let (pools, workspace_key) = (self.server.pools(), &self.caller.workspace_key);
        let resuming = Arc::new((catalog, toolset, tool, pending, session));
        let own = Arc::clone(&resuming);
        let look = move || {
            let (catalog, toolset, tool, pending, session) = &*own;
            waiting::work_to_resume(catalog, toolset, tool, pending, session)
        };
        let work = pools.try_run(workspace_key, WorkKind::Look, look).await?;
        let resume = move || {
            let (catalog, toolset, tool, pending, session) = &*resuming;
            catalog.resume(toolset, tool, pending, session, &call)
        };
        pools.try_run(workspace_key, work.unwrap_or(WorkKind::Change), resume).await
    }

    /// Runs work of this call on a thread where it may block.
    pub(super) async fn run_in_pool<T: Send + 'static>(
        &self,
        work: WorkKind,
        run: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let done = self.server.pools().try_run(&self.caller.workspace_key, work, run).await;
        done.map_err(overloaded)?.ok_or_else(broke_off)
    }

    /// Waits a while for a decision that is made without the client.
    async fn wait_for_decision(&self, pending: &Pending, answer: Answer) -> CallToolResult {
        let patience = pending.wait_ms.map_or(self.server.person_wait(), Duration::from_millis);
        let resume = || self.try_resume(pending);
        let stop = self.context.ct.cancelled();
        let now = waiting::wait_until_settled(&self.caller.session, patience, stop, resume).await;
        match now {
            Some(answer) => result::from_answer(self.reply_form, answer),
            None => result::waiting(pending, &self.caller.decision_channel, &answer.body),
        }
    }

    /// How the client can ask a person: by a form, if it can show this one and its answer counts; else by a page.
    async fn asking(&self, pending: &Pending) -> Result<Option<PersonPrompt>, ErrorData> {
        let able = self.context.client_capabilities().and_then(|able| able.elicitation);
        let Some(able) = able else { return Ok(None) };
        let has_forms = able.form.is_some() || able.url.is_none();
        if has_forms && let Some(form) = self.form(pending).await? {
            return Ok(Some(PersonPrompt::Form(form)));
        }
        Ok(match &self.caller.decision_channel {
            DecisionChannel::Pages(page_of) if able.url.is_some() => {
                Some(PersonPrompt::Page(elicitation::page(pending, page_of(&pending.awaited))))
            }
            _ => None,
        })
    }

    async fn form(&self, pending: &Pending) -> Result<Option<Form>, ErrorData> {
        let Some(person) = self.caller.person.clone() else { return Ok(None) };
        let pending = pending.clone();
        let form = move || elicitation::form(&pending, &person);
        self.run_in_pool(WorkKind::Look, form).await?.map_err(|fault| internal(&fault))
    }

    /// Whether the client's revision makes it call again with a person's answer.
    pub(super) fn asks_in_rounds(&self) -> bool {
        self.context
            .protocol_version()
            .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
    }

    /// What a state is bound to: this caller, this tool, these arguments.
    fn state_binding(&self, sent: Option<ContentHash>) -> Vec<u8> {
        let Some(sent) = sent else { return Vec::new() };
        let parts = [
            self.caller.session.actor().name(),
            String::from_utf8_lossy(self.caller.session.host_root()).into_owned(),
            self.caller.toolset.clone(),
            self.tool.clone(),
            sent.to_string(),
        ];
        parts.join("\0").into_bytes()
    }

    fn seal_state(
        &self,
        pending: &Pending,
        asking: &PersonPrompt,
        bound: &[u8],
    ) -> Result<String, ErrorData> {
        let (approval, question) = match &pending.awaited {
            Awaited::Approval(id) => (Some(id.to_string()), None),
            Awaited::Question(id) => (None, Some(id.to_string())),
        };
        let on_page = matches!(asking, PersonPrompt::Page(_));
        let shown = asking.shown().map(|hash| hash.to_string());
        let state = State { approval, question, on_page, shown };
        let options = SealOptions::new().associated_data(bound).ttl(STATE_LIFETIME);
        let sealed = self.server.state_codec().seal_json_with(&state, &options);
        let sealed = sealed.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(match self.caller.session.mount() {
            Some(mount) => format!("{sealed}/{}", mount.name),
            None => sealed,
        })
    }

    fn open_state(&self, state: &str, bound: &[u8]) -> Result<Opened, ErrorData> {
        let not_ours = |why: String| {
            let message =
                format!("requestState is not what this server handed out for this call: {why}");
            ErrorData::invalid_params(message, None)
        };
        let is_named = self.caller.session.mount().is_some();
        let sealed = root_of(state).filter(|_| is_named).map_or(state, |(sealed, _)| sealed);
        let opened = self.server.state_codec().open_json_with::<State>(sealed, bound);
        let opened = opened.map_err(|error| not_ours(error.to_string()))?;
        let approval = opened.approval.and_then(|id| id.parse().ok()).map(Awaited::Approval);
        let question = opened.question.and_then(|id| id.parse().ok()).map(Awaited::Question);
        let awaited =
            approval.or(question).ok_or_else(|| not_ours("it names nothing".to_owned()))?;
        let shown = opened.shown.and_then(|hash| hash.parse().ok());
        let pending = Pending { awaited, wait_ms: Some(0) };
        Ok(Opened { asked: Asked { pending, shown }, on_page: opened.on_page })
    }
}

fn hash_of(arguments: &Map<String, Value>) -> ContentHash {
    // A map with text keys can always be serialized.
    ContentHash::of(&serde_json::to_vec(arguments).unwrap_or_default())
}

/// Splits a state from the root that stands behind it where there are several: no root's name has a slash, and
/// the signature covers the root.
pub(super) fn root_of(state: &str) -> Option<(&str, &str)> {
    state.rsplit_once('/')
}

/// A fault that is not the caller's mistake.
pub(super) fn internal(fault: &Fault) -> ErrorData {
    ErrorData::internal_error(fault.message().to_owned(), None)
}

fn overloaded(overloaded: Overloaded) -> ErrorData {
    ErrorData::internal_error(overloaded.to_string(), None)
}

/// The call panicked: it has changed nothing, or is finished when the workspace is opened again.
pub(super) fn broke_off() -> ErrorData {
    ErrorData::internal_error("the call broke off; nothing of it is half done", None)
}
