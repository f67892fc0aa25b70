//! `toolyard approve`: the person at this machine sees the diff of what an agent asks to do, and decides.

use std::io::{self, BufRead, IsTerminal as _, Write};
use std::time::Duration;

use serde_json::{Value, json};
use yard_core::{ApprovalId, ChangePart, ContentHash, FaultCode, WsPath};
use yard_dialects::Catalog;
use yard_gate::{
    Actor, Approval, ApprovalFilter, ApprovalStatus, DecidedPart, DecisionInput, ListPage, Scope,
    effect_lines, effect_value, is_for_host,
};

use crate::context::{CommandContext, LocalSession};
use crate::failure::Failure;
use crate::reply::Reply;
use crate::short_ids::{begins_with, id_digits};
use crate::table::Table;
use crate::terminal::{BOLD, DiffStyles, FAINT, ID, Terminal, visible, visible_cell};

use super::history::local_time;
use super::parse_id;

const EXAMPLES: &str = "\
Examples:
  toolyard approve                          what waits; on a terminal, decided one by one
  toolyard approve ID                       one request, with its whole diff and its state
  toolyard approve ID --yes --state STATE --scope chat    yes, and to every such call of this chat
  toolyard approve ID --yes --state STATE --path /src/a.rs --path /src/b.rs:0,2    these, of b.rs two hunks
  toolyard approve ID --no --state STATE --reason 'use the staging database'
  toolyard approve ID --args '{\"path\": \"b.txt\"}'       what it would do with other arguments

A decision is about the state that you were shown. What is approved happens at once, exactly as shown; if the
files changed meanwhile, you are asked again. A terminal is opened by the process that asked for it.";

/// How often a decision checks whether the process that serves the answer has executed it. With the pause between two
/// checks, that is ten seconds in all.
const CHECKS: u32 = 200;
const CHECKS_FOR_HOST: u32 = 20;
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// How many requests are searched for an id that begins as given.
const MAX_SEARCHED: usize = 1_000;

/// Decide what agents may not do by themselves
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Request to decide; without one, those that wait are listed
    approval: Option<String>,
    /// Let it happen
    #[arg(long, requires = "approval", conflicts_with = "no")]
    yes: bool,
    /// Do not let it happen
    #[arg(long, requires = "approval")]
    no: bool,
    /// How far a yes reaches
    #[arg(long, value_name = "SCOPE", default_value = "once", requires = "yes")]
    scope: ScopeWord,
    /// State that you were shown, which a decision needs
    #[arg(long, value_name = "STATE", requires = "approval")]
    state: Option<String>,
    /// Other arguments for the call, a JSON object; without --yes, what they would do is shown
    #[arg(long, value_name = "JSON", requires = "approval", conflicts_with = "no")]
    args: Option<String>,
    /// Let only this happen, and refuse the rest: a path of the diff, with `:0,2` some of its hunks. Can be repeated
    #[arg(long, value_name = "PATH", requires = "yes", conflicts_with = "args")]
    path: Vec<String>,
    /// A word to the agent
    #[arg(long, value_name = "TEXT", requires = "approval")]
    reason: Option<String>,
    /// Also those that were decided
    #[arg(long, conflicts_with = "approval")]
    all: bool,
    /// At most that many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Print JSON, and ask nothing
    #[arg(long)]
    pub(super) json: bool,
}

/// The scope of an approval.
#[derive(Clone, Copy, clap::ValueEnum)]
enum ScopeWord {
    /// This call
    Once,
    /// Every such call of this chat
    Chat,
    /// Every such call on the same paths, by a saved rule
    Rule,
}

