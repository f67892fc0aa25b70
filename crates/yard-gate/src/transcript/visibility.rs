//! Which turns of a transcript a caller with read restrictions may see. A turn names the paths that its call touched; what a
//! caller may not see is replaced when the turn is read.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use serde_json::{Value, json};
use yard_core::{Effect, EffectKind, ReadAccess, WsPath};
use yard_store::{NewTurn, Turn, TurnKind};

use crate::transcript::sent_comments::hide_lines;

/// How many paths a turn of a transcript names. A turn about more paths is hidden from every caller with restrictions.
const MAX_NAMED_PATHS: usize = 64;
/// The member of a turn's data with the paths that it is about.
const ABOUT: &str = "about";
/// The text in the place of a turn that its reader may not see.
const WITHHELD: &str = "left out: it may tell of files that you may not read";

/// Stores in a turn which paths it is about.
pub(crate) fn with_about(mut turn: NewTurn, about: Value) -> NewTurn {
    let mut data: Value = serde_json::from_str(&turn.data).unwrap_or_default();
    if let Some(data) = data.as_object_mut() {
        data.insert(ABOUT.to_owned(), about);
    }
    turn.data = data.to_string();
    turn
}

/// The paths that one call read and changed.
#[derive(Debug, Default)]
pub(crate) struct TouchedPaths(Mutex<Paths>);

#[derive(Debug, Default)]
struct Paths {
    named: BTreeSet<WsPath>,
    /// Whether it was about whole trees or ran a command, and so about everything that its caller could read.
    is_wide: bool,
    /// Whether it was also about another workspace, whose rules are not known where the turn is read.
    is_elsewhere: bool,
}

impl TouchedPaths {
    pub(crate) fn add(&self, effect: &Effect) {
        let mut paths = self.0.lock();
        for one in &effect.paths {
            // Command output and transcripts may quote everything that their caller could read.
            let may_quote =
                one.path.is_command_output() || one.path.relative().starts_with(b"chats/");
            paths.is_wide |= one.with_contents || may_quote || one.kind == EffectKind::Run;
            if one.kind != EffectKind::List && paths.named.len() <= MAX_NAMED_PATHS {
                paths.named.insert(one.path.clone());
            }
        }
    }

    /// Counts a read in another workspace: the turn is hidden from every caller with restrictions.
    pub(crate) fn add_elsewhere(&self) {
        self.0.lock().is_elsewhere = true;
    }

    /// Writes the paths into `about`.
    pub(crate) fn describe(&self, about: &mut Value) {
        let paths = self.0.lock();
        about["wide"] = json!(paths.is_wide);
        about["paths"] = match paths.is_elsewhere || paths.named.len() > MAX_NAMED_PATHS {
            true => Value::Null,
            false => paths.named.iter().map(ToString::to_string).collect(),
        };
    }
}

/// Whether a caller may see a turn of a transcript: it may read every path that the turn names, and if the turn is about
/// more, everything that the turn's own caller could read.
pub(crate) fn may_see(reading: &dyn ReadAccess, turn: &Turn) -> bool {
    match turn.kind {
        // Decisions and messages of people are for all readers of the chat.
        TurnKind::Mode | TurnKind::Answer | TurnKind::Decision => return true,
        TurnKind::Message if crate::Actor::is_person_name(&turn.actor) => return true,
        _ => {}
    }
    let data: Value = serde_json::from_str(&turn.data).unwrap_or_default();
    let about = &data[ABOUT];
    let Some(paths) = about["paths"].as_array() else {
        return about["wide"] == json!(true)
            && about.get("paths").is_none()
            && reading.may_see(&about.to_string());
    };
    let mut named = paths.iter().map(|path| WsPath::parse_shown(path.as_str().unwrap_or_default()));
    let all_readable = named.all(|path| path.is_ok_and(|path| reading.may_read(&path)));
    all_readable && (about["wide"] == json!(false) || reading.may_see(&about.to_string()))
}

/// A turn as a caller with these restrictions may see it.
pub(crate) fn visible_turn(reading: Option<&dyn ReadAccess>, mut turn: Turn) -> Turn {
    let mut data: Value = serde_json::from_str(&turn.data).unwrap_or_default();
    match reading {
        Some(reading) if !may_see(reading, &turn) => {
            data = json!({"withheld": WITHHELD});
            let (kind, actor, at) = (turn.kind.word(), &turn.actor, turn.at);
            turn.text = format!("\n## {kind} ({actor}, {at})\n\n[{WITHHELD}]\n");
        }
        _ => {
            data.as_object_mut().and_then(|data| data.shift_remove(ABOUT));
            if let Some(reading) = reading {
                hide_lines(reading, &mut turn, &mut data);
            }
        }
    }
    turn.data = data.to_string();
    turn
}
