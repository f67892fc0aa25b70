//! The table: every route, in the order in which the documents list them. Adding a route is adding a row.

use http::Method;
use serde_json::Value;
use yard_core::Role;
use yard_dialects::Catalog;

use super::route::{Route, RouteAccess};
use super::row::{Row, begins, delete, get, patch, post, put};
use super::{
    account, all_events, approval_rules, approvals, auth, chats, comments, content, decide,
    diff_part, doctor, events, explain, files, health, inbox, inbox_decisions, keys, mcp, members,
    missing_folders, openapi, past, policy, questions, seen, steps, storage, terminals, tools, web,
    welcome, workspaces,
};
use crate::pool::WorkKind;

const ANYONE: RouteAccess = RouteAccess::Anyone;
/// A person who manages a workspace.
const OWNER: RouteAccess = RouteAccess::PersonInside(Role::Owner);
const VIEWER: RouteAccess = RouteAccess::Inside(Role::Viewer);
const MEMBER: RouteAccess = RouteAccess::Inside(Role::Member);
/// A person who is at least a member.
const PERSON: RouteAccess = RouteAccess::PersonInside(Role::Member);

/// Every route.
pub fn routes(catalog: &Catalog) -> Vec<Route> {
    rows(catalog).into_iter().map(|row| row.route).collect()
}

/// The OpenAPI document.
pub fn document(catalog: &Catalog) -> Value {
    openapi::document(&routes(catalog))
}

/// Every route, with its handler.
pub(super) fn rows(catalog: &Catalog) -> Vec<Row> {
    [
        server_routes(),
        account_routes(),
        workspace_routes(),
        tool_routes(catalog),
        file_routes(),
        step_routes(),
        conversation_routes(),
        review_routes(),
        page_routes(),
        mcp_routes(),
    ]
    .concat()
}

/// MCP, for the clients that agents run in.
fn mcp_routes() -> Vec<Row> {
    vec![
        begins(VIEWER, Method::POST, mcp::PATH, mcp::open)
            .about("Takes a message of MCP, such as a call of a tool")
            .limited_to(mcp::MAX_BODY_BYTES)
            .protocol(),
        begins(VIEWER, Method::GET, mcp::PATH, mcp::open)
            .about("Streams what the server sends in a session (revision 2025-11-25 and before)")
            .protocol(),
        begins(VIEWER, Method::DELETE, mcp::PATH, mcp::open)
            .status(204)
            .about("Ends a session (revision 2025-11-25 and before)")
            .protocol(),
    ]
}

/// The pages on which a person decides, for clients that cannot ask.
fn page_routes() -> Vec<Row> {
    vec![
        post(ANYONE, "/decide/login", decide::login)
            .about("Logs in and leads back to the page")
            .doing(WorkKind::Password)
            .form()
            .page(),
        get(PERSON, decide::APPROVAL_PATH, decide::approval)
            .about("What an agent wants to do")
            .query::<decide::ShownFrom>()
            .page(),
        post(PERSON, decide::APPROVAL_PATH, decide::decide).about("Decides on it").form().page(),
        get(PERSON, "/decide/{id}/questions/{question_id}", decide::question)
            .about("What an agent asks")
            .page(),
        post(PERSON, "/decide/{id}/questions/{question_id}", decide::answer)
            .about("Answers it")
            .form()
            .page(),
    ]
}

fn server_routes() -> Vec<Row> {
    vec![
        get(ANYONE, "/", web::index)
            .about("The page on which people see and decide")
            .doing(WorkKind::Memory)
            .web_file(),
        get(ANYONE, "/web/{*path}", web::file)
            .about("A file of the page")
            .doing(WorkKind::Memory)
            .web_file(),
        get(ANYONE, "/start", welcome::page)
            .about("What this is, what to type and where the documents are, for people")
            .replies_text("text/html"),
        get(ANYONE, "/health", health::health)
            .about("Whether the server is ready")
            .doing(WorkKind::Memory)
            .replies::<health::Health>(200),
        get(ANYONE, "/metrics", health::metrics)
            .about("Counts and times for Prometheus")
            .doing(WorkKind::Memory)
            .replies_text("application/openmetrics-text"),
        get(ANYONE, "/openapi.json", openapi::serve)
            .about("This document")
            .doing(WorkKind::Memory)
            .replies_text("application/json"),
        get(ANYONE, "/docs", openapi::docs)
            .about("The routes as a page for people")
            .doing(WorkKind::Memory)
            .replies_text("text/html"),
    ]
}