impl ScopeWord {
    fn scope(self) -> Scope {
        match self {
            Self::Once => Scope::Once,
            Self::Chat => Scope::Chat,
            Self::Rule => Scope::Rule,
        }
    }
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let session = ApprovalSession {
            local: context.open(Actor::LocalPerson)?,
            catalog: Catalog::standard(),
        };
        let asks = context.terminal.is_there && io::stdin().is_terminal() && !self.json;
        let Some(text) = &self.approval else {
            return self.pending(&session, context.terminal, asks);
        };
        let id = session.named(text)?;
        let args = self.other_args()?;
        let approval = match (self.decision(id, args.clone())?, &args) {
            (Some(decision), _) => session.decide(id, &decision)?,
            (None, Some(args)) => session.with_args(id, args)?,
            (None, None) => session.get(id)?,
        };
        let is_open = approval.status == ApprovalStatus::Pending && !self.yes && !self.no;
        if asks && is_open && args.is_none() {
            return interview(&session, &[approval], context.terminal);
        }
        Ok(Reply::either(self.json, || to_json(&approval), || details(&approval, context.terminal)))
    }

    fn other_args(&self) -> Result<Option<Value>, Failure> {
        let wrong = |why: String| {
            Failure::misuse(FaultCode::BadArgument, format!("--args is {why}"))
                .with_hint("give one JSON object; nothing was decided")
        };
        let Some(text) = &self.args else { return Ok(None) };
        let args: Value = serde_json::from_str(text)
            .map_err(|error| wrong(format!("not valid JSON: {error}")))?;
        match args.is_object() {
            true => Ok(Some(args)),
            false => Err(wrong("no JSON object".to_owned())),
        }
    }

    fn decision(
        &self,
        id: ApprovalId,
        args: Option<Value>,
    ) -> Result<Option<DecisionInput>, Failure> {
        if !self.yes && !self.no {
            return Ok(None);
        }
        let advice = format!("`toolyard approve {id}` shows the request and its state");
        let state = self.state.as_deref().ok_or_else(|| {
            let message = "a decision needs the state that you were shown: --state STATE";
            Failure::misuse(FaultCode::BadArgument, message).with_hint(advice.clone())
        })?;
        let state = state.parse().map_err(|_| {
            let message = format!("{state:?} is no state of a request");
            Failure::misuse(FaultCode::BadArgument, message).with_hint(advice)
        })?;
        let (scope, reason) = (self.scope.scope(), self.reason.clone());
        let approves = self.yes;
        let parts = match self.path.as_slice() {
            [] => None,
            paths => Some(paths.iter().map(|text| part(text)).collect::<Result<_, _>>()?),
        };
        Ok(Some(DecisionInput { approves, scope, reason, args, state, planned: None, parts }))
    }

    fn pending(
        &self,
        session: &ApprovalSession,
        terminal: Terminal,
        asks: bool,
    ) -> Result<Reply, Failure> {
        let page = match self.all {
            true => session.list(None, self.limit)?,
            false => session.open_requests(self.limit)?,
        };
        let waits = |row: &&Approval| row.status == ApprovalStatus::Pending;
        if asks && !self.all && page.rows.iter().any(|row| waits(&row)) {
            // The oldest request comes first.
            let oldest_first: Vec<Approval> =
                page.rows.iter().rev().filter(waits).cloned().collect();
            return interview(session, &oldest_first, terminal);
        }
        Ok(match self.json {
            true => {
                let approvals: Vec<Value> = page.rows.iter().map(to_json).collect();
                Reply::json(json!({"approvals": approvals, "truncated": page.truncated}))
            }
            false => Reply::text(list_text(&page, terminal)),
        })
    }
}

/// Reads a path of the diff, which some of its hunks may follow.
fn part(text: &str) -> Result<ChangePart, Failure> {
    let indices = |text: &str| text.split(',').map(|index| index.trim().parse().ok()).collect();
    let with_hunks = text.rsplit_once(':').and_then(|(path, hunks)| {
        let hunks: Option<Vec<usize>> = indices(hunks);
        Some((path, hunks?))
    });
    let (path, hunks) = match with_hunks {
        Some((path, hunks)) => (path, Some(hunks)),
        None => (text, None),
    };
    let path = WsPath::parse_shown(path).map_err(|error| {
        Failure::misuse(FaultCode::BadArgument, format!("--path {text:?}: {error}")).with_hint(
            "give a path as the diff has it, such as /src/a.rs, or /src/a.rs:0,2 for hunks",
        )
    })?;
    Ok(ChangePart { path, hunks })
}

