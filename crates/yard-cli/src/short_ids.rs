//! Finds the step that a person names: by its id, by a unique beginning of the id, or by `last`.

use std::collections::HashSet;

use yard_core::op::{History, HistoryEntry, HistoryOf, Import, Operation as _, Show, Undo};
use yard_core::{FaultCode, StepId};

use crate::context::LocalSession;
use crate::failure::Failure;

/// The name of the newest step.
const LAST: &str = "last";
/// The fewest digits that can name a step.
const MIN_DIGITS: usize = 4;
/// How many characters of an id a table shows at least: its time, to the millisecond.
const MIN_SHOWN: usize = 13;
/// How many steps are read at a time to find the newest.
const NEWEST_PAGE: usize = 20;
/// How many steps are read at a time to find an id.
const PAGE: usize = 10_000;

/// Finds the step that `name` names.
pub(crate) fn resolve(local: &LocalSession, name: &str) -> Result<StepId, Failure> {
    let name = name.trim();
    if name == LAST {
        return newest(local);
    }
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let Some(digits) = id_digits(name) else {
        return Err(Failure::new(FaultCode::BadArgument, format!("not a step: {name}")).with_hint(
            "a step is an id, the beginning of one, or `last`; toolyard history lists them",
        ));
    };
    let matching_steps = matching_steps(local, &digits)?;
    match matching_steps[..] {
        [id] => Ok(id),
        [] => Err(Failure::new(FaultCode::NotFound, format!("no step begins with {name}"))
            .with_hint("toolyard history lists the steps")),
        _ => Err(Failure::new(FaultCode::BadArgument, ambiguous(name, &matching_steps))
            .with_hint("give more digits of it")),
    }
}

/// Finds the step to redo: `last` is the one that was undone last, and an undo stands for the step that it undid.
pub(crate) fn resolve_undone(local: &LocalSession, name: &str) -> Result<StepId, Failure> {
    if name.trim() == LAST {
        return last_undone(local);
    }
    let id = resolve(local, name)?;
    let shown = local.perform(Show::all(id, 0))?;
    Ok(shown.step.undoes.filter(|_| shown.step.verb == Undo::VERB).unwrap_or(id))
}

/// The step of the newest undo that is not undone itself.
fn last_undone(local: &LocalSession) -> Result<StepId, Failure> {
    let page = local.perform(History { of: HistoryOf::Workspace, limit: PAGE, before: None })?;
    let of = |id: StepId| page.steps.iter().find(|step| step.id == id);
    let mut taken_back = HashSet::new();
    for step in &page.steps {
        let Some(undone) = step.undoes.filter(|_| !taken_back.contains(&step.id)) else { continue };
        taken_back.insert(undone);
        // What undid an undo brought something back: there is nothing to redo of it.
        if of(undone).is_none_or(|undone| undone.undoes.is_none()) {
            return Ok(undone);
        }
    }
    Err(Failure::new(
        FaultCode::NotFound,
        "nothing is undone, so that there is nothing to bring back",
    )
    .with_hint("`toolyard undo STEP` takes a step back, `toolyard history` lists them"))
}

/// Lower-case digits of the beginning of an id, if `text` can be one.
pub(crate) fn id_digits(text: &str) -> Option<String> {
    let digits: String = text.chars().filter(|character| *character != '-').collect();
    let fits = digits.len() >= MIN_DIGITS && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then(|| digits.to_ascii_lowercase())
}

/// Whether an id begins with these digits.
pub(crate) fn begins_with(id: &str, digits: &str) -> bool {
    id.replace('-', "").starts_with(digits)
}

/// How many characters distinguish all ids.
pub(crate) fn short_length(ids: &[String]) -> usize {
    let mut sorted: Vec<&str> = ids.iter().map(String::as_str).collect();
    sorted.sort_unstable();
    let common =
        |pair: &[&str]| pair[0].bytes().zip(pair[1].bytes()).take_while(|(a, b)| a == b).count();
    let longest = sorted.windows(2).filter(|pair| pair[0] != pair[1]).map(common).max();
    longest.map_or(MIN_SHOWN, |length| MIN_SHOWN.max(length + 1))
}

/// The newest step that was made here. It leaves out imports, which only record what was found on disk: undoing the
/// last step does not mean those.
fn newest(local: &LocalSession) -> Result<StepId, Failure> {
    let mut before = None;
    loop {
        let page =
            local.perform(History { of: HistoryOf::Workspace, limit: NEWEST_PAGE, before })?;
        if let Some(step) = page.steps.iter().find(|step| step.verb != Import::VERB) {
            return Ok(step.id);
        }
        before = page.steps.last().map(|step| step.id);
        if !page.truncated || before.is_none() {
            let message = "nothing has happened in this workspace yet";
            return Err(Failure::new(FaultCode::NotFound, message)
                .with_hint("each `toolyard call` that changes something is a step"));
        }
    }
}

fn matching_steps(local: &LocalSession, digits: &str) -> Result<Vec<StepId>, Failure> {
    let mut matching_steps = Vec::new();
    let mut before = None;
    loop {
        let page = local.perform(History { of: HistoryOf::Workspace, limit: PAGE, before })?;
        let fits = |step: &&HistoryEntry| begins_with(&step.id.to_string(), digits);
        matching_steps.extend(page.steps.iter().filter(fits).map(|step| step.id));
        before = page.steps.last().map(|step| step.id);
        if !page.truncated || before.is_none() {
            return Ok(matching_steps);
        }
    }
}

fn ambiguous(name: &str, ids: &[StepId]) -> String {
    let shown: Vec<String> = ids.iter().take(5).map(StepId::to_string).collect();
    let more = if ids.len() > shown.len() { ", ..." } else { "" };
    format!("{} steps begin with {name}: {}{more}", ids.len(), shown.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_an_id_is_hexadecimal() {
        assert_eq!(id_digits("0198C2-a4").as_deref(), Some("0198c2a4"));
        assert_eq!(id_digits("019"), None);
        assert_eq!(id_digits("notes"), None);
        assert!(begins_with("0198c2a4-1b2c-7000", "0198c2a41b"));
    }

    #[test]
    fn short_ids_tell_steps_of_one_millisecond_apart() {
        let ids = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        assert_eq!(short_length(&ids(&["0198c2a4-1b2c-7000"])), MIN_SHOWN);
        assert_eq!(short_length(&ids(&["0198c2a4-1b2c-7000", "0198c2a4-1b2c-7100"])), 16);
    }
}
