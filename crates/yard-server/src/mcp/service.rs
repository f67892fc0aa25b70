//! What the protocol can be asked, method by method. Each is a few lines here and does its work in a
//! module of its own; which revision of the protocol is spoken is mostly the SDK's to know.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, DiscoverResult,
    GetPromptRequestParams, GetPromptResponse, Implementation, InitializeRequestParams,
    InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ResourceUpdatedNotificationParam,
    ResourcesCapability, ServerCapabilities, ServerConfig, SetLevelRequestMethod,
    SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler};
use serde_json::Map;
use tokio::sync::watch;
use tokio::time::timeout;
use yard_core::{Call, Limits};
use yard_dialects::Catalog;

use super::call::{Calling, broke_off, internal, root_of};
use super::door::Door;
use super::extras::Extras;
use super::seat::{Room, Seats};
use super::tools::Speech;
use super::watching::{Changed, Since, Watcher};
use super::{completion, prompts, resources, result};
use crate::pool::WorkKind;

/// How long clients may take a list to be as it was: it changes with the program only.
const LIST_MILLIS: u64 = 3_600_000;
/// How long a client may take to say which roots it offers.
const ROOTS: Duration = Duration::from_secs(30);
/// Addresses that one connection may be told of.
const SUBSCRIPTIONS: usize = 1_000;

const INSTRUCTIONS: &str = "\
Files of a workspace where no change is lost: every step is kept and can be undone by the person. A failed call \
changes nothing and says what to send instead. Some calls wait for a person's approval; the answer says so.";

/// What a connection needs to answer more than hello.
pub(super) struct Ready<S> {
    pub(super) door: Arc<Door>,
    pub(super) seats: Arc<S>,
}

impl<S> Clone for Ready<S> {
    fn clone(&self) -> Self {
        Self { door: Arc::clone(&self.door), seats: Arc::clone(&self.seats) }
    }
}

/// That, once it is there: hello is answered while workspaces are still being opened. Why it never will be,
/// if it will not.
pub(super) type Readiness<S> = watch::Receiver<Option<Result<Ready<S>, String>>>;

/// What begins to make it ready.
pub(super) type Begin = Box<dyn FnOnce() + Send>;

/// One connection, or one request of a transport without connections.
pub(super) struct Service<S> {
    readiness: Readiness<S>,
    begin: Arc<Mutex<Option<Begin>>>,
    extras: Option<Arc<dyn Extras>>,
    /// Whether the client was asked which roots it offers; who asks keeps others waiting.
    asked_roots: tokio::sync::Mutex<bool>,
    /// What the client wants to be told of (2025-11-25 and before).
    told: Arc<Told>,
}

/// What a client of 2025-11-25 and before is told.
#[derive(Default)]
struct Told {
    /// The addresses that it subscribed to.
    subscribed: Mutex<HashSet<String>>,
    /// It has the list, and is told that it changed.
    has_list: AtomicBool,
    /// Whether anybody tells it.
    begun: tokio::sync::Mutex<bool>,
}

impl Told {
    fn subscribed(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.subscribed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to tell, if nobody does yet. The whole tree is walked for that.
    async fn begin(
        self: &Arc<Self>,
        door: &Door,
        rooms: Vec<Room>,
        peer: &Peer<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut begun = self.begun.lock().await;
        if !*begun {
            for watcher in watchers(door, rooms, Since::Now).await? {
                tokio::spawn(tell(watcher, peer.clone(), Arc::downgrade(self)));
            }
            *begun = true;
        }
        Ok(())
    }
}

impl<S: Seats> Service<S> {
    /// A service that is ready.
    pub(super) fn new(ready: Ready<S>, extras: Option<Arc<dyn Extras>>) -> Self {
        Self { extras, ..Self::when(watch::channel(Some(Ok(ready))).1, None) }
    }

    /// A service that will be, some time after `begin` was called.
    pub(super) fn when(readiness: Readiness<S>, begin: Option<Begin>) -> Self {
        Self {
            readiness,
            begin: Arc::new(Mutex::new(begin)),
            extras: None,
            asked_roots: tokio::sync::Mutex::new(false),
            told: Arc::default(),
        }
    }

