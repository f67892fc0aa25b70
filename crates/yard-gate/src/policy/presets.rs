//! Presets, and what each tool asks for by itself: they decide where no rule matches.
//!
//! Under `guarded` the base verdict depends on the effect alone: it is the same for every dialect, door and command.
//! What a dialect asks for is added to that, so that a dialect can only be stricter.

use serde_json::Value;
use yard_core::{Dial, Effect, EffectKind, PathEffect, WsPath};

/// The member of a grant with the changes that a person approved once, path by path.
pub(crate) const APPROVED_CHANGES: &str = "before";

/// The tool that makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// Its toolset.
    pub toolset: &'a str,
    /// Its name, or that of the command.
    pub tool: &'a str,
    /// What it asks a person for by itself.
    pub asks: Asks,
}

/// One part of an effect.
#[derive(Clone, Copy)]
pub(crate) enum EffectPart<'a> {
    /// The effect on a path.
    Path(&'a PathEffect),
    /// A request or connection to a host.
    Dial(&'a Dial),
}

impl EffectPart<'_> {
    pub(crate) fn kind(self) -> EffectKind {
        match self {
            Self::Path(effect) => effect.kind,
            Self::Dial(dial) => dial.kind,
        }
    }
}

/// The verdict about one effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may happen.
    Allow,
    /// A person is asked, for this reason.
    Ask(String),
    /// It may not, for this reason.
    Deny(String),
}

/// The verdicts where no rule matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Everything inside the workspace is allowed.
    Open,
    /// Removing, replacing or moving what others made asks, and so does what affects their programs later. A dialect
    /// may ask for more.
    Guarded,
    /// Every effect asks, including reading.
    Strict,
}

impl Preset {
    /// Every preset with its spelling, and the word that another dialect has for it (X6).
    pub const WORDS: [(Preset, &'static str, &'static str); 3] = [
        (Self::Open, "open", "never"),
        (Self::Guarded, "guarded", "on-request"),
        (Self::Strict, "strict", "always"),
    ];

    /// Its spelling.
    pub fn word(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Guarded => "guarded",
            Self::Strict => "strict",
        }
    }

    /// The preset of either spelling.
    pub fn from_word(word: &str) -> Option<Self> {
        let known = Self::WORDS.iter().find(|(_, own, other)| word == *own || word == *other);
        known.map(|(preset, ..)| *preset)
    }
}

/// What a tool asks a person for by itself, under a preset that leaves this to its dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// Nothing of its own.
    Never,
    /// Reading: once a chat, for all tools of its toolset that ask for the same.
    OnceToRead,
    /// Changing anything: once a chat, for all tools of its toolset that ask for the same.
    OnceToChange,
    /// Changing or removing what exists. Creating something new asks for nothing.
    ToOverwrite,
    /// Changing anything, each time.
    ToChange,
    /// Starting, until a person allows it for the chat or by a rule. The approval also covers every public host that the
    /// command reaches.
    ToStart,
    /// Starting, each time and under every policy, because it affects other machines. Neither a rule nor an earlier
    /// approval replaces the decision of the person. Its changes in the workspace are judged like those of any command.
    Always,
}

impl Asks {
    /// An explanation for people and models.
    pub fn about(self) -> &'static str {
        match self {
            Self::Never => "asks for nothing beyond what the policy asks for",
            Self::OnceToRead => "asks before reading, until there is a yes for the chat",
            Self::OnceToChange => {
                "asks before changing anything, until there is a yes for the chat"
            }
            Self::ToOverwrite => "asks before it replaces or removes what is there",
            Self::ToChange => "asks before each change",
            Self::ToStart => "asks before it starts, until there is a yes for the chat or a rule",
            Self::Always => "asks before each call, whatever the policy",
        }
    }

    /// What the dialect of the tool asks for before a file is read: one that asks once for each kind of work asks before
    /// reading as well (C5).
    pub(crate) fn to_read(self) -> Self {
        match self {
            Self::OnceToRead | Self::OnceToChange => Self::OnceToRead,
            _ => Self::Never,
        }
    }

    /// Whether an approval for the chat covers every tool of the dialect (C5).
    pub(crate) fn is_remembered(self) -> bool {
        matches!(self, Self::OnceToRead | Self::OnceToChange)
    }

    /// Whether this effect needs an approval of this very call.
    pub(crate) fn always_asks_for(self, part: EffectPart<'_>) -> bool {
        self == Self::Always
            && matches!(part, EffectPart::Path(effect) if effect.kind == EffectKind::Run)
    }

    /// Whether a tool asks for this effect by itself.
    fn asks_for(self, part: EffectPart<'_>) -> bool {
        let EffectPart::Path(PathEffect { kind, .. }) = part else { return false };
        match self {
            Self::Never => false,
            Self::OnceToRead => *kind == EffectKind::Read,
            Self::OnceToChange | Self::ToChange => kind.changes(),
            Self::ToOverwrite => {
                matches!(kind, EffectKind::Modify | EffectKind::Remove | EffectKind::Purge)
            }
            Self::ToStart => *kind == EffectKind::Run,
            Self::Always => self.always_asks_for(part),
        }
    }
}

