//! The form of a question to a person, and the check of its answers (W15). It knows JSON Schema, and neither chats nor
//! stores nor callers.

use std::fmt;

use jsonschema::{PatternOptions, Validator};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use yard_core::{Fault, FaultCode, Result};
use yard_store::Via;

/// How many questions a form may have.
const MAX_QUESTIONS: usize = 4;
/// How many buttons a question may have.
const MAX_BUTTONS: usize = 20;
/// The longest name, in characters.
const MAX_NAME_CHARS: usize = 64;
/// The largest form, and the largest answers to one, in bytes of JSON.
const MAX_FORM_BYTES: usize = 64 << 10;
/// How many characters of a button a message quotes.
const MAX_QUOTED_CHARS: usize = 100;
/// The limit on backtracking when one pattern of a schema is matched: far more than patterns of people need, and reached
/// within milliseconds.
const MAX_BACKTRACKS: usize = 10_000;
/// The answers that approve and reject a plan (W16).
const ACCEPT: &str = "Accept";
const REJECT: &str = "Reject";

/// One to four questions that are asked and answered together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionForm(Vec<FormQuestion>);

/// One question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormQuestion {
    /// The name of its answer.
    pub name: String,
    /// The text of the question.
    pub question: String,
    /// The JSON Schema of its answer.
    pub schema: Value,
    /// Its buttons, if it has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Button>,
}

/// A button of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Button {
    /// The text on it.
    pub label: String,
    /// The answer that it gives.
    pub value: String,
}

/// A choice of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The answer that it gives.
    pub answer: String,
    /// The text of its button, else the answer.
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

/// An error in a form that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    /// The wrong argument, such as `questions[0].schema`.
    pub at: String,
    /// What to send instead.
    pub message: String,
}

impl FormError {
    fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at: at.into(), message: message.into() }
    }
}

/// The first characters of a text that a message quotes.
fn beginning(text: &str) -> &str {
    text.char_indices().nth(MAX_QUOTED_CHARS).map_or(text, |(end, _)| &text[..end])
}

impl QuestionForm {
    /// Checks questions as they were sent. A schema may be a string with JSON.
    pub fn check(mut items: Vec<FormQuestion>) -> std::result::Result<Self, FormError> {
        if items.is_empty() || items.len() > MAX_QUESTIONS {
            let wrong = format!("expected 1 to {MAX_QUESTIONS} questions, got {}", items.len());
            return Err(FormError::new("questions", wrong));
        }
        for at in 0..items.len() {
            let (before, rest) = items.split_at_mut(at);
            let error = |field: &str, message: String| {
                FormError::new(format!("questions[{at}].{field}"), message)
            };
            if let Some(item) = rest.first_mut() {
                item.check().map_err(|(field, message)| error(field, message))?;
                if before.iter().any(|other| other.name == item.name) {
                    let taken = format!(
                        "{:?} is the name of another question already; give each a name of its own",
                        item.name
                    );
                    return Err(error("name", taken));
                }
            }
        }
        let form = Self(items);
        match form.to_json().len() {
            0..=MAX_FORM_BYTES => Ok(form),
            bytes => Err(FormError::new(
                "questions",
                format!("has {bytes} bytes; at most {MAX_FORM_BYTES} are asked at once"),
            )),
        }
    }

    /// The questions.
    pub fn questions(&self) -> &[FormQuestion] {
        &self.0
    }

    /// The stored form.
    pub(crate) fn to_json(&self) -> String {
        // Strings, numbers and lists: there is nothing that cannot be written.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the stored form.
    pub(crate) fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|error| {
            Fault::new(FaultCode::Io, format!("the store holds a question that is none: {error}"))
        })
    }

    /// Whether it asks for the approval of a plan (W16).
    pub(crate) fn can_approve(&self) -> bool {
        self.0.iter().any(FormQuestion::is_approval)
    }

    /// Whether these answers approve the plan: `Accept` to every question that asks for it.
    pub(crate) fn is_accepted(&self, answers: &Map<String, Value>) -> bool {
        let mut approvals = self.0.iter().filter(|item| item.is_approval()).peekable();
        approvals.peek().is_some()
            && approvals.all(|item| answers.get(&item.name).and_then(Value::as_str) == Some(ACCEPT))
    }

    /// The answers to store, or a fault that names every question whose answer is missing or invalid.
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
        let mut accepted = Map::new();
        for item in &self.0 {
            match item.accept(answers.get(&item.name), via) {
                Ok(value) => drop(accepted.insert(item.name.clone(), value)),
                Err(why) => wrong.push(format!("{}: {why}", item.name)),
            }
        }
        if Value::Object(accepted.clone()).to_string().len() > MAX_FORM_BYTES {
            wrong.push(format!("the answers have more than {MAX_FORM_BYTES} bytes; shorten them"));
        }
        match wrong.is_empty() {
            true => Ok(accepted),
            false => Err(Fault::new(FaultCode::BadArgument, wrong.join("; "))),
        }
    }

    fn names(&self) -> String {
        self.0.iter().map(|item| item.name.as_str()).collect::<Vec<_>>().join(", ")
    }
}

