//! What the rules withhold from one caller's reading, for everything that reads more than one named
//! file: searches, listings, diffs of steps, boxes, transcripts. Presets do not count here: what a preset
//! asks about is asked about once, for the whole search or command.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use yard_core::hash::ContentHash;
use yard_core::{Effect, EffectKind, ReadAccess, WsPath};
use yard_store::{NewTurn, Turn, TurnKind};

use crate::rules::Then;
use crate::{Origin, Rule, Rules};

/// Most paths that a turn of a transcript names: one that is about more is shown to nobody from whom
/// anything is withheld.
const NAMED_PATHS: usize = 64;
/// The member of a turn's data that says what it is about.
const ABOUT: &str = "about";

/// What one caller may not read, by the rules and by what persons allowed.
pub(crate) struct Withheld {
    /// Rules that deny reading, or ask before it.
    read: Vec<Rule>,
    /// The same of listing.
    list: Vec<Rule>,
    /// What persons allowed to read, where only asking stands against it.
    allowed: Vec<Rule>,
}

impl Withheld {
    /// What the rules withhold from a tool; `None` where that is nothing.
    pub(crate) fn by(rules: &Rules, origin: Origin<'_>) -> Option<Self> {
        let against = |kind: EffectKind| -> Vec<Rule> {
            let rules = rules.rules.iter().filter(|rule| rule.then() != Then::Allow);
            rules.filter(|rule| rule.speaks_of(kind, origin)).cloned().collect()
        };
        let (read, list) = (against(EffectKind::Read), against(EffectKind::List));
        if read.is_empty() && list.is_empty() {
            return None;
        }
        Some(Self { read, list, allowed: Vec::new() })
    }

    /// The same without what persons allowed.
    pub(crate) fn without(self, granted: impl Iterator<Item = Rule>) -> Self {
        Self { allowed: granted.filter(|rule| rule.then() == Then::Allow).collect(), ..self }
    }

    /// Whether a person could have allowed something of it.
    pub(crate) fn asks(&self) -> bool {
        self.read.iter().any(|rule| rule.then() == Then::Ask)
    }

    fn is_allowed(&self, path: &WsPath) -> bool {
        self.allowed.iter().any(|rule| rule.names(path))
    }

    fn marks(rules: &[Rule]) -> BTreeSet<String> {
        let mark = |rule: &Rule| {
            let mut hash = ContentHash::of(rule.to_string().as_bytes()).to_string();
            hash.truncate(16);
            hash
        };
        rules.iter().map(mark).collect()
    }
}

impl ReadAccess for Withheld {
    fn may_read(&self, path: &WsPath) -> bool {
        let mut against = self.read.iter().filter(|rule| rule.names(path)).peekable();
        if against.peek().is_none() {
            return true;
        }
        against.all(|rule| rule.then() == Then::Ask) && self.is_allowed(path)
    }

    fn may_list(&self, path: &WsPath) -> bool {
        let is_hidden = |path: &WsPath| self.list.iter().any(|rule| rule.names(path));
        // What is in a folder that may not be named may not be named either.
        self.list.is_empty() || !(is_hidden(path) || path.ancestors().iter().any(is_hidden))
    }

    fn withheld_paths(&self) -> Vec<WsPath> {
        self.read.iter().flat_map(Rule::places).collect()
    }

    fn withholds_all_below(&self, folder: &WsPath) -> bool {
        let counts = |rule: &&Rule| rule.then() == Then::Deny || self.allowed.is_empty();
        self.read.iter().filter(counts).any(|rule| rule.names_all_below(folder))
    }

    fn note(&self) -> String {
        json!({"withheld": Self::marks(&self.read), "allowed": Self::marks(&self.allowed)})
            .to_string()
    }

    fn may_see(&self, note: &str) -> bool {
        let note: Value = serde_json::from_str(note).unwrap_or_default();
        let marks = |name: &str| -> Option<BTreeSet<String>> {
            let marks = note[name].as_array()?.iter();
            marks.map(|mark| mark.as_str().map(str::to_owned)).collect()
        };
        let (Some(withheld), Some(allowed)) = (marks("withheld"), marks("allowed")) else {
            return self.read.is_empty();
        };
        Self::marks(&self.read).is_subset(&withheld)
            && allowed.is_subset(&Self::marks(&self.allowed))
    }
}

/// A turn that remembers what it is about.
pub(crate) fn with_about(mut turn: NewTurn, about: Value) -> NewTurn {
    let mut data: Value = serde_json::from_str(&turn.data).unwrap_or_default();
    if let Some(data) = data.as_object_mut() {
        data.insert(ABOUT.to_owned(), about);
    }
    turn.data = data.to_string();
    turn
}

/// What one call looked at and changed.
#[derive(Debug, Default)]
pub(crate) struct Touched(Mutex<Paths>);

#[derive(Debug, Default)]
struct Paths {
    named: BTreeSet<WsPath>,
    /// It was about whole trees, or a command was: about whatever its caller could read.
    is_wide: bool,
}

impl Touched {
    pub(crate) fn note(&self, effect: &Effect) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for one in &effect.paths {
            // What was said before may quote whatever its caller could read then.
            let is_said =
                one.path.is_command_output() || one.path.relative().starts_with(b"chats/");
            paths.is_wide |= one.with_contents || is_said || one.kind == EffectKind::Run;
            if one.kind != EffectKind::List && paths.named.len() <= NAMED_PATHS {
                paths.named.insert(one.path.clone());
            }
        }
    }

    /// Writes into `about` what the call was about.
    pub(crate) fn describe(&self, about: &mut Value) {
        let paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        about["wide"] = json!(paths.is_wide);
        about["paths"] = match paths.named.len() > NAMED_PATHS {
            true => Value::Null,
            false => paths.named.iter().map(ToString::to_string).collect(),
        };
    }
}

/// Whether a caller may see a turn of a transcript: everything that it is about, and if it is about more
/// than it names, everything that its own caller could read.
pub(crate) fn may_see(reading: &dyn ReadAccess, turn: &Turn) -> bool {
    match turn.kind {
        // What persons decide and say is meant for all readers of the chat.
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
    let named = paths.iter().map(|path| WsPath::parse_shown(path.as_str().unwrap_or_default()));
    let all_readable = { named }.all(|path| path.is_ok_and(|path| reading.may_read(&path)));
    all_readable && (about["wide"] == json!(false) || reading.may_see(&about.to_string()))
}

/// A turn as such a caller sees it.
pub(crate) fn as_seen(reading: Option<&dyn ReadAccess>, mut turn: Turn) -> Turn {
    let mut data: Value = serde_json::from_str(&turn.data).unwrap_or_default();
    match reading {
        Some(reading) if !may_see(reading, &turn) => {
            data = json!({"withheld": WITHHELD});
            let (kind, actor, at) = (turn.kind.word(), &turn.actor, turn.at);
            turn.text = format!("\n## {kind} ({actor}, {at})\n\n[{WITHHELD}]\n");
        }
        _ => {
            data.as_object_mut().and_then(|data| data.shift_remove(ABOUT));
        }
    }
    turn.data = data.to_string();
    turn
}

/// What stands in the place of a turn that its reader may not see.
const WITHHELD: &str = "left out: it may tell of files that you may not read";
