//! What a person is asked, and what counts as an answer (W15). Pure: it knows JSON Schema and nothing
//! of chats, stores or callers.

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yard_core::{Fault, FaultCode, Result};
use yard_store::Via;

/// Most questions of one form.
const QUESTIONS: usize = 4;
/// Most buttons of one question.
const BUTTONS: usize = 20;
/// Most characters of a name.
const NAME_CHARS: usize = 64;
/// Most bytes of a form, written as JSON, and of the answers to one.
const FORM_BYTES: usize = 64 << 10;
/// Most characters of a button that a message quotes.
const QUOTED_CHARS: usize = 100;
/// How often matching one pattern of a schema with one text may step back: far more than patterns of people need,
/// and far less than anybody would wait for.
const BACKTRACKS: usize = 10_000;
/// The answer that approves a plan, and the one that does not (W16).
const ACCEPT: &str = "Accept";
const REJECT: &str = "Reject";

/// One to four questions that are asked, and answered, together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionForm(Vec<Item>);

/// One question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The name under which it is answered.
    pub name: String,
    /// Its words.
    pub question: String,
    /// The JSON Schema that an answer keeps.
    pub schema: Value,
    /// The choices to click, if there are any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Button>,
}

/// One choice to click.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// What it says.
    pub label: String,
    /// What it answers.
    pub value: String,
}

/// What a person can choose, of one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The answer that choosing it gives.
    pub answer: String,
    /// What a person reads: the label of its button, else the answer.
    pub label: String,
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.label == self.answer {
            true => f.write_str(&self.label),
            false => write!(f, "{} ({})", self.label, self.answer),
        }
    }
}

/// What is wrong with a form that was sent, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flaw {
    /// The argument: `questions[0].schema`.
    pub at: String,
    /// What to send instead.
    pub message: String,
}

impl Flaw {
    fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at: at.into(), message: message.into() }
    }
}

/// The first characters of a text that a message quotes.
fn beginning(text: &str) -> &str {
    text.char_indices().nth(QUOTED_CHARS).map_or(text, |(end, _)| &text[..end])
}

impl QuestionForm {
    /// Checks questions as they were sent; a schema may be a string that holds it.
    pub fn check(mut items: Vec<Item>) -> std::result::Result<Self, Flaw> {
        if items.is_empty() || items.len() > QUESTIONS {
            let wrong = format!("expected 1 to {QUESTIONS} questions, got {}", items.len());
            return Err(Flaw::new("questions", wrong));
        }
        for at in 0..items.len() {
            let (before, rest) = items.split_at_mut(at);
            let flaw = |field: &str, message: String| {
                Flaw::new(format!("questions[{at}].{field}"), message)
            };
            if let Some(item) = rest.first_mut() {
                item.check().map_err(|(field, message)| flaw(field, message))?;
                if before.iter().any(|other| other.name == item.name) {
                    let taken = format!(
                        "{:?} is the name of another question already; give each a name of its own",
                        item.name
                    );
                    return Err(flaw("name", taken));
                }
            }
        }
        let form = Self(items);
        match form.to_json().len() {
            0..=FORM_BYTES => Ok(form),
            bytes => Err(Flaw::new(
                "questions",
                format!("has {bytes} bytes; at most {FORM_BYTES} are asked at once"),
            )),
        }
    }

    /// The questions.
    pub fn items(&self) -> &[Item] {
        &self.0
    }