/// The session and the catalog that decide requests.
struct ApprovalSession {
    local: LocalSession,
    catalog: Catalog,
}

impl ApprovalSession {
    fn get(&self, id: ApprovalId) -> Result<Approval, Failure> {
        Ok(self.local.session.approvals().get(id)?)
    }

    /// The request that a person named by its id, or by the only one that begins so.
    fn named(&self, text: &str) -> Result<ApprovalId, Failure> {
        let Some(digits) = id_digits(text).filter(|_| text.parse::<ApprovalId>().is_err()) else {
            return parse_id(text, "request", "approve");
        };
        let page = self.list(None, MAX_SEARCHED)?;
        let mut matching = page.rows.iter().filter(|row| begins_with(&row.id.to_string(), &digits));
        match (matching.next(), matching.next()) {
            (Some(_), Some(_)) => Err(Failure::new(
                FaultCode::BadArgument,
                format!("several requests have an id that begins with {text}"),
            )
            .with_hint("give more digits of it; `toolyard approve --all` lists them")),
            (Some(only), None) => Ok(only.id),
            (None, _) => parse_id(text, "request", "approve"),
        }
    }

    fn list(
        &self,
        status: Option<ApprovalStatus>,
        limit: usize,
    ) -> Result<ListPage<Approval>, Failure> {
        let filter = ApprovalFilter { status, ..ApprovalFilter::default() };
        Ok(self.local.session.approvals().list(filter, None, limit)?)
    }

    /// What waits for a person, and what was approved and is not done: first what waits.
    fn open_requests(&self, limit: usize) -> Result<ListPage<Approval>, Failure> {
        let mut page = self.list(Some(ApprovalStatus::Pending), limit)?;
        let approved = self.list(Some(ApprovalStatus::Approved), limit)?;
        page.truncated |= approved.truncated;
        page.rows.extend(approved.rows);
        Ok(page)
    }

    /// The request as it would be with other arguments. Nothing is decided.
    fn with_args(&self, id: ApprovalId, args: &Value) -> Result<Approval, Failure> {
        let approval = self.get(id)?;
        let call = self.local.call();
        let revision = self.catalog.revise(&approval, args, &self.local.session, &call)?;
        let mut details = approval;
        details.edited_args = Some(revision.args);
        (details.request.effect, details.request.diff) = (revision.effect, revision.diff);
        Ok(details)
    }

    /// Decides a request. If another process serves the answer, this waits a while for it.
    fn decide(&self, id: ApprovalId, decision: &DecisionInput) -> Result<Approval, Failure> {
        let session = &self.local.session;
        let mut approval = self.catalog.decide(id, decision, session, &self.local.call())?;
        // A running command that waits for a host sees the approval soon. If none runs, the next command uses it.
        let checks = if is_for_host(&approval) { CHECKS_FOR_HOST } else { CHECKS };
        for _ in 0..checks {
            let is_served = approval.status == ApprovalStatus::Approved
                && session.approvals().asker_is_alive(&approval);
            if !is_served {
                break;
            }
            std::thread::sleep(CHECK_INTERVAL);
            approval = self.get(id)?;
        }
        Ok(approval)
    }
}

/// Shows one request after the other and asks the person for a decision.
fn interview(
    session: &ApprovalSession,
    requests: &[Approval],
    terminal: Terminal,
) -> Result<Reply, Failure> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut decided = 0;
    for request in requests {
        let _ = writeln!(output, "{}", details(request, terminal));
        let typed = ask(&mut input, &mut output, request.request.state);
        let typed = typed.map_err(|error| Failure::io("the terminal could not be used", &error))?;
        let decision = match typed {
            Typed::Decision(decision) => decision,
            Typed::Later => continue,
            Typed::End => break,
        };
        match session.decide(request.id, &decision) {
            Ok(approval) => {
                decided += 1;
                let _ = writeln!(output, "{}\n", outcome(&approval));
            }
            Err(failure) => {
                // The message says why, and the request stays open.
                let _ = writeln!(output, "  not taken: {}\n", visible(failure.message()));
            }
        }
    }
    Ok(Reply::text(format!("decided {decided} of {}\n", requests.len())))
}