/// The reason why an effect asks under `guarded`, whichever tool has it; `None` if it is allowed.
fn base_reason(part: EffectPart<'_>) -> Option<&'static str> {
    use EffectKind::{
        Connect, Create, Fetch, List, Modify, MoveFrom, MoveTo, Purge, Read, Remove, Run, Send,
        Touch,
    };
    let effect = match part {
        EffectPart::Dial(dial) if dial.kind == Connect => {
            let why = "a command wants to reach a host that is not on the operator's list";
            return (!dial.known).then_some(why);
        }
        EffectPart::Dial(dial) => {
            return (!dial.known).then_some("a host that is not on the operator's list is asked");
        }
        EffectPart::Path(effect) => effect,
    };
    if effect.kind.changes() && effect.decides {
        return Some("what decides about the programs of others later changes");
    }
    match effect.kind {
        Read | List | Create | Touch | MoveTo | Fetch | Send | Connect => None,
        Purge => Some("what is purged never comes back"),
        // A command without an overlay has changed files before a person can see the changes.
        Run => (!effect.own).then_some("it runs in place"),
        _ if effect.own => None,
        Modify if effect.edits => None,
        Modify if effect.mode_only => Some("the mode of what others made changes"),
        Modify => Some("what others made is replaced"),
        Remove => Some("what others made is removed"),
        MoveFrom => Some("what others made is moved away"),
    }
}

/// The changes that a person approved in a chat, path by path: the chat may make the same change to the path again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ApprovedChanges(pub(crate) Vec<(ApprovedChange, WsPath)>);

yard_core::spelled_enum! {
    /// A kind of change that a person approved.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) enum ApprovedChange {
        /// A change of the mode.
        Mode = "mode",
        /// A change of the content.
        Replace = "replace",
        /// A move to another path.
        Move = "move",
        /// A removal.
        Remove = "remove",
    }
}

impl ApprovedChange {
    /// The kind under which an approved effect is remembered; `None` if it affects programs of others later, or includes
    /// paths that it does not name.
    pub(crate) fn of(effect: &PathEffect) -> Option<Self> {
        match effect.kind {
            _ if effect.decides || effect.with_contents => None,
            EffectKind::Modify if effect.mode_only => Some(Self::Mode),
            EffectKind::Modify if effect.edits => None,
            EffectKind::Modify => Some(Self::Replace),
            EffectKind::MoveFrom => Some(Self::Move),
            EffectKind::Remove => Some(Self::Remove),
            _ => None,
        }
    }

    /// Whether an approval of this kind covers another one: the same, or a weaker one.
    fn covers(self, other: Self) -> bool {
        self == other || self == Self::Remove
    }
}

/// The approved changes of a grant, if it has any.
pub(crate) fn approved_changes(grant: &Value) -> Option<Vec<(ApprovedChange, WsPath)>> {
    let changes = grant.get(APPROVED_CHANGES)?.as_array()?;
    let one = |pair: &Value| {
        let (word, path) = (pair[0].as_str()?, pair[1].as_str()?);
        Some((ApprovedChange::from_word(word)?, WsPath::parse_shown(path).ok()?))
    };
    Some(changes.iter().filter_map(one).collect())
}

impl ApprovedChanges {
    /// Whether a person approved this change before.
    fn covers(&self, effect: &PathEffect) -> bool {
        let Some(wanted) = ApprovedChange::of(effect) else { return false };
        self.0.iter().any(|(change, path)| change.covers(wanted) && *path == effect.path)
    }
}

