//! The methods of the protocol. Each has a few lines here and does its work in a module of its own. The SDK
//! handles most differences between the revisions of the protocol.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
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

use super::call::{ToolCall, broke_off, internal, root_of};
use super::callers::{Callers, WorkspaceView};
use super::extension::McpExtension;
use super::message_notices::MessageNotices;
use super::server::McpServer;
use super::tools::ReplyForm;
use super::watcher::{Changed, Since, Watcher};
use super::{completion, prompts, resources, result};
use crate::pool::{NO_WORKSPACE, Pools, WorkKind};

/// How long clients may cache a list: it changes only with the program.
const LIST_MILLIS: u64 = 3_600_000;
/// How long a client may take to list its roots.
const ROOTS: Duration = Duration::from_secs(30);
/// How many resources one connection may subscribe to.
const MAX_SUBSCRIPTIONS: usize = 1_000;

const INSTRUCTIONS: &str = "\
Files of a workspace where no change is lost: every step is kept and can be undone by the person. A failed call \
changes nothing and says what to send instead. Some calls wait for a person's approval; the answer says so. What a \
person writes to you comes with the result of a call, under `messages_from_person` or as a text of its own after it.";

/// What a connection needs for every method but `initialize`.
pub(super) struct Ready<S> {
    pub(super) server: Arc<McpServer>,
    pub(super) callers: Arc<S>,
}

impl<S> Clone for Ready<S> {
    fn clone(&self) -> Self {
        Self { server: Arc::clone(&self.server), callers: Arc::clone(&self.callers) }
    }
}

/// Becomes `Ok` once the workspaces are open, and `Err` with the reason if they cannot be opened. `initialize`
/// is answered before that.
pub(super) type Readiness<S> = watch::Receiver<Option<Result<Ready<S>, String>>>;

/// Starts to open the workspaces.
pub(super) type Begin = Box<dyn FnOnce() + Send>;

/// One connection, or one request of a transport without connections.
pub(super) struct Service<S> {
    readiness: Readiness<S>,
    begin: Arc<Mutex<Option<Begin>>>,
    extension: Option<Arc<dyn McpExtension>>,
    /// Whether the client has listed its roots; the lock is held while it is asked.
    roots_applied: tokio::sync::Mutex<bool>,
    /// What the client subscribed to (2025-11-25 and before).
    subscriptions: Arc<Subscriptions>,
    /// Tells the client of messages of people (2025-11-25 and before).
    notices: Arc<MessageNotices>,
}

/// The subscriptions of a client of 2025-11-25 and before.
#[derive(Default)]
struct Subscriptions {
    /// The addresses of resources.
    subscribed: Mutex<HashSet<String>>,
    /// The client has the list of resources and is notified when it changes.
    has_list: AtomicBool,
    /// Whether the watchers run.
    watching: tokio::sync::Mutex<bool>,
}

impl Subscriptions {
    /// Starts the watchers, unless they run. That walks the whole tree.
    async fn watch(
        self: &Arc<Self>,
        server: &McpServer,
        workspaces: Vec<WorkspaceView>,
        peer: &Peer<RoleServer>,
    ) -> Result<(), ErrorData> {
        let mut watching = self.watching.lock().await;
        if !*watching {
            for watcher in watchers(server, workspaces, Since::Now).await? {
                let (pools, subscriptions) = (server.shared_pools(), Arc::downgrade(self));
                tokio::spawn(notify_client(watcher, pools, peer.clone(), subscriptions));
            }
            *watching = true;
        }
        Ok(())
    }
}

impl<S: Callers> Service<S> {
    /// A service that is ready.
    pub(super) fn new(ready: Ready<S>, extension: Option<Arc<dyn McpExtension>>) -> Self {
        Self { extension, ..Self::opening_later(watch::channel(Some(Ok(ready))).1, None) }
    }

    /// A service that becomes ready some time after `begin` was called.
    pub(super) fn opening_later(readiness: Readiness<S>, begin: Option<Begin>) -> Self {
        Self {
            readiness,
            begin: Arc::new(Mutex::new(begin)),
            extension: None,
            roots_applied: tokio::sync::Mutex::new(false),
            subscriptions: Arc::default(),
            notices: Arc::default(),
        }
    }

    /// Starts to open the workspaces once `initialize` is answered, so that nothing delays the answer.
    fn begin_in_background(&self) {
        let begin = Arc::clone(&self.begin);
        tokio::spawn(async move { begin_now(&begin) });
    }

