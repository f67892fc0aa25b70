//! What the protocol can be asked, method by method. Each is a few lines here and does its work in a
//! module of its own; which revision of the protocol is spoken is mostly the SDK's to know.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult,
    GetPromptRequestParams, GetPromptResponse, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ResourceUpdatedNotificationParam,
    ResourcesCapability, ServerCapabilities, ServerConfig, SubscribeRequestParams,
    SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{ErrorData, Peer, RoleServer, ServerHandler};
use serde_json::Map;
use tokio::time::timeout;
use yard_core::{Call, Limits};
use yard_dialects::Catalog;

use super::call::{Calling, broke_off};
use super::door::Door;
use super::seat::{Room, Seats};
use super::tools::Speech;
use super::watching::{Changed, Watcher};
use super::{completion, prompts, resources};
use crate::pool::Work;

/// How long clients may take a list to be as it was: it changes with the program only.
const LIST_MILLIS: u64 = 3_600_000;
/// How long a client may take to say which roots it offers.
const ROOTS: Duration = Duration::from_secs(5);
/// Addresses that one connection may be told of.
const SUBSCRIPTIONS: usize = 1_000;

const INSTRUCTIONS: &str = "\
Files of a workspace where no change is lost: every step is kept and can be undone by the person. A failed call \
changes nothing and says what to send instead. Some calls wait for a person's approval; the answer says so.";

/// One connection, or one request of a transport without connections.
pub(super) struct Service<S> {
    door: Arc<Door>,
    seats: S,
    /// Whether the client was asked which roots it offers; who asks keeps others waiting.
    asked_roots: tokio::sync::Mutex<bool>,
    /// What the client wants to be told of (2025-11-25 and before); whoever tells it holds a share.
    subscribed: Arc<Mutex<HashSet<String>>>,
}

impl<S: Seats> Service<S> {
    pub(super) fn new(door: Arc<Door>, seats: S) -> Self {
        let subscribed = Arc::default();
        Self { door, seats, asked_roots: tokio::sync::Mutex::new(false), subscribed }
    }

    /// Asks the client once which roots it offers, and keeps to them.
    async fn heed_roots(&self, context: &RequestContext<RoleServer>) {
        if !S::TAKES_ROOTS || context.peer.peer_info().is_none() {
            return;
        }
        let mut asked = self.asked_roots.lock().await;
        if *asked {
            return;
        }
        *asked = true;
        let offers = context.client_capabilities().is_some_and(|able| able.roots.is_some());
        if offers && let Some(roots) = offered(&context.peer).await {
            self.seats.narrow(&roots);
        }
    }

    /// Does something that looks at the caller's workspaces where it may block.
    async fn looking<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: Work,
        look: impl FnOnce(&[Room], &Call) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        self.heed_roots(context).await;
        let rooms = self.seats.rooms(context)?;
        let call = self.door.surroundings().within_millis(Limits::default().call_millis);
        let cancel = call.cancel_flag();
        let running = self.door.pools().run(work, move || look(&rooms, &call));
        tokio::select! {
            done = running => done.unwrap_or_else(|| Err(broke_off())),
            () = context.ct.cancelled() => {
                cancel.store(true, std::sync::atomic::Ordering::Relaxed);
                Err(ErrorData::internal_error("cancelled", None))
            }
        }
    }

    fn watchers(&self, rooms: Vec<Room>) -> Result<Vec<Watcher>, ErrorData> {
        let call = self.door.surroundings();
        let watchers: yard_core::Result<Vec<_>> =
            rooms.into_iter().map(|room| Watcher::new(room, &call)).collect();
        watchers.map_err(|fault| ErrorData::internal_error(fault.message().to_owned(), None))
    }

    fn subscribed(&self) -> std::sync::MutexGuard<'_, HashSet<String>> {
        self.subscribed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The folders that a client offers, as paths of the host; `None` if it does not say.
#[expect(deprecated, reason = "clients of 2025-11-25 and before offer roots in this way")]
async fn offered(peer: &Peer<RoleServer>) -> Option<Vec<Vec<u8>>> {
    let listed = timeout(ROOTS, peer.list_roots()).await.ok()?.ok()?;
    let paths = listed.roots.iter().filter_map(|root| root.uri.strip_prefix("file://"));
    Some(paths.map(|path| percent_decode_str(path.trim_end_matches('/')).collect()).collect())
}