/// The decision of a person about one request.
#[derive(Debug, PartialEq)]
enum Typed {
    Decision(DecisionInput),
    Later,
    End,
}

/// Asks for a decision on a request that was shown in this state.
fn ask(input: &mut dyn BufRead, output: &mut dyn Write, state: ContentHash) -> io::Result<Typed> {
    loop {
        write!(output, "[y]es  yes for this [c]hat  yes by [r]ule  [n]o  [s]kip  [q]uit > ")?;
        output.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(Typed::End);
        }
        let (typed, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let reason = Some(rest.trim().to_owned()).filter(|reason| !reason.is_empty());
        let decision = |approves, scope, reason| {
            Typed::Decision(DecisionInput {
                approves,
                scope,
                reason,
                args: None,
                state,
                planned: None,
                parts: None,
            })
        };
        return Ok(match typed {
            "y" | "yes" => decision(true, Scope::Once, None),
            "c" | "chat" => decision(true, Scope::Chat, None),
            "r" | "rule" => decision(true, Scope::Rule, None),
            "n" | "no" => decision(false, Scope::Once, reason),
            "s" | "skip" => Typed::Later,
            "q" | "quit" => Typed::End,
            _ => continue,
        });
    }
}

/// The outcome of a request, in one line.
fn outcome(approval: &Approval) -> String {
    match (approval.status, approval.step) {
        (ApprovalStatus::Pending, _) => {
            "  the files changed since it was asked: it waits again, with the new diff".to_owned()
        }
        (ApprovalStatus::Approved, _) if is_for_host(approval) => {
            "  approved: the next command of this chat that tries this host goes through".to_owned()
        }
        (ApprovalStatus::Approved, _) => {
            "  approved, and not done yet: the agent's process does it, or its next identical call; where \
             that process ended, say yes once more"
                .to_owned()
        }
        (ApprovalStatus::Unknown, _) => {
            "  unknown: it was started, and the process that did it ended before it could say what came of it"
                .to_owned()
        }
        (ApprovalStatus::Executed, Some(step)) => {
            let refused = DecidedPart::of(approval).and_then(|part| part.refused);
            let how_much = refused.map(|parts| format!(" in part, {} refused,", counted(&parts)));
            let how_much = how_much.unwrap_or_default();
            format!("  done{how_much} as step {step} (toolyard undo {step} takes it back)")
        }
        (status, _) => format!("  {}", status.word()),
    }
}

/// How many parts there are.
fn counted(parts: &[ChangePart]) -> String {
    match parts.len() {
        1 => "1 part".to_owned(),
        count => format!("{count} parts"),
    }
}

/// One request with its diff.
fn details(approval: &Approval, terminal: Terminal) -> String {
    let request = &approval.request;
    let mut text = String::new();
    let mut line = |style, line: &str| {
        text.push_str(&terminal.line(style, &visible_cell(line)));
    };
    line(ID, &format!("approval {} ({})", approval.id, approval.status.word()));
    line(BOLD, &format!("{}.{}", request.toolset, request.tool));
    line(FAINT, &format!("{}, {}", approval.asked_by, local_time(approval.at)));
    line(anstyle::Style::new(), &request.reason);
    for (kind, path) in effect_lines(approval) {
        line(anstyle::Style::new(), &format!("  {kind} {path}"));
    }
    if request.diff.is_empty() {
        line(FAINT, &format!("arguments: {}", request.args));
    }
    if let Some(args) = &approval.edited_args {
        line(FAINT, &format!("arguments that a person gave instead: {args}"));
    }
    let mut styles = DiffStyles::default();
    for diff_line in request.diff.lines() {
        text.push_str(&terminal.line(styles.of(diff_line), &terminal.show(diff_line)));
    }
    if approval.status == ApprovalStatus::Pending {
        text.push_str(&format!("state {}\n", request.state));
    } else {
        text.push_str(outcome(approval).trim_start());
        text.push('\n');
    }
    text
}

