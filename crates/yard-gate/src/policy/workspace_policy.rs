//! The policy of a workspace: its preset and its rules, which are read whole or not at all. The strictest rule that matches
//! counts. Nothing here knows who is calling or what was planned.

use serde_json::{Value, json};
use yard_core::{Effect, EffectKind, Fault, FaultCode, WsPath};

use crate::policy::presets::{
    ApprovedChanges, AskReason, Asks, EffectPart, Origin, Preset, Verdict,
};
use crate::policy::rules::{Rule, Then};

/// Most rules of one policy.
const MAX_RULES: usize = 1_000;

/// The policy of a workspace.
#[derive(Clone, Debug, Default)]
pub(crate) struct WorkspacePolicy {
    /// What holds where no rule says otherwise; else what the door says.
    pub(crate) preset: Option<Preset>,
    /// The rules, as they were written.
    pub(crate) rules: Vec<Rule>,
    /// What people allowed for every chat, by approving it with a rule.
    pub(crate) saved: Vec<Rule>,
}

/// What a judgement rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judgement {
    /// What may happen.
    pub(crate) verdict: Verdict,
    /// What decided, in words.
    pub(crate) because: String,
    /// The rule that decided, by its place in the policy.
    pub(crate) rule: Option<usize>,
}

impl Judgement {
    /// A judgement by something else than a rule of the policy.
    pub(crate) fn without_rule(verdict: Verdict, because: impl Into<String>) -> Self {
        Self { verdict, because: because.into(), rule: None }
    }
}

impl WorkspacePolicy {
    /// Reads `{"preset": ..., "rules": [...]}`: whole, or not at all and what is wrong.
    pub(crate) fn parse(value: &Value) -> Result<Self, String> {
        let Value::Object(members) = value else {
            return Err("expected an object with `preset` and `rules`".to_owned());
        };
        let mut rules = Self::default();
        for (name, value) in members {
            match name.as_str() {
                "preset" => rules.preset = parse_preset(value)?,
                "rules" => rules.rules = parse_rules(value, "rules")?,
                "saved" => rules.saved = parse_rules(value, "saved")?,
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

    /// The same with what people allowed for every chat: another text is another policy.
    pub(crate) fn to_full_text(&self) -> String {
        let saved: Vec<Value> = self.saved.iter().map(Rule::to_value).collect();
        format!("{}{}", self.to_text(), json!(saved))
    }

    /// The folders that rules which forbid or ask spell out: where they are links, the same place has
    /// another name.
    pub(crate) fn named_folders(&self) -> impl Iterator<Item = &WsPath> {
        let strict = self.rules.iter().filter(|rule| rule.then() != Then::Allow);
        strict.flat_map(Rule::named_folders)
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
        strictest.unwrap_or_else(|| {
            Judgement::without_rule(Verdict::Allow, "nothing happens to any path")
        })
    }

    /// Judges what happens to one path or host.
    fn judge_one(
        &self,
        origin: Origin<'_>,
        effect: EffectPart<'_>,
        preset: Preset,
        allowed: &Allowed,
    ) -> Judgement {
        let what = describe(effect);
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
            return Judgement { verdict: Verdict::Deny(reason), because, rule: Some(at) };
        }
        if origin.asks.always_asks_for(effect) {
            return by_preset(origin, effect, preset, allowed, &what);
        }
        if let Some(rule) = self.granted(origin, effect, preset, allowed) {
            let because = format!("a person allowed it ({rule})");
            return Judgement::without_rule(Verdict::Allow, because);
        }
        if let Some((at, rule)) = strictest.filter(|(_, rule)| rule.then() != Then::Allow) {
            let because = named(at, rule);
            let verdict = Verdict::Ask(format!("{because} asks before: {what}{}", rule.why()));
            return Judgement { verdict, because, rule: Some(at) };
        }
        // All rules that match allow it. A rule may match a part of the effect and not cover all of it.
        if let Some((at, rule)) = matching().find(|(_, rule)| rule.allows(origin, effect)) {
            let because = named(at, rule);
            return Judgement { verdict: Verdict::Allow, because, rule: Some(at) };
        }
        by_preset(origin, effect, preset, allowed, &what)
    }

    /// The rule by which a person allowed an effect, if one did.
    fn granted<'r>(
        &'r self,
        origin: Origin<'_>,
        effect: EffectPart<'_>,
        preset: Preset,
        allowed: &'r Allowed,
    ) -> Option<&'r Rule> {
        let base_asks = matches!(
            preset.ask_reason(Asks::Never, effect, &allowed.changes),
            Some(AskReason::Base(_))
        );
        // A person who was asked by one toolset alone has not allowed what `guarded` asks every caller about.
        let counts = |rule: &&Rule| {
            let is_of_toolset = origin.asks.is_remembered() && !rule.names_paths();
            preset != Preset::Guarded || !base_asks || !is_of_toolset
        };
        let mut granted = allowed.rules.iter().chain(&self.saved).filter(counts);
        granted.find(|rule| rule.allows(origin, effect))
    }
}

/// What people allowed for one chat.
#[derive(Clone, Debug, Default)]
pub(crate) struct Allowed {
    /// Such effects, for the chat.
    pub(crate) rules: Vec<Rule>,
    /// What they said yes to once, path by path.
    pub(crate) changes: ApprovedChanges,
}

/// The effect in words, for reasons.
fn describe(thing: EffectPart<'_>) -> String {
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

/// The judgement where no rule and no person decides.
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
    Judgement::without_rule(verdict, because)
}

fn parse_preset(value: &Value) -> Result<Option<Preset>, String> {
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

fn parse_rules(value: &Value, name: &str) -> Result<Vec<Rule>, String> {
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

#[cfg(test)]
mod tests {
    use yard_core::Dial;

    use super::*;

    const ORIGIN: Origin<'static> =
        Origin { toolset: "assistant", tool: "write_file", asks: Asks::ToOverwrite };

    fn rules(value: &Value) -> WorkspacePolicy {
        WorkspacePolicy::parse(value).unwrap()
    }

    fn effect(kind: EffectKind, path: &str) -> Effect {
        Effect::one(kind, WsPath::parse(path).unwrap())
    }

    fn word(rules: &WorkspacePolicy, effect: &Effect, preset: Preset) -> &'static str {
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
        let partly = WorkspacePolicy::parse(&json!({"rules": [
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
            WorkspacePolicy::parse(&json!({"rules": [{"path": "*.key", "then": "deny"}]})).unwrap();
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
        let by_host =
            WorkspacePolicy::parse(&json!({"rules": [{"host": "a.example", "then": "deny"}]}));
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
            let error = WorkspacePolicy::parse(&text).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        let read = rules(&json!({"preset": "always", "rules": [{"path": "a", "then": "deny"}]}));
        let again =
            WorkspacePolicy::parse(&serde_json::from_str(&read.to_text()).unwrap()).unwrap();
        assert_eq!((again.preset, again.rules.len()), (Some(Preset::Strict), 1));
    }
}
