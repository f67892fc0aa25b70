//! Rules on effects: kind x path or host x tool -> allow, ask, deny. They are read whole or not at all, and
//! the strictest one that matches counts. Nothing here knows who is calling or what was planned.

mod pattern;

use std::fmt;

use globset::{GlobBuilder, GlobMatcher};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use yard_core::{Effect, EffectKind, Fault, FaultCode, PathEffect, WsPath};

use self::pattern::PathPattern;
use crate::policy::{ApprovedChanges, AskReason, Asks, EffectPart, Origin, Preset, Verdict};

/// Most rules of one policy.
const MAX_RULES: usize = 1_000;

/// What a rule says, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Then {
    /// It may happen.
    Allow,
    /// A person is asked.
    Ask,
    /// It may not happen.
    Deny,
}

impl Then {
    /// Its spelling.
    pub fn word(self) -> &'static str {
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
pub struct Rule {
    written: Written,
    kinds: Vec<EffectKind>,
    paths: Vec<PathPattern>,
    hosts: Vec<GlobMatcher>,
    tools: Vec<GlobMatcher>,
}

impl Rule {
    /// Reads a rule; the words say what is wrong with it.
    pub fn parse(value: &Value) -> Result<Self, String> {
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
    pub fn then(&self) -> Then {
        self.written.then
    }

    /// Why it is there, behind what it says; nothing if nobody wrote that down.
    fn why(&self) -> String {
        self.written.why.as_deref().map(|why| format!(": {why}")).unwrap_or_default()
    }

    /// The rule as JSON.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(&self.written).unwrap_or_default()
    }

    fn matches(&self, origin: Origin<'_>, thing: EffectPart<'_>) -> bool {
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
    fn allows(&self, origin: Origin<'_>, thing: EffectPart<'_>) -> bool {
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

/// The policy of a workspace.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// What holds where no rule says otherwise; else what the door says.
    pub preset: Option<Preset>,
    /// The rules, as they were written.
    pub rules: Vec<Rule>,
    /// What persons allowed for every chat, by approving it with a rule.
    pub saved: Vec<Rule>,
}

/// What a judgement rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// What may happen.
    pub verdict: Verdict,
    /// What decided, in words.
    pub because: String,
}

impl Rules {
    /// Reads `{"preset": ..., "rules": [...]}`: whole, or not at all and what is wrong.
    pub fn parse(value: &Value) -> Result<Self, String> {
        let Value::Object(members) = value else {
            return Err("expected an object with `preset` and `rules`".to_owned());
        };
        let mut rules = Self::default();
        for (name, value) in members {
            match name.as_str() {
                "preset" => rules.preset = preset(value)?,
                "rules" => rules.rules = list(value, "rules")?,
                "saved" => rules.saved = list(value, "saved")?,
                _ => return Err(format!("unknown member {name:?}; known: preset, rules, saved")),
            }
        }
        Ok(rules)
    }

    /// Reads the policy as the store holds it, if it was set.
    pub(crate) fn parse_stored(text: Option<&str>) -> yard_core::Result<Self> {
        let Some(text) = text else { return Ok(Self::default()) };
        let value = serde_json::from_str(text).map_err(|error| error.to_string());
        value.and_then(|value| Self::parse(&value)).map_err(|error| {
            let message = format!("the policy that the store holds cannot be read: {error}");
            Fault::new(FaultCode::Io, message)
        })
    }

    /// The policy as it is kept, without what is kept beside it.
    pub(crate) fn to_text(&self) -> String {
        let rules: Vec<Value> = self.rules.iter().map(Rule::to_value).collect();
        json!({"preset": self.preset.map(Preset::word), "rules": rules}).to_string()
    }

    /// The same with what persons allowed for every chat: another text is another policy.
    pub(crate) fn to_full_text(&self) -> String {
        let saved: Vec<Value> = self.saved.iter().map(Rule::to_value).collect();
        format!("{}{}", self.to_text(), json!(saved))
    }

    /// The folders that rules which forbid or ask spell out: where they are links, the same place has
    /// another name.
    pub(crate) fn named_folders(&self) -> impl Iterator<Item = &WsPath> {
        let strict = self.rules.iter().filter(|rule| rule.then() != Then::Allow);
        strict.flat_map(|rule| rule.paths.iter().filter_map(PathPattern::base))
    }

