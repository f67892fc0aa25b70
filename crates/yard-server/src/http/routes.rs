//! The table: every route, in the order in which the documents list them. Adding a route is adding a row.

use yard_core::Role;
use yard_dialects::Catalog;

use super::paging::Paging;
use super::route::{Route, RouteAccess};
use super::{
    approvals, auth, chats, content, decide, events, files, health, keys, mcp, members, openapi,
    policy, questions, steps, terminals, tools, welcome, workspaces,
};
use crate::pool::WorkKind;

/// A person who manages a workspace.
const OWNER: RouteAccess = RouteAccess::PersonInside(Role::Owner);
const VIEWER: RouteAccess = RouteAccess::Inside(Role::Viewer);
const MEMBER: RouteAccess = RouteAccess::Inside(Role::Member);
/// A person who takes part.
const PERSON: RouteAccess = RouteAccess::PersonInside(Role::Member);

/// Every route.
pub fn routes(catalog: &Catalog) -> Vec<Route> {
    let mut all = server_routes();
    all.extend(account_routes());
    all.extend(workspace_routes());
    all.extend(tool_routes(catalog));
    all.extend(file_routes());
    all.extend(step_routes());
    all.extend(conversation_routes());
    all.extend(page_routes());
    all.extend(mcp_routes());
    all
}

/// MCP, for the clients that agents run in.
fn mcp_routes() -> Vec<Route> {
    vec![
        Route::post(mcp::PATH, mcp::open)
            .about("Takes a message of MCP, such as a call of a tool")
            .access(VIEWER)
            .at_most(mcp::MOST_BYTES)
            .protocol(),
        Route::get(mcp::PATH, mcp::open)
            .about("Streams what the server sends in a session (revision 2025-11-25 and before)")
            .access(VIEWER)
            .protocol(),
        Route::delete(mcp::PATH, mcp::open)
            .about("Ends a session (revision 2025-11-25 and before)")
            .access(VIEWER)
            .protocol(),
    ]
}

/// Where a person decides what an agent's client cannot ask them itself.
fn page_routes() -> Vec<Route> {
    vec![
        Route::post("/decide/login", decide::login)
            .about("Logs in and leads back to the page")
            .doing(WorkKind::Password)
            .form()
            .page(),
        Route::get("/decide/{id}/approvals/{approval_id}", decide::approval)
            .about("What an agent wants to do")
            .access(PERSON)
            .query::<decide::Part>()
            .page(),
        Route::post("/decide/{id}/approvals/{approval_id}", decide::rule)
            .about("Decides on it")
            .access(PERSON)
            .form()
            .page(),
        Route::get("/decide/{id}/questions/{question_id}", decide::question)
            .about("What an agent asks")
            .access(PERSON)
            .page(),
        Route::post("/decide/{id}/questions/{question_id}", decide::answer)
            .about("Answers it")
            .access(PERSON)
            .form()
            .page(),
    ]
}

fn server_routes() -> Vec<Route> {
    vec![
        Route::get("/", welcome::page)
            .about("What this is, what to type and where the documents are, for people")
            .replies_text("text/html"),
        Route::get("/health", health::health)
            .about("Whether the server is ready")
            .replies::<health::Health>(200),
        Route::get("/metrics", health::metrics)
            .about("Counts and times for Prometheus")
            .replies_text("application/openmetrics-text"),
        Route::get("/openapi.json", openapi::serve)
            .about("This document")
            .replies_text("application/json"),
        Route::get("/docs", openapi::page)
            .about("The routes as a page for people")
            .replies_text("text/html"),
    ]
}

