//! The effects of one attempt as a log and audit rows show them: kinds, paths and hosts, never contents.

use parking_lot::Mutex;
use yard_core::Effect;

/// How many paths an audit row names. The step has all of them.
const MAX_AUDITED_PATHS: usize = 8;
/// How many effects of one call its line in the log names.
const MAX_NAMED: usize = 8;

/// What one call did, as the log shows it.
#[derive(Debug, Default)]
pub(crate) struct Effects(Mutex<EffectList>);

#[derive(Debug, Default)]
struct EffectList {
    named: Vec<String>,
    more: usize,
}

impl Effects {
    /// Adds an effect, unless it equals the last one, which was planned again.
    pub(crate) fn add(&self, effect: String) {
        let mut seen = self.0.lock();
        if seen.named.last() == Some(&effect) {
            return;
        }
        if seen.named.len() < MAX_NAMED {
            seen.named.push(effect);
        } else {
            seen.more += 1;
        }
    }

    /// All of them in one line.
    pub(crate) fn line(&self) -> String {
        let seen = self.0.lock();
        let mut text = seen.named.join("; ");
        if seen.more > 0 {
            text.push_str(&format!("; and {} more", seen.more));
        }
        text
    }
}

/// The effect in one line: kinds, paths and hosts, never contents.
pub(crate) fn summary(effect: &Effect) -> String {
    let (mut text, mut before) = (String::with_capacity(64), "");
    let mut begin = |text: &mut String| text.push_str(std::mem::replace(&mut before, ", "));
    for effect in effect.paths.iter().take(MAX_AUDITED_PATHS) {
        begin(&mut text);
        text.push_str(effect.kind.word());
        text.push(' ');
        // Writing into a text cannot fail.
        let _ = effect.path.show_to(&mut text);
    }
    let rest = effect.paths.len().saturating_sub(MAX_AUDITED_PATHS);
    if rest > 0 {
        begin(&mut text);
        text.push_str(&format!("and {rest} more"));
    }
    for dial in &effect.dials {
        begin(&mut text);
        text.push_str(&dial.in_short());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn effects_are_named_once_and_bounded() {
        let effects = Effects::default();
        assert_eq!(effects.line(), "");
        effects.add("read /a".to_owned());
        effects.add("read /a".to_owned());
        effects.add("write /a".to_owned());
        assert_eq!(effects.line(), "read /a; write /a");
        for number in 0..20 {
            effects.add(format!("read /{number}"));
        }
        assert!(effects.line().ends_with("read /5; and 14 more"), "{}", effects.line());
    }
}
