//! What may happen, where no rule says it: presets, and what each dialect asks for by itself.
//!
//! Under `guarded` the base verdict is by effect alone: it is the same for every dialect, door and command.
//! A dialect's own asks come on top of it, so that they can only be stricter.

use serde_json::Value;
use yard_core::{Dial, Effect, EffectKind, PathEffect, WsPath};

/// The member of a grant that names what a person said yes to once, path by path.
pub(crate) const BEFORE: &str = "before";

/// Which tool of which dialect asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin<'a> {
    /// The dialect.
    pub toolset: &'a str,
    /// The tool, or the command.
    pub tool: &'a str,
    /// What it asks a person for by itself.
    pub asks: Asks,
}

/// One thing of an effect.
#[derive(Clone, Copy)]
pub(crate) enum Thing<'a> {
    /// Something happens to a path.
    Path(&'a PathEffect),
    /// A host of the web is asked.
    Dial(&'a Dial),
}

impl Thing<'_> {
    pub(crate) fn kind(self) -> EffectKind {
        match self {
            Self::Path(effect) => effect.kind,
            Self::Dial(dial) => dial.kind,
        }
    }
}

/// What is said of one effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It may happen.
    Allow,
    /// A person is asked, for this reason.
    Ask(String),
    /// It may not, for this reason.
    Deny(String),
}

/// What holds where no rule says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Everything inside the workspace may happen.
    Open,
    /// What takes something from others, or decides about them later, asks; and a dialect's own asks count.
    Guarded,
    /// Every effect asks, reading too.
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

/// What a tool asks a person for before it does it, where the preset leaves that to its dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
    /// Nothing of its own.
    Never,
    /// Reading: once a chat, for all tools of its toolset that ask for the same.
    OnceToRead,
    /// Changing anything: once a chat, for all tools of its toolset that ask for the same.
    OnceToChange,
    /// Changing or removing what is there; making something new needs no word.
    ToOverwrite,
    /// Changing anything, each time.
    ToChange,
    /// Starting at all, until a person allows it for the chat or by a rule. Such a yes is also one to every
    /// public host that the command reaches.
    ToStart,
    /// Starting at all, each time and whatever the policy: what it does reaches others. Neither a rule nor
    /// an earlier yes stands for the person. What it changes in the workspace is judged as of any command.
    Always,
}

impl Asks {
    /// What it means, for people and models.
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

    /// What the dialect of such a tool asks before a file is read: what asks before each kind of work asks
    /// before reading, too (C5).
    pub(crate) fn to_read(self) -> Self {
        match self {
            Self::OnceToRead | Self::OnceToChange => Self::OnceToRead,
            _ => Self::Never,
        }
    }

    /// Whether a yes for the chat is one to every tool of the dialect (C5).
    pub(crate) fn is_remembered(self) -> bool {
        matches!(self, Self::OnceToRead | Self::OnceToChange)
    }

    /// Whether nothing but a person's word for this very call lets such a thing happen.
    pub(crate) fn insists(self, thing: Thing<'_>) -> bool {
        self == Self::Always
            && matches!(thing, Thing::Path(effect) if effect.kind == EffectKind::Run)
    }

    /// Whether a tool asks for such a thing by itself.
    fn concerns(self, thing: Thing<'_>) -> bool {
        let Thing::Path(PathEffect { kind, .. }) = thing else { return false };
        match self {
            Self::Never => false,
            Self::OnceToRead => *kind == EffectKind::Read,
            Self::OnceToChange | Self::ToChange => kind.changes(),
            Self::ToOverwrite => {
                matches!(kind, EffectKind::Modify | EffectKind::Remove | EffectKind::Purge)
            }
            Self::ToStart => *kind == EffectKind::Run,
            Self::Always => self.insists(thing),
        }
    }
}

/// Why something asks under `guarded`, whichever tool does it; `None` if it goes through.
fn base(thing: Thing<'_>) -> Option<&'static str> {
    use EffectKind::{
        Connect, Create, Fetch, List, Modify, MoveFrom, MoveTo, Purge, Read, Remove, Run, Send,
        Touch,
    };
    let effect = match thing {
        Thing::Dial(dial) if dial.kind == Connect => {
            let why = "a command wants to reach a host that is not on the operator's list";
            return (!dial.known).then_some(why);
        }
        Thing::Dial(dial) => {
            return (!dial.known).then_some("a host that is not on the operator's list is asked");
        }
        Thing::Path(effect) => effect,
    };
    if effect.kind.changes() && effect.decides {
        return Some("what decides about the programs of others later changes");
    }
    match effect.kind {
        Read | List | Create | Touch | MoveTo | Fetch | Send | Connect => None,
        Purge => Some("what is purged never comes back"),
        // A command without a layer of its own has done what it does before anybody sees it.
        Run => (!effect.own).then_some("it runs in place"),
        _ if effect.own => None,
        Modify if effect.edits => None,
        Modify if effect.mode_only => Some("the mode of what others made changes"),
        Modify => Some("what others made is replaced"),
        Remove => Some("what others made is removed"),
        MoveFrom => Some("what others made is moved away"),
    }
}

/// What a person said yes to in a chat, path by path: what it did once to a path, it may do again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Remembered(pub(crate) Vec<(Did, WsPath)>);

/// A kind of change that a person said yes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Did {
    /// Another mode.
    Mode,
    /// Other bytes.
    Replace,
    /// It went elsewhere.
    Move,
    /// It went away.
    Remove,
}

