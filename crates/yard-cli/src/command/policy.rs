//! `toolyard policy`: what may happen without a person, and which rule would decide a call and why.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use yard_core::FaultCode;
use yard_dialects::Catalog;
use yard_gate::{Actor, ExplainedEffect, PolicySettings, Verdict};

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::location;
use crate::reply::{Body, Reply};
use crate::table::Table;
use crate::terminal::{BOLD, FAINT, Terminal, visible_cell};

const EXAMPLES: &str = "\
Examples:
  toolyard policy                          what holds in this workspace
  toolyard policy preset guarded           open, guarded or strict
  toolyard policy set rules.json           {\"preset\": ..., \"rules\": [...]}, refused whole if it does not parse
  toolyard policy explain --toolset assistant delete_file '{\"path\": \"a.txt\"}'

A rule: {\"effect\": \"modify\", \"path\": \"secrets/**\", \"tool\": \"codex.*\", \"then\": \"deny\", \"why\": \"...\"}.
Of the web: {\"effect\": \"fetch\", \"host\": \"*.example.com\", \"then\": \"allow\"}; `send` is for POST, `connect` for commands.
Everything but `then` may be left out. A deny counts first, then what a person allowed, then the strictest
rule that matches, then the preset.";

/// See and set what may happen without a person
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    #[command(subcommand)]
    action: Option<Action>,
    /// Print JSON
    #[arg(long, global = true)]
    pub(super) json: bool,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Set what holds where no rule says otherwise
    Preset {
        /// open, guarded or strict
        preset: String,
    },
    /// Set preset and rules from a JSON file
    Set {
        /// The file; `-` reads standard input
        file: PathBuf,
    },
    /// Say which rule would decide a call and why; nothing happens
    Explain {
        /// Toolset of the tool: workspace, file, coder, assistant, codex or filesystem
        #[arg(long, value_name = "NAME", default_value = "workspace")]
        toolset: String,
        /// Chat that the call would belong to
        #[arg(long, value_name = "ID")]
        chat: Option<String>,
        /// Tool
        tool: String,
        /// Its arguments, a JSON object
        args: Option<String>,
    },
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let settings = match &self.action {
            Some(Action::Explain { toolset, chat, tool, args }) => {
                return self.explain(context, toolset, chat.as_deref(), tool, args.as_deref());
            }
            None => context.open(Actor::LocalPerson)?.session.settings()?,
            Some(Action::Preset { preset }) => set(context, json!({"preset": preset}))?,
            Some(Action::Set { file }) => set(context, parsed(&text_of(file)?)?)?,
        };
        Ok(Reply::either(self.json, || to_json(&settings), || to_text(&settings, context.terminal)))
    }

    fn explain(
        &self,
        context: &CommandContext,
        toolset: &str,
        chat: Option<&str>,
        tool: &str,
        args: Option<&str>,
    ) -> Result<Reply, Failure> {
        let args = parsed(args.unwrap_or("{}"))?;
        let local = context.open(Actor::LocalAgent)?;
        let session = match chat {
            Some(chat) => local.session.in_chat(super::chats::chat_id(chat)?)?,
            None => local.session.clone(),
        };
        let catalog = Catalog::standard();
        match catalog.explain(toolset, tool, args, &session, &local.call()) {
            Ok(effects) if self.json => Ok(Reply::json(effects.iter().map(effect_json).collect())),
            Ok(effects) => Ok(Reply::text(explained_text(&effects, context.terminal))),
            // It would not come to a decision: what the call would answer instead.
            Err(answer) => Ok(Reply { body: Body::Json(answer.body.into_value()), exit: 1 }),
        }
    }
}

/// Reads the text of a file. If the argument is a policy in place of a path, the failure says how to pass it.
fn text_of(file: &Path) -> Result<String, Failure> {
    let hint = "name a file that holds the policy, or `-` to give it on standard input";
    location::read_text(file).map_err(|failure| failure.with_hint_if(FaultCode::NotFound, hint))
}

fn set(context: &CommandContext, wanted: Value) -> Result<PolicySettings, Failure> {
    let Value::Object(wanted) = wanted else {
        return Err(misuse("expected an object with `preset` and `rules`"));
    };
    let local = context.open(Actor::LocalPerson)?;
    Ok(local.session.change_settings(&local.call(), &wanted)?)
}

fn parsed(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| misuse(&format!("this is not valid JSON: {error}")))
}

