//! The extension point of programs that embed the server: resources, prompts, and tools that talk to the client while
//! they run, in addition to the catalog. Toolyard itself has no extension. Nothing here reaches a workspace, and other
//! toolsets are not affected.

use std::pin::Pin;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse, Prompt,
    ReadResourceRequestParams, ReadResourceResponse, Resource, ResourceTemplate,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

/// The future of a reply; `None` if the extension does not answer this request.
pub type ExtensionReply<'a, T> =
    Option<Pin<Box<dyn Future<Output = Result<T, ErrorData>> + Send + 'a>>>;

/// What clients of one toolset get over HTTP in addition to the catalog.
///
/// Each caller is at least a viewer of its workspace; no other right is checked, and neither the log nor a transcript
/// records these requests. The implementation has to check further rights, and to stop when the context says that the
/// request was cancelled.
pub trait McpExtension: Send + Sync + 'static {
    /// The toolset whose callers get this. It has to be in the catalog.
    fn toolset(&self) -> &str;

    /// Resources, listed before those of the workspace. No address may begin with `toolyard:`.
    fn resources(&self) -> Vec<Resource> {
        Vec::new()
    }

    /// Templates of addresses, listed after those of the workspace.
    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// Prompts, listed after Toolyard's own.
    fn prompts(&self) -> Vec<Prompt> {
        Vec::new()
    }

    /// Reads a resource. It is asked before the workspace is.
    fn read<'a>(
        &'a self,
        _params: &'a ReadResourceRequestParams,
        _context: &'a RequestContext<RoleServer>,
    ) -> ExtensionReply<'a, ReadResourceResponse> {
        None
    }

    /// Renders a prompt. It is asked before Toolyard's own prompts are.
    fn prompt<'a>(
        &'a self,
        _params: &'a GetPromptRequestParams,
        _context: &'a RequestContext<RoleServer>,
    ) -> ExtensionReply<'a, GetPromptResponse> {
        None
    }

    /// Calls a tool that uses the protocol itself, instead of the catalog's tool of that name, which gives the name, the
    /// description and the schema.
    fn call<'a>(
        &'a self,
        _params: &'a CallToolRequestParams,
        _context: &'a RequestContext<RoleServer>,
    ) -> ExtensionReply<'a, CallToolResponse> {
        None
    }
}