    /// Whether anything could ask or deny beside the preset.
    pub(crate) fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Judges an effect: a deny first, then what a person allowed, then the strictest rule that matches,
    /// else the preset. Of several paths the strictest verdict counts.
    pub(crate) fn judge(
        &self,
        origin: Origin<'_>,
        effect: &Effect,
        preset: Preset,
        allowed: &Allowed,
    ) -> Judgement {
        let things = effect.paths.iter().map(EffectPart::Path);
        let things = things.chain(effect.dials.iter().map(EffectPart::Dial));
        let each = things.map(|one| self.judge_one(origin, one, preset, allowed));
        let strictness = |judgement: &Judgement| match judgement.verdict {
            Verdict::Allow => 0,
            Verdict::Ask(_) => 1,
            Verdict::Deny(_) => 2,
        };
        // Of equals the first, so that the words name the first path.
        let strictest = each.reduce(|a, b| if strictness(&b) > strictness(&a) { b } else { a });
        strictest.unwrap_or_else(|| Judgement {
            verdict: Verdict::Allow,
            because: "nothing happens to any path".to_owned(),
        })
    }

    fn judge_one(
        &self,
        origin: Origin<'_>,
        effect: EffectPart<'_>,
        preset: Preset,
        allowed: &Allowed,
    ) -> Judgement {
        let what = in_words(effect);
        let matching =
            || self.rules.iter().enumerate().filter(|(_, rule)| rule.matches(origin, effect));
        let strictest = matching().max_by(|(at, a), (other, b)| {
            // Of equally strict rules the first one is named.
            a.then().cmp(&b.then()).then(other.cmp(at))
        });
        let named = |at: usize, rule: &Rule| format!("rule {} ({rule})", at + 1);
        if let Some((at, rule)) = strictest.filter(|(_, rule)| rule.then() == Then::Deny) {
            let because = named(at, rule);
            let why = rule.why();
            let reason = format!(
                "{because} of this workspace's policy forbids to {what}{why}. Go on without that, or ask the \
                 person to change the rule"
            );
            return Judgement { verdict: Verdict::Deny(reason), because };
        }
        if origin.asks.always_asks_for(effect) {
            return by_preset(origin, effect, preset, allowed, &what);
        }
        // A yes to what a dialect asks for once a chat is none to what everybody is asked for.
        let base_asks = matches!(
            preset.ask_reason(Asks::Never, effect, &allowed.changes),
            Some(AskReason::Base(_))
        );
        let is_meant = |rule: &&Rule| {
            let is_of_dialect = origin.asks.is_remembered() && rule.paths.is_empty();
            preset != Preset::Guarded || !base_asks || !is_of_dialect
        };
        let mut granted = allowed.rules.iter().chain(&self.saved).filter(is_meant);
        if let Some(rule) = granted.find(|rule| rule.allows(origin, effect)) {
            let because = format!("a person allowed it ({rule})");
            return Judgement { verdict: Verdict::Allow, because };
        }
        if let Some((at, rule)) = strictest.filter(|(_, rule)| rule.then() != Then::Allow) {
            let because = named(at, rule);
            let verdict = Verdict::Ask(format!("{because} asks before: {what}{}", rule.why()));
            return Judgement { verdict, because };
        }
        // All rules that match allow it. A rule may match a part of the effect and not cover all of it.
        if let Some((at, rule)) = matching().find(|(_, rule)| rule.allows(origin, effect)) {
            return Judgement { verdict: Verdict::Allow, because: named(at, rule) };
        }
        by_preset(origin, effect, preset, allowed, &what)
    }
}

/// What persons allowed for one chat.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowed {
    /// Such effects, for the chat.
    pub(crate) rules: Vec<Rule>,
    /// What they said yes to once, path by path.
    pub(crate) changes: ApprovedChanges,
}

fn in_words(thing: EffectPart<'_>) -> String {
    let effect = match thing {
        EffectPart::Path(effect) => effect,
        EffectPart::Dial(dial) if dial.kind == EffectKind::Connect => return dial.in_short(),
        EffectPart::Dial(dial) => return format!("{} ({})", dial.asked, dial.in_short()),
    };
    let how = match effect.kind {
        EffectKind::Run if !effect.own => {
            " in place, so that nothing can be shown before it happens"
        }
        _ => "",
    };
    format!("{} {}{how}", effect.kind.word(), effect.path)
}

fn by_preset(
    origin: Origin<'_>,
    effect: EffectPart<'_>,
    preset: Preset,
    allowed: &Allowed,
    what: &str,
) -> Judgement {
    let asked = preset.ask_reason(origin.asks, effect, &allowed.changes);
    let dialect = || format!("{}.{} {}", origin.toolset, origin.tool, origin.asks.about());
    let because = match (preset, asked) {
        _ if origin.asks.always_asks_for(effect) => dialect(),
        (Preset::Open, _) => "no rule matches, and under `open` everything may happen".to_owned(),
        (Preset::Strict, _) => "no rule matches, and under `strict` every effect asks".to_owned(),
        (_, Some(AskReason::Base(why))) => {
            format!("no rule matches, and `guarded` asks whoever does it: {why}")
        }
        (_, Some(AskReason::Dialect)) => {
            format!("no rule matches, and under `guarded` {}", dialect())
        }
        (_, None) => {
            let before =
                Preset::Guarded.ask_reason(origin.asks, effect, &ApprovedChanges::default());
            match before {
                Some(_) => "a person allowed this chat to do that to this path before".to_owned(),
                None => {
                    "no rule matches, and `guarded` lets it happen: nothing of others is taken \
                         away by it"
                        .to_owned()
                }
            }
        }
    };
    let verdict = match asked {
        None => Verdict::Allow,
        Some(AskReason::Base(why)) => Verdict::Ask(format!("{why}: {what}")),
        Some(AskReason::Dialect) => Verdict::Ask(format!("{}: {what}", dialect())),
    };
    Judgement { verdict, because }
}

fn preset(value: &Value) -> Result<Option<Preset>, String> {
    let known = || Preset::WORDS.map(|(_, own, _)| own).join(", ");
    match value {
        Value::Null => Ok(None),
        Value::String(word) => match Preset::from_word(word) {
            Some(preset) => Ok(Some(preset)),
            None => Err(format!("preset: unknown {word:?}; known: {}", known())),
        },
        _ => Err(format!("preset: expected one of {}", known())),
    }
}

fn list(value: &Value, name: &str) -> Result<Vec<Rule>, String> {
    let Value::Array(rules) = value else {
        return Err(format!("{name}: expected a list of rules"));
    };
    if rules.len() > MAX_RULES {
        return Err(format!("{name}: at most {MAX_RULES} rules"));
    }
    let parsed = rules
        .iter()
        .enumerate()
        .map(|(at, rule)| Rule::parse(rule).map_err(|error| format!("{name}[{at}]: {error}")));
    parsed.collect()
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

#[cfg(test)]
mod tests {
    use yard_core::Dial;

    use super::*;

    const ORIGIN: Origin<'static> =
        Origin { toolset: "assistant", tool: "write_file", asks: Asks::ToOverwrite };

    fn rules(value: &Value) -> Rules {
        Rules::parse(value).unwrap()
    }

    fn effect(kind: EffectKind, path: &str) -> Effect {
        Effect::one(kind, WsPath::parse(path).unwrap())
    }

    fn word(rules: &Rules, effect: &Effect, preset: Preset) -> &'static str {
        match rules.judge(ORIGIN, effect, preset, &Allowed::default()).verdict {
            Verdict::Allow => "allow",
            Verdict::Ask(_) => "ask",
            Verdict::Deny(_) => "deny",
        }
    }

    #[test]
    fn the_strictest_rule_that_matches_counts_and_else_the_preset() {
        let rules = rules(&json!({"rules": [
            {"effect": "change", "path": "src/**", "then": "allow"},
            {"effect": ["modify", "remove"], "path": "src/gen/**", "then": "ask"},
            {"path": "*.key", "then": "deny", "why": "keys stay"},
            {"effect": "create", "tool": "codex.*", "then": "deny"},
        ]}));
        use EffectKind::{Create, Modify, Read, Remove};
        for (kind, path, expected) in [
            (Modify, "/src/a.rs", "allow"),
            (Modify, "/src/gen/a.rs", "ask"),
            (Create, "/src/gen/a.rs", "allow"),
            (Read, "/src/gen/x.key", "deny"),
            (Remove, "/x.key", "deny"),
            (Modify, "/docs/a.md", "ask"),
            (Create, "/docs/a.md", "allow"),
        ] {
            assert_eq!(word(&rules, &effect(kind, path), Preset::Guarded), expected, "{path}");
        }
        assert_eq!(word(&rules, &effect(Read, "/docs/a.md"), Preset::Strict), "ask");
        assert_eq!(word(&rules, &effect(Remove, "/docs/a.md"), Preset::Open), "allow");
        let denied =
            rules.judge(ORIGIN, &effect(Read, "/x.key"), Preset::Open, &Allowed::default());
        let Verdict::Deny(reason) = denied.verdict else { panic!("{denied:?}") };
        assert!(
            reason.contains("rule 3 (deny every effect on *.key)")
                && reason.contains("keys stay. Go on")
        );
    }

    #[test]
    fn a_person_s_word_beats_every_rule_but_a_deny() {
        let rules = rules(&json!({"rules": [
            {"effect": "modify", "path": "a", "then": "ask"},
            {"effect": "modify", "path": "b", "then": "deny"},
        ]}));
        let value = Rule::allowing(&[EffectKind::Modify], "assistant.write_file", None);
        let allowed = Allowed { rules: vec![Rule::parse(&value).unwrap()], ..Allowed::default() };
        let judge = |path: &str| {
            rules.judge(ORIGIN, &effect(EffectKind::Modify, path), Preset::Strict, &allowed).verdict
        };
        assert_eq!(judge("/a"), Verdict::Allow);
        assert!(matches!(judge("/b"), Verdict::Deny(_)));
        let other = Origin { tool: "move_file", ..ORIGIN };
        let asked = rules.judge(other, &effect(EffectKind::Modify, "/a"), Preset::Open, &allowed);
        assert!(matches!(asked.verdict, Verdict::Ask(_)));
    }

    #[test]
    fn what_takes_a_tree_along_meets_every_rule_inside_it() {
        let rules = rules(&json!({"rules": [
            {"path": "a/secret/**", "then": "deny"},
            {"effect": "remove", "path": "a/**", "then": "allow"},
        ]}));
        let taken = |path: &str| effect(EffectKind::Remove, path).with_contents();
        for (path, expected) in [
            ("/", "deny"),
            ("/a", "deny"),
            ("/a/secret/x", "deny"),
            ("/a/b", "allow"),
            ("/b", "ask"),
        ] {
            assert_eq!(word(&rules, &taken(path), Preset::Strict), expected, "{path}");
        }
        assert_eq!(word(&rules, &effect(EffectKind::Remove, "/a"), Preset::Open), "allow");
        // What may not be read is left out of a search, which is not refused for it.
        let search = effect(EffectKind::Read, "/").with_contents();
        assert_eq!(word(&rules, &search, Preset::Open), "allow");
        let partly = Rules::parse(&json!({"rules": [
            {"path": "src/*/gen/**", "then": "allow"},
            {"path": "**/target/**", "then": "allow"},
        ]}))
        .unwrap();
        for path in ["/", "/src", "/src/a", "/src/a/gen"] {
            assert_eq!(word(&partly, &taken(path), Preset::Strict), "ask", "{path}");
        }
        let moved = effect(EffectKind::MoveFrom, "/a/secret/x");
        assert_eq!(word(&rules, &moved, Preset::Open), "deny");
        let anywhere =
            Rules::parse(&json!({"rules": [{"path": "*.key", "then": "deny"}]})).unwrap();
        assert_eq!(word(&anywhere, &taken("/b"), Preset::Open), "deny");
    }

    #[test]
    fn g10_one_kind_of_effect_does_not_stand_for_another() {
        use EffectKind::{Create, Modify, MoveFrom, MoveTo, Remove};
        let rules = rules(&json!({"rules": [
            {"effect": "create", "path": "**/*.sh", "then": "deny"},
            {"effect": "modify", "path": "conf", "then": "deny"},
            {"effect": "remove", "path": "/keep", "then": "deny"},
            {"effect": "create", "path": "new/**", "then": "allow"},
        ]}));
        for (kind, path, expected) in [
            (Create, "/a.sh", "deny"),
            (MoveTo, "/a.sh", "deny"),
            (Modify, "/a.sh", "allow"),
            (Modify, "/conf", "deny"),
            (Remove, "/conf", "deny"),
            (MoveFrom, "/conf", "deny"),
            (Create, "/conf", "allow"),
            (MoveFrom, "/keep", "deny"),
            (Modify, "/keep", "allow"),
        ] {
            assert_eq!(
                word(&rules, &effect(kind, path), Preset::Open),
                expected,
                "{kind:?} {path}"
            );
        }
        assert_eq!(
            word(&rules, &effect(MoveTo, "/new/a"), Preset::Strict),
            "ask",
            "allows no more"
        );
    }

    #[test]
    fn g9_a_link_at_or_above_a_rule_s_folder_changes_it() {
        let rules = rules(&json!({"rules": [
            {"effect": "change", "path": "a/deploy/**", "then": "deny"},
            {"effect": "modify", "path": "conf/app.toml", "then": "deny"},
        ]}));
        let link = |path: &str| {
            let mut link = effect(EffectKind::Create, path);
            link.paths[0].is_link = true;
            link
        };
        for (path, expected) in [
            ("/a", "deny"),
            ("/a/deploy", "deny"),
            ("/conf", "deny"),
            ("/b", "allow"),
            ("/a/other", "allow"),
        ] {
            assert_eq!(word(&rules, &link(path), Preset::Open), expected, "{path}");
        }
        assert_eq!(
            word(&rules, &effect(EffectKind::Create, "/a"), Preset::Open),
            "allow",
            "a folder"
        );
        let mut elsewhere = effect(EffectKind::Modify, "/real/app.toml");
        assert_eq!(word(&rules, &elsewhere, Preset::Open), "allow");
        elsewhere.paths[0].also.push(WsPath::parse("/conf/app.toml").unwrap());
        assert_eq!(word(&rules, &elsewhere, Preset::Open), "deny", "as it was asked for");
    }

    #[test]
    fn a4_hosts_are_judged_by_rules_that_name_them_or_nothing() {
        let rules = rules(&json!({"rules": [
            {"effect": "fetch", "host": "*.Example.com", "then": "allow"},
            {"effect": "any", "host": ["evil.example.com"], "then": "deny", "why": "no"},
            {"effect": "send", "then": "ask"},
            {"path": "**/*", "then": "deny"},
        ]}));
        let dial = |kind, host: &str, known| {
            let (asked, host) = (format!("GET https://{host}/"), host.to_owned());
            Effect::dialling(Dial { kind, asked, host, port: 443, known })
        };
        use EffectKind::{Fetch, Send};
        for (kind, host, known, expected) in [
            (Fetch, "a.example.com", false, "allow"),
            (Fetch, "a.b.example.com", false, "allow"),
            (Fetch, "evil.example.com", true, "deny"),
            (Fetch, "example.com", false, "ask"),
            (Fetch, "example.com", true, "allow"),
            (Fetch, "notexample.com", false, "ask"),
            (Send, "a.example.com", true, "ask"),
        ] {
            let judged = word(&rules, &dial(kind, host, known), Preset::Guarded);
            assert_eq!(judged, expected, "{kind:?} {host}");
        }
        assert_eq!(word(&rules, &dial(Fetch, "b.example", false), Preset::Open), "allow");
        assert_eq!(word(&rules, &dial(Fetch, "b.example", true), Preset::Strict), "ask");
        let by_host = Rules::parse(&json!({"rules": [{"host": "a.example", "then": "deny"}]}));
        let read = effect(EffectKind::Read, "/a");
        assert_eq!(word(&by_host.unwrap(), &read, Preset::Open), "allow");
    }

    /// What an allowed effect removes has to be covered by one rule, whichever other rules match a part of it.
    #[test]
    fn the_order_of_rules_that_allow_does_not_matter() {
        let narrow = json!({"effect": "remove", "path": "*.lock", "then": "allow"});
        let wide = json!({"effect": "remove", "path": "build/**", "then": "allow"});
        let mut folder = effect(EffectKind::Remove, "/build");
        folder.paths[0].with_contents = true;
        for list in [json!([narrow, wide]), json!([wide, narrow])] {
            let rules = rules(&json!({"rules": list}));
            assert_eq!(word(&rules, &folder, Preset::Guarded), "allow", "{list}");
        }
    }

    #[test]
    fn what_does_not_parse_is_refused_whole_and_named() {
        for (text, expected) in [
            (json!([]), "expected an object"),
            (json!({"preset": "loose"}), "known: open, guarded, strict"),
            (json!({"rule": []}), "unknown member \"rule\""),
            (json!({"rules": [{"then": "allow"}, {"then": "maybe"}]}), "rules[1]: "),
            (json!({"rules": [{"effect": "modfy", "then": "deny"}]}), "unknown effect \"modfy\""),
            (json!({"rules": [{"path": "a[", "then": "deny"}]}), "is no glob"),
            (json!({"rules": [{"paths": "a", "then": "deny"}]}), "unknown field `paths`"),
            (json!({"rules": [{"path": "a"}]}), "missing field `then`"),
            (json!({"rules": [{"path": "a/", "then": "deny"}]}), "write `folder/**`"),
            (json!({"rules": [{"path": "/a/../b", "then": "deny"}]}), "no empty name"),
            (json!({"rules": [{"path": [], "then": "deny"}]}), "path: empty"),
            (json!({"rules": [{"tool": "", "then": "deny"}]}), "tool: empty"),
            (json!({"rules": [{"host": [], "then": "deny"}]}), "host: empty"),
            (json!({"rules": [{"host": "http://a/", "then": "deny"}]}), "a host is a name"),
        ] {
            let error = Rules::parse(&text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let read = rules(&json!({"preset": "always", "rules": [{"path": "a", "then": "deny"}]}));
        let again = Rules::parse(&serde_json::from_str(&read.to_text()).unwrap()).unwrap();
        assert_eq!((again.preset, again.rules.len()), (Some(Preset::Strict), 1));
    }
}
