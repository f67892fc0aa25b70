//! The pages on which a person decides an approval or answers a question. The client of an agent gets their address
//! (MCP's URL mode). A person who is not logged in sees the login form first.
//!
//! They are forms without a script. A page of another site could send a form as well: these routes are protected by the
//! checks of all routes (Host, Origin, Sec-Fetch-Site) and by cookies that no other site can send. They call the same
//! functions as the routes for programs.

mod page;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use yard_core::op::{LineStart, Read, Slice, Want};
use yard_core::{ContentHash, WsPath};
use yard_gate::{AskedQuestion, Awaited, DecisionInput, FormQuestion, Scope, Via};

use super::problem::Problem;
use super::reply::Reply;
use super::request::HttpRequest;
use super::{approvals, auth};

/// The prefix of the pages. A login redirects to no other path.
const PREFIX: &str = "/decide/";
/// The path of the page of an approval.
pub(super) const APPROVAL_PATH: &str = "/decide/{id}/approvals/{approval_id}";

/// The path of the page for an approval or a question.
pub(super) fn path(workspace: &str, awaited: &Awaited) -> String {
    match awaited {
        Awaited::Approval(id) => format!("{PREFIX}{workspace}/approvals/{id}"),
        Awaited::Question(id) => format!("{PREFIX}{workspace}/questions/{id}"),
    }
}

/// The page of a request that was refused. Without a login, it is the login form.
pub(super) fn refused(problem: &Problem, path: &str) -> Reply {
    let why = &problem.message();
    let page = match problem.status {
        401 => page::login(path, None),
        // Another account may have the right.
        403 => page::login(path, Some(why)),
        _ => page::refused(why, path),
    };
    Reply::page(problem.status, page)
}

/// Logs in and redirects to the page.
pub(super) fn login(request: &HttpRequest) -> Result<Reply, Problem> {
    let sent = request.pairs()?;
    let field = |name| field(&sent, name).unwrap_or_default();
    let next = Some(field("next")).filter(|next| is_decision_page(next));
    match auth::log_in(request, field("email"), field("password")) {
        Ok(cookies) => {
            let to_page = next.map(|next| Reply::see_other(next.to_owned()));
            let reply = to_page.unwrap_or_else(|| Reply::page(200, page::logged_in()));
            Ok(reply.with_cookies(cookies))
        }
        Err(problem) => {
            let why = problem.message();
            Ok(Reply::page(problem.status, page::login(next.unwrap_or_default(), Some(&why))))
        }
    }
}

/// Whether a path is that of such a page.
fn is_decision_page(path: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let parts = path.strip_prefix(PREFIX).map(|rest| rest.split('/').collect::<Vec<_>>());
    parts.is_some_and(|parts| parts.len() == 3 && parts.into_iter().all(plain))
}

/// Which part of a long request.
#[derive(Deserialize, JsonSchema)]
pub(super) struct ShownFrom {
    /// The first byte of what is shown.
    from: Option<usize>,
}

pub(super) fn approval(request: &HttpRequest) -> Result<Reply, Problem> {
    let ShownFrom { from } = request.query()?;
    let approval = approvals::named(request)?;
    // The page of the server shows a request of any length.
    let elsewhere = format!("/#/inbox/{}/approval/{}", request.param("id"), approval.id);
    Ok(Reply::page(200, page::approval(&approval, from.unwrap_or(0), &elsewhere)))
}

/// Whether a request is a yes to the request that its path names.
pub(super) fn is_yes(request: &HttpRequest) -> bool {
    request.route.path == APPROVAL_PATH
        && request.route.changes()
        && request
            .pairs()
            .is_ok_and(|sent| matches!(field(&sent, "decision"), Some("once" | "chat")))
}

