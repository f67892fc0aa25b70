//! One rule on effects: kind x path or host x tool -> allow, ask, deny. Nothing here knows who is calling or what was
//! planned.

mod pattern;

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use yard_core::{Effect, EffectKind, PathEffect, WsPath};

use self::pattern::PathPattern;
use crate::policy::presets::{Asks, EffectPart, Origin};

/// What a rule says, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Then {
    /// It may happen.
    Allow,
    /// A person is asked.
    Ask,
    /// It may not happen.
    Deny,
}

impl Then {
    /// Its spelling.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// One or several words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Several(Vec<String>),
}

impl Words {
    fn all(&self) -> &[String] {
        match self {
            Self::One(word) => std::slice::from_ref(word),
            Self::Several(words) => words,
        }
    }
}

/// A rule as it is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<Words>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<Words>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<Words>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<Words>,
    then: Then,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// One rule, ready to be asked.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    written: Written,
    kinds: Vec<EffectKind>,
    paths: Vec<PathPattern>,
    hosts: Vec<GlobMatcher>,
    tools: Vec<GlobMatcher>,
}

impl Rule {
    /// Reads a rule; the words say what is wrong with it.
    pub(crate) fn parse(value: &Value) -> Result<Self, String> {
        let written: Written = Written::deserialize(value).map_err(|error| error.to_string())?;
        Self::of(written)
    }

    /// What a person allows: such effects of such tools, on these paths or on all.
    pub(crate) fn allowing(kinds: &[EffectKind], tool: &str, paths: Option<Vec<String>>) -> Value {
        let kinds: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
        let mut rule = json!({"effect": kinds, "tool": tool, "then": "allow"});
        if let Some(paths) = paths {
            rule["path"] = json!(paths);
        }
        rule
    }

    /// What a person allows of the web: that such tools ask these hosts.
    pub(crate) fn allowing_hosts(kinds: &[EffectKind], tool: &str, hosts: Vec<String>) -> Value {
        let mut rule = Self::allowing(kinds, tool, None);
        rule["host"] = json!(hosts);
        rule
    }

    /// What a person allows of commands, whichever tool runs them: that they reach these hosts.
    pub(crate) fn allowing_commands(hosts: Vec<String>) -> Value {
        json!({"effect": EffectKind::Connect.word(), "host": hosts, "then": "allow"})
    }

    fn of(written: Written) -> Result<Self, String> {
        let words = |words: &Option<Words>| words.as_ref().map(|words| words.all().to_vec());
        for (name, list) in [
            ("effect", &written.effect),
            ("path", &written.path),
            ("host", &written.host),
            ("tool", &written.tool),
        ] {
            // A list of nothing would mean everything.
            let is_empty = |word: &String| word.trim().is_empty();
            if words(list).is_some_and(|list| list.is_empty() || list.iter().any(is_empty)) {
                return Err(format!("{name}: empty; leave it out for every {name}"));
            }
        }
        let kinds = match words(&written.effect) {
            None => EffectKind::ALL.to_vec(),
            Some(words) => {
                let kinds = words.iter().map(|word| kinds_of(word));
                kinds.collect::<Result<Vec<_>, _>>()?.concat()
            }
        };
        let paths = words(&written.path).unwrap_or_default();
        let paths = paths.iter().map(|text| PathPattern::parse(text)).collect::<Result<_, _>>()?;
        let hosts = words(&written.host).unwrap_or_default();
        let hosts = hosts.iter().map(|text| host_matcher(text)).collect::<Result<_, _>>()?;
        let tools = words(&written.tool).unwrap_or_default();
        let tools = tools.iter().map(|text| matcher(text, "tool")).collect::<Result<_, _>>()?;
        Ok(Self { written, kinds, paths, hosts, tools })
    }

    /// What it says where it matches.
    pub(crate) fn then(&self) -> Then {
        self.written.then
    }

