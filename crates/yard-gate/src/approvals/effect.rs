//! The effect of a request in its stored form, and as people read it. The stored form is JSON and stays readable by
//! versions before this one: members may be added, and none changes its meaning.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use yard_core::{ContentHash, Dial, Effect, EffectKind, FileType, PathEffect, WsPath};
use yard_store::{Approval, ApprovalRequest};

/// How many paths a request names.
const MAX_PATHS: usize = 5_000;

#[derive(Serialize, Deserialize)]
struct StoredEffect {
    #[serde(default)]
    paths: Vec<StoredPath>,
    /// How many paths are not named.
    #[serde(default)]
    more: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    dials: Vec<StoredDial>,
}

#[derive(Serialize, Deserialize)]
struct StoredPath {
    kind: String,
    path: String,
    file_type: Option<String>,
    #[serde(default)]
    with_contents: bool,
    #[serde(default)]
    edits: bool,
    #[serde(default)]
    mode_only: bool,
    #[serde(default)]
    decides: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredDial {
    kind: String,
    asked: String,
    host: String,
    port: u16,
}

impl StoredEffect {
    fn of(effect: &Effect, most: usize) -> Self {
        let path = |one: &PathEffect| StoredPath {
            kind: one.kind.word().to_owned(),
            path: one.path.to_string(),
            file_type: one.file_type.map(|file_type| FileType::word(file_type).to_owned()),
            with_contents: one.with_contents,
            edits: one.edits,
            mode_only: one.mode_only,
            decides: one.decides,
        };
        let dial = |dial: &Dial| StoredDial {
            kind: dial.kind.word().to_owned(),
            asked: dial.asked.clone(),
            host: dial.host.clone(),
            port: dial.port,
        };
        Self {
            paths: effect.paths.iter().take(most).map(path).collect(),
            more: effect.paths.len().saturating_sub(most),
            dials: effect.dials.iter().map(dial).collect(),
        }
    }

    fn read(request: &ApprovalRequest) -> Self {
        let none = Self { paths: Vec::new(), more: 0, dials: Vec::new() };
        serde_json::from_str(&request.effect).unwrap_or(none)
    }

    fn to_json(&self) -> String {
        // Strings, numbers and lists: there is nothing that cannot be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl StoredPath {
    /// The effect; `None` if it is of a kind that this version does not know.
    fn into_effect(self) -> Option<PathEffect> {
        let Self { with_contents, edits, mode_only, decides, .. } = self;
        let effect = PathEffect::new(
            EffectKind::from_word(&self.kind)?,
            WsPath::parse_shown(&self.path).ok()?,
        );
        Some(PathEffect { with_contents, edits, mode_only, decides, ..effect })
    }
}

impl StoredDial {
    fn into_dial(self) -> Option<Dial> {
        let Self { kind, asked, host, port } = self;
        Some(Dial { kind: EffectKind::from_word(&kind)?, asked, host, port, known: false })
    }
}

/// The stored form of an effect.
pub(crate) fn effect_text(effect: &Effect) -> String {
    StoredEffect::of(effect, MAX_PATHS).to_json()
}

/// The state hash of a start or a read, which has no planned change: it covers the paths and the summary that is shown
/// with them.
pub(crate) fn state_of_start(effect: &Effect, summary: &str) -> ContentHash {
    let effect = StoredEffect::of(effect, usize::MAX).to_json();
    ContentHash::of(format!("{effect}{summary}").as_bytes())
}

/// The effect of a request.
pub(super) fn effect_of(request: &ApprovalRequest) -> Effect {
    let stored = StoredEffect::read(request);
    Effect {
        paths: stored.paths.into_iter().filter_map(StoredPath::into_effect).collect(),
        dials: stored.dials.into_iter().filter_map(StoredDial::into_dial).collect(),
    }
}

/// Whether the effect has more paths than the request names.
pub(super) fn has_more_paths(request: &ApprovalRequest) -> bool {
    StoredEffect::read(request).more > 0
}

/// The effect of a request as JSON, for people.
pub fn effect_value(approval: &Approval) -> Value {
    serde_json::from_str(&approval.request.effect).unwrap_or_default()
}

/// The effect of a request for people, as pairs: the kind of effect, and its path or host.
pub fn effect_lines(approval: &Approval) -> Vec<(String, String)> {
    let StoredEffect { paths, more, dials } = StoredEffect::read(&approval.request);
    let paths = paths.into_iter().map(|one| (one.kind, one.path));
    let mut effects: Vec<_> =
        paths.chain(dials.into_iter().map(|dial| (dial.kind, dial.asked))).collect();
    if more > 0 {
        effects.push(("and".to_owned(), format!("{more} more")));
    }
    effects
}

/// Whether a person was shown that files change.
pub fn shows_change(approval: &Approval) -> bool {
    effect_of(&approval.request).changes_anything()
}

/// Whether an effect is a connection that a command makes.
pub(super) fn is_connection(effect: &Effect) -> bool {
    effect.dials.iter().any(|dial| dial.kind == EffectKind::Connect)
}

/// Whether a request is about a host that a command connects to.
pub fn is_for_host(approval: &Approval) -> bool {
    is_connection(&effect_of(&approval.request))
}

/// The host and port of a request about a command's connection.
pub(crate) fn requested_host(request: &ApprovalRequest) -> Option<(String, u16)> {
    let dials = effect_of(request).dials;
    let dial = dials.into_iter().find(|dial| dial.kind == EffectKind::Connect)?;
    Some((dial.host, dial.port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stored_form_is_the_one_of_earlier_versions() {
        let mut effect = Effect::one(EffectKind::Modify, WsPath::parse("/a b").unwrap());
        effect.paths[0].edits = true;
        let path = r#"{"kind":"modify","path":"/a b","file_type":null,"with_contents":false,"edits":true,"mode_only":false,"decides":false}"#;
        assert_eq!(effect_text(&effect), format!(r#"{{"paths":[{path}],"more":0}}"#));
        let dial = Dial {
            kind: EffectKind::Connect,
            asked: "example.com:443".to_owned(),
            host: "example.com".to_owned(),
            port: 443,
            known: true,
        };
        assert_eq!(
            effect_text(&Effect::dialling(dial)),
            r#"{"paths":[],"more":0,"dials":[{"kind":"connect","asked":"example.com:443","host":"example.com","port":443}]}"#
        );
    }

    #[test]
    fn an_effect_of_an_unknown_kind_is_left_out_and_the_others_are_read() {
        let text =
            r#"{"paths":[{"kind":"melt","path":"/a"},{"kind":"read","path":"/b"}],"more":1}"#;
        let stored: StoredEffect = serde_json::from_str(text).unwrap();
        let read: Vec<_> = stored.paths.into_iter().filter_map(StoredPath::into_effect).collect();
        assert_eq!(read.len(), 1);
        assert_eq!(read[0].path.to_string(), "/b");
    }
}