    /// Begins to get ready once hello is answered, so that nothing comes before that.
    fn begin_soon(&self) {
        let begin = Arc::clone(&self.begin);
        tokio::spawn(async move { begin_now(&begin) });
    }

    /// What is needed to answer, once it is there.
    async fn ready(&self) -> Result<Ready<S>, ErrorData> {
        begin_now(&self.begin);
        let mut readiness = self.readiness.clone();
        let ready = readiness.wait_for(Option::is_some).await;
        match ready.as_deref() {
            Ok(Some(Ok(ready))) => Ok(ready.clone()),
            Ok(Some(Err(why))) => Err(ErrorData::internal_error(why.clone(), None)),
            Ok(None) | Err(_) => Err(broke_off()),
        }
    }

    /// What there is besides the catalog for whoever sends this request.
    async fn extras(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<&dyn Extras>, ErrorData> {
        // Where there are none, nobody waits for what it takes to tell.
        let Some(extras) = self.extras.as_deref() else { return Ok(None) };
        let toolset = self.ready().await?.seats.toolset(context)?;
        Ok(Some(extras).filter(|extras| extras.toolset() == toolset))
    }

    /// Asks the client once which roots it offers, and keeps to them.
    async fn heed_roots(&self, seats: &S, context: &RequestContext<RoleServer>) {
        if !S::TAKES_ROOTS || context.peer.peer_info().is_none() {
            return;
        }
        let mut asked = self.asked_roots.lock().await;
        if *asked {
            return;
        }
        let offers = context.client_capabilities().is_some_and(|able| able.roots.is_some());
        let roots = if offers { offered(&context.peer).await } else { Some(Vec::new()) };
        // A client that did not say now is asked again.
        *asked = roots.is_some();
        if let Some(roots) = roots {
            seats.narrow(&roots);
        }
    }

    /// Does something that looks at the caller's workspaces where it may block.
    async fn looking<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: WorkKind,
        look: impl FnOnce(&[Room], &Call) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let Ready { door, seats } = self.ready().await?;
        self.heed_roots(&seats, context).await;
        let rooms = seats.rooms(context)?;
        let call = door.surroundings().within_millis(Limits::default().call_millis);
        let cancel = call.cancel_flag();
        let whose = whose(&rooms);
        let running = door.pools().run(&whose, work, move || look(&rooms, &call));
        tokio::select! {
            done = running => done.unwrap_or_else(|| Err(broke_off())),
            () = context.ct.cancelled() => {
                cancel.store(true, Ordering::Relaxed);
                Err(ErrorData::internal_error("cancelled", None))
            }
        }
    }