    /// Why it is there, behind what it says; nothing if nobody wrote that down.
    pub(crate) fn why(&self) -> String {
        self.written.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default()
    }

    /// The rule as JSON.
    pub(crate) fn to_value(&self) -> Value {
        serde_json::to_value(&self.written).unwrap_or_default()
    }

    pub(crate) fn matches(&self, origin: Origin<'_>, thing: EffectPart<'_>) -> bool {
        if !self.matches_tool(origin) {
            return false;
        }
        let stands_for = |kind: EffectKind| {
            self.names_kind(kind) || self.written.then != Then::Allow && self.reaches(kind)
        };
        if stands_for(thing.kind()) && self.is_about(thing, PathPattern::matches) {
            return true;
        }
        // A link at a folder that a rule is about, or above it, exchanges everything that the rule is about.
        let changes = self.kinds.iter().any(|kind| kind.changes());
        self.written.then != Then::Allow
            && changes
            && !self.paths.is_empty()
            && self.is_about(thing, PathPattern::is_exchanged_by)
    }

    /// Whether it names this kind. A command that connects may send anything: a rule about sending is about
    /// that, too.
    fn names_kind(&self, kind: EffectKind) -> bool {
        let names = |kind: EffectKind| self.kinds.contains(&kind);
        names(kind) || kind == EffectKind::Connect && names(EffectKind::Send)
    }

    /// Whether a rule that forbids or asks is also about this kind: what it names can be done that way, too.
    fn reaches(&self, kind: EffectKind) -> bool {
        let names = |other: &EffectKind| self.kinds.contains(other);
        match kind {
            // What arrives by a move was not there before.
            EffectKind::MoveTo => names(&EffectKind::Create),
            // What a command receives over its connection it has fetched.
            EffectKind::Connect => names(&EffectKind::Fetch),
            // What is removed and made again was changed.
            EffectKind::Remove | EffectKind::Purge => names(&EffectKind::Modify),
            // So was what is moved away; and what may not be read may not be moved to where it may.
            EffectKind::MoveFrom => {
                [EffectKind::Modify, EffectKind::Remove, EffectKind::Read].iter().any(names)
            }
            _ => false,
        }
    }

    /// Whether it allows all of an effect. An effect on whole trees is allowed only where all of the tree is.
    pub(crate) fn allows(&self, origin: Origin<'_>, thing: EffectPart<'_>) -> bool {
        self.written.then == Then::Allow
            && self.names_kind(thing.kind())
            && self.matches_tool(origin)
            && self.is_about(thing, PathPattern::covers)
    }

    /// Whether it names such a path or such a host. One that names paths is about no host, and one that
    /// names hosts about no path.
    fn is_about(&self, thing: EffectPart<'_>, fits: fn(&PathPattern, &PathEffect) -> bool) -> bool {
        match thing {
            EffectPart::Path(effect) => {
                let named = self.paths.iter().any(|path| fits(path, effect));
                self.hosts.is_empty() && (self.paths.is_empty() || named)
            }
            EffectPart::Dial(dial) => {
                let named = self.hosts.iter().any(|host| host.is_match(&dial.host));
                self.paths.is_empty() && (self.hosts.is_empty() || named)
            }
        }
    }

    /// Whether it says something of such an effect by such a tool, on whatever path.
    pub(crate) fn is_about_kind(&self, kind: EffectKind, origin: Origin<'_>) -> bool {
        self.hosts.is_empty() && self.kinds.contains(&kind) && self.matches_tool(origin)
    }