fn account_routes() -> Vec<Route> {
    vec![
        Route::post("/api/v1/auth/register", auth::register)
            .about("Makes an account")
            .doing(WorkKind::Password)
            .body::<auth::Register>()
            .replies::<auth::OneUser>(201),
        Route::post("/api/v1/auth/login", auth::login)
            .about("Logs in: an access token for minutes, a refresh token for days")
            .doing(WorkKind::Password)
            .secret()
            .body::<auth::Login>()
            .replies::<auth::Session>(200),
        Route::post("/api/v1/auth/refresh", auth::refresh)
            .about("Exchanges a refresh token, once, for a new pair")
            .secret()
            .optional_body::<auth::Refresh>()
            .replies::<auth::Session>(200),
        Route { status: 204, ..Route::post("/api/v1/auth/logout", auth::logout) }
            .about("Ends the login of the tokens that are sent")
            .optional_body::<auth::Refresh>(),
        Route::get("/api/v1/auth/me", auth::me)
            .about("Who is calling")
            .access(RouteAccess::Person)
            .replies::<auth::OneUser>(200),
    ]
}

fn workspace_routes() -> Vec<Route> {
    vec![
        Route::post("/api/v1/workspaces", workspaces::create)
            .about("Makes a workspace that the caller owns")
            .access(RouteAccess::Person)
            .body::<workspaces::NewWorkspace>()
            .replies::<workspaces::OneWorkspace>(201),
        Route::get("/api/v1/workspaces", workspaces::list)
            .about("The caller's workspaces")
            .access(RouteAccess::Caller)
            .query::<Paging>()
            .replies::<workspaces::Workspaces>(200),
        Route::get("/api/v1/workspaces/{id}", workspaces::read)
            .about("One workspace")
            .access(VIEWER)
            .replies::<workspaces::OneWorkspace>(200),
        Route::patch("/api/v1/workspaces/{id}", workspaces::rename)
            .about("Renames a workspace")
            .access(OWNER)
            .body::<workspaces::Rename>()
            .replies::<workspaces::OneWorkspace>(200),
        Route::delete("/api/v1/workspaces/{id}", workspaces::delete)
            .about("Deletes a workspace; its files stay in the data folder, for the operator")
            .access(OWNER),
        Route::post("/api/v1/workspaces/{id}/members", members::add)
            .about("Adds a person who has an account")
            .access(OWNER)
            .body::<members::NewMember>()
            .replies::<members::OneMember>(201),
        Route::get("/api/v1/workspaces/{id}/members", members::list)
            .about("The members")
            .access(VIEWER)
            .query::<Paging>()
            .replies::<members::Members>(200),
        Route::patch("/api/v1/workspaces/{id}/members/{user_id}", members::change)
            .about("Gives a member another role")
            .access(OWNER)
            .body::<members::NewRole>()
            .replies::<members::Changed>(200),
        Route::delete("/api/v1/workspaces/{id}/members/{user_id}", members::remove)
            .about("Removes a member")
            .access(OWNER),
        Route::post("/api/v1/workspaces/{id}/keys", keys::add)
            .about("Makes an agent's key; it is shown this once")
            .access(OWNER)
            .secret()
            .body::<keys::NewKey>()
            .replies::<keys::SecretKey>(201),
        Route::get("/api/v1/workspaces/{id}/keys", keys::list)
            .about("The keys, without their secrets")
            .access(OWNER)
            .query::<Paging>()
            .replies::<keys::Keys>(200),
        Route::delete("/api/v1/workspaces/{id}/keys/{key_id}", keys::revoke)
            .about("Revokes a key")
            .access(OWNER),
    ]
}

fn tool_routes(catalog: &Catalog) -> Vec<Route> {
    vec![
        tools::route(catalog),
        Route::get(tools::PATH, tools::definitions)
            .about("Definitions of the tools, as a model's API wants them")
            .access(VIEWER)
            .query::<tools::Which>()
            .replies::<tools::Definitions>(200),
    ]
}

