//! One call of one tool: on a thread where it may block, with progress for who wants it, stopped when the
//! client says so, and carried through a person's word where it needs one.
//!
//! The two revisions of the protocol ask people differently. Until 2025-11-25 the server sends the client a
//! request and the call goes on when it is answered. From 2026-07-28 on the call ends with what is to be
//! asked and a signed state, and the client calls again with both.

use std::collections::BTreeMap;
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
use yard_dialects::{Answer, Called};
use yard_gate::{ApprovalStatus, Awaited, Line, Pending};

use super::asked::{self, Asking, Form, Word};
use super::door::Door;
use super::result;
use super::seat::{Elsewhere, Seat};
use super::stdio::Company;
use super::tools::Speech;
use crate::pool::{self, Overloaded, WorkKind};
use crate::waiting;

/// How often a long call tells that it goes on.
const PULSE: Duration = Duration::from_secs(1);
/// How long a person may take to answer in the client.
pub(super) const PATIENCE: Duration = Duration::from_secs(600);
/// How long a signed state is taken back.
const STATE_LIFE: Duration = Duration::from_secs(24 * 3_600);
/// The name under which a person's word is asked for.
const PERSON: &str = "person";
/// What tells a client that a person is done on a page.
const PAGE_DONE: &str = "notifications/elicitation/complete";

/// What a call that waits hands its client to bring back.
#[derive(Serialize, Deserialize)]
struct State {
    approval: Option<String>,
    question: Option<String>,
    /// The person was sent to a page: what the client brings back says only whether they went.
    #[serde(default)]
    on_page: bool,
    /// The state of the request that the person was shown: their word counts for that only.
    #[serde(default)]
    shown: Option<String>,
}

/// A state that a client brought back.
struct Opened {
    pending: Pending,
    on_page: bool,
    shown: Option<ContentHash>,
}

/// One call on its way.
pub(super) struct Calling<'a> {
    pub(super) door: &'a Door,
    pub(super) seat: Seat,
    pub(super) context: &'a RequestContext<RoleServer>,
    pub(super) tool: String,
    pub(super) speech: Speech,
    /// The place in another root, where there are several.
    pub(super) seat_in: &'a (dyn Fn(&str) -> yard_core::Result<Seat> + Send + Sync),
}