    /// Waits until the workspaces are open.
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

    /// The tools and resources of an extension, if the caller's dialect has one.
    async fn extension(
        &self,
        context: &RequestContext<RoleServer>,
    ) -> Result<Option<&dyn McpExtension>, ErrorData> {
        // Without an extension there is no need to wait until the workspaces are open.
        let Some(extension) = self.extension.as_deref() else { return Ok(None) };
        let toolset = self.ready().await?.callers.toolset(context)?;
        Ok(Some(extension).filter(|extension| extension.toolset() == toolset))
    }

    /// Asks the client once for its roots, and restricts the caller to them.
    async fn apply_client_roots(&self, callers: &S, context: &RequestContext<RoleServer>) {
        if !S::TAKES_ROOTS || context.peer.peer_info().is_none() {
            return;
        }
        let mut asked = self.roots_applied.lock().await;
        if *asked {
            return;
        }
        let offers = context.client_capabilities().is_some_and(|able| able.roots.is_some());
        let roots = if offers { client_roots(&context.peer).await } else { Some(Vec::new()) };
        // A client that did not answer is asked again with the next request.
        *asked = roots.is_some();
        if let Some(roots) = roots {
            callers.restrict_to_roots(&roots);
        }
    }

    /// Runs work that reads the caller's workspaces, on a thread where it may block.
    async fn run_in_workspaces<T: Send + 'static>(
        &self,
        context: &RequestContext<RoleServer>,
        work: WorkKind,
        run: impl FnOnce(&[WorkspaceView], &Call) -> Result<T, ErrorData> + Send + 'static,
    ) -> Result<T, ErrorData> {
        let Ready { server, callers } = self.ready().await?;
        self.apply_client_roots(&callers, context).await;
        let workspaces = callers.workspaces(context)?;
        let call = server.call_context().within_millis(Limits::default().call_millis);
        let cancel = call.cancel_flag();
        let workspace_key = workspace_key(&workspaces);
        let running = server.pools().run(&workspace_key, work, move || run(&workspaces, &call));
        tokio::select! {
            done = running => done.unwrap_or_else(|| Err(broke_off())),
            () = context.ct.cancelled() => {
                cancel.store(true, Ordering::Relaxed);
                Err(ErrorData::internal_error("cancelled", None))
            }
        }
    }

    /// Notifies the client from now on when the list of resources changes. Before 2026-07-28 a client cannot
    /// subscribe to that, so having the list counts. The watchers start in a task of their own.
    async fn notify_about_list(&self, context: &RequestContext<RoleServer>) {
        let version = context.protocol_version();
        if version.is_none_or(|version| version >= ProtocolVersion::V_2026_07_28) {
            return;
        }
        let Ok(Ready { server, callers }) = self.ready().await else { return };
        let Ok(workspaces) = callers.workspaces(context) else { return };
        self.subscriptions.has_list.store(true, Ordering::Relaxed);
        let (subscriptions, peer) = (Arc::clone(&self.subscriptions), context.peer.clone());
        tokio::spawn(async move { subscriptions.watch(&server, workspaces, &peer).await });
    }
}

/// The workspace that the work is counted for.
fn workspace_key(workspaces: &[WorkspaceView]) -> String {
    workspaces.first().map_or(NO_WORKSPACE, |workspace| &workspace.workspace_key).to_owned()
}

/// A watcher for each workspace. Making them walks the whole trees, which takes a while.
async fn watchers(
    server: &McpServer,
    workspaces: Vec<WorkspaceView>,
    from: Since,
) -> Result<Vec<Watcher>, ErrorData> {
    let (call, workspace_key) = (server.call_context(), workspace_key(&workspaces));
    let watch = move || {
        workspaces.into_iter().map(|workspace| Watcher::new(workspace, from, &call)).collect()
    };
    let made: Option<yard_core::Result<Vec<_>>> =
        server.pools().run(&workspace_key, WorkKind::Walk, watch).await;
    made.ok_or_else(broke_off)?.map_err(|fault| internal(&fault))
}

fn begin_now(begin: &Mutex<Option<Begin>>) {
    let begin = begin.lock().take();
    if let Some(begin) = begin {
        begin();
    }
}

