//! `toolyard answer`: the person at this machine answers the questions of agents (W15).

use std::io::{self, BufRead, IsTerminal as _, Write};

use serde_json::{Map, Value, json};
use yard_core::FaultCode;
use yard_gate::{
    Actor, AskedQuestion, Choice, FormQuestion, ListPage, QuestionFilter, QuestionForm, Via,
};

use crate::context::{CommandContext, LocalSession};
use crate::failure::Failure;
use crate::reply::Reply;
use crate::table::Table;
use crate::terminal::{Terminal, visible, visible_cell};

use super::history::local_time;
use super::parse_id;

const EXAMPLES: &str = "\
Examples:
  toolyard answer                              what waits; on a terminal, asked one by one
  toolyard answer ID framework=Vitest          one question, in one line
  toolyard answer ID approval=Accept --button  as if the choice was clicked

Only a click on Accept lets an agent leave plan mode: --button, or the number of the choice when asked.";

/// Answer what agents ask
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Question to answer; without one, those that wait are listed
    question: Option<String>,
    /// Answers; a value is read as the question's schema wants it
    #[arg(value_name = "NAME=VALUE", requires = "question")]
    answers: Vec<String>,
    /// The values are choices, as if they were clicked
    #[arg(long, requires = "answers")]
    button: bool,
    /// At most that many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Print JSON, and ask nothing
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let local = context.open(Actor::LocalPerson)?;
        let asks = context.terminal.is_there && io::stdin().is_terminal() && !self.json;
        match &self.question {
            None => self.pending(&local, context.terminal, asks),
            Some(text) => {
                let question =
                    local.session.questions().get(parse_id(text, "question", "answer")?)?;
                if self.answers.is_empty() && asks && question.answer.is_none() {
                    return interview(&local, &[question]);
                }
                if self.answers.is_empty() {
                    return Ok(self.details(&question));
                }
                let given = parse_answers(&self.answers, question.form.questions())?;
                let via = if self.button { Via::Button } else { Via::Text };
                let answered =
                    local.session.questions().answer(&local.call(), question.id, &given, via)?;
                Ok(self.details(&answered))
            }
        }
    }

    fn pending(
        &self,
        local: &LocalSession,
        terminal: Terminal,
        asks: bool,
    ) -> Result<Reply, Failure> {
        let filter = QuestionFilter { answered: Some(false), ..QuestionFilter::default() };
        let page = local.session.questions().list(filter, None, self.limit)?;
        if asks && !page.rows.is_empty() {
            // The oldest question comes first.
            let oldest_first: Vec<AskedQuestion> = page.rows.into_iter().rev().collect();
            return interview(local, &oldest_first);
        }
        Ok(Reply::either(self.json, || page_json(&page), || to_text(&page, terminal)))
    }

    fn details(&self, question: &AskedQuestion) -> Reply {
        if self.json {
            return Reply::json(to_json(question));
        }
        let mut text = format!("question {}\n", question.id);
        let given = question.answer.as_ref().map(|answer| &answer.answers);
        for item in question.form.questions() {
            let answer = given.and_then(|given| given.get(&item.name));
            let answer = answer.map_or_else(|| "(not answered)".to_owned(), Value::to_string);
            let line = format!("  {}: {} {answer}", item.name, item.question);
            text.push_str(&visible_cell(&line));
            text.push('\n');
        }
        Reply::text(text)
    }
}

/// `NAME=VALUE`, each value as its question wants it.
fn parse_answers(
    answers: &[String],
    items: &[FormQuestion],
) -> Result<Map<String, Value>, Failure> {
    let mut given = Map::new();
    for answer in answers {
        let Some((name, value)) = answer.split_once('=') else {
            let message = format!("{answer:?} is not of the form NAME=VALUE");
            return Err(Failure::misuse(FaultCode::BadArgument, message));
        };
        let item = items.iter().find(|item| item.name == name);
        given.insert(name.to_owned(), item.map_or(json!(value), |item| item.parse_answer(value)));
    }
    Ok(given)
}

/// Asks one question after the other.
fn interview(local: &LocalSession, questions: &[AskedQuestion]) -> Result<Reply, Failure> {
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut answered = 0;
    for question in questions {
        let about = format!("{} asks ({}):", question.asked_by, local_time(question.at));
        let _ = writeln!(output, "{}", visible_cell(&about));
        if let Some((path, _)) = question.plan() {
            let _ =
                writeln!(output, "  Accept is for the plan {}", visible_cell(&path.to_string()));
        }
        let answered_form = ask(&question.form, &mut input, &mut output);
        let answered_form =
            answered_form.map_err(|error| Failure::io("the terminal could not be used", &error))?;
        let Some((answers, via)) = answered_form else { break };
        match local.session.questions().answer(&local.call(), question.id, &answers, via) {
            Ok(_) => answered += 1,
            Err(fault) => {
                // The message says why, and the question stays open.
                let _ = writeln!(output, "  not taken: {}\n", visible(fault.message()));
            }
        }
    }
    Ok(Reply::text(format!("answered {answered} of {}\n", questions.len())))
}