impl Did {
    pub(crate) const WORDS: [(Did, &'static str); 4] = [
        (Self::Mode, "mode"),
        (Self::Replace, "replace"),
        (Self::Move, "move"),
        (Self::Remove, "remove"),
    ];

    /// What a yes to an effect is remembered as; nothing where it decides about others, or takes along
    /// more than it names.
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

    /// Whether a yes to this is one to another kind, too: to the same, or to a weaker one.
    fn covers(self, other: Self) -> bool {
        self == other || self == Self::Remove
    }
}

/// What a person said yes to before, if that is what a grant is about.
pub(crate) fn remembered(grant: &Value) -> Option<Vec<(Did, WsPath)>> {
    let did = grant.get(BEFORE)?.as_array()?;
    let one = |pair: &Value| {
        let (word, path) = (pair[0].as_str()?, pair[1].as_str()?);
        let did = Did::WORDS.iter().find(|(_, known)| *known == word)?.0;
        Some((did, WsPath::parse_shown(path).ok()?))
    };
    Some(did.iter().filter_map(one).collect())
}

impl Remembered {
    /// Whether a person allowed this before.
    fn holds(&self, effect: &PathEffect) -> bool {
        let Some(now) = Did::of(effect) else { return false };
        self.0.iter().any(|(did, path)| did.covers(now) && *path == effect.path)
    }
}

/// What a caller's door and role let it do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// Everything inside the workspace, unless the workspace says otherwise.
    Open,
    /// What the dialects let happen by themselves, unless the workspace says otherwise.
    Guarded,
    /// Nothing without a person, unless the workspace says otherwise.
    Strict,
    /// Reading only, whatever the workspace says: for callers that shall look and not touch.
    ReadOnly,
}

impl Policy {
    /// What holds where the workspace has no word of its own.
    pub(crate) fn preset(self) -> Preset {
        match self {
            Self::Open => Preset::Open,
            Self::Guarded | Self::ReadOnly => Preset::Guarded,
            Self::Strict => Preset::Strict,
        }
    }

    /// What the caller's role says of an effect, before the policy is read.
    pub(crate) fn judge_role(self, effect: &Effect) -> Verdict {
        match self {
            Self::ReadOnly if effect.paths.iter().any(|one| !one.kind.looks()) => {
                self.judge_desk_write()
            }
            // What is asked of the web says something of who asks, in the name of who runs this.
            Self::ReadOnly if !effect.dials.is_empty() => Verdict::Deny(
                "this session may read the workspace, and does not reach the web from it. Work with what is in the \
                 workspace"
                    .to_owned(),
            ),
            _ => Verdict::Allow,
        }
    }

    /// Judges a write into chats or questions.
    pub fn judge_desk_write(self) -> Verdict {
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

/// What asks before something happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The preset, whichever tool does it, for this reason.
    Base(&'static str),
    /// The tool that does it, for its own callers.
    Dialect,
}

impl Preset {
    /// What asks before such a thing happens, if anything does.
    pub(crate) fn asked(
        self,
        asks: Asks,
        thing: Thing<'_>,
        remembered: &Remembered,
    ) -> Option<Asked> {
        let insists = asks.insists(thing).then_some(Asked::Dialect);
        match self {
            Self::Open => insists,
            Self::Strict => Some(Asked::Base("the policy is strict, where every effect asks")),
            Self::Guarded => {
                let was_allowed = matches!(thing, Thing::Path(effect) if remembered.holds(effect));
                let base = base(thing).filter(|_| !was_allowed).map(Asked::Base);
                let dialect = asks.concerns(thing).then_some(Asked::Dialect);
                // What a dialect asks for once a chat may have been answered already.
                if asks.is_remembered() { base.or(dialect) } else { dialect.or(base) }
            }
        }
    }

    /// Whether nothing of an effect asks under this preset.
    pub(crate) fn lets_pass(self, asks: Asks, effect: &Effect) -> bool {
        let things = effect.paths.iter().map(Thing::Path);
        let mut things = things.chain(effect.dials.iter().map(Thing::Dial));
        things.all(|thing| self.asked(asks, thing, &Remembered::default()).is_none())
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
        preset.asked(asks, Thing::Path(effect), &Remembered::default()).is_some()
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
        let words = [Did::Mode, Did::Replace, Did::Move, Did::Remove];
        for (did, allowed) in [(0, vec![0]), (1, vec![1]), (2, vec![2]), (3, vec![0, 1, 2, 3])] {
            let remembered = Remembered(vec![(words[did], WsPath::parse("/a").unwrap())]);
            for (at, effect) in kinds.iter().enumerate() {
                let asked = Preset::Guarded.asked(Asks::Never, Thing::Path(effect), &remembered);
                assert_eq!(asked.is_none(), allowed.contains(&at), "{:?} {effect:?}", words[did]);
            }
            let other = at(Remove, "/b");
            assert!(Preset::Guarded.asked(Asks::Never, Thing::Path(&other), &remembered).is_some());
            let hook = PathEffect { decides: true, ..at(Modify, "/a") };
            assert!(Preset::Guarded.asked(Asks::Never, Thing::Path(&hook), &remembered).is_some());
        }
    }
}
