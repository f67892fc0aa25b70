//! `toolyard approve`: what agents want to do and may not do by themselves, decided by the person at this
//! machine, with the diff before their eyes.

use std::io::{self, BufRead, IsTerminal as _, Write};

use serde_json::{Value, json};
use yard_core::{ApprovalId, FaultCode};
use yard_dialects::Catalog;
use yard_gate::{
    Actor, Approval, ApprovalFilter, ApprovalStatus, Page, Ruling, Scope, effect_told, effects_told,
};

use crate::door::{Door, Seat};
use crate::failure::Failure;
use crate::reply::Reply;
use crate::table::Table;
use crate::terminal::{BOLD, FAINT, ID, Terminal, diff_style, visible, visible_cell};

use super::history::local_time;

const EXAMPLES: &str = "\
Examples:
  toolyard approve                          what waits; on a terminal, decided one by one
  toolyard approve ID                       one request, with its diff
  toolyard approve ID --yes --scope chat    yes, and to every such call of this chat
  toolyard approve ID --no --reason 'use the staging database'

What is approved happens at once, exactly as shown. If the files changed meanwhile, you are asked again.";

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
    scope: Reach,
    /// Other arguments for the call, a JSON object
    #[arg(long, value_name = "JSON", requires = "yes")]
    args: Option<String>,
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

/// How far a yes reaches.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Reach {
    /// This call
    Once,
    /// Every such call of this chat
    Chat,
    /// Every such call on the same paths, by a saved rule
    Rule,
}

impl Reach {
    fn scope(self) -> Scope {
        match self {
            Self::Once => Scope::Once,
            Self::Chat => Scope::Chat,
            Self::Rule => Scope::Rule,
        }
    }
}

impl Options {
    pub(super) fn run(&self, door: &Door) -> Result<Reply, Failure> {
        let desk = Desk { seat: door.open(Actor::LocalPerson)?, catalog: Catalog::standard() };
        let asks = door.terminal.is_there && io::stdin().is_terminal() && !self.json;
        let Some(text) = &self.approval else { return self.pending(&desk, door.terminal, asks) };
        let id = approval_id(text)?;
        let approval = match self.ruling()? {
            Some(ruling) => desk.decide(id, &ruling)?,
            None => desk.get(id)?,
        };
        if asks && approval.status == ApprovalStatus::Pending && !self.yes && !self.no {
            return interview(&desk, &[approval], door.terminal);
        }
        Ok(match self.json {
            true => Reply::json(to_json(&approval)),
            false => Reply::text(shown(&approval, door.terminal)),
        })
    }

    fn ruling(&self) -> Result<Option<Ruling>, Failure> {
        if !self.yes && !self.no {
            return Ok(None);
        }
        let args = self.args.as_deref().map(serde_json::from_str::<Value>).transpose();
        let args = args.map_err(|error| {
            let message = format!("--args is not valid JSON: {error}");
            Failure::misuse(FaultCode::BadArgument, message)
        })?;
        let (scope, reason) = (self.scope.scope(), self.reason.clone());
        Ok(Some(Ruling { approves: self.yes, scope, reason, args, state: None }))
    }

    fn pending(&self, desk: &Desk, terminal: Terminal, asks: bool) -> Result<Reply, Failure> {
        let status = (!self.all).then_some(ApprovalStatus::Pending);
        let filter = ApprovalFilter { status, ..ApprovalFilter::default() };
        let page = desk.seat.session.approvals().list(filter, None, self.limit)?;
        if asks && !self.all && !page.rows.is_empty() {
            // The one that waits longest comes first.
            let oldest_first: Vec<Approval> = page.rows.into_iter().rev().collect();
            return interview(desk, &oldest_first, terminal);
        }
        Ok(match self.json {
            true => {
                let approvals: Vec<Value> = page.rows.iter().map(to_json).collect();
                Reply::json(json!({"approvals": approvals, "truncated": page.truncated}))
            }
            false => Reply::text(listed(&page, terminal)),
        })
    }
}

/// Where requests are decided.
struct Desk {
    seat: Seat,
    catalog: Catalog,
}

impl Desk {
    fn get(&self, id: ApprovalId) -> Result<Approval, Failure> {
        Ok(self.catalog.approval(id, &self.seat.session, &self.seat.call())?)
    }

    fn decide(&self, id: ApprovalId, ruling: &Ruling) -> Result<Approval, Failure> {
        Ok(self.catalog.decide(id, ruling, &self.seat.session, &self.seat.call())?)
    }
}

fn approval_id(text: &str) -> Result<ApprovalId, Failure> {
    text.parse().map_err(|_| {
        let message = format!("{text:?} is not the id of a request; `toolyard approve` lists them");
        Failure::new(FaultCode::BadArgument, message)
    })
}

/// Shows one request after the other and takes the person's word.
fn interview(desk: &Desk, requests: &[Approval], terminal: Terminal) -> Result<Reply, Failure> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut decided = 0;
    for request in requests {
        let _ = writeln!(output, "{}", shown(request, terminal));
        let word = ask(&mut input, &mut output);
        let word = word.map_err(|error| Failure::io("the terminal could not be used", &error))?;
        let ruling = match word {
            Word::Ruling(ruling) => Ruling { state: Some(request.request.state), ..ruling },
            Word::Later => continue,
            Word::End => break,
        };
        match desk.decide(request.id, &ruling) {
            Ok(approval) => {
                decided += 1;
                let _ = writeln!(output, "{}\n", outcome(&approval));
            }
            Err(failure) => {
                // The person reads why; the request waits for the next time.
                let _ = writeln!(output, "  not taken: {}\n", visible(failure.message()));
            }
        }
    }
    Ok(Reply::text(format!("decided {decided} of {}\n", requests.len())))
}