/// The invalid field of a question, and the message.
type FieldError = (&'static str, String);

impl FormQuestion {
    fn check(&mut self) -> std::result::Result<(), FieldError> {
        self.name = self.name.trim().to_owned();
        if self.name.is_empty() || self.name.chars().count() > MAX_NAME_CHARS {
            return Err(("name", format!("expected 1 to {MAX_NAME_CHARS} characters")));
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

    fn check_buttons(&self, validator: &Validator) -> std::result::Result<(), FieldError> {
        if self.buttons.is_empty() {
            return Ok(());
        }
        if self.values().is_none() {
            let wrong = "go only with a schema that lists strings, such as \
                         {\"type\": \"string\", \"enum\": [\"Yes\", \"No\"]}; leave them out for other questions";
            return Err(("buttons", wrong.to_owned()));
        }
        if self.buttons.len() > MAX_BUTTONS {
            return Err(("buttons", format!("expected at most {MAX_BUTTONS}")));
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
            if answer_of_button(validator, button).is_none() {
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
    fn values(&self) -> Option<Vec<&str>> {
        string_enum_values(&self.schema)
    }

    /// Whether its answer is text.
    pub fn is_text(&self) -> bool {
        has_type(&self.schema, "string")
    }

    /// Its choices: the buttons, else the values of a string enum; else none.
    pub fn choices(&self) -> Vec<Choice> {
        let choice =
            |answer: &str, label: &str| Choice { answer: answer.into(), label: label.into() };
        if self.buttons.is_empty() {
            let values = self.values().unwrap_or_default().into_iter();
            return values.map(|value| choice(value, value)).collect();
        }
        let Ok(validator) = validator(&self.schema) else { return Vec::new() };
        let buttons = self.buttons.iter();
        buttons
            .filter_map(|button| Some(choice(answer_of_button(&validator, button)?, &button.label)))
            .collect()
    }

    /// The values of which several can be chosen, if its answer is an array of a string enum; else none.
    pub fn multiple_choices(&self) -> Vec<String> {
        let items = self.schema.get("items").filter(|_| has_type(&self.schema, "array"));
        let values = items.and_then(string_enum_values).unwrap_or_default();
        values.into_iter().map(str::to_owned).collect()
    }

    /// A typed answer as the schema wants it: text stays text, anything else is parsed as JSON.
    pub fn parse_answer(&self, text: &str) -> Value {
        match self.is_text() {
            true => text.into(),
            false => serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        }
    }

    /// Whether its choices are exactly Accept and Reject, and no button with one label gives the other answer.
    fn is_approval(&self) -> bool {
        let both = |mut values: Vec<&str>| {
            values.sort_unstable();
            values == [ACCEPT, REJECT]
        };
        let labels = || self.buttons.iter().map(|button| button.label.as_str()).collect();
        let labels_match = self.buttons.iter().all(|button| button.label == button.value);
        self.values().is_some_and(both)
            && (self.buttons.is_empty() || (labels_match && both(labels())))
    }

    /// The answer to store, or why it is invalid.
    fn accept(&self, answer: Option<&Value>, via: Via) -> std::result::Result<Value, String> {
        let Some(answer) = answer else { return Err("is not answered".to_owned()) };
        let validator = validator(&self.schema)?;
        let button = self.buttons.iter().find(|button| answer == button.value.as_str());
        let clicked = button.and_then(|button| answer_of_button(&validator, button));
        let accepted = match clicked {
            Some(value) => Value::String(value.to_owned()),
            None => answer.clone(),
        };
        if let Some(error) = validator.iter_errors(&accepted).next() {
            return Err(format!("{error}{}", self.hint()));
        }
        let chosen = accepted
            .as_str()
            .is_some_and(|text| self.choices().iter().any(|choice| choice.answer == text));
        if via == Via::Button && !chosen {
            return Err(format!("was not answered by a button{}; send via \"text\"", self.hint()));
        }
        Ok(accepted)
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

/// Whether a schema has this type.
fn has_type(schema: &Value, kind: &str) -> bool {
    schema.get("type").and_then(Value::as_str) == Some(kind)
}

/// The values of a schema, if it is a string enum.
fn string_enum_values(schema: &Value) -> Option<Vec<&str>> {
    let values = schema.get("enum").filter(|_| has_type(schema, "string"))?;
    values.as_array()?.iter().map(Value::as_str).collect()
}

const SCHEMA_EXAMPLE: &str = "for example {\"type\": \"string\", \"enum\": [\"Yes\", \"No\"]}";

/// The answer of a button: its value, or its label if only the label fits the schema.
fn answer_of_button<'a>(validator: &Validator, button: &'a Button) -> Option<&'a str> {
    [&button.value, &button.label]
        .into_iter()
        .find(|text| validator.is_valid(&Value::String((*text).clone())))
        .map(String::as_str)
}

/// The validator of a schema. A model wrote the schema: its patterns may look around, but backtracking is limited.
fn validator(schema: &Value) -> std::result::Result<Validator, String> {
    let patterns = PatternOptions::fancy_regex().backtrack_limit(MAX_BACKTRACKS);
    let options = jsonschema::options().with_pattern_options(patterns);
    options.build(schema).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn form(items: Value) -> std::result::Result<QuestionForm, FormError> {
        QuestionForm::check(serde_json::from_value(items).unwrap())
    }

    fn one(schema: Value, buttons: Value) -> std::result::Result<QuestionForm, FormError> {
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
        assert_eq!(parsed.questions()[0].schema, json!({"type": "string", "minLength": 3}));
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
        let values = json!({"type": "string", "enum": ["Option A", "B"]});
        let buttons = json!([
            {"label": "Option A", "value": "A"},
            {"label": "The second", "value": "B"}
        ]);
        let form = one(values.clone(), buttons.clone()).unwrap();
        let shown: Vec<String> =
            form.questions()[0].choices().iter().map(Choice::to_string).collect();
        assert_eq!(shown, ["Option A", "The second (B)"]);
        assert_eq!(accepted(&form, json!("A"), Via::Button), Ok(json!("Option A")));
        assert_eq!(accepted(&form, json!("B"), Via::Button), Ok(json!("B")));
        assert_eq!(accepted(&form, json!("Option A"), Via::Text), Ok(json!("Option A")));
        assert!(accepted(&form, json!("C"), Via::Text).unwrap_err().starts_with("q: "));
        for (schema, buttons) in [
            (json!({"type": "array", "items": values}), buttons.clone()),
            (json!({"type": "string"}), buttons.clone()),
            (values.clone(), json!([{"label": "x", "value": "y"}])),
            (values, json!([{"label": "B", "value": "B"}, {"label": "b", "value": "B"}])),
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
        let values = |values: Value| json!({"type": "string", "enum": values});
        let can = |schema, buttons| one(schema, buttons).unwrap().can_approve();
        let button = |label: &str, value: &str| json!({"label": label, "value": value});
        let both = json!([button("Accept", "Accept"), button("Reject", "Reject")]);
        assert!(can(values(json!(["Accept", "Reject"])), json!([])));
        assert!(can(values(json!(["Reject", "Accept"])), both.clone()));
        assert!(!can(values(json!(["Accept", "Reject", "Later"])), both));
        assert!(!can(values(json!(["accept", "reject"])), json!([])));
        assert!(!can(values(json!(["Accept"])), json!([])));
        let reversed = json!([button("Accept", "Reject"), button("Reject", "Accept")]);
        assert!(!can(values(json!(["Accept", "Reject"])), reversed));
        let alone = json!([button("Accept", "Accept")]);
        assert!(!can(values(json!(["Accept", "Reject"])), alone));
    }
}
