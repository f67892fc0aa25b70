//! What may happen, where no rule says it: presets, and what each dialect asks for by itself.

use yard_core::git::{self, Part};
use yard_core::{Dial, Effect, EffectKind, FileType, PathEffect};

use crate::rules::Thing;

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
    /// The dialects' own defaults count.
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
    /// Nothing.
    Never,
    /// Reading: once a chat, for all tools of its toolset that ask for the same.
    OnceToRead,
    /// Changing anything: once a chat, for all tools of its toolset that ask for the same.
    OnceToChange,
    /// Changing or removing what is there; making something new needs no word.
    ToOverwrite,
    /// Changing or removing what its chat did not make, and changing what decides about others. What a
    /// command does is judged by that, after it ran and before it counts.
    ToTouchOthers,
    /// Changing anything, each time.
    ToChange,
    /// Asking a host of the web that the operator did not name.
    ToReachOthers,
    /// Starting at all, each time and whatever the policy: what it does reaches others. Neither a rule nor
    /// an earlier yes stands for the person. What it changes in the workspace is judged as of any command.
    Always,
}

impl Asks {
    /// What it means, for people and models.
    pub fn about(self) -> &'static str {
        match self {
            Self::Never => "never asks",
            Self::OnceToRead => "asks before reading, until there is a yes for the chat",
            Self::OnceToChange => {
                "asks before changing anything, until there is a yes for the chat"
            }
            Self::ToOverwrite => "asks before it replaces or removes what is there",
            Self::ToTouchOthers => "asks before it replaces or removes what its chat did not make",
            Self::ToChange => "asks before each change",
            Self::ToReachOthers => {
                "asks before it reaches a host that is not on the operator's list"
            }
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

    fn concerns(self, effect: &PathEffect) -> bool {
        let kind = effect.kind;
        match self {
            Self::Never | Self::ToReachOthers => false,
            Self::OnceToRead => kind == EffectKind::Read,
            Self::OnceToChange | Self::ToChange => kind.changes(),
            Self::ToOverwrite => overwrites(kind),
            Self::ToTouchOthers => {
                let takes = overwrites(kind) || kind == EffectKind::MoveFrom;
                // A command without a layer of its own has done what it does before anybody sees it.
                let acts = kind == EffectKind::Run;
                kind.changes() && is_protected(effect) || (takes || acts) && !effect.own
            }
            Self::Always => {
                self.insists(Thing::Path(effect)) || Self::ToTouchOthers.concerns(effect)
            }
        }
    }
}

impl Asks {
    /// Who is asked about nothing asks nobody; everybody else asks about hosts that nobody named.
    fn concerns_host(self, dial: &Dial) -> bool {
        self != Self::Never && !dial.known
    }
}

fn overwrites(kind: EffectKind) -> bool {
    matches!(kind, EffectKind::Modify | EffectKind::Remove | EffectKind::Purge)
}

/// Whether what is there decides what others do: git runs hooks and obeys its configuration, wherever it
/// keeps them, and a ref that is gone takes along what only it led to. What git makes whenever it works
/// is not, and nothing else in there is known to be harmless.
fn is_protected(effect: &PathEffect) -> bool {
    match git::part(&effect.path) {
        None => false,
        // A file of that name leads git elsewhere; where the folder goes, everything in it does.
        Some(Part::Folder) => {
            effect.kind != EffectKind::Create || effect.file_type != Some(FileType::Folder)
        }
        Some(Part::Obeyed | Part::Unknown) => true,
        Some(Part::Ref) => matches!(effect.kind, EffectKind::Remove | EffectKind::MoveFrom),
        // What commits are made of stays as it is: without it, whoever says that nothing is lost is wrong.
        Some(Part::Past) => overwrites(effect.kind) || effect.kind == EffectKind::MoveFrom,
        Some(Part::Refs | Part::Passing | Part::Work) => false,
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

    /// What the caller's role says of an effect, before anybody else is heard.
    pub(crate) fn judge_role(self, effect: &Effect) -> Verdict {
        match self {
            Self::ReadOnly if effect.paths.iter().any(|one| !one.kind.looks()) => {
                self.judge_desk_write()
            }
            // What is asked of the web says something of who asks, in the name of who runs this.
            Self::ReadOnly if !effect.dials.is_empty() => Verdict::Deny(
                "this session may read the workspace, and does not reach the web from it"
                    .to_owned(),
            ),
            _ => Verdict::Allow,
        }
    }

    /// Judges a write into chats or questions.
    pub fn judge_desk_write(self) -> Verdict {
        match self {
            Self::ReadOnly => {
                Verdict::Deny("this session may read and not change anything".to_owned())
            }
            Self::Open | Self::Guarded | Self::Strict => Verdict::Allow,
        }
    }
}

impl Preset {
    /// Whether it asks before such a thing happens.
    pub(crate) fn asks(self, asks: Asks, thing: Thing<'_>) -> bool {
        match (self, thing) {
            (Self::Open, thing) => asks.insists(thing),
            (Self::Guarded, Thing::Path(effect)) => asks.concerns(effect),
            (Self::Guarded, Thing::Dial(dial)) => asks.concerns_host(dial),
            (Self::Strict, _) => true,
        }
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

    #[test]
    fn guarded_is_what_the_dialects_say() {
        use EffectKind::{Create, Modify, MoveTo, Read, Remove};
        let asked = |asks: Asks| {
            let kinds = [Read, Create, Modify, MoveTo, Remove].into_iter();
            kinds
                .filter(|kind| Preset::Guarded.asks(asks, Thing::Path(&at(*kind, "/a"))))
                .collect::<Vec<_>>()
        };
        assert_eq!(asked(Asks::Never), []);
        assert_eq!(asked(Asks::OnceToRead), [Read]);
        assert_eq!(asked(Asks::OnceToChange), [Create, Modify, MoveTo, Remove]);
        assert_eq!(asked(Asks::ToOverwrite), [Modify, Remove]);
        assert_eq!(asked(Asks::ToChange), [Create, Modify, MoveTo, Remove]);
        assert!(Preset::Strict.asks(Asks::Never, Thing::Path(&at(Read, "/a"))));
        assert!(!Preset::Open.asks(Asks::ToChange, Thing::Path(&at(Remove, "/a"))));
    }

    #[test]
    fn what_always_asks_does_so_under_every_preset() {
        use EffectKind::{Create, Modify, Run};
        for (preset, ..) in Preset::WORDS {
            let own = PathEffect { own: true, ..at(Run, "/") };
            assert!(preset.asks(Asks::Always, Thing::Path(&own)), "{preset:?}");
        }
        assert!(
            !Preset::Open.asks(Asks::Always, Thing::Path(&at(Modify, "/a"))),
            "it was asked for its start"
        );
        assert!(
            Preset::Guarded.asks(Asks::Always, Thing::Path(&at(Modify, "/a"))),
            "somebody else's"
        );
        assert!(!Preset::Guarded.asks(Asks::Always, Thing::Path(&at(Create, "/a"))));
    }

    fn at(kind: EffectKind, path: &str) -> PathEffect {
        Effect::one(kind, yard_core::WsPath::parse(path).unwrap()).paths.remove(0)
    }

    #[test]
    fn a_command_asks_for_what_is_not_its_own() {
        use EffectKind::{Create, Modify, MoveFrom, MoveTo, Remove, Run, Touch};
        let asks =
            |effect: &PathEffect| Preset::Guarded.asks(Asks::ToTouchOthers, Thing::Path(effect));
        for kind in [Modify, Remove, MoveFrom] {
            assert!(asks(&at(kind, "/a")), "{kind:?}");
            assert!(!asks(&PathEffect { own: true, ..at(kind, "/a") }), "{kind:?}");
        }
        for kind in [Create, MoveTo, Touch] {
            assert!(!asks(&at(kind, "/a")), "{kind:?}");
        }
        assert!(asks(&at(Run, "/")), "in place");
        assert!(!asks(&PathEffect { own: true, ..at(Run, "/") }), "on a layer");
        let own = |kind, path| PathEffect { own: true, ..at(kind, path) };
        for path in [
            "/.git/hooks/pre-commit",
            "/sub/.git/config",
            "/.git/info/attributes",
            "/.git/commondir",
            "/.git/modules/sub/hooks/post-checkout",
            "/.git/worktrees/w/config.worktree",
            "/docs/.git",
            "/.git/whatever",
        ] {
            assert!(asks(&own(Create, path)), "{path}");
        }
        assert!(asks(&own(Remove, "/.git/refs/heads/main")));
        assert!(asks(&own(MoveFrom, "/.git/refs/heads/main")));
        for path in ["/.git/index", "/.git/COMMIT_EDITMSG", "/.git/ORIG_HEAD", "/.git/index.lock"] {
            assert!(!asks(&own(Create, path)), "{path}");
        }
        assert!(asks(&own(Remove, "/.git")));
        assert!(!asks(&own(Modify, "/.git/refs/heads/main")));
        assert!(!asks(&own(Create, "/.git/objects/ab/cd")));
    }
}