    /// Whether it names the entry at a path.
    pub(crate) fn names(&self, path: &WsPath) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|pattern| pattern.covers_path(path))
    }

    /// The places at or below which everything lies that it names.
    pub(crate) fn base_folders(&self) -> Vec<WsPath> {
        if self.paths.is_empty() {
            return vec![WsPath::root()];
        }
        let place = |path: &PathPattern| path.base.clone().unwrap_or_else(WsPath::root);
        self.paths.iter().map(place).collect()
    }

    /// Whether it is about some paths only.
    pub(crate) fn names_paths(&self) -> bool {
        !self.paths.is_empty()
    }

    /// The folders that it spells out.
    pub(crate) fn named_folders(&self) -> impl Iterator<Item = &WsPath> {
        self.paths.iter().filter_map(PathPattern::base)
    }

    /// Whether it names everything below a folder, whatever that is called.
    pub(crate) fn names_all_below(&self, folder: &WsPath) -> bool {
        let is_over = |path: &PathPattern| {
            path.is_tree && path.base.as_ref().is_some_and(|base| folder.is_within(base))
        };
        self.paths.is_empty() || self.paths.iter().any(is_over)
    }

    fn matches_tool(&self, origin: Origin<'_>) -> bool {
        let whole = format!("{}.{}", origin.toolset, origin.tool);
        let hit = |tool: &GlobMatcher| tool.is_match(&whole) || tool.is_match(origin.tool);
        self.tools.is_empty() || self.tools.iter().any(hit)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |words: &Option<Words>| words.as_ref().map(|words| words.all().join(","));
        write!(f, "{}", self.written.then.word())?;
        write!(f, " {}", shown(&self.written.effect).unwrap_or_else(|| "every effect".to_owned()))?;
        match (shown(&self.written.path), shown(&self.written.host)) {
            (None, Some(hosts)) => write!(f, " at {hosts}")?,
            (paths, _) => write!(f, " on {}", paths.as_deref().unwrap_or("every path"))?,
        }
        match shown(&self.written.tool) {
            Some(tools) => write!(f, " by {tools}"),
            None => Ok(()),
        }
    }
}

/// The kinds that a word stands for.
fn kinds_of(word: &str) -> Result<Vec<EffectKind>, String> {
    let group: Option<Vec<EffectKind>> = match word {
        "*" | "any" => Some(EffectKind::ALL.to_vec()),
        "change" => Some(every_change()),
        "move" => Some(vec![EffectKind::MoveFrom, EffectKind::MoveTo]),
        _ => None,
    };
    let one = || EffectKind::from_word(word).map(|kind| vec![kind]);
    group.or_else(one).ok_or_else(|| {
        let known = EffectKind::ALL.map(EffectKind::word).join(", ");
        format!("unknown effect {word:?}; known: {known}, change, move, any")
    })
}

/// Every kind after which something is another thing.
fn every_change() -> Vec<EffectKind> {
    EffectKind::ALL.into_iter().filter(|kind| kind.changes()).collect()
}

fn matcher(pattern: &str, what: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).backslash_escape(true).build();
    let glob = glob.map_err(|error| format!("{what} {pattern:?} is no glob: {}", error.kind()))?;
    Ok(glob.compile_matcher())
}

/// A glob on the hosts of the web: `*.example.com` is every host below `example.com`, and not that one.
pub(crate) fn host_matcher(text: &str) -> Result<GlobMatcher, String> {
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._*?:[]{},".contains(&byte);
    if !text.bytes().all(is_host) {
        return Err(format!(
            "host {text:?}: a host is a name such as example.com, or *.example.com"
        ));
    }
    matcher(&text.to_ascii_lowercase(), "host")
}

/// The kinds of effect that a yes to an effect is meant for.
pub(crate) fn covered_kinds(asks: Asks, effect: &Effect) -> Vec<EffectKind> {
    let happens = |kind: &EffectKind| {
        effect.paths.iter().any(|one| one.kind == *kind)
            || effect.dials.iter().any(|dial| dial.kind == *kind)
    };
    match asks {
        Asks::OnceToRead => vec![EffectKind::Read],
        Asks::OnceToChange => every_change(),
        _ => EffectKind::ALL.into_iter().filter(happens).collect(),
    }
}
