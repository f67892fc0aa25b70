//! A right call with one argument broken.

use serde_json::{Map, Value, json};
use yard_testkit::Dice;

use super::fixture::Failed;

/// Codes of failures that say nothing of the arguments: what is asked for is not there on this machine, or may not be.
const NOT_ABOUT_ARGUMENTS: [&str; 6] =
    ["UNAVAILABLE", "PERMISSION_DENIED", "FORBIDDEN", "denied", "501 UNAVAILABLE", "403 FORBIDDEN"];

/// Phrases that say which argument is meant without its name: the text to find, the text to put there, the session.
const DESCRIBED: [&str; 3] =
    ["the text to be replaced", "the result would have more than", "there is no session"];

/// Characters of a value that stand for it where a text repeats only its start.
const START: usize = 20;

/// The call, and what is wrong with it.
pub(crate) struct Broken {
    pub(crate) args: Value,
    /// The name of the argument, as it was sent or as it is missing.
    name: String,
    /// What was sent for it, if anything.
    sent: Option<Value>,
}

impl Broken {
    /// One argument of a call broken in one of the ways in which models break them.
    pub(crate) fn of(args: &Value, dice: &mut Dice) -> Option<Self> {
        let mut places = Vec::new();
        collect(args, String::new(), &mut places);
        if places.is_empty() {
            return None;
        }
        let pointer = dice.pick(&places).clone();
        let (above, name) = pointer.rsplit_once('/')?;
        let mut args = args.clone();
        let members = args.pointer_mut(above)?.as_object_mut()?;
        let value = members[name].clone();
        let (name, sent) = match dice.roll(8) {
            0 => {
                members.shift_remove(name);
                (name.to_owned(), None)
            }
            1 => {
                members.shift_remove(name);
                let misspelt = misspelt(name, dice);
                members.insert(misspelt.clone(), value);
                (misspelt, None)
            }
            way => {
                let sent = broken(&value, way, dice);
                members.insert(name.to_owned(), sent.clone());
                (name.to_owned(), Some(sent))
            }
        };
        Some(Self { args, name, sent })
    }

    /// What is wrong with a text that does not name the broken argument, nor repeats what was sent.
    pub(crate) fn unnamed_in(&self, failed: &Failed) -> Option<String> {
        if NOT_ABOUT_ARGUMENTS.contains(&failed.code.as_str()) {
            return None;
        }
        let words =
            failed.text.split(|one: char| !one.is_alphanumeric() && one != '_' && one != '-');
        let is_named = words.clone().any(|word| word == self.name);
        let is_quoted = match &self.sent {
            Some(Value::String(text)) if !text.trim().is_empty() => {
                let start: String = text.trim().chars().take(START).collect();
                failed.text.contains(&start)
            }
            _ => false,
        };
        let is_described = DESCRIBED.iter().any(|phrase| failed.text.contains(phrase));
        // Without the broken argument another one is wrong, and is named.
        let names_another = self.args.as_object().is_some_and(|args| {
            args.keys().any(|name| failed.text.starts_with(&format!("{name}: ")))
        });
        let wrong = format!("it does not name {}", self.name);
        let is_told = is_named || is_quoted || is_described || names_another;
        (!is_told).then_some(wrong)
    }
}

/// Pointers to every member of every object, but for those of what may be anything.
fn collect(value: &Value, at: String, places: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                let at = format!("{at}/{name}");
                places.push(at.clone());
                if !["schema", "env", "headers"].contains(&name.as_str()) {
                    collect(value, at, places);
                }
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, format!("{at}/{index}"), places);
            }
        }
        _ => {}
    }
}

fn misspelt(name: &str, dice: &mut Dice) -> String {
    let mut letters: Vec<char> = name.chars().collect();
    let at = dice.roll(letters.len());
    match dice.roll(4) {
        0 if letters.len() > 2 => {
            letters.remove(at);
        }
        1 => letters.insert(at, 'q'),
        2 => letters.extend("_of".chars()),
        _ => letters[at] = 'Z',
    }
    letters.into_iter().collect()
}

fn broken(value: &Value, way: usize, dice: &mut Dice) -> Value {
    match way {
        // Another type.
        2 | 3 => {
            let others = [
                json!(true),
                json!(7),
                json!(1.5),
                json!("maybe"),
                json!([]),
                json!({"a": 1}),
                json!(["b"]),
            ];
            let other =
                |other: &&Value| std::mem::discriminant(*other) != std::mem::discriminant(value);
            let others: Vec<&Value> = others.iter().filter(other).collect();
            (*dice.pick(&others)).clone()
        }
        4 => Value::Null,
        // Huge.
        5 => match value {
            Value::String(_) => Value::from("x".repeat(20_000)),
            Value::Number(_) => json!(1e30),
            Value::Array(_) => Value::from(vec![Value::Null; 1_001]),
            Value::Object(_) => {
                let members = (0..1_000).map(|nth| (format!("n{nth}"), json!({"a": [nth]})));
                Value::Object(members.collect::<Map<_, _>>())
            }
            _ => json!(-1),
        },
        // Empty, or the next thing to it.
        6 => match value {
            Value::String(_) => json!(""),
            Value::Number(_) => json!(-1),
            Value::Array(_) => json!([]),
            Value::Object(_) => json!({}),
            _ => json!(""),
        },
        // What no text of ours is.
        _ => match value {
            Value::String(_) => json!(
                (*dice.pick(&["\u{0}", "a\u{0}b", " ", "(", "[", "../x", "/../x", "nowhere/x"]))
                    .to_owned()
            ),
            Value::Number(_) => json!("many"),
            Value::Array(_) => json!([7, {"a": 1}]),
            _ => json!("no"),
        },
    }
}