fn list_text(page: &ListPage<Approval>, terminal: Terminal) -> String {
    if page.rows.is_empty() {
        return "nothing waits for approval\n".to_owned();
    }
    let mut table = Table::new(&["APPROVAL", "TIME", "BY", "STATUS", "TOOL", "EFFECT"]);
    for approval in &page.rows {
        let effects = effect_lines(approval);
        let first = effects.first().map(|(kind, path)| format!("{kind} {path}"));
        let rest = effects.len().saturating_sub(1);
        let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        table.push(vec![
            approval.id.to_string(),
            local_time(approval.at),
            approval.asked_by.clone(),
            approval.status.word().to_owned(),
            format!("{}.{}", approval.request.toolset, approval.request.tool),
            first.unwrap_or_default() + &more,
        ]);
    }
    let hint = match page.truncated {
        true => "older ones remain: --limit N",
        false => {
            "`toolyard approve ID` shows a request with its diff and what to type; the beginning of an id is enough"
        }
    };
    let hint = Some(hint);
    table.render_with_hint(terminal, hint)
}

fn parts_to_json(parts: &[ChangePart]) -> Value {
    let row = |part: &ChangePart| json!({"path": part.path.to_string(), "hunks": part.hunks});
    parts.iter().map(row).collect()
}

fn to_json(approval: &Approval) -> Value {
    let part = DecidedPart::of(approval);
    let refused = part.as_ref().and_then(|part| part.refused.as_deref());
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (request, decision) = (&approval.request, approval.decision.as_ref());
    let answer = approval.answer.as_deref().map(json).map(|mut kept| kept["body"].take());
    json!({
        "id": approval.id.to_string(),
        "chat_id": approval.chat.to_string(),
        "status": approval.status.word(),
        "asked_by": approval.asked_by,
        "at": approval.at.to_string(),
        "toolset": request.toolset,
        "tool": request.tool,
        "args": json(&request.args),
        "reason": request.reason,
        "effect": effect_value(approval),
        "diff": request.diff,
        "state_hash": request.state.to_string(),
        "decision": decision.map(|decision| if decision.approves { "approve" } else { "deny" }),
        "scope": decision.map(|decision| decision.scope.word()),
        "decision_reason": decision.and_then(|decision| decision.reason.clone()),
        "decision_args": approval.edited_args.as_deref().map(json),
        "decision_parts": part.as_ref().map(|part| parts_to_json(&part.approved)),
        "refused": refused.map(parts_to_json),
        "decided_by": decision.map(|decision| &decision.by),
        "decided_at": decision.map(|decision| decision.at.to_string()),
        "step_id": approval.step.map(|step| step.to_string()),
        "answer": answer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_accepts_a_letter_or_a_word_and_a_denial_takes_a_reason() {
        let state = ContentHash::of(b"shown");
        let decision = |typed: &str| ask(&mut typed.as_bytes(), &mut Vec::new(), state).unwrap();
        let yes = |scope| {
            Typed::Decision(DecisionInput {
                approves: true,
                scope,
                reason: None,
                args: None,
                state,
                planned: None,
                parts: None,
            })
        };
        assert_eq!(decision("y\n"), yes(Scope::Once));
        assert_eq!(decision("what\nchat\n"), yes(Scope::Chat));
        assert_eq!(decision("r\n"), yes(Scope::Rule));
        let Typed::Decision(no) = decision("n not now\n") else { panic!("a decision") };
        assert_eq!((no.approves, no.reason.as_deref()), (false, Some("not now")));
        assert_eq!(decision("s\n"), Typed::Later);
        assert_eq!(decision("q\n"), Typed::End);
        assert_eq!(decision(""), Typed::End, "the input ended");
    }
}