fn file_routes() -> Vec<Route> {
    vec![
        Route { status: 201, ..Route::post("/api/v1/workspaces/{id}/files", content::create) }
            .about("Uploads a new file, of any type and size")
            .access(MEMBER)
            .query::<content::Where>()
            .bytes()
            .replies::<files::OneFile>(201),
        Route::get("/api/v1/workspaces/{id}/files/trash", files::trash)
            .about("What was removed and can be restored, newest first")
            .access(VIEWER)
            .query::<Paging>()
            .replies::<files::TrashList>(200),
        Route::get("/api/v1/workspaces/{id}/files/{file_id}", files::read)
            .about("What is known of a file")
            .access(VIEWER)
            .replies::<files::OneFile>(200),
        Route::patch("/api/v1/workspaces/{id}/files/{file_id}", files::rename)
            .about("Sets a file's name for people; its path stays")
            .access(MEMBER)
            .body::<files::NewName>()
            .replies::<files::OneFile>(200),
        Route::get("/api/v1/workspaces/{id}/files/{file_id}/content", content::read)
            .about("A file's bytes; the ETag is their SHA-256")
            .access(VIEWER)
            .replies_bytes(),
        Route::put("/api/v1/workspaces/{id}/files/{file_id}/content", content::write)
            .about("Replaces a file's bytes; with If-Match, only if they are still those")
            .access(MEMBER)
            .bytes()
            .replies::<files::OneFile>(200),
        Route::get("/api/v1/workspaces/{id}/files/{file_id}/versions", files::versions)
            .about("The versions of a file, newest first")
            .access(VIEWER)
            .query::<Paging>()
            .replies::<files::Versions>(200),
        Route::get("/api/v1/workspaces/{id}/files/{file_id}/versions/{version_id}", files::version)
            .about("One version, with its text and its diff against the one before")
            .access(VIEWER)
            .replies::<files::OneVersion>(200),
        Route::get(
            "/api/v1/workspaces/{id}/files/{file_id}/versions/{version_id}/content",
            content::read_version,
        )
        .about("One version's bytes")
        .access(VIEWER)
        .replies_bytes(),
        Route::post("/api/v1/workspaces/{id}/files/{file_id}/revert", files::revert)
            .about("Makes an old version the newest one, as a new step")
            .access(MEMBER)
            .body::<files::Revert>()
            .replies::<files::Back>(200),
        Route::post("/api/v1/workspaces/{id}/files/{file_id}/restore", files::restore)
            .about("Brings a removed file back to where it was")
            .access(MEMBER)
            .replies::<files::Back>(200),
        Route::delete("/api/v1/workspaces/{id}/files/{file_id}/purge", files::purge)
            .about("Removes the contents of a removed file for good")
            .access(OWNER)
            .replies::<files::Purged>(200),
    ]
}

fn step_routes() -> Vec<Route> {
    vec![
        Route::get("/api/v1/workspaces/{id}/steps", steps::list)
            .about("Every change, newest first")
            .access(VIEWER)
            .query::<Paging>()
            .replies::<steps::Steps>(200),
        Route::get("/api/v1/workspaces/{id}/steps/{step_id}", steps::read)
            .about("One step with its diff")
            .access(VIEWER)
            .replies::<steps::OneStep>(200),
        Route::post("/api/v1/workspaces/{id}/steps/{step_id}/undo", steps::undo)
            .about("Undoes a step, old or new, keeping everything that came after it")
            .access(MEMBER)
            .replies::<steps::Undone>(200),
    ]
}