fn account_routes() -> Vec<Row> {
    vec![
        post(ANYONE, "/api/v1/auth/register", auth::register)
            .about("Makes an account")
            .doing(WorkKind::Password)
            .body::<auth::Register>()
            .replies::<auth::OneUser>(201),
        post(ANYONE, "/api/v1/auth/login", auth::login)
            .about("Logs in: an access token for minutes, a refresh token for days")
            .doing(WorkKind::Password)
            .secret()
            .body::<auth::Login>()
            .replies::<auth::LoginReply>(200),
        post(ANYONE, "/api/v1/auth/code", auth::login_by_code)
            .about("Logs in the person of this machine, with the code of `toolyard ui`")
            .secret()
            .body::<auth::LocalCode>()
            .replies::<auth::LoginReply>(200),
        post(ANYONE, "/api/v1/auth/refresh", auth::refresh)
            .about("Exchanges a refresh token, once, for a new pair")
            .secret()
            .optional_body::<auth::Refresh>()
            .replies::<auth::LoginReply>(200),
        post(ANYONE, "/api/v1/auth/logout", auth::logout)
            .status(204)
            .about("Ends the login of the tokens that are sent")
            .optional_body::<auth::Refresh>(),
        get(RouteAccess::Person, "/api/v1/auth/me", auth::me)
            .about("Who is calling")
            .replies::<auth::OneUser>(200),
        post(RouteAccess::Person, "/api/v1/auth/password", account::change_password)
            .status(204)
            .about("Gives the caller another password, and ends all of their other logins")
            .doing(WorkKind::Password)
            .secret()
            .body::<account::NewPassword>(),
        get(RouteAccess::Person, "/api/v1/auth/logins", account::logins)
            .about("The caller's logins that have not ended, newest first")
            .lists::<account::LoginList>(),
        delete(RouteAccess::Person, "/api/v1/auth/logins/{login_id}", account::end_login)
            .about("Ends a login of the caller: its tokens are good no more, and its streams end"),
        get(RouteAccess::Person, "/api/v1/missing-folders", missing_folders::list)
            .about("Folders of this machine with a history that were moved or removed; a server has none")
            .lists::<missing_folders::MissingFolders>(),
        get(RouteAccess::Person, "/api/v1/doctor", doctor::read)
            .about("What the box around commands can do on this machine")
            .doing(WorkKind::Walk)
            .replies::<doctor::OneReport>(200),
        get(RouteAccess::Person, "/api/v1/inbox", inbox::list)
            .about(
                "What waits for the caller's decision or answer, in all workspaces, oldest first",
            )
            .query::<inbox::InboxQuery>()
            .replies::<inbox::InboxPage>(200),
        post(RouteAccess::Person, "/api/v1/inbox/decisions", inbox_decisions::decide)
            .about("Decides up to 50 requests of any workspaces, each by itself and with its own result")
            .body::<inbox_decisions::NewDecisions>()
            .replies::<inbox_decisions::DecisionResults>(200),
        put(RouteAccess::Person, "/api/v1/inbox/later", inbox::put_off)
            .status(204)
            .about("Puts a request or a question off until a time, for the caller alone")
            .body::<inbox::PutOff>(),
        begins(RouteAccess::Person, Method::GET, "/api/v1/events", all_events::open)
            .about("Where something happens, in all workspaces of the caller, as a stream of events (SSE)")
            .replies_text("text/event-stream"),
    ]
}

fn workspace_routes() -> Vec<Row> {
    vec![
        post(RouteAccess::Person, "/api/v1/workspaces", workspaces::create)
            .about("Makes a workspace that the caller owns")
            .body::<workspaces::NewWorkspace>()
            .replies::<workspaces::OneWorkspace>(201),
        get(RouteAccess::Caller, "/api/v1/workspaces", workspaces::list)
            .about("The caller's workspaces")
            .lists::<workspaces::Workspaces>(),
        get(VIEWER, "/api/v1/workspaces/{id}", workspaces::read)
            .about("One workspace")
            .replies::<workspaces::OneWorkspace>(200),
        patch(OWNER, "/api/v1/workspaces/{id}", workspaces::rename)
            .about("Renames a workspace")
            .body::<workspaces::Rename>()
            .replies::<workspaces::OneWorkspace>(200),
        delete(OWNER, "/api/v1/workspaces/{id}", workspaces::delete)
            .about("Deletes a workspace; its files stay in the data folder, for the operator"),
        post(OWNER, "/api/v1/workspaces/{id}/members", members::add)
            .about("Adds a person who has an account")
            .body::<members::NewMember>()
            .replies::<members::OneMember>(201),
        get(VIEWER, "/api/v1/workspaces/{id}/members", members::list)
            .about("The members")
            .lists::<members::Members>(),
        patch(OWNER, "/api/v1/workspaces/{id}/members/{user_id}", members::change)
            .about("Gives a member another role")
            .body::<members::NewRole>()
            .replies::<members::Changed>(200),
        delete(OWNER, "/api/v1/workspaces/{id}/members/{user_id}", members::remove)
            .about("Removes a member"),
        post(OWNER, "/api/v1/workspaces/{id}/keys", keys::add)
            .about("Makes an agent's key; it is shown this once")
            .secret()
            .body::<keys::NewKey>()
            .replies::<keys::SecretKey>(201),
        get(OWNER, "/api/v1/workspaces/{id}/keys", keys::list)
            .about("The keys, without their secrets")
            .lists::<keys::Keys>(),
        delete(OWNER, "/api/v1/workspaces/{id}/keys/{key_id}", keys::revoke).about("Revokes a key"),
        get(OWNER, "/api/v1/workspaces/{id}/storage", storage::read)
            .about("How much is stored for a workspace beside its files")
            .doing(WorkKind::Walk)
            .replies::<storage::OneStorage>(200),
    ]
}