/// The folders that a client offers, as paths of the host; `None` if it does not answer.
#[expect(deprecated, reason = "clients of 2025-11-25 and before offer roots in this way")]
async fn client_roots(peer: &Peer<RoleServer>) -> Option<Vec<Vec<u8>>> {
    let roots = timeout(ROOTS, peer.list_roots()).await.ok()?.ok()?.roots;
    let paths = roots.iter().filter_map(|root| root.uri.strip_prefix("file://"));
    let paths = paths.map(|path| path.strip_prefix("localhost").unwrap_or(path));
    Some(paths.map(|path| percent_decode_str(path.trim_end_matches('/')).collect()).collect())
}

/// Notifies a client of 2025-11-25 and before of changes, for as long as it is connected.
async fn notify_client(
    mut watcher: Watcher,
    pools: Arc<Pools>,
    peer: Peer<RoleServer>,
    subscriptions: std::sync::Weak<Subscriptions>,
) {
    loop {
        watcher.wait().await;
        let Some(subscriptions) = subscriptions.upgrade() else { return };
        if peer.is_transport_closed() {
            return;
        }
        while let Some(changed) = watcher.read(&pools).await {
            if changed.list && subscriptions.has_list.load(Ordering::Relaxed) {
                let _ = peer.notify_resource_list_changed().await;
            }
            let wanted = subscriptions.subscribed.lock().clone();
            for uri in wanted.into_iter().filter(|uri| changed.concerns(uri)) {
                let updated = ResourceUpdatedNotificationParam::new(uri);
                let _ = peer.notify_resource_updated(updated).await;
            }
        }
    }
}