/// The policy of a caller by its door and role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerPolicy {
    /// Everything inside the workspace is allowed, unless the policy of the workspace says otherwise.
    Open,
    /// The preset `guarded` holds, unless the policy of the workspace says otherwise.
    Guarded,
    /// Everything asks, unless the policy of the workspace says otherwise.
    Strict,
    /// Only reading is allowed, under every policy of the workspace.
    ReadOnly,
}

impl CallerPolicy {
    /// The preset if the policy of the workspace names none.
    pub(crate) fn preset(self) -> Preset {
        match self {
            Self::Open => Preset::Open,
            Self::Guarded | Self::ReadOnly => Preset::Guarded,
            Self::Strict => Preset::Strict,
        }
    }

    /// Judges an effect by the caller's role, before the policy is read.
    pub(crate) fn judge_role(self, effect: &Effect) -> Verdict {
        match self {
            Self::ReadOnly if effect.paths.iter().any(|one| !one.kind.looks()) => {
                self.judge_record_write()
            }
            // A request to the web reveals something about the workspace, in the name of the operator.
            Self::ReadOnly if !effect.dials.is_empty() => Verdict::Deny(
                "this session may read the workspace, and does not reach the web from it. Work with what is in the \
                 workspace"
                    .to_owned(),
            ),
            _ => Verdict::Allow,
        }
    }

    /// Judges a write into chats or questions.
    pub fn judge_record_write(self) -> Verdict {
        match self {
            Self::ReadOnly => {
                let why = "this session may read and not change anything. Read and search, and tell the person what \
                           would have to change";
                Verdict::Deny(why.to_owned())
            }
            Self::Open | Self::Guarded | Self::Strict => Verdict::Allow,
        }
    }
}

/// Why a person is asked before an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AskReason {
    /// The preset asks, whichever tool has the effect.
    Base(&'static str),
    /// The dialect of the tool asks.
    Dialect,
}

impl Preset {
    /// Why a person is asked before an effect, if so.
    pub(crate) fn ask_reason(
        self,
        asks: Asks,
        part: EffectPart<'_>,
        approved: &ApprovedChanges,
    ) -> Option<AskReason> {
        let always_asks_for = asks.always_asks_for(part).then_some(AskReason::Dialect);
        match self {
            Self::Open => always_asks_for,
            Self::Strict => Some(AskReason::Base("the policy is strict, where every effect asks")),
            Self::Guarded => {
                let was_allowed =
                    matches!(part, EffectPart::Path(effect) if approved.covers(effect));
                let base = base_reason(part).filter(|_| !was_allowed).map(AskReason::Base);
                let dialect = asks.asks_for(part).then_some(AskReason::Dialect);
                // A dialect that asks once a chat may have been answered already.
                if asks.is_remembered() { base.or(dialect) } else { dialect.or(base) }
            }
        }
    }