fn tool_routes(catalog: &Catalog) -> Vec<Row> {
    vec![
        tools::row(catalog),
        get(VIEWER, tools::PATH, tools::definitions)
            .about("Definitions of the tools, as a model's API wants them")
            .query::<tools::DefinitionsQuery>()
            .replies::<tools::Definitions>(200),
    ]
}

fn file_routes() -> Vec<Row> {
    vec![
        post(MEMBER, "/api/v1/workspaces/{id}/files", content::create)
            .about("Uploads a new file, of any type and size")
            .query::<content::UploadQuery>()
            .bytes()
            .replies::<files::OneFile>(201),
        get(VIEWER, "/api/v1/workspaces/{id}/files/trash", files::trash)
            .about("What was removed and can be restored, newest first")
            .lists::<files::TrashList>(),
        get(VIEWER, "/api/v1/workspaces/{id}/files/{file_id}", files::read)
            .about("What is known of a file")
            .replies::<files::OneFile>(200),
        patch(MEMBER, "/api/v1/workspaces/{id}/files/{file_id}", files::rename)
            .about("Sets a file's name for people; its path stays")
            .body::<files::NewName>()
            .replies::<files::OneFile>(200),
        begins(
            VIEWER,
            Method::GET,
            "/api/v1/workspaces/{id}/files/{file_id}/content",
            content::read,
        )
        .about("A file's bytes; the ETag is their SHA-256")
        .replies_bytes(),
        put(MEMBER, "/api/v1/workspaces/{id}/files/{file_id}/content", content::write)
            .about("Replaces a file's bytes; with If-Match, only if they are still those")
            .bytes()
            .replies::<files::OneFile>(200),
        get(VIEWER, "/api/v1/workspaces/{id}/files/{file_id}/versions", files::versions)
            .about("The versions of a file, newest first")
            .lists::<files::Versions>(),
        get(
            VIEWER,
            "/api/v1/workspaces/{id}/files/{file_id}/versions/{version_id}",
            files::version,
        )
        .about("One version, with its text and its diff against the one before")
        .replies::<files::OneVersion>(200),
        begins(
            VIEWER,
            Method::GET,
            "/api/v1/workspaces/{id}/files/{file_id}/versions/{version_id}/content",
            content::read_version,
        )
        .about("One version's bytes")
        .replies_bytes(),
        post(MEMBER, "/api/v1/workspaces/{id}/files/{file_id}/revert", files::revert)
            .about("Makes an old version the newest one, as a new step")
            .body::<files::Revert>()
            .replies::<files::Back>(200),
        post(MEMBER, "/api/v1/workspaces/{id}/files/{file_id}/restore", files::restore)
            .about("Brings a removed file back to where it was")
            .replies::<files::Back>(200),
        delete(OWNER, "/api/v1/workspaces/{id}/files/{file_id}/purge", files::purge)
            .about("Removes the contents of a removed file for good")
            .replies::<files::Purged>(200),
    ]
}