/// What a person said to one request.
#[derive(Debug, PartialEq)]
enum Word {
    Ruling(Ruling),
    Later,
    End,
}

fn ask(input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<Word> {
    loop {
        write!(output, "[y]es  yes for this [c]hat  yes by [r]ule  [n]o  [s]kip  [q]uit > ")?;
        output.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(Word::End);
        }
        let (word, rest) = line.trim().split_once(' ').unwrap_or((line.trim(), ""));
        let reason = Some(rest.trim().to_owned()).filter(|reason| !reason.is_empty());
        let yes = |scope| {
            Word::Ruling(Ruling { approves: true, scope, reason: None, args: None, state: None })
        };
        return Ok(match word {
            "y" | "yes" => yes(Scope::Once),
            "c" | "chat" => yes(Scope::Chat),
            "r" | "rule" => yes(Scope::Rule),
            "n" | "no" => Word::Ruling(Ruling {
                approves: false,
                scope: Scope::Once,
                reason,
                args: None,
                state: None,
            }),
            "s" | "skip" => Word::Later,
            "q" | "quit" => Word::End,
            _ => continue,
        });
    }
}

/// What became of a request, in a line.
fn outcome(approval: &Approval) -> String {
    match (approval.status, approval.step) {
        (ApprovalStatus::Pending, _) => {
            "  the files changed since it was asked: it waits again, with the new diff".to_owned()
        }
        (ApprovalStatus::Executed, Some(step)) => {
            format!("  done as step {step} (toolyard undo {step} takes it back)")
        }
        (status, _) => format!("  {}", status.word()),
    }
}

/// One request with its diff.
fn shown(approval: &Approval, terminal: Terminal) -> String {
    let request = &approval.request;
    let mut text = String::new();
    let mut line = |style, line: &str| {
        text.push_str(&terminal.paint(style, &visible_cell(line)));
        text.push('\n');
    };
    line(ID, &format!("approval {} ({})", approval.id, approval.status.word()));
    line(BOLD, &format!("{}.{}", request.toolset, request.tool));
    line(FAINT, &format!("{}, {}", approval.asked_by, local_time(approval.at)));
    line(anstyle::Style::new(), &request.reason);
    for (kind, path) in effects_told(approval) {
        line(anstyle::Style::new(), &format!("  {kind} {path}"));
    }
    if request.diff.is_empty() {
        line(FAINT, &format!("arguments: {}", bounded(&request.args)));
    }
    for diff_line in request.diff.lines() {
        text.push_str(&terminal.paint(diff_style(diff_line), &terminal.show(diff_line)));
        text.push('\n');
    }
    if approval.status != ApprovalStatus::Pending {
        text.push_str(outcome(approval).trim_start());
        text.push('\n');
    }
    text
}

/// As much of a text as a person reads.
fn bounded(text: &str) -> String {
    const MOST: usize = 2_000;
    match text.len() {
        0..=MOST => text.to_owned(),
        length => format!("{} ... ({length} bytes)", &text[..text.floor_char_boundary(MOST)]),
    }
}
fn listed(page: &Page<Approval>, terminal: Terminal) -> String {
    if page.rows.is_empty() {
        return "nothing waits for approval\n".to_owned();
    }
    let mut table = Table::new(&["APPROVAL", "TIME", "BY", "STATUS", "TOOL", "EFFECT"]);
    for approval in &page.rows {
        let effects = effects_told(approval);
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
    let mut text = table.render(terminal);
    if page.truncated {
        text.push_str(&terminal.paint(FAINT, "older ones remain: --limit N"));
        text.push('\n');
    }
    text
}

fn to_json(approval: &Approval) -> Value {
    let json = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
    let (request, said) = (&approval.request, approval.decision.as_ref());
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
        "effect": effect_told(approval),
        "diff": request.diff,
        "state_hash": request.state.to_string(),
        "decision": said.map(|said| if said.approves { "approve" } else { "deny" }),
        "scope": said.map(|said| said.scope.word()),
        "decision_reason": said.and_then(|said| said.reason.clone()),
        "decided_by": said.map(|said| &said.by),
        "decided_at": said.map(|said| said.at.to_string()),
        "step_id": approval.step.map(|step| step.to_string()),
        "answer": answer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_s_word_is_a_letter_or_a_word_and_a_no_takes_a_reason() {
        let said = |typed: &str| ask(&mut typed.as_bytes(), &mut Vec::new()).unwrap();
        let yes = |scope| {
            Word::Ruling(Ruling { approves: true, scope, reason: None, args: None, state: None })
        };
        assert_eq!(said("y\n"), yes(Scope::Once));
        assert_eq!(said("what\nchat\n"), yes(Scope::Chat));
        assert_eq!(said("r\n"), yes(Scope::Rule));
        let Word::Ruling(no) = said("n not now\n") else { panic!("a ruling") };
        assert_eq!((no.approves, no.reason.as_deref()), (false, Some("not now")));
        assert_eq!(said("s\n"), Word::Later);
        assert_eq!(said("q\n"), Word::End);
        assert_eq!(said(""), Word::End, "the input ended");
    }
}
