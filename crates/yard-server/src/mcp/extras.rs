//! What a program that embeds the server offers over MCP besides what its catalog can say: resources,
//! prompts, and tools that speak with the client while they run. Toolyard itself has none.
//!
//! The seam only: nothing here reaches a workspace, and the toolsets of others are as they always are.

use std::pin::Pin;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse, Prompt,
    ReadResourceRequestParams, ReadResourceResponse, Resource, ResourceTemplate,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

/// An answer on its way; `None` if the question is not the extras' to answer.
pub type Answering<'a, T> = Option<Pin<Box<dyn Future<Output = Result<T, ErrorData>> + Send + 'a>>>;

/// What clients of one toolset get over HTTP besides the catalog.
///
/// Callers were let into their workspace before any of this is asked, as viewers at least; more is not
/// checked, and neither the log nor a transcript tells of what is answered here. Whoever implements it
/// answers for what it does, and ends it when the context says that the request was cancelled.
pub trait Extras: Send + Sync + 'static {
    /// The toolset whose callers see all this. It has to be in the catalog.
    fn toolset(&self) -> &str;

    /// Whether it sends log messages. The capability is announced before the client's toolset is known.
    fn logs(&self) -> bool {
        false
    }

    /// Resources, listed before those of the workspace. No address may begin with `toolyard:`.
    fn resources(&self) -> Vec<Resource> {
        Vec::new()
    }

    /// Forms of addresses, listed after those of the workspace.
    fn templates(&self) -> Vec<ResourceTemplate> {
        Vec::new()
    }

    /// Prompts, listed after Toolyard's own.
    fn prompts(&self) -> Vec<Prompt> {
        Vec::new()
    }

    /// What an address names. It is asked before the workspace is.
    fn read<'a>(
        &'a self,
        _params: &'a ReadResourceRequestParams,
        _context: &'a RequestContext<RoleServer>,
    ) -> Answering<'a, ReadResourceResponse> {
        None
    }

    /// One prompt, filled in. It is asked before Toolyard's own prompts are.
    fn prompt<'a>(
        &'a self,
        _params: &'a GetPromptRequestParams,
        _context: &'a RequestContext<RoleServer>,
    ) -> Answering<'a, GetPromptResponse> {
        None
    }

    /// A call of a tool that speaks the protocol itself, instead of the catalog's: there the tool is
    /// registered all the same, for its name, its description and its schema.
    fn call<'a>(
        &'a self,
        _params: &'a CallToolRequestParams,
        _context: &'a RequestContext<RoleServer>,
    ) -> Answering<'a, CallToolResponse> {
        None
    }
}