fn step_routes() -> Vec<Row> {
    vec![
        get(VIEWER, "/api/v1/workspaces/{id}/steps", steps::list)
            .about("The changes, newest first: all, or those of an actor, a chat, a path or an operation")
            .query::<steps::StepsQuery>()
            .replies::<steps::Steps>(200),
        get(VIEWER, "/api/v1/workspaces/{id}/steps/{step_id}", steps::read)
            .about("One step with its diff")
            .query::<steps::ChangesQuery>()
            .replies::<steps::OneStep>(200),
        post(MEMBER, "/api/v1/workspaces/{id}/steps/{step_id}/undo", steps::undo)
            .about(
                "Undoes a step, old or new, or a part of it, keeping everything that came after it",
            )
            .optional_body::<steps::UndoOptions>()
            .replies::<steps::UndoReply>(200),
        post(MEMBER, "/api/v1/workspaces/{id}/steps/{step_id}/redo", steps::redo)
            .about("Undoes the newest undo of a step")
            .optional_body::<steps::UndoOptions>()
            .replies::<steps::UndoReply>(200),
        post(MEMBER, "/api/v1/workspaces/{id}/steps/{step_id}/back-to", steps::back_to)
            .about("Takes back everything that happened after a step, as one new step")
            .optional_body::<steps::UndoOptions>()
            .replies::<steps::UndoReply>(200),
        get(VIEWER, "/api/v1/workspaces/{id}/steps/{step_id}/tree", past::tree)
            .about("A folder as it was after a step")
            .query::<past::TreeQuery>()
            .replies::<past::Tree>(200),
        begins(VIEWER, Method::GET, "/api/v1/workspaces/{id}/steps/{step_id}/content", past::content)
            .about("A file's bytes as they were after a step")
            .query::<past::ContentQuery>()
            .replies_bytes(),
        get(VIEWER, "/api/v1/workspaces/{id}/compare", past::compare)
            .about("What differs between the files after two steps")
            .query::<past::CompareQuery>()
            .replies::<past::Comparison>(200),
        get(VIEWER, "/api/v1/workspaces/{id}/files/{file_id}/blame", past::blame)
            .about("The step that each line of a file came from")
            .query::<past::BlameQuery>()
            .replies::<past::BlameReply>(200),
    ]
}

fn conversation_routes() -> Vec<Row> {
    vec![
        post(MEMBER, "/api/v1/workspaces/{id}/chats", chats::create)
            .about("Makes a chat: an agent's run, with its mode and its transcript")
            .body::<chats::NewChat>()
            .replies::<chats::OneChat>(201),
        get(VIEWER, "/api/v1/workspaces/{id}/chats", chats::list)
            .about("The chats, newest first")
            .lists::<chats::ChatList>(),
        get(VIEWER, "/api/v1/workspaces/{id}/chats/{chat_id}", chats::read)
            .about("A chat with everything that was said and done in it")
            .lists::<chats::Transcript>(),
        patch(MEMBER, "/api/v1/workspaces/{id}/chats/{chat_id}", chats::change)
            .about("Sets a chat's mode or title; only a person opens build mode or renames a chat")
            .body::<chats::ChangedChat>()
            .replies::<chats::OneChat>(200),
        delete(PERSON, "/api/v1/workspaces/{id}/chats/{chat_id}", chats::remove)
            .about("Deletes a chat with its transcript, and ends what runs in it; the history stays"),
        post(MEMBER, "/api/v1/workspaces/{id}/chats/{chat_id}/messages", chats::post)
            .about("Adds a message")
            .body::<chats::NewMessage>()
            .replies::<chats::Posted>(201),
        delete(MEMBER, "/api/v1/workspaces/{id}/chats/{chat_id}/terminals", terminals::stop_chat)
            .about("Ends what runs in a chat that is over"),
        get(VIEWER, "/api/v1/workspaces/{id}/terminals", terminals::list)
            .about("Terminals, newest first; an agent sees its own")
            .replies::<terminals::TerminalList>(200),
        get(VIEWER, "/api/v1/workspaces/{id}/terminals/{terminal_id}", terminals::read)
            .about("A terminal, with what is on its screen")
            .replies::<terminals::OneTerminal>(200),
        delete(MEMBER, "/api/v1/workspaces/{id}/terminals/{terminal_id}", terminals::stop)
            .about("Ends a terminal, with everything that it started"),
        post(PERSON, "/api/v1/workspaces/{id}/terminals/{terminal_id}/input", terminals::type_text)
            .about("Types into a terminal, in whichever process it runs")
            .body::<terminals::TypedText>()
            .replies::<terminals::OneTerminal>(200),
        put(PERSON, "/api/v1/workspaces/{id}/terminals/{terminal_id}/size", terminals::resize)
            .about("Sets the size of a terminal's screen")
            .body::<terminals::NewSize>()
            .replies::<terminals::OneTerminal>(200),
        get(VIEWER, "/api/v1/workspaces/{id}/questions", questions::list)
            .about("Questions to people, newest first; an agent sees its own")
            .query::<questions::QuestionsQuery>()
            .replies::<questions::QuestionList>(200),
        get(VIEWER, "/api/v1/workspaces/{id}/questions/{question_id}", questions::read)
            .about("A question, and its answer once there is one")
            .replies::<questions::OneQuestion>(200),
        post(PERSON, "/api/v1/workspaces/{id}/questions/{question_id}/answer", questions::answer)
            .about("Answers a question, once")
            .body::<questions::NewAnswer>()
            .replies::<questions::OneQuestion>(200),
        get(VIEWER, "/api/v1/workspaces/{id}/approvals", approvals::list)
            .about("What waits for a person's word, and what became of it, newest first; an agent sees its own")
            .query::<approvals::ApprovalsQuery>()
            .replies::<approvals::ApprovalList>(200),
        get(VIEWER, "/api/v1/workspaces/{id}/approvals/{approval_id}", approvals::read)
            .about("One request with its diff, and what the tool answered once it ran")
            .replies::<approvals::OneApproval>(200),
        get(VIEWER, "/api/v1/workspaces/{id}/approvals/{approval_id}/diff", approvals::diff)
            .about("The whole diff of a request, in parts")
            .query::<approvals::DiffQuery>()
            .replies::<diff_part::DiffPart>(200),
        post(PERSON, "/api/v1/workspaces/{id}/approvals/{approval_id}/plan", approvals::plan)
            .about("What the call would do with other arguments; nothing is decided")
            .body::<approvals::NewPlan>()
            .replies::<approvals::OnePlan>(200),
        get(PERSON, "/api/v1/workspaces/{id}/approvals/{approval_id}/rules", approval_rules::list)
            .about("The rules that a yes for the chat, or always, would save")
            .replies::<approval_rules::Rules>(200),
        post(PERSON, approvals::DECISION_PATH, approvals::decide)
            .about("Says yes or no, once; what was approved is done at once")
            .body::<approvals::NewDecision>()
            .replies::<approvals::OneApproval>(200),
        get(RouteAccess::PersonInside(Role::Viewer), "/api/v1/workspaces/{id}/policy", policy::read)
            .about("What may happen without a person")
            .replies::<policy::PolicyShown>(200),
        put(OWNER, "/api/v1/workspaces/{id}/policy", policy::set)
            .about("Sets what may happen without a person; rules that do not parse are refused whole")
            .body::<policy::NewPolicy>()
            .replies::<policy::PolicyShown>(200),
        begins(VIEWER, Method::GET, "/api/v1/workspaces/{id}/events", events::open)
            .about("What happens, as server-sent events; Last-Event-ID reads on from there")
            .query::<events::EventsQuery>()
            .replies_text("text/event-stream"),
    ]
}