    /// Whether no part of an effect asks under this preset.
    pub(crate) fn allows(self, asks: Asks, effect: &Effect) -> bool {
        let parts = effect.paths.iter().map(EffectPart::Path);
        let mut parts = parts.chain(effect.dials.iter().map(EffectPart::Dial));
        parts.all(|part| self.ask_reason(asks, part, &ApprovedChanges::default()).is_none())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x6_presets_have_two_spellings() {
        for (preset, own, other) in Preset::WORDS {
            assert_eq!(preset.word(), own);
            assert_eq!(Preset::from_word(own), Some(preset));
            assert_eq!(Preset::from_word(other), Some(preset));
        }
        assert_eq!(Preset::from_word("Open"), None);
    }

    fn asks(preset: Preset, asks: Asks, effect: &PathEffect) -> bool {
        preset.ask_reason(asks, EffectPart::Path(effect), &ApprovedChanges::default()).is_some()
    }

    fn at(kind: EffectKind, path: &str) -> PathEffect {
        PathEffect::new(kind, WsPath::parse(path).unwrap())
    }

    fn own(kind: EffectKind, path: &str) -> PathEffect {
        PathEffect { own: true, ..at(kind, path) }
    }

    #[test]
    fn a_dialect_asks_on_top_of_the_base_and_never_below_it() {
        use EffectKind::{Create, Modify, MoveTo, Read, Remove};
        let asked = |of: Asks| {
            let kinds = [Read, Create, Modify, MoveTo, Remove].into_iter();
            kinds.filter(|kind| asks(Preset::Guarded, of, &own(*kind, "/a"))).collect::<Vec<_>>()
        };
        assert_eq!(asked(Asks::Never), []);
        assert_eq!(asked(Asks::OnceToRead), [Read]);
        assert_eq!(asked(Asks::OnceToChange), [Create, Modify, MoveTo, Remove]);
        assert_eq!(asked(Asks::ToOverwrite), [Modify, Remove]);
        assert_eq!(asked(Asks::ToChange), [Create, Modify, MoveTo, Remove]);
        for kind in EffectKind::ALL {
            for edits in [false, true] {
                let effect = PathEffect { edits, ..at(kind, "/a") };
                let base = asks(Preset::Guarded, Asks::Never, &effect);
                for of in [Asks::OnceToRead, Asks::OnceToChange, Asks::ToOverwrite, Asks::ToChange]
                {
                    assert!(!base || asks(Preset::Guarded, of, &effect), "{kind:?} {of:?}");
                }
            }
        }
        assert!(asks(Preset::Strict, Asks::Never, &at(Read, "/a")));
        assert!(!asks(Preset::Open, Asks::ToChange, &at(Remove, "/a")));
    }

    #[test]
    fn what_always_asks_does_so_under_every_preset() {
        use EffectKind::{Create, Modify, Run};
        for (preset, ..) in Preset::WORDS {
            assert!(asks(preset, Asks::Always, &own(Run, "/")), "{preset:?}");
        }
        assert!(!asks(Preset::Open, Asks::Always, &at(Modify, "/a")), "it was asked for its start");
        assert!(asks(Preset::Guarded, Asks::Always, &at(Modify, "/a")), "somebody else's");
        assert!(!asks(Preset::Guarded, Asks::Always, &at(Create, "/a")));
    }

    #[test]
    fn b1_the_base_asks_for_what_takes_from_others_or_decides_about_them() {
        use EffectKind::{Create, Modify, MoveFrom, MoveTo, Purge, Read, Remove, Run, Touch};
        let asks = |effect: &PathEffect| asks(Preset::Guarded, Asks::Never, effect);
        for kind in [Modify, Remove, MoveFrom] {
            assert!(asks(&at(kind, "/a")), "{kind:?}");
            assert!(!asks(&own(kind, "/a")), "{kind:?}");
        }
        for kind in [Read, Create, MoveTo, Touch] {
            assert!(!asks(&at(kind, "/a")), "{kind:?}");
        }
        assert!(!asks(&PathEffect { edits: true, ..at(Modify, "/a") }));
        assert!(asks(&own(Purge, "/a")));
        assert!(asks(&at(Run, "/")), "in place");
        assert!(!asks(&own(Run, "/")), "on a layer");
        for kind in [Create, Modify, MoveTo, MoveFrom, Remove] {
            assert!(asks(&PathEffect { decides: true, ..own(kind, "/.envrc") }), "{kind:?}");
        }
    }

    #[test]
    fn b8_a_yes_to_a_path_is_one_to_the_same_or_less_of_it() {
        use EffectKind::{Modify, MoveFrom, Remove};
        let mode = PathEffect { mode_only: true, ..at(Modify, "/a") };
        let kinds = [mode, at(Modify, "/a"), at(MoveFrom, "/a"), at(Remove, "/a")];
        let hints = [
            ApprovedChange::Mode,
            ApprovedChange::Replace,
            ApprovedChange::Move,
            ApprovedChange::Remove,
        ];
        for (did, allowed) in [(0, vec![0]), (1, vec![1]), (2, vec![2]), (3, vec![0, 1, 2, 3])] {
            let approved = ApprovedChanges(vec![(hints[did], WsPath::parse("/a").unwrap())]);
            for (at, effect) in kinds.iter().enumerate() {
                let asked =
                    Preset::Guarded.ask_reason(Asks::Never, EffectPart::Path(effect), &approved);
                assert_eq!(asked.is_none(), allowed.contains(&at), "{:?} {effect:?}", hints[did]);
            }
            let other = at(Remove, "/b");
            assert!(
                Preset::Guarded
                    .ask_reason(Asks::Never, EffectPart::Path(&other), &approved)
                    .is_some()
            );
            let hook = PathEffect { decides: true, ..at(Modify, "/a") };
            assert!(
                Preset::Guarded
                    .ask_reason(Asks::Never, EffectPart::Path(&hook), &approved)
                    .is_some()
            );
        }
    }
}