/// Notifies one subscriber of 2026-07-28 and later.
async fn notify_subscriber(
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

impl<S: Callers> ServerHandler for Service<S> {
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
        capabilities.logging = Some(JsonObject::new());
        let this =
            Implementation::new("toolyard", env!("CARGO_PKG_VERSION")).with_title("Toolyard");
        ServerConfig::new(capabilities).with_server_info(this).with_instructions(INSTRUCTIONS)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        self.begin_in_background();
        context.peer.set_peer_info(request.clone());
        self.negotiate_initialize(&request)
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        self.begin_in_background();
        let versions = self.supported_protocol_versions().into_owned();
        Ok(DiscoverResult::from_server_info(versions, self.get_info()))
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let Ready { server, callers } = self.ready().await?;
        let toolset = callers.toolset(&context)?;
        let mut list = ListToolsResult::with_all_items(server.tool_list(&toolset).to_vec());
        list.ttl_ms = Some(LIST_MILLIS);
        Ok(list)
    }

    async fn call_tool(
        &self,
        params: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Ready { server, callers } = self.ready().await?;
        self.apply_client_roots(&callers, &context).await;
        let toolset = callers.toolset(&context)?;
        let catalog = server.catalog();
        let Some(tool) = catalog.get(&toolset, &params.name) else {
            return Err(unknown_tool(&catalog, &toolset, &params.name));
        };
        if let Some(extension) = self.extension(&context).await?
            && let Some(answering) = extension.call(&params, &context)
        {
            return answering.await;
        }
        let (tool, reply_form) = (tool.name().to_owned(), ReplyForm::of(tool));
        let caller_in = |root: &str| callers.caller_in(&context, root);
        let root = params.request_state.as_deref().and_then(root_of);
        let caller = match (root, &params.arguments) {
            (Some((_, root)), _) => caller_in(root),
            (None, Some(arguments)) if callers.has_to_look(arguments) => {
                let (callers, context, arguments) =
                    (Arc::clone(&callers), context.clone(), arguments.clone());
                // On a thread of its own: a connection on stdio has one thread, which goes on reading messages.
                let find = move || callers.caller(&context, &arguments);
                let found = server.pools().run(NO_WORKSPACE, WorkKind::Walk, find).await;
                found.ok_or_else(broke_off)?
            }
            (None, Some(arguments)) => callers.caller(&context, arguments),
            (None, None) => callers.caller(&context, &Map::new()),
        };
        let caller = match caller {
            Ok(caller) => caller,
            Err(fault) => return Ok(result::refused(&fault).into()),
        };
        // A session of HTTP must not keep a workspace open for this.
        if S::KEEPS_OPEN && has_log(&context) {
            let (call, pools) = (server.call_context(), server.shared_pools());
            let (key, peer) = (&caller.workspace_key, context.peer.clone());
            self.notices.follow(&caller.session, key, call, pools, peer);
        }
        let calling = ToolCall {
            server: &server,
            caller,
            context: &context,
            tool,
            reply_form,
            caller_in: &caller_in,
        };
        calling.run(params).await
    }

    async fn list_resources(
        &self,
        params: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = params.and_then(|params| params.cursor);
        let is_first = cursor.is_none();
        let list = move |workspaces: &[WorkspaceView], call: &Call| {
            resources::list(workspaces, cursor.as_deref(), call)
        };
        let mut page = self.run_in_workspaces(&context, WorkKind::Walk, list).await?;
        self.notify_about_list(&context).await;
        if is_first && let Some(extension) = self.extension(&context).await? {
            page.resources.splice(0..0, extension.resources());
        }
        Ok(page)
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let mut list = ListResourceTemplatesResult::with_all_items(resources::templates());
        if let Some(extension) = self.extension(&context).await? {
            list.resource_templates.extend(extension.templates());
        }
        list.ttl_ms = Some(LIST_MILLIS);
        Ok(list)
    }

    async fn read_resource(
        &self,
        params: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(extension) = self.extension(&context).await?
            && let Some(answering) = extension.read(&params, &context)
        {
            return answering.await;
        }
        let read = move |workspaces: &[WorkspaceView], call: &Call| {
            resources::read(workspaces, &params.uri, call)
        };
        self.run_in_workspaces(&context, WorkKind::Look, read).await.map(Into::into)
    }

    async fn subscribe(
        &self,
        params: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let Ready { server, callers } = self.ready().await?;
        self.apply_client_roots(&callers, &context).await;
        if self.subscriptions.subscribed.lock().len() >= MAX_SUBSCRIPTIONS {
            let message = format!("at most {MAX_SUBSCRIPTIONS} resources are watched at once");
            return Err(ErrorData::invalid_params(message, None));
        }
        self.subscriptions.watch(&server, callers.workspaces(&context)?, &context.peer).await?;
        self.subscriptions.subscribed.lock().insert(params.uri);
        Ok(())
    }

    async fn unsubscribe(
        &self,
        params: UnsubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions.subscribed.lock().remove(&params.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        asked: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // Tools and prompts never change while the program runs: there are no notifications for them.
        let mut accepted = SubscriptionFilter::new();
        accepted.resources_list_changed = asked.resources_list_changed;
        let uris = asked.resource_subscriptions.iter().flatten().take(MAX_SUBSCRIPTIONS).cloned();
        accepted.resource_subscriptions = Some(uris.collect());
        Some(accepted)
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let Ready { server, callers } = self.ready().await?;
        let workspaces = callers.workspaces(context.request_context())?;
        let mut watchers = watchers(&server, workspaces, Since::AMomentAgo).await?;
        loop {
            let next = futures_util::future::select_all(
                watchers.iter().map(|watcher| Box::pin(watcher.wait())),
            );
            tokio::select! {
                _ = next => {}
                () = context.cancelled() => return Ok(()),
            }
            for watcher in &mut watchers {
                while let Some(changed) = watcher.read(server.pools()).await {
                    if notify_subscriber(&context, &changed).await.is_err() {
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
        if let Some(extension) = self.extension(&context).await? {
            list.prompts.extend(extension.prompts());
        }
        list.ttl_ms = Some(LIST_MILLIS);
        Ok(list)
    }

    async fn get_prompt(
        &self,
        params: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        if let Some(extension) = self.extension(&context).await?
            && let Some(answering) = extension.prompt(&params, &context)
        {
            return answering.await;
        }
        let get = move |workspaces: &[WorkspaceView], call: &Call| {
            prompts::get(workspaces, &params.name, params.arguments.as_ref(), call)
        };
        self.run_in_workspaces(&context, WorkKind::Walk, get).await.map(Into::into)
    }

    async fn complete(
        &self,
        params: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let complete = move |workspaces: &[WorkspaceView], call: &Call| {
            completion::complete(workspaces, &params, call)
        };
        self.run_in_workspaces(&context, WorkKind::Look, complete).await
    }

    #[expect(deprecated, reason = "clients of 2025-11-25 and before set the level in this way")]
    async fn set_level(
        &self,
        params: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // Later revisions have no such method, and the SDK does not refuse it.
        if !has_log(&context) {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.notices.set_level(params.level);
        Ok(())
    }

    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        *self.roots_applied.lock().await = false;
    }
}

/// Whether messages of the log may be sent to the client by themselves.
fn has_log(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_none_or(|version| version < ProtocolVersion::V_2026_07_28)
}

/// The client called a tool that was never listed.
fn unknown_tool(catalog: &Catalog, toolset: &str, name: &str) -> ErrorData {
    ErrorData::invalid_params(catalog.unknown_tool_message(toolset, name), None)
}