/// What a person notes while reviewing.
fn review_routes() -> Vec<Row> {
    vec![
        post(PERSON, "/api/v1/workspaces/{id}/comments", comments::create)
            .about("Comments on a line of a diff; nobody else sees it before it is sent")
            .body::<comments::CommentBody>()
            .replies::<comments::OneComment>(201),
        get(PERSON, "/api/v1/workspaces/{id}/comments", comments::list)
            .about("The caller's comments that were not sent yet, oldest first")
            .query::<comments::CommentsQuery>()
            .replies::<comments::CommentList>(200),
        patch(PERSON, "/api/v1/workspaces/{id}/comments/{comment_id}", comments::change)
            .about("Gives a comment another text")
            .body::<comments::NewText>()
            .replies::<comments::OneComment>(200),
        delete(PERSON, "/api/v1/workspaces/{id}/comments/{comment_id}", comments::remove)
            .about("Deletes a comment"),
        post(PERSON, "/api/v1/workspaces/{id}/comments/send", comments::send)
            .about("Sends comments to the agent of a chat, as one message that it gets with its next tool answer")
            .body::<comments::Sending>()
            .replies::<chats::Posted>(201),
        get(PERSON, "/api/v1/workspaces/{id}/seen", seen::list)
            .about("Which contents of files the caller has marked as seen")
            .lists::<seen::MarkList>(),
        put(PERSON, "/api/v1/workspaces/{id}/seen", seen::set)
            .status(204)
            .about("Marks a content of a file as seen, or takes that back")
            .body::<seen::NewMark>(),
        post(RouteAccess::PersonInside(Role::Viewer), "/api/v1/workspaces/{id}/policy/explain", explain::explain)
            .about("What would happen with an agent's call, and which rule decides; nothing is done")
            .body::<explain::CallToExplain>()
            .replies::<explain::OneExplanation>(200),
    ]
}