    /// Whoever has the list wants to know when it is another: who cannot say so, since there is no word for it
    /// before 2026-07-28, is told from now on. That begins beside the answer.
    async fn tell_of_list(&self, context: &RequestContext<RoleServer>) {
        let version = context.protocol_version();
        if version.is_none_or(|version| version >= ProtocolVersion::V_2026_07_28) {
            return;
        }
        let Ok(Ready { door, seats }) = self.ready().await else { return };
        let Ok(rooms) = seats.rooms(context) else { return };
        self.told.has_list.store(true, Ordering::Relaxed);
        let (told, peer) = (Arc::clone(&self.told), context.peer.clone());
        tokio::spawn(async move { told.begin(&door, rooms, &peer).await });
    }
}

/// Whose work it is to look at these.
fn whose(rooms: &[Room]) -> String {
    let root = rooms.first().map_or(&[][..], |room| room.session.host_root());
    String::from_utf8_lossy(root).into_owned()
}

/// Somebody who looks at each workspace from now on, or from a moment ago on. The whole tree is walked for
/// that, which takes a while.
async fn watchers(door: &Door, rooms: Vec<Room>, from: Since) -> Result<Vec<Watcher>, ErrorData> {
    let (call, whose) = (door.surroundings(), whose(&rooms));
    let watch = move || rooms.into_iter().map(|room| Watcher::new(room, from, &call)).collect();
    let made: Option<yard_core::Result<Vec<_>>> = door.pools().run(&whose, WorkKind::Walk, watch).await;
    made.ok_or_else(broke_off)?.map_err(|fault| internal(&fault))
}

fn begin_now(begin: &Mutex<Option<Begin>>) {
    let begin = begin.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(begin) = begin {
        begin();
    }
}

/// The folders that a client offers, as paths of the host; `None` if it does not say.
#[expect(deprecated, reason = "clients of 2025-11-25 and before offer roots in this way")]
async fn offered(peer: &Peer<RoleServer>) -> Option<Vec<Vec<u8>>> {
    let listed = timeout(ROOTS, peer.list_roots()).await.ok()?.ok()?;
    let paths = listed.roots.iter().filter_map(|root| root.uri.strip_prefix("file://"));
    let paths = paths.map(|path| path.strip_prefix("localhost").unwrap_or(path));
    Some(paths.map(|path| percent_decode_str(path.trim_end_matches('/')).collect()).collect())
}

/// Tells a client of 2025-11-25 and before what changed, for as long as it is there.
async fn tell(mut watcher: Watcher, peer: Peer<RoleServer>, told: std::sync::Weak<Told>) {
    loop {
        watcher.wait().await;
        let Some(told) = told.upgrade() else { return };
        if peer.is_transport_closed() {
            return;
        }
        while let Ok(Some(changed)) = watcher.look() {
            if changed.list && told.has_list.load(Ordering::Relaxed) {
                let _ = peer.notify_resource_list_changed().await;
            }
            let wanted = told.subscribed().clone();
            for uri in wanted.into_iter().filter(|uri| changed.concerns(uri)) {
                let updated = ResourceUpdatedNotificationParam::new(uri);
                let _ = peer.notify_resource_updated(updated).await;
            }
        }
    }
}

/// Tells one subscriber of 2026-07-28 and later.
async fn tell_subscriber(
    context: &SubscriptionContext,
    changed: &Changed,
) -> Result<(), rmcp::service::SubscriptionSendError> {
    let (sink, accepted) = (context.sink(), context.accepted());
    for uri in accepted.resource_subscriptions.iter().flatten().filter(|uri| changed.concerns(uri))
    {
        sink.notify_resource_updated(uri).await?;
    }
    if changed.list && accepted.resources_list_changed == Some(true) {
        sink.notify_resource_list_changed().await?;
    }
    Ok(())
}

impl<S: Seats> ServerHandler for Service<S> {
    fn get_info(&self) -> ServerConfig {
        let mut resources = ResourcesCapability::default();
        resources.subscribe = Some(true);
        resources.list_changed = Some(true);
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources_with(resources)
            .enable_prompts()
            .enable_completions()
            .build();
        if self.extras.as_ref().is_some_and(|extras| extras.logs()) {
            capabilities.logging = Some(JsonObject::new());
        }
        let this =
            Implementation::new("toolyard", env!("CARGO_PKG_VERSION")).with_title("Toolyard");
        ServerConfig::new(capabilities).with_server_info(this).with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.begin_soon();
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.begin_soon();
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let Ready { door, seats } = self.ready().await?;
        let toolset = seats.toolset(&context)?;
        let mut list = ListToolsResult::with_all_items(door.listed(&toolset).to_vec());
        list.ttl_ms = Some(LIST_MILLIS);
        Ok(list)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Ready { door, seats } = self.ready().await?;
        self.heed_roots(&seats, &context).await;
        let toolset = seats.toolset(&context)?;
        let catalog = door.catalog();
        let Some(tool) = catalog.get(&toolset, &params.name) else {
            return Err(unknown(&catalog, &toolset, &params.name));
        };
        if let Some(extras) = self.extras(&context).await?
            && let Some(answering) = extras.call(&params, &context)
        {
            return answering.await;
        }
        let (tool, speech) = (tool.name().to_owned(), Speech::of(tool));
        let seat_in = |root: &str| seats.seat_in(&context, root);
        let root = params.request_state.as_deref().and_then(root_of);
        let seat = match (root, &params.arguments) {
            (Some((_, root)), _) => seat_in(root),
            (None, Some(arguments)) => seats.seat(&context, arguments),
            (None, None) => seats.seat(&context, &Map::new()),
        };
        let seat = match seat {
            Ok(seat) => seat,
            Err(fault) => return Ok(result::refused(&fault).into()),
        };
        let calling =
            Calling { door: &door, seat, context: &context, tool, speech, seat_in: &seat_in };
        calling.run(params).await
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = params.and_then(|params| params.cursor);
        let is_first = cursor.is_none();
        let list =
            move |rooms: &[Room], call: &Call| resources::list(rooms, cursor.as_deref(), call);
        let mut page = self.looking(&context, WorkKind::Walk, list).await?;
        self.tell_of_list(&context).await;
        if is_first && let Some(extras) = self.extras(&context).await? {
            page.resources.splice(0..0, extras.resources());
        }
        Ok(page)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = ListResourceTemplatesResult::with_all_items(resources::templates());
        if let Some(extras) = self.extras(&context).await? {
            list.resource_templates.extend(extras.templates());
        }
        list.ttl_ms = Some(LIST_MILLIS);
        Ok(list)
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(extras) = self.extras(&context).await?
            && let Some(answering) = extras.read(&params, &context)
        {
            return answering.await;
        }
        let read = move |rooms: &[Room], call: &Call| resources::read(rooms, &params.uri, call);
        self.looking(&context, WorkKind::Look, read).await.map(Into::into)
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let Ready { door, seats } = self.ready().await?;
        self.heed_roots(&seats, &context).await;
        if self.told.subscribed().len() >= SUBSCRIPTIONS {
            let message = format!("at most {SUBSCRIPTIONS} resources are watched at once");
            return Err(ErrorData::invalid_params(message, None));
        }
        self.told.begin(&door, seats.rooms(&context)?, &context.peer).await?;
        self.told.subscribed().insert(params.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.told.subscribed().remove(&params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        asked: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // Tools and prompts are the same for as long as the program runs: nobody is told of them.
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = asked.resources_list_changed;
        let uris = asked.resource_subscriptions.iter().flatten().take(SUBSCRIPTIONS).cloned();
        accepted.resource_subscriptions = Some(uris.collect());
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Ready { door, seats } = self.ready().await?;
        let rooms = seats.rooms(context.request_context())?;
        let mut watchers = watchers(&door, rooms, Since::AMomentAgo).await?;
        loop {
            let next = futures_util::future::select_all(
                watchers.iter().map(|watcher| Box::pin(watcher.wait())),
            );
            tokio::select! {
                _ = next => {}
                () = context.cancelled() => return Ok(()),
            }
            for watcher in &mut watchers {
                while let Ok(Some(changed)) = watcher.look() {
                    if tell_subscriber(&context, &changed).await.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut list = ListPromptsResult::with_all_items(prompts::list());
        if let Some(extras) = self.extras(&context).await? {
            list.prompts.extend(extras.prompts());
        }
        list.ttl_ms = Some(LIST_MILLIS);
        Ok(list)
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if let Some(extras) = self.extras(&context).await?
            && let Some(answering) = extras.prompt(&params, &context)
        {
            return answering.await;
        }
        let get = move |rooms: &[Room], call: &Call| {
            prompts::get(rooms, &params.name, params.arguments.as_ref(), call)
        };
        self.looking(&context, WorkKind::Walk, get).await.map(Into::into)
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let complete = move |rooms: &[Room], call: &Call| completion::of(rooms, &params, call);
        self.looking(&context, WorkKind::Look, complete).await
    }

    #[expect(deprecated, reason = "clients of 2025-11-25 and before set the level in this way")]
    async fn set_level(
        &self,
        _: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Later revisions have no such method; the SDK leaves it to us to say so.
        let version = context.protocol_version();
        let has_method = version.is_none_or(|version| version < ProtocolVersion::V_2026_07_28);
        match self.extras(&context).await? {
            Some(extras) if extras.logs() && has_method => Ok(()),
            _ => Err(ErrorData::method_not_found::<SetLevelRequestMethod>()),
        }
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        *self.asked_roots.lock().await = false;
    }
}

/// A name that is no tool's: the client asked for something that was never listed.
fn unknown(catalog: &Catalog, toolset: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(catalog.no_such_tool(toolset, name), None)
}