impl Calling<'_> {
    /// Calls the tool, or goes on with a call that waited.
    pub(super) async fn run(
        mut self,
        params: CallToolRequestParams,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = params.arguments.unwrap_or_default();
        // Only a state is bound to a call: where none comes or goes, nobody hashes what was sent.
        let has_state = params.request_state.is_some() || self.speaks_in_rounds();
        let sent = has_state.then(|| hash_of(&arguments));
        if let Some(state) = params.request_state.as_deref() {
            let bound = self.bound_to(sent);
            let opened = self.opened(state, &bound)?;
            let said = params.input_responses.and_then(|mut all| all.remove(PERSON));
            return self.continued(opened, said, &bound).await;
        }
        let kept = self.seat.session.mount().map(|_| arguments.clone());
        let mut called = self.called(arguments).await?;
        if let (Some(root), Some(arguments)) = (&called.elsewhere, kept) {
            self.seat = match (self.seat_in)(root) {
                Ok(seat) => seat,
                Err(fault) => return Ok(result::refused(&fault).into()),
            };
            called = self.called(arguments).await?;
        }
        self.keep(called.line);
        self.told(called.answer, &self.bound_to(sent)).await
    }

    /// The answer of the tool itself.
    async fn called(&self, arguments: Map<String, Value>) -> Result<Called, ErrorData> {
        let (catalog, session) = (self.door.catalog(), self.seat.session.clone());
        let (toolset, tool) = (self.seat.toolset.clone(), self.tool.clone());
        let known = catalog.get(&toolset, &tool);
        let limits = session.limits();
        let millis = known.map_or(limits.call_millis, |tool| tool.millis(limits));
        let saves = known.is_some_and(|tool| tool.work() == yard_dialects::Work::Save);
        let runs = known.is_some_and(|tool| tool.work() == yard_dialects::Work::Run);
        let work = known.map_or(WorkKind::Look, |tool| tool.work().into());
        let call = self.door.surroundings().within_millis(millis);
        let cancel = call.cancel_flag();
        let calling =
            move || catalog.call_first(&toolset, &tool, Value::Object(arguments), &session, &call);
        if saves && self.is_alone() && self.seat.session.is_free() {
            // Waking another thread and being woken by it takes as long as a flush. Whatever the client
            // sends meanwhile is read right after.
            return pool::catch_panic(calling).ok_or_else(broke_off);
        }
        let whose = self.whose();
        let running = self.door.pools().try_run(&whose, work, calling);
        let mut running = std::pin::pin!(running);
        let mut asking_about_hosts = std::pin::pin!(self.ask_about_hosts());
        let token = self.context.meta.get_progress_token();
        let began = Instant::now();
        let mut pulse = interval_at(began + PULSE, PULSE);
        let (mut cancelled, mut telling) = (false, None);
        loop {
            tokio::select! {
                biased;
                done = &mut running => return done.map_err(too_many)?.ok_or_else(broke_off),
                () = self.context.ct.cancelled(), if !cancelled => {
                    // The work is waited for all the same: its place is free only once it has ended.
                    cancelled = true;
                    cancel.store(true, Ordering::Relaxed);
                }
                () = &mut asking_about_hosts, if runs => {}
                _ = pulse.tick(), if token.is_some() => {
                    // Told beside the call: a client that does not read must not keep it from ending.
                    if telling.as_ref().is_none_or(JoinHandle::is_finished) {
                        telling = token.clone().map(|token| self.tell(token, began.elapsed()));
                    }
                }
            }
        }
    }

    /// Whether nobody waits for the thread that this is on.
    fn is_alone(&self) -> bool {
        self.context.extensions.get::<Company>().is_some_and(Company::is_alone)
    }

    /// Tells the client that the call goes on.
    fn tell(&self, token: ProgressToken, elapsed: Duration) -> JoinHandle<()> {
        let seconds = elapsed.as_secs();
        #[expect(clippy::cast_precision_loss, reason = "seconds of one call")]
        let progress = ProgressNotificationParam::new(token, seconds as f64)
            .with_message(format!("{} has been running for {seconds} s", self.tool));
        let peer = self.context.peer.clone();
        tokio::spawn(async move { drop(peer.notify_progress(progress).await) })
    }

    /// Keeps what was called in the transcript.
    fn keep(&self, line: Option<Line>) {
        match (line, &self.seat.scribe) {
            (Some(line), Some(scribe)) => scribe.take(line),
            (Some(line), None) => line.write(),
            (None, _) => {}
        }
    }

    /// The result of an answer, once whoever has to has spoken. If the client cancels the call meanwhile, its
    /// request is withdrawn.
    async fn told(&self, answer: Answer, bound: &[u8]) -> Result<CallToolResponse, ErrorData> {
        let Some(pending) = answer.pending.clone() else {
            return Ok(result::of(self.speech, answer).into());
        };
        let waiter = match pending.awaited {
            Awaited::Approval(id) => Some((id, self.seat.session.approvals().wait_for(id))),
            Awaited::Question(_) => None,
        };
        let told = self.told_pending(pending, answer, bound).await;
        // A connection that ended has cancelled nothing.
        let cancelled = self.context.ct.is_cancelled() && !self.context.peer.is_transport_closed();
        if let Some((id, waiter)) = waiter
            && cancelled
            && waiter.is_last()
        {
            self.withdraw(id).await;
        }
        told
    }

    /// Nobody waits for the answer to a request any more.
    async fn withdraw(&self, id: ApprovalId) {
        let (session, call) = (self.seat.session.clone(), self.door.patient());
        let withdraw = move || session.approvals().close(&call, id, ApprovalStatus::Withdrawn);
        if let Some(Err(fault)) = self.door.pools().run(&self.whose(), WorkKind::Change, withdraw).await
        {
            tracing::warn!("the request of a cancelled call still waits: {fault}");
        }
    }

    async fn told_pending(
        &self,
        pending: Pending,
        answer: Answer,
        bound: &[u8],
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(asking) = self.asking(&pending).await? else {
            return Ok(self.waited(&pending, answer).await.into());
        };
        if self.speaks_in_rounds() {
            let state = self.sealed(&pending, &asking, bound)?;
            let request = InputRequest::Elicitation(ElicitRequest::new(asking.params()));
            let requests = BTreeMap::from([(PERSON.to_owned(), request)]);
            return Ok(InputRequiredResult::new(Some(requests), Some(state)).into());
        }
        match asking {
            Asking::Form(form) => self.asked_in_client(pending, form, bound).await,
            Asking::Page(page) => self.sent_to_page(pending, page).await,
        }
    }

    /// Sends a person to a page and waits until they have decided there, or said that they will not go.
    async fn sent_to_page(
        &self,
        pending: Pending,
        page: ElicitRequestParams,
    ) -> Result<CallToolResponse, ErrorData> {
        let peer = &self.context.peer;
        let turned_away = async {
            let asked = peer.create_elicitation_with_timeout(page, Some(PATIENCE)).await;
            if asked.is_ok_and(|said| said.action == ElicitationAction::Accept) {
                // They are on their way: only the page knows what they decide.
                std::future::pending::<()>().await;
            }
        };
        let answer = tokio::select! {
            answer = self.decided_elsewhere(&pending) => answer,
            () = turned_away => None,
            () = self.context.ct.cancelled() => None,
        };
        let now = match answer {
            Some(answer) => {
                self.tell_page_is_done(&pending).await;
                answer
            }
            None => self.resumed(&pending).await?,
        };
        Ok(self.as_it_stands(now).into())
    }

    /// The answer once a person has decided, wherever they did; `None` if none does for so long.
    async fn decided_elsewhere(&self, pending: &Pending) -> Option<Answer> {
        let resume = || async { self.resumed(pending).await.ok() };
        waiting::settled(&self.seat.session, PATIENCE, std::future::pending(), resume).await
    }

    /// Tells the client that nothing is left to do on the page.
    async fn tell_page_is_done(&self, pending: &Pending) {
        let id = pending.awaited.id();
        let done = CustomNotification::new(PAGE_DONE, Some(json!({"elicitationId": id})));
        // A client that is gone need not know.
        let _ =
            self.context.peer.send_notification(ServerNotification::CustomNotification(done)).await;
    }

    /// The result of an answer, whoever it may wait for.
    fn as_it_stands(&self, answer: Answer) -> CallToolResult {
        match &answer.pending {
            Some(pending) => result::waiting(pending, &self.seat.elsewhere, &answer.body),
            None => result::of(self.speech, answer),
        }
    }

    /// Lets the client ask, and does what the person said.
    async fn asked_in_client(
        &self,
        pending: Pending,
        form: Form,
        bound: &[u8],
    ) -> Result<CallToolResponse, ErrorData> {
        let Form { params, shown } = form;
        let said = {
            let asked = self.context.peer.create_elicitation_with_timeout(params, Some(PATIENCE));
            tokio::select! {
                said = asked => said.ok(),
                // Another person was faster, at another place.
                _ = self.decided_elsewhere(&pending) => None,
                () = self.context.ct.cancelled() => None,
            }
        };
        if let Some(said) = said {
            return self.settled(pending, shown, said, bound).await;
        }
        let now = self.resumed(&pending).await?;
        Ok(self.as_it_stands(now).into())
    }

    /// A call that was made again with what the client brought back.
    async fn continued(
        &self,
        opened: Opened,
        said: Option<Value>,
        bound: &[u8],
    ) -> Result<CallToolResponse, ErrorData> {
        let Opened { pending, on_page, shown } = opened;
        let said = said.map(serde_json::from_value::<ElicitResult>).transpose();
        let said = said.map_err(|error| {
            ErrorData::invalid_params(format!("inputResponses.{PERSON}: {error}"), None)
        })?;
        match said {
            Some(said) if on_page => {
                let answer = self.resumed(&pending).await?;
                match (&said.action, &answer.pending) {
                    // They are on their way: a while is waited for what they decide.
                    (ElicitationAction::Accept, Some(pending)) => {
                        let pending = Pending { wait_ms: None, ..pending.clone() };
                        Ok(self.waited(&pending, answer).await.into())
                    }
                    _ => Ok(self.as_it_stands(answer).into()),
                }
            }
            Some(said) => self.settled(pending, shown, said, bound).await,
            None => {
                let answer = self.resumed(&pending).await?;
                self.told(answer, bound).await
            }
        }
    }

    /// Does what the person said, and answers the call as it stands then. What changed since it was shown
    /// is shown again.
    async fn settled(
        &self,
        pending: Pending,
        shown: Option<ContentHash>,
        said: ElicitResult,
        bound: &[u8],
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(person) = self.seat.person.clone() else {
            return Err(ErrorData::invalid_request("the client's word is no person's here", None));
        };
        let (catalog, call) = (self.door.catalog(), self.door.patient());
        let (waited, whose) = (pending.clone(), self.whose());
        let done = self.door.pools().run(&whose, WorkKind::Change, move || {
            asked::settle(&catalog, &person, &call, &waited, shown, &said)
        });
        let word = done.await.ok_or_else(broke_off)?;
        let answer = self.resumed(&pending).await?;
        match (word, &answer.pending) {
            (Ok(Word::None), Some(pending)) => {
                Ok(result::waiting(pending, &self.seat.elsewhere, &answer.body).into())
            }
            (Err(fault), Some(_)) if fault.code() != FaultCode::Stale => {
                Ok(result::refused(&fault).into())
            }
            // Another person may have been faster, in which case there is an answer as well.
            _ => Box::pin(self.told(answer, bound)).await,
        }
    }

    /// Whose work the calls are: the workspace's, whoever is calling.
    pub(super) fn whose(&self) -> String {
        String::from_utf8_lossy(self.seat.session.host_root()).into_owned()
    }

    /// The answer as it stands now.
    async fn resumed(&self, pending: &Pending) -> Result<Answer, ErrorData> {
        let (catalog, session, call) =
            (self.door.catalog(), self.seat.session.clone(), self.door.patient());
        let (toolset, tool, pending) =
            (self.seat.toolset.clone(), self.tool.clone(), pending.clone());
        // What was approved may be left to be done by who waits for it.
        let resume = move || catalog.resume(&toolset, &tool, &pending, &session, &call);
        self.door.pools().run(&self.whose(), WorkKind::Change, resume).await.ok_or_else(broke_off)
    }

    /// Waits a while for a person elsewhere, who cannot be asked through the client.
    async fn waited(&self, pending: &Pending, answer: Answer) -> CallToolResult {
        let patience = pending.wait_ms.map_or(self.door.wait(), Duration::from_millis);
        let resume = || async { self.resumed(pending).await.ok() };
        let stop = self.context.ct.cancelled();
        let now = waiting::settled(&self.seat.session, patience, stop, resume).await;
        match now {
            Some(answer) => result::of(self.speech, answer),
            None => result::waiting(pending, &self.seat.elsewhere, &answer.body),
        }
    }

    /// How the client can ask a person: by a form, if it can ask this and its word counts; else by a page.
    async fn asking(&self, pending: &Pending) -> Result<Option<Asking>, ErrorData> {
        let able = self.context.client_capabilities().and_then(|able| able.elicitation);
        let Some(able) = able else { return Ok(None) };
        let has_forms = able.form.is_some() || able.url.is_none();
        if has_forms && let Some(form) = self.form(pending).await? {
            return Ok(Some(Asking::Form(form)));
        }
        Ok(match &self.seat.elsewhere {
            Elsewhere::Pages(page_of) if able.url.is_some() => {
                Some(Asking::Page(asked::page(pending, page_of(&pending.awaited))))
            }
            _ => None,
        })
    }

    async fn form(&self, pending: &Pending) -> Result<Option<Form>, ErrorData> {
        let Some(person) = self.seat.person.clone() else { return Ok(None) };
        let pending = pending.clone();
        let form = move || asked::form(&pending, &person);
        let form = self.door.pools().run(&self.whose(), WorkKind::Look, form).await;
        form.ok_or_else(broke_off)?.map_err(|fault| internal(&fault))
    }

    /// Whether whoever asks a person calls again with the answer.
    pub(super) fn speaks_in_rounds(&self) -> bool {
        self.context
            .protocol_version()
            .is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
    }

    /// What a state is good for: this caller, this tool, these arguments.
    fn bound_to(&self, sent: Option<ContentHash>) -> Vec<u8> {
        let Some(sent) = sent else { return Vec::new() };
        let parts = [
            self.seat.session.actor().name(),
            String::from_utf8_lossy(self.seat.session.host_root()).into_owned(),
            self.seat.toolset.clone(),
            self.tool.clone(),
            sent.to_string(),
        ];
        parts.join("\0").into_bytes()
    }

    fn sealed(
        &self,
        pending: &Pending,
        asking: &Asking,
        bound: &[u8],
    ) -> Result<String, ErrorData> {
        let (approval, question) = match &pending.awaited {
            Awaited::Approval(id) => (Some(id.to_string()), None),
            Awaited::Question(id) => (None, Some(id.to_string())),
        };
        let on_page = matches!(asking, Asking::Page(_));
        let shown = asking.shown().map(|hash| hash.to_string());
        let state = State { approval, question, on_page, shown };
        let options = SealOptions::new().associated_data(bound).ttl(STATE_LIFE);
        let sealed = self.door.seal().seal_json_with(&state, &options);
        let sealed = sealed.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(match self.seat.session.mount() {
            Some(mount) => format!("{sealed}/{}", mount.name),
            None => sealed,
        })
    }

    fn opened(&self, state: &str, bound: &[u8]) -> Result<Opened, ErrorData> {
        let not_ours = |why: String| {
            let message =
                format!("requestState is not what this server handed out for this call: {why}");
            ErrorData::invalid_params(message, None)
        };
        let is_named = self.seat.session.mount().is_some();
        let sealed = root_of(state).filter(|_| is_named).map_or(state, |(sealed, _)| sealed);
        let opened: State = { self.door.seal() }
            .open_json_with(sealed, bound)
            .map_err(|error| not_ours(error.to_string()))?;
        let approval = opened.approval.and_then(|id| id.parse().ok()).map(Awaited::Approval);
        let question = opened.question.and_then(|id| id.parse().ok()).map(Awaited::Question);
        let awaited =
            approval.or(question).ok_or_else(|| not_ours("it names nothing".to_owned()))?;
        let shown = opened.shown.and_then(|hash| hash.parse().ok());
        let pending = Pending { awaited, wait_ms: Some(0) };
        Ok(Opened { pending, on_page: opened.on_page, shown })
    }
}

fn hash_of(arguments: &Map<String, Value>) -> ContentHash {
    // The keys of a map are texts: there is nothing that cannot be written.
    ContentHash::of(&serde_json::to_vec(arguments).unwrap_or_default())
}

/// A state, and the root that it is about where there are several: no name of a root has a slash, and it is
/// sealed which one was meant.
pub(super) fn root_of(state: &str) -> Option<(&str, &str)> {
    state.rsplit_once('/')
}

/// A fault that is nobody's mistake.
pub(super) fn internal(fault: &Fault) -> ErrorData {
    ErrorData::internal_error(fault.message().to_owned(), None)
}

/// A call that panicked has changed nothing, or is finished when the workspace is opened again.
fn too_many(Overloaded(seconds): Overloaded) -> ErrorData {
    let message = format!(
        "this workspace has as much under way as it may, and much more waits; call again in {seconds} s"
    );
    ErrorData::internal_error(message, None)
}

pub(super) fn broke_off() -> ErrorData {
    ErrorData::internal_error("the call broke off; nothing of it is half done", None)
}