pub(super) fn decide(request: &HttpRequest) -> Result<Reply, Problem> {
    let sent = request.pairs()?;
    let (approves, scope) = match field(&sent, "decision") {
        Some("once") => (true, Scope::Once),
        Some("chat") => (true, Scope::Chat),
        Some("deny") => (false, Scope::Once),
        _ => return Err(Problem::invalid("decision", "expected once, chat or deny")),
    };
    // The hash of what the page showed.
    let state = field(&sent, "state_hash").and_then(|hash| hash.parse().ok());
    let state =
        state.ok_or_else(|| Problem::invalid("state_hash", "expected what the page has"))?;
    let reason = field(&sent, "reason").filter(|text| !text.is_empty()).map(str::to_owned);
    let decision =
        DecisionInput { approves, scope, reason, args: None, state, planned: None, parts: None };
    let decided = approvals::decide_named(request, &decision)?;
    Ok(Reply::see_other(path(request.param("id"), &Awaited::Approval(decided.id))))
}

pub(super) fn question(request: &HttpRequest) -> Result<Reply, Problem> {
    let question = request.session()?.questions().get(request.id("question_id", "question")?)?;
    let plan = question.plan().map(|(path, hash)| ShownPlan {
        path: path.to_string(),
        text: plan_text(request, path, hash),
        elsewhere: format!("/#/inbox/{}/question/{}", request.param("id"), question.id),
    });
    Ok(Reply::page(200, page::question(&question, plan.as_ref())))
}

/// The plan that a question asks to accept.
struct ShownPlan {
    path: String,
    /// Its text, if that is what Accept is good for and the person may read all of it.
    text: Option<String>,
    /// The address at which any question can be answered.
    elsewhere: String,
}

fn plan_text(request: &HttpRequest, path: &WsPath, hash: ContentHash) -> Option<String> {
    let slice = Slice::Lines { start: LineStart::FromStart(0), limit: None };
    let want = Want { hash: true, ..Want::default() };
    let read = Read { path: path.clone(), slice, want, max_bytes: page::SHOWN_BYTES as u64 };
    let answer = request.perform(read).ok()?;
    let is_whole = !answer.truncated && answer.cut_at_byte.is_none();
    (is_whole && answer.hash == Some(hash)).then_some(answer.text)
}

pub(super) fn answer(request: &HttpRequest) -> Result<Reply, Problem> {
    let id = request.id("question_id", "question")?;
    let session = request.session()?;
    let question: AskedQuestion = session.questions().get(id)?;
    let (answers, via) = answers(question.form.questions(), &request.pairs()?);
    session.questions().answer(&request.call, id, &answers, via)?;
    Ok(Reply::see_other(path(request.param("id"), &Awaited::Question(id))))
}

/// The answers of a form, and whether all of them were clicked. A missing answer is left out, and the gate reports it.
fn answers(items: &[FormQuestion], sent: &[(String, String)]) -> (Map<String, Value>, Via) {
    let mut answers = Map::new();
    let mut via = Via::Button;
    for item in items {
        let field = page::field(&item.name);
        let mut values = sent.iter().filter(|(name, _)| *name == field).map(|(_, value)| value);
        let answer = match item.multiple_choices().is_empty() {
            false => Some(json!(values.collect::<Vec<_>>())),
            true => values.next().map(|text| item.parse_answer(text)),
        };
        if item.choices().is_empty() {
            via = Via::Text;
        }
        answers.extend(answer.map(|answer| (item.name.clone(), answer)));
    }
    (answers, via)
}

/// The first field with a name.
fn field<'a>(sent: &'a [(String, String)], name: &str) -> Option<&'a str> {
    sent.iter().find(|(sent, _)| sent == name).map(|(_, value)| value.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_redirects_to_these_pages_only() {
        assert!(is_decision_page("/decide/0190-aF/approvals/1-2"));
        for other in [
            "/",
            "//evil.example",
            "/decide//evil.example/a",
            "/decide/\\evil/a/b",
            "/decide/login",
            "/decide/a/b/c?d",
        ] {
            assert!(!is_decision_page(other), "{other}");
        }
    }
}
