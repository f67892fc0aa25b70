//! `Idempotency-Key`: a change that is sent again answers as the first time did, and happens once. What
//! was begun is known before it is done, so a try that a crash cut off is never repeated blindly.

use bytes::Bytes;
use yard_core::hash::ContentHasher;
use yard_gate::Awaited;
use yard_gate::registry::{Claim, Retry};

use super::outcome::Outcome;
use super::problem::Problem;
use super::reply::{Content, Reply};
use super::request::{Caller, HttpRequest, IDEMPOTENCY_KEY};
use super::row::Handler;
use super::tools;
use crate::pool::WorkKind;

const MAX_KEY_BYTES: usize = 255;

/// The kind of work of a request, with its key counted in: storing an answer is a change.
pub(super) fn work(request: &HttpRequest, work: WorkKind) -> WorkKind {
    let stores_answer = work == WorkKind::Look && request.can_be_retried();
    if stores_answer { WorkKind::Change } else { work }
}

/// Answers a request, once for its key.
pub(super) fn once(request: &HttpRequest, handler: Handler) -> Result<Outcome, Problem> {
    let Some(key) = request.headers().get(IDEMPOTENCY_KEY) else { return handler.run(request) };
    if !request.route.stores_answers() {
        return handler.run(request);
    }
    let key = key.to_str().ok().filter(|key| (1..=MAX_KEY_BYTES).contains(&key.len()));
    let key = key.ok_or_else(|| {
        let message = format!("expected 1 to {MAX_KEY_BYTES} visible characters");
        Problem::invalid("Idempotency-Key", message)
    })?;
    let actor = actor(request);
    let workspace = match &request.caller {
        Caller::Inside(entered) => Some(entered.workspace),
        Caller::Anonymous | Caller::Known(_) => None,
    };
    let retry = Retry { actor: &actor, key, fingerprint: fingerprint(request), workspace };
    let _mark = request.app.in_flight.mark(&actor, key).ok_or_else(still_running)?;
    answer_claimed(request, retry, handler)
}

fn answer_claimed(
    request: &HttpRequest,
    retry: Retry<'_>,
    handler: Handler,
) -> Result<Outcome, Problem> {
    match request.app.admin.begin_request(retry).map_err(failed)? {
        Claim::Answered { status, body } => answer_again(request, status, body),
        Claim::Forgotten => Err(Problem::conflict(
            "the first try with this key was answered; what it answered was purged since",
        )),
        Claim::Differs => Err(Problem::invalid(
            "Idempotency-Key",
            "this key was used for another request; take a new one for each request",
        )),
        Claim::Begun { at } => Err(Problem::conflict(format!(
            "the first try with this key was begun at {at} and cut off before it answered; look \
             at the steps to see whether it happened, and send it again with a new key if not"
        ))),
        Claim::New => answer_first(request, retry, handler),
    }
}

/// Answers the first try with a key, and stores the answer.
fn answer_first(
    request: &HttpRequest,
    retry: Retry<'_>,
    handler: Handler,
) -> Result<Outcome, Problem> {
    let admin = &request.app.admin;
    // Read before the handler runs: the answer shows nothing that is withheld meanwhile.
    let note = note(request)?;
    let result = handler.run(request);
    let answered = match &result {
        Ok(outcome) => stored_form(outcome),
        Err(problem) if is_kept(problem) => {
            Some((problem.status, problem.body.to_string().into(), None))
        }
        Err(_) => None,
    };
    // A failure to keep the answer is no reason to hide that it happened.
    let kept = match answered {
        Some((status, body, awaited)) => {
            let noted = with_reading_note(note, &body);
            admin.store_answer(retry, status, &with_awaited(awaited, noted))
        }
        None => admin.remove_request(retry),
    };
    if let Err(error) = kept {
        tracing::error!(%error, "the answer of a retried request could not be kept");
    }
    result
}

/// Answers a retry as the first try was.
fn answer_again(request: &HttpRequest, status: u16, body: Vec<u8>) -> Result<Outcome, Problem> {
    let (awaited, body) = split_awaited(body);
    let body = replay(request, body)?;
    if let Some(awaited) = awaited {
        // The person may have decided since.
        return tools::wait_again(request, awaited, status, body);
    }
    Ok(Outcome::Reply(match body.is_empty() {
        true => Reply::without_body(status),
        false => Reply::serialized(status, body),
    }))
}

/// What the caller may read in the workspace that it asks, if it asks one.
fn note(request: &HttpRequest) -> Result<Option<String>, Problem> {
    match &request.caller {
        Caller::Inside(_) => Ok(Some(request.session()?.reading_note(&request.call)?)),
        Caller::Anonymous | Caller::Known(_) => Ok(None),
    }
}

/// The first byte of a stored answer with a note: no body begins with it.
const NOTED: u8 = 1;
/// The first byte of a stored answer to a call that waits for a person.
const WAITS: u8 = 2;