    /// As a store keeps it.
    pub(crate) fn to_json(&self) -> String {
        // Strings, numbers and lists: there is nothing that cannot be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// As a store kept it.
    pub(crate) fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| {
            Fault::new(FaultCode::Io, format!("the store holds a question that is none: {error}"))
        })
    }

    /// Whether it asks for the approval of a plan (W16).
    pub(crate) fn can_approve(&self) -> bool {
        self.0.iter().any(Item::is_approval)
    }

    /// Whether these answers approve: `Accept` to every question that asks for it.
    pub(crate) fn is_accepted(&self, answers: &Map<String, Value>) -> bool {
        let mut asked = self.0.iter().filter(|item| item.is_approval()).peekable();
        asked.peek().is_some()
            && asked.all(|item| answers.get(&item.name).and_then(Value::as_str) == Some(ACCEPT))
    }

    /// The answers as they are kept, or a fault that names every question that was not answered well.
    pub(crate) fn accept(
        &self,
        answers: &Map<String, Value>,
        via: Via,
    ) -> Result<Map<String, Value>> {
        let mut wrong: Vec<String> = answers
            .keys()
            .filter(|name| !self.0.iter().any(|item| item.name == **name))
            .map(|name| format!("{name}: is no question's name; they are {}", self.names()))
            .collect();
        let mut kept = Map::new();
        for item in &self.0 {
            match item.accept(answers.get(&item.name), via) {
                Ok(value) => drop(kept.insert(item.name.clone(), value)),
                Err(why) => wrong.push(format!("{}: {why}", item.name)),
            }
        }
        if Value::Object(kept.clone()).to_string().len() > FORM_BYTES {
            wrong.push(format!("the answers have more than {FORM_BYTES} bytes; shorten them"));
        }
        match wrong.is_empty() {
            true => Ok(kept),
            false => Err(Fault::new(FaultCode::BadArgument, wrong.join("; "))),
        }
    }

    fn names(&self) -> String {
        self.0.iter().map(|item| item.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// The field that is wrong, and why.
type Wrong = (&'static str, String);

impl Item {
    fn check(&mut self) -> std::result::Result<(), Wrong> {
        self.name = self.name.trim().to_owned();
        if self.name.is_empty() || self.name.chars().count() > NAME_CHARS {
            return Err(("name", format!("expected 1 to {NAME_CHARS} characters")));
        }
        if self.question.trim().is_empty() {
            return Err(("question", "expected the words of the question".to_owned()));
        }
        if let Value::String(text) = &self.schema {
            self.schema = serde_json::from_str(text).map_err(|_| {
                (
                    "schema",
                    format!(
                        "expected a JSON Schema object; this string holds no JSON, {SCHEMA_EXAMPLE}"
                    ),
                )
            })?;
        }
        if !self.schema.is_object() {
            return Err(("schema", format!("expected a JSON Schema object; {SCHEMA_EXAMPLE}")));
        }
        let validator = validator(&self.schema).map_err(|why| {
            ("schema", format!("is no valid JSON Schema: {why}; {SCHEMA_EXAMPLE}"))
        })?;
        self.check_buttons(&validator)
    }

    fn check_buttons(&self, validator: &Validator) -> std::result::Result<(), Wrong> {
        if self.buttons.is_empty() {
            return Ok(());
        }
        if self.words().is_none() {
            let wrong = "go only with a schema that lists strings, such as \
                         {\"type\": \"string\", \"enum\": [\"Yes\", \"No\"]}; leave them out for other questions";
            return Err(("buttons", wrong.to_owned()));
        }
        if self.buttons.len() > BUTTONS {
            return Err(("buttons", format!("expected at most {BUTTONS}")));
        }
        for (at, button) in self.buttons.iter().enumerate() {
            if self.buttons[..at].iter().any(|other| other.value == button.value) {
                return Err((
                    "buttons",
                    format!(
                        "two of them answer {:?}; give each a value of its own",
                        beginning(&button.value)
                    ),
                ));
            }
            if kept_by(validator, button).is_none() {
                let wrong = format!(
                    "neither the value {:?} nor the label {:?} is one of the values of the schema: send those as `value`",
                    beginning(&button.value),
                    beginning(&button.label)
                );
                return Err(("buttons", wrong));
            }
        }
        Ok(())
    }

    /// The values of a schema that is a string enum.
    fn words(&self) -> Option<Vec<&str>> {
        words_of(&self.schema)
    }

    /// Whether an answer is text.
    pub fn is_text(&self) -> bool {
        is_of(&self.schema, "string")
    }

    /// What can be chosen: the buttons, else the values of a string enum; else nothing.
    pub fn choices(&self) -> Vec<Choice> {
        let choice =
            |answer: &str, label: &str| Choice { answer: answer.into(), label: label.into() };
        if self.buttons.is_empty() {
            let words = self.words().unwrap_or_default().into_iter();
            return words.map(|word| choice(word, word)).collect();
        }
        let Ok(validator) = validator(&self.schema) else { return Vec::new() };
        let buttons = self.buttons.iter();
        buttons
            .filter_map(|button| Some(choice(kept_by(&validator, button)?, &button.label)))
            .collect()
    }

    /// What can be chosen where several may be: the values of an array of a string enum; else nothing.
    pub fn several(&self) -> Vec<String> {
        let items = self.schema.get("items").filter(|_| is_of(&self.schema, "array"));
        let words = items.and_then(words_of).unwrap_or_default();
        words.into_iter().map(str::to_owned).collect()
    }

    /// A text as the schema wants it: text stays text, anything else is read as JSON.
    pub fn read(&self, text: &str) -> Value {
        match self.is_text() {
            true => text.into(),
            false => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        }
    }

    /// Exactly the choices Accept and Reject, and no button that says one and answers the other.
    fn is_approval(&self) -> bool {
        let both = |mut words: Vec<&str>| {
            words.sort_unstable();
            words == [ACCEPT, REJECT]
        };
        let labels = || self.buttons.iter().map(|button| button.label.as_str()).collect();
        let honest = self.buttons.iter().all(|button| button.label == button.value);
        self.words().is_some_and(both) && (self.buttons.is_empty() || (honest && both(labels())))
    }

    /// The answer as it is kept, or why it is none.
    fn accept(&self, answer: Option<&Value>, via: Via) -> std::result::Result<Value, String> {
        let Some(answer) = answer else { return Err("is not answered".to_owned()) };
        let validator = validator(&self.schema)?;
        let button = self.buttons.iter().find(|button| answer == button.value.as_str());
        let clicked = button.and_then(|button| kept_by(&validator, button));
        let kept = match clicked {
            Some(word) => Value::String(word.to_owned()),
            None => answer.clone(),
        };
        if let Some(error) = validator.iter_errors(&kept).next() {
            return Err(format!("{error}{}", self.hint()));
        }
        let chosen = kept
            .as_str()
            .is_some_and(|word| self.choices().iter().any(|choice| choice.answer == word));
        if via == Via::Button && !chosen {
            return Err(format!("was not answered by a button{}; send via \"text\"", self.hint()));
        }
        Ok(kept)
    }

    fn hint(&self) -> String {
        match self.choices() {
            choices if choices.is_empty() => String::new(),
            choices => {
                let answers: Vec<String> =
                    choices.into_iter().map(|choice| choice.answer).collect();
                format!(" (the choices are {})", answers.join(", "))
            }
        }
    }
}

/// Whether a schema is of that type.
fn is_of(schema: &Value, kind: &str) -> bool {
    schema.get("type").and_then(Value::as_str) == Some(kind)
}

/// The values of a schema, if it is a string enum.
fn words_of(schema: &Value) -> Option<Vec<&str>> {
    let values = schema.get("enum").filter(|_| is_of(schema, "string"))?;
    values.as_array()?.iter().map(Value::as_str).collect()
}

const SCHEMA_EXAMPLE: &str = "for example {\"type\": \"string\", \"enum\": [\"Yes\", \"No\"]}";

/// What clicking a button leaves: its value, or its label where only that keeps the schema.
fn kept_by<'a>(validator: &Validator, button: &'a Button) -> Option<&'a str> {
    [&button.value, &button.label]
        .into_iter()
        .find(|word| validator.is_valid(&Value::String((*word).clone())))
        .map(String::as_str)
}

/// A schema comes from a model: its patterns may look around, as JSON Schema has them, but not without end.
fn validator(schema: &Value) -> std::result::Result<Validator, String> {
    let patterns = PatternOptions::fancy_regex().backtrack_limit(BACKTRACKS);
    let options = jsonschema::options().with_pattern_options(patterns);
    options.build(schema).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(items: Value) -> std::result::Result<QuestionForm, Flaw> {
        QuestionForm::check(serde_json::from_value(items).unwrap())
    }

    fn one(schema: Value, buttons: Value) -> std::result::Result<QuestionForm, Flaw> {
        form(json!([{"name": "q", "question": "?", "schema": schema, "buttons": buttons}]))
    }

    fn answers(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    fn accepted(
        form: &QuestionForm,
        answer: Value,
        via: Via,
    ) -> std::result::Result<Value, String> {
        let accepted = form.accept(&answers(json!({"q": answer})), via);
        accepted.map(|all| all["q"].clone()).map_err(|fault| fault.message().to_owned())
    }

    #[test]
    fn w15_one_to_four_questions_with_names_of_their_own() {
        let item =
            |name: &str| json!({"name": name, "question": "?", "schema": {"type": "string"}});
        let at = |items: Vec<Value>| form(json!(items)).map_err(|flaw| flaw.at);
        assert!(at(vec![item("a"), item("b"), item("c"), item("d")]).is_ok());
        assert_eq!(at(vec![]), Err("questions".to_owned()));
        assert_eq!(at(["a", "b", "c", "d", "e"].map(item).to_vec()), Err("questions".to_owned()));
        assert_eq!(at(vec![item("a"), item("a")]), Err("questions[1].name".to_owned()));
        assert_eq!(at(vec![item(" ")]), Err("questions[0].name".to_owned()));
    }

    #[test]
    fn w15_a_schema_is_a_string_or_an_object_and_valid() {
        let schema = |schema: Value| one(schema, json!([])).map_err(|flaw| flaw.at);
        let parsed = schema(json!("{\"type\":\"string\",\"minLength\":3}")).unwrap();
        assert_eq!(parsed.items()[0].schema, json!({"type": "string", "minLength": 3}));
        assert!(schema(json!({"type": "number", "minimum": 1})).is_ok());
        for wrong in [
            json!("{"),
            json!("5"),
            json!(true),
            json!({"type": "strin"}),
            json!({"type": "string", "pattern": "("}),
            json!({"$ref": "https://example.com/schema.json"}),
        ] {
            assert_eq!(schema(wrong.clone()), Err("questions[0].schema".to_owned()), "{wrong}");
        }
    }

    #[test]
    fn w15_buttons_are_for_string_enums_and_answer_by_value_or_label() {
        let words = json!({"type": "string", "enum": ["Option A", "B"]});
        let buttons = json!([
            {"label": "Option A", "value": "A"},
            {"label": "The second", "value": "B"}
        ]);
        let form = one(words.clone(), buttons.clone()).unwrap();
        let shown: Vec<String> = form.items()[0].choices().iter().map(Choice::to_string).collect();
        assert_eq!(shown, ["Option A", "The second (B)"]);
        assert_eq!(accepted(&form, json!("A"), Via::Button), Ok(json!("Option A")));
        assert_eq!(accepted(&form, json!("B"), Via::Button), Ok(json!("B")));
        assert_eq!(accepted(&form, json!("Option A"), Via::Text), Ok(json!("Option A")));
        assert!(accepted(&form, json!("C"), Via::Text).unwrap_err().starts_with("q: "));
        for (schema, buttons) in [
            (json!({"type": "array", "items": words}), buttons.clone()),
            (json!({"type": "string"}), buttons.clone()),
            (words.clone(), json!([{"label": "x", "value": "y"}])),
            (words, json!([{"label": "B", "value": "B"}, {"label": "b", "value": "B"}])),
        ] {
            let flaw = one(schema, buttons).unwrap_err();
            assert_eq!(flaw.at, "questions[0].buttons", "{flaw:?}");
        }
    }

    #[test]
    fn w15_answers_keep_the_schema_and_errors_name_the_question() {
        let number =
            one(json!({"type": "number", "minimum": 1, "maximum": 100}), json!([])).unwrap();
        assert_eq!(accepted(&number, json!(7), Via::Text), Ok(json!(7)));
        for wrong in [json!(0), json!(101), json!("7"), json!(null)] {
            assert!(accepted(&number, wrong, Via::Text).unwrap_err().starts_with("q: "));
        }
        let several = json!({"type": "array", "items": {"enum": ["A", "B"]}, "minItems": 1});
        let several = one(several, json!([])).unwrap();
        assert_eq!(accepted(&several, json!(["A"]), Via::Text), Ok(json!(["A"])));
        assert!(accepted(&several, json!([]), Via::Text).is_err());
        assert!(accepted(&several, json!(["A"]), Via::Button).unwrap_err().contains("text"));
        let fault = several.accept(&answers(json!({"other": 1})), Via::Text).unwrap_err();
        assert!(fault.message().contains("other: is no question's name; they are q"));
        assert!(fault.message().contains("q: is not answered"));
    }

    #[test]
    fn w15_patterns_look_around_and_end_soon() {
        let pattern = |pattern: &str| one(json!({"type": "string", "pattern": pattern}), json!([]));
        let form = pattern("^(?=.*[0-9])(?!.*secret).{4,}$").unwrap();
        assert_eq!(accepted(&form, json!("abc1"), Via::Text), Ok(json!("abc1")));
        for wrong in ["abcd", "secret1"] {
            assert!(accepted(&form, json!(wrong), Via::Text).is_err(), "{wrong}");
        }
        let endless = pattern("^(?=a)((a+)+)+\\2b$").unwrap();
        assert!(accepted(&endless, json!("a".repeat(60)), Via::Text).is_err());
    }

    #[test]
    fn w16_only_exactly_accept_and_reject_can_approve() {
        let words = |words: Value| json!({"type": "string", "enum": words});
        let can = |schema, buttons| one(schema, buttons).unwrap().can_approve();
        let button = |label: &str, value: &str| json!({"label": label, "value": value});
        let both = json!([button("Accept", "Accept"), button("Reject", "Reject")]);
        assert!(can(words(json!(["Accept", "Reject"])), json!([])));
        assert!(can(words(json!(["Reject", "Accept"])), both.clone()));
        assert!(!can(words(json!(["Accept", "Reject", "Later"])), both));
        assert!(!can(words(json!(["accept", "reject"])), json!([])));
        assert!(!can(words(json!(["Accept"])), json!([])));
        let reversed = json!([button("Accept", "Reject"), button("Reject", "Accept")]);
        assert!(!can(words(json!(["Accept", "Reject"])), reversed));
        let alone = json!([button("Accept", "Accept")]);
        assert!(!can(words(json!(["Accept", "Reject"])), alone));
    }
}
