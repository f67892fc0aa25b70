//! The files that the rules withhold from one caller, for operations that read more than one named file: searches,
//! listings, diffs of steps, boxes, transcripts. Presets do not matter here: under a preset a person is asked once, for
//! the whole search or command.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use yard_core::hash::ContentHash;
use yard_core::{EffectKind, ReadAccess, WsPath};

use crate::policy::rules::Then;
use crate::{Origin, Rule, WorkspacePolicy};

/// What one caller may not read, by the rules and by the grants of people.
pub(crate) struct ReadRestrictions {
    /// Rules that deny reading, or ask before it.
    read: Vec<Rule>,
    /// Rules that deny listing, or ask before it.
    list: Vec<Rule>,
    /// Reads that people allowed, which override rules that ask.
    allowed: Vec<Rule>,
}

impl ReadRestrictions {
    /// The restrictions of a tool; `None` if it has none.
    pub(crate) fn from_policy(policy: &WorkspacePolicy, origin: Origin<'_>) -> Option<Self> {
        let against = |kind: EffectKind| -> Vec<Rule> {
            let rules = policy.rules.iter().filter(|rule| rule.then() != Then::Allow);
            rules.filter(|rule| rule.is_about_kind(kind, origin)).cloned().collect()
        };
        let (read, list) = (against(EffectKind::Read), against(EffectKind::List));
        if read.is_empty() && list.is_empty() {
            return None;
        }
        Some(Self { read, list, allowed: Vec::new() })
    }

    /// The same with the reads that people allowed.
    pub(crate) fn with_grants(self, granted: impl Iterator<Item = Rule>) -> Self {
        Self { allowed: granted.filter(|rule| rule.then() == Then::Allow).collect(), ..self }
    }

    /// Whether a person could have allowed some of the reads.
    pub(crate) fn asks(&self) -> bool {
        self.read.iter().any(|rule| rule.then() == Then::Ask)
    }

    fn is_allowed(&self, path: &WsPath) -> bool {
        self.allowed.iter().any(|rule| rule.names(path))
    }

    fn rule_hashes(rules: &[Rule]) -> BTreeSet<String> {
        let short_hash = |rule: &Rule| {
            let mut hash = ContentHash::of(rule.to_string().as_bytes()).to_string();
            hash.truncate(16);
            hash
        };
        rules.iter().map(short_hash).collect()
    }
}

impl ReadAccess for ReadRestrictions {
    fn may_read(&self, path: &WsPath) -> bool {
        let mut against = self.read.iter().filter(|rule| rule.names(path)).peekable();
        if against.peek().is_none() {
            return true;
        }
        against.all(|rule| rule.then() == Then::Ask) && self.is_allowed(path)
    }

    fn may_list(&self, path: &WsPath) -> bool {
        let is_hidden = |path: &WsPath| self.list.iter().any(|rule| rule.names(path));
        // An entry of a hidden folder is hidden as well.
        self.list.is_empty() || !(is_hidden(path) || path.ancestors().iter().any(is_hidden))
    }

    fn withheld_paths(&self) -> Vec<WsPath> {
        self.read.iter().flat_map(Rule::base_folders).collect()
    }

    fn withholds_all_below(&self, folder: &WsPath) -> bool {
        let is_effective = |rule: &&Rule| rule.then() == Then::Deny || self.allowed.is_empty();
        self.read.iter().filter(is_effective).any(|rule| rule.names_all_below(folder))
    }

    fn note(&self) -> String {
        json!({"withheld": Self::rule_hashes(&self.read), "allowed": Self::rule_hashes(&self.allowed)})
            .to_string()
    }

    fn may_see(&self, note: &str) -> bool {
        let note: Value = serde_json::from_str(note).unwrap_or_default();
        let hashes = |name: &str| -> Option<BTreeSet<String>> {
            let hashes = note[name].as_array()?.iter();
            hashes.map(|hash| hash.as_str().map(str::to_owned)).collect()
        };
        let (Some(withheld), Some(allowed)) = (hashes("withheld"), hashes("allowed")) else {
            return self.read.is_empty();
        };
        Self::rule_hashes(&self.read).is_subset(&withheld)
            && allowed.is_subset(&Self::rule_hashes(&self.allowed))
    }
}