/// What is stored of an answer: status, body, and what the call waits for. Nothing for one that is not stored.
fn stored_form(outcome: &Outcome) -> Option<(u16, Bytes, Option<&Awaited>)> {
    match outcome {
        Outcome::Reply(Reply { status, content: Content::Json(body), .. }) => {
            Some((*status, body.clone(), None))
        }
        Outcome::Reply(reply) => Some((reply.status, Bytes::new(), None)),
        Outcome::Waiting { status, body, call } => {
            Some((*status, body.clone(), Some(&call.pending.awaited)))
        }
        Outcome::Mcp(_) | Outcome::Events(_) | Outcome::AllEvents(_) | Outcome::Download(_) => None,
    }
}

/// The stored form of the answer to a call that waits: a line that says for what, and the answer.
fn with_awaited(awaited: Option<&Awaited>, answer: Vec<u8>) -> Vec<u8> {
    let line = match awaited {
        None => return answer,
        Some(Awaited::Approval(id)) => format!("approval {id}\n"),
        Some(Awaited::Question(id)) => format!("question {id}\n"),
    };
    [&[WAITS], line.as_bytes(), &answer].concat()
}

/// What a stored answer's call waits for, if it does, and the answer.
fn split_awaited(mut stored: Vec<u8>) -> (Option<Awaited>, Vec<u8>) {
    let Some(rest) = stored.strip_prefix(&[WAITS]) else { return (None, stored) };
    let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
    let line = String::from_utf8_lossy(&rest[..end]).into_owned();
    let answer = stored.split_off((end + 2).min(stored.len()));
    let awaited = match line.split_once(' ') {
        Some(("approval", id)) => id.parse().ok().map(Awaited::Approval),
        Some(("question", id)) => id.parse().ok().map(Awaited::Question),
        _ => None,
    };
    (awaited, answer)
}

/// The stored form of an answer: a line that says what its caller could read, and the body.
fn with_reading_note(note: Option<String>, body: &[u8]) -> Vec<u8> {
    match note {
        Some(note) => [&[NOTED], note.as_bytes(), b"\n", body].concat(),
        None => body.to_vec(),
    }
}

/// A stored answer, if its caller may still read all that it could read then.
fn replay(request: &HttpRequest, kept: Vec<u8>) -> Result<Vec<u8>, Problem> {
    let Caller::Inside(_) = &request.caller else { return Ok(kept) };
    let noted = kept.strip_prefix(&[NOTED]).and_then(|rest| {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        Some((std::str::from_utf8(&rest[..end]).ok()?, &rest[end + 1..]))
    });
    let (note, body) = noted.unwrap_or(("", kept.as_slice()));
    if request.session()?.may_see_stored_answer(&request.call, note)? {
        return Ok(body.to_vec());
    }
    Err(Problem::conflict(
        "the first try with this key was answered, and its answer may hold what you may not read any more; \
         look at the steps to see what happened, and send it again with a new key if need be",
    ))
}

/// Whether a retry gets the same failure. After most failures part of the change may have happened, and a retry
/// must not do it again; only a request that was refused before it began, or that ended before it did anything, may be
/// tried again.
fn is_kept(problem: &Problem) -> bool {
    !problem.did_nothing && !matches!(problem.status, 429 | 503)
}

fn failed(error: impl std::fmt::Display) -> Problem {
    tracing::error!(%error, "the registry failed");
    Problem::internal()
}

fn still_running() -> Problem {
    Problem::conflict("a request with this Idempotency-Key is still running; try again")
        .retry_after(1)
}

/// Keys of different callers never meet.
fn actor(request: &HttpRequest) -> String {
    match &request.caller {
        Caller::Anonymous => format!("nobody:{}", request.peer),
        Caller::Known(identity) => identity.actor().name(),
        Caller::Inside(entered) => entered.identity.actor().name(),
    }
}

/// The hash of everything that makes it this request, keyed with a secret of this server, so that a stored one does
/// not confirm a guess at a content.
fn fingerprint(request: &HttpRequest) -> [u8; 32] {
    let mut hasher = ContentHasher::new();
    hasher.update(&request.app.admin.secret_for("idempotency fingerprint"));
    let mut part = |bytes: &[u8]| {
        hasher.update(&(bytes.len() as u64).to_be_bytes());
        hasher.update(bytes);
    };
    part(request.route.method.as_str().as_bytes());
    part(request.route.path.as_bytes());
    for (name, value) in &request.params {
        part(name.as_bytes());
        part(value.as_bytes());
    }
    part(request.query.to_string().as_bytes());
    // The bytes of an upload are not known before they came; their number is.
    let length = request.headers().get("content-length");
    part(length.map_or(b"", |length| length.as_bytes()));
    part(&request.body.to_comparable());
    *hasher.finish().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_have_happened_is_not_tried_again() {
        let problem = |status| Problem::new(status, "CODE", "why");
        assert!([400, 404, 409, 413, 500, 507].into_iter().all(|status| is_kept(&problem(status))));
        assert!(![429, 503].into_iter().any(|status| is_kept(&problem(status))));
        assert!(!is_kept(&Problem::broken_body()) && !is_kept(&Problem::slow_body()));
    }
}