/// The answers to a form; `None` when the input ends. By button if every answer was a number.
fn ask(
    form: &QuestionForm,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> io::Result<Option<(Map<String, Value>, Via)>> {
    let mut answers = Map::new();
    let mut via = Via::Button;
    for item in form.questions() {
        writeln!(output, "  {}", visible(&item.question))?;
        let choices = item.choices();
        for (at, choice) in choices.iter().enumerate() {
            writeln!(output, "    {}. {}", at + 1, visible_cell(&choice.to_string()))?;
        }
        write!(output, "  {}> ", visible_cell(&item.name))?;
        output.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let typed = line.trim_end_matches(['\r', '\n']);
        let number = typed.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        let value = match number.and_then(|at| choices.get(at)) {
            Some(choice) => json!(choice.answer),
            None => {
                via = Via::Text;
                item.parse_answer(typed)
            }
        };
        answers.insert(item.name.clone(), value);
    }
    Ok(Some((answers, via)))
}

fn page_json(page: &ListPage<AskedQuestion>) -> Value {
    let questions: Vec<Value> = page.rows.iter().map(to_json).collect();
    json!({"questions": questions, "truncated": page.truncated})
}

fn to_json(question: &AskedQuestion) -> Value {
    let given = question.answer.as_ref();
    json!({
        "id": question.id.to_string(),
        "chat_id": question.chat.to_string(),
        "asked_by": question.asked_by,
        "at": question.at.to_string(),
        "status": if given.is_some() { "answered" } else { "pending" },
        "questions": question.form,
        "answers": given.map(|given| &given.answers),
        "answered_by": given.map(|given| &given.by),
        "via": given.map(|given| given.via.word()),
        "answered_at": given.map(|given| given.at.to_string()),
    })
}

fn to_text(page: &ListPage<AskedQuestion>, terminal: Terminal) -> String {
    if page.rows.is_empty() {
        return "nothing waits for an answer\n".to_owned();
    }
    let mut table = Table::new(&["QUESTION", "TIME", "BY", "NAME", "CHOICES", "TEXT"]);
    for question in &page.rows {
        for item in question.form.questions() {
            let choices: Vec<String> = item.choices().iter().map(Choice::to_string).collect();
            table.push(vec![
                question.id.to_string(),
                local_time(question.at),
                question.asked_by.clone(),
                item.name.clone(),
                choices.join(", "),
                item.question.clone(),
            ]);
        }
    }
    let hint = page.truncated.then_some("older ones remain: --limit N");
    table.render_with_hint(terminal, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn items() -> Vec<FormQuestion> {
        serde_json::from_value(json!([
            {"name": "pick", "question": "Which?", "schema": {"type": "string", "enum": ["a", "b"]}},
            {"name": "count", "question": "How many?", "schema": {"type": "integer"}}
        ]))
        .unwrap()
    }

    #[test]
    fn w15_values_are_read_as_the_schema_wants_them() {
        let given = parse_answers(&["pick=1".to_owned(), "count=3".to_owned()], &items()).unwrap();
        assert_eq!(Value::Object(given), json!({"pick": "1", "count": 3}));
        assert!(parse_answers(&["pick".to_owned()], &items()).is_err());
    }

    #[test]
    fn w15_a_number_is_a_click_and_anything_else_is_text() {
        let form = QuestionForm::check(items()[..1].to_vec()).unwrap();
        let ask_one = |typed: &str| {
            let mut details = Vec::new();
            let answered_form = ask(&form, &mut typed.as_bytes(), &mut details).unwrap();
            assert!(String::from_utf8(details).unwrap().contains("2. b"));
            answered_form.map(|(answers, via)| (answers["pick"].clone(), via))
        };
        assert_eq!(ask_one("2\n"), Some((json!("b"), Via::Button)));
        assert_eq!(ask_one("b\r\n"), Some((json!("b"), Via::Text)));
        assert_eq!(ask_one("3\n"), Some((json!("3"), Via::Text)));
        assert_eq!(ask_one(""), None);
    }

    #[test]
    fn w15_buttons_are_shown_by_their_labels() {
        let item = serde_json::from_value(json!({
            "name": "pick", "question": "Which?", "schema": {"type": "string", "enum": ["a", "b"]},
            "buttons": [{"label": "The second", "value": "b"}]
        }));
        let form = QuestionForm::check(vec![item.unwrap()]).unwrap();
        let mut details = Vec::new();
        let answered_form = ask(&form, &mut "1\n".as_bytes(), &mut details).unwrap();
        assert!(String::from_utf8(details).unwrap().contains("1. The second (b)"));
        let (answers, via) = answered_form.unwrap();
        assert_eq!((&answers["pick"], via), (&json!("b"), Via::Button));
    }
}