fn misuse(message: &str) -> Failure {
    Failure::misuse(FaultCode::BadArgument, message.to_owned())
}

fn to_json(settings: &PolicySettings) -> Value {
    let saved = settings
        .saved
        .iter()
        .map(|saved| json!({"rule": saved.rule, "by": saved.by, "at": saved.at.to_string()}));
    json!({
        "preset": settings.preset.map(yard_gate::Preset::word),
        "effective_preset": settings.effective.word(),
        "rules": settings.rules,
        "saved": saved.collect::<Vec<_>>(),
    })
}

fn to_text(settings: &PolicySettings, terminal: Terminal) -> String {
    let own = if settings.preset.is_some() { "" } else { " (of `toolyard call`; none is set)" };
    let mut text = format!("preset: {}{own}\n", settings.effective.word());
    let saved = settings.saved.iter().map(|saved| ("saved".to_owned(), &saved.rule));
    let rules = settings.rules.iter().enumerate().map(|(at, rule)| ((at + 1).to_string(), rule));
    let mut table = Table::new(&["RULE", "THEN", "EFFECT", "PATH", "HOST", "TOOL", "WHY"]);
    let mut any = false;
    for (name, rule) in rules.chain(saved) {
        any = true;
        let cell = |member: &str| cell_text(&rule[member]);
        let why = rule["why"].as_str().unwrap_or_default().to_owned();
        let (path, host) = (cell("path"), cell("host"));
        table.push(vec![name, cell("then"), cell("effect"), path, host, cell("tool"), why]);
    }
    if any {
        text.push_str(&table.render(terminal));
    } else {
        text.push_str("no rules\n");
    }
    text
}

/// One or several values, in one cell.
fn cell_text(value: &Value) -> String {
    match value {
        Value::Null => "any".to_owned(),
        Value::String(word) => word.clone(),
        Value::Array(values) => {
            values.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

fn verdict(verdict: &Verdict) -> (&'static str, &str) {
    match verdict {
        Verdict::Allow => ("allow", ""),
        Verdict::Ask(reason) => ("ask", reason),
        Verdict::Deny(reason) => ("deny", reason),
    }
}

fn effect_json(explained: &ExplainedEffect) -> Value {
    let (word, reason) = verdict(&explained.verdict);
    let paths = explained.effect.paths.iter();
    let effects =
        paths.map(|effect| json!({"kind": effect.kind.word(), "path": effect.path.to_string()}));
    let dials = explained.effect.dials.iter();
    let effects =
        effects.chain(dials.map(|dial| json!({"kind": dial.kind.word(), "asked": dial.asked})));
    json!({
        "verdict": word,
        "because": explained.because,
        "reason": Some(reason).filter(|reason| !reason.is_empty()),
        "effect": effects.collect::<Vec<_>>(),
    })
}

fn explained_text(effects: &[ExplainedEffect], terminal: Terminal) -> String {
    let mut text = String::new();
    for explained in effects {
        let (word, _) = verdict(&explained.verdict);
        let paths = explained.effect.paths.iter();
        let paths = paths.map(|effect| format!("{} {}", effect.kind.word(), effect.path));
        let dials = explained.effect.dials.iter();
        for line in paths.chain(dials.map(|dial| format!("{} {}", dial.kind.word(), dial.asked))) {
            text.push_str(&terminal.line(BOLD, &visible_cell(&line)));
        }
        text.push_str(&format!("  {word}: {}\n", visible_cell(&explained.because)));
    }
    if effects.is_empty() {
        text.push_str(&terminal.line(FAINT, "nothing happens, so nothing decides"));
    }
    text
}