/// Tells a client of 2025-11-25 and before what changed, for as long as it wants to know.
async fn tell(
    mut watcher: Watcher,
    peer: Peer<RoleServer>,
    subscribed: std::sync::Weak<Mutex<HashSet<String>>>,
) {
    loop {
        watcher.wait().await;
        let Some(shared) = subscribed.upgrade() else { return };
        if peer.is_transport_closed() {
            return;
        }
        while let Ok(Some(changed)) = watcher.look() {
            let wanted = shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
            for uri in wanted.into_iter().filter(|uri| changed.concerns(uri)) {
                let told = ResourceUpdatedNotificationParam::new(uri);
                let _ = peer.notify_resource_updated(told).await;
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
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources_with(resources)
            .enable_prompts()
            .enable_completions()
            .build();
        let this =
            Implementation::new("toolyard", env!("CARGO_PKG_VERSION")).with_title("Toolyard");
        ServerConfig::new(capabilities).with_server_info(this).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let toolset = self.seats.toolset(&context)?;
        let mut list = ListToolsResult::with_all_items(self.door.listed(&toolset).to_vec());
        list.ttl_ms = Some(LIST_MILLIS);
        Ok(list)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.heed_roots(&context).await;
        let toolset = self.seats.toolset(&context)?;
        let catalog = self.door.catalog();
        let Some(tool) = catalog.get(&toolset, &params.name) else {
            return Err(unknown(&catalog, &toolset, &params.name));
        };
        let (tool, speech) = (tool.name().to_owned(), Speech::of(tool));
        let seat = match &params.arguments {
            Some(arguments) => self.seats.seat(&context, arguments)?,
            None => self.seats.seat(&context, &Map::new())?,
        };
        Calling { door: &self.door, seat, context: &context, tool, speech }.run(params).await
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = params.and_then(|params| params.cursor);
        let list =
            move |rooms: &[Room], call: &Call| resources::list(rooms, cursor.as_deref(), call);
        self.looking(&context, Work::Walk, list).await
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = ListResourceTemplatesResult::with_all_items(resources::templates());
        list.ttl_ms = Some(LIST_MILLIS);
        Ok(list)
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = move |rooms: &[Room], call: &Call| resources::read(rooms, &params.uri, call);
        self.looking(&context, Work::Look, read).await.map(Into::into)
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.heed_roots(&context).await;
        let is_first = {
            let mut subscribed = self.subscribed();
            if subscribed.len() >= SUBSCRIPTIONS {
                let message = format!("at most {SUBSCRIPTIONS} resources are watched at once");
                return Err(ErrorData::invalid_params(message, None));
            }
            let is_first = subscribed.is_empty();
            subscribed.insert(params.uri);
            is_first
        };
        if is_first && Arc::weak_count(&self.subscribed) == 0 {
            for watcher in self.watchers(self.seats.rooms(&context)?)? {
                let (peer, told) = (context.peer.clone(), Arc::downgrade(&self.subscribed));
                tokio::spawn(tell(watcher, peer, told));
            }
        }
        Ok(())
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscribed().remove(&params.uri);
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
        let rooms = self.seats.rooms(context.request_context())?;
        let mut watchers = self.watchers(rooms)?;
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
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let mut list = ListPromptsResult::with_all_items(prompts::list());
        list.ttl_ms = Some(LIST_MILLIS);
        Ok(list)
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let get = move |rooms: &[Room], call: &Call| {
            prompts::get(rooms, &params.name, params.arguments.as_ref(), call)
        };
        self.looking(&context, Work::Walk, get).await.map(Into::into)
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let complete = move |rooms: &[Room], call: &Call| completion::of(rooms, &params, call);
        self.looking(&context, Work::Look, complete).await
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        *self.asked_roots.lock().await = false;
    }
}

/// A name that is no tool's: the client asked for something that was never listed.
fn unknown(catalog: &Catalog, toolset: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(catalog.no_such_tool(toolset, name), None)
}