fn conversation_routes() -> Vec<Route> {
    vec![
        Route::post("/api/v1/workspaces/{id}/chats", chats::create)
            .about("Makes a chat: an agent's run, with its mode and its transcript")
            .access(MEMBER)
            .body::<chats::NewChat>()
            .replies::<chats::OneChat>(201),
        Route::get("/api/v1/workspaces/{id}/chats", chats::list)
            .about("The chats, newest first")
            .access(VIEWER)
            .query::<Paging>()
            .replies::<chats::ChatList>(200),
        Route::get("/api/v1/workspaces/{id}/chats/{chat_id}", chats::read)
            .about("A chat with everything that was said and done in it")
            .access(VIEWER)
            .query::<Paging>()
            .replies::<chats::Transcript>(200),
        Route::patch("/api/v1/workspaces/{id}/chats/{chat_id}", chats::change)
            .about("Sets a chat's mode or title; only a person opens build mode or renames a chat")
            .access(MEMBER)
            .body::<chats::ChangedChat>()
            .replies::<chats::OneChat>(200),
        Route::delete("/api/v1/workspaces/{id}/chats/{chat_id}", chats::remove)
            .about("Deletes a chat with its transcript, and ends what runs in it; the history stays")
            .access(PERSON),
        Route::post("/api/v1/workspaces/{id}/chats/{chat_id}/messages", chats::post)
            .about("Adds a message")
            .access(MEMBER)
            .body::<chats::NewMessage>()
            .replies::<chats::Posted>(201),
        Route::delete("/api/v1/workspaces/{id}/chats/{chat_id}/terminals", terminals::stop_chat)
            .about("Ends what runs in a chat that is over")
            .access(MEMBER),
        Route::get("/api/v1/workspaces/{id}/terminals", terminals::list)
            .about("Terminals, newest first; an agent sees its own")
            .access(VIEWER)
            .replies::<terminals::TerminalList>(200),
        Route::get("/api/v1/workspaces/{id}/terminals/{terminal_id}", terminals::read)
            .about("A terminal, with what is on its screen")
            .access(VIEWER)
            .replies::<terminals::OneTerminal>(200),
        Route::delete("/api/v1/workspaces/{id}/terminals/{terminal_id}", terminals::stop)
            .about("Ends a terminal, with everything that it started")
            .access(MEMBER),
        Route::get("/api/v1/workspaces/{id}/questions", questions::list)
            .about("Questions to people, newest first; an agent sees its own")
            .access(VIEWER)
            .query::<questions::Which>()
            .replies::<questions::QuestionList>(200),
        Route::get("/api/v1/workspaces/{id}/questions/{question_id}", questions::read)
            .about("A question, and its answer once there is one")
            .access(VIEWER)
            .replies::<questions::OneQuestion>(200),
        Route::post("/api/v1/workspaces/{id}/questions/{question_id}/answer", questions::answer)
            .about("Answers a question, once")
            .access(PERSON)
            .body::<questions::NewAnswer>()
            .replies::<questions::OneQuestion>(200),
        Route::get("/api/v1/workspaces/{id}/approvals", approvals::list)
            .about("What waits for a person's word, and what became of it, newest first; an agent sees its own")
            .access(VIEWER)
            .query::<approvals::Which>()
            .replies::<approvals::ApprovalList>(200),
        Route::get("/api/v1/workspaces/{id}/approvals/{approval_id}", approvals::read)
            .about("One request with its diff, and what the tool answered once it ran")
            .access(VIEWER)
            .replies::<approvals::OneApproval>(200),
        Route::get("/api/v1/workspaces/{id}/approvals/{approval_id}/diff", approvals::diff)
            .about("The whole diff of a request, in parts")
            .access(VIEWER)
            .query::<approvals::Part>()
            .replies::<approvals::DiffPart>(200),
        Route::post("/api/v1/workspaces/{id}/approvals/{approval_id}/decision", approvals::decide)
            .about("Says yes or no, once; what was approved is done at once")
            .access(PERSON)
            .body::<approvals::NewDecision>()
            .replies::<approvals::OneApproval>(200),
        Route::get("/api/v1/workspaces/{id}/policy", policy::read)
            .about("What may happen without a person")
            .access(RouteAccess::PersonInside(Role::Viewer))
            .replies::<policy::PolicyShown>(200),
        Route::put("/api/v1/workspaces/{id}/policy", policy::set)
            .about("Sets what may happen without a person; rules that do not parse are refused whole")
            .access(OWNER)
            .body::<policy::NewPolicy>()
            .replies::<policy::PolicyShown>(200),
        Route::get("/api/v1/workspaces/{id}/events", events::open)
            .about("What happens, as server-sent events; Last-Event-ID reads on from there")
            .access(VIEWER)
            .query::<events::From>()
            .replies_text("text/event-stream"),
    ]
}
