//! `toolyard chats`: the chats of a workspace, and new ones, as the person.

use serde_json::{Value, json};
use yard_core::ChatId;
use yard_gate::{Actor, Chat, ListPage, Mode};

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::reply::Reply;
use crate::table::Table;
use crate::terminal::Terminal;

use super::history::local_time;
use super::parse_id;

const EXAMPLES: &str = "\
Examples:
  toolyard chats                                 the newest ones
  toolyard chats --new 'Fix login' --mode plan   a chat in which only plans change
  toolyard call --chat ID ls                     a call that belongs to it";

/// List chats, newest first, or make one
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Make a chat with this title
    #[arg(long, value_name = "TITLE")]
    new: Option<String>,
    /// Mode in which it begins: `build`, or `plan`, where only plan files change
    #[arg(long, value_name = "MODE", requires = "new", default_value = "build", value_parser = ["build", "plan"])]
    mode: String,
    /// At most that many
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
    /// Only chats made before this one
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let local = context.open(Actor::LocalPerson)?;
        if let Some(title) = &self.new {
            let mode = Mode::from_word(&self.mode);
            let made = local.session.chats().make(&local.call(), title, mode)?;
            return Ok(Reply::either(self.json, || to_json(&made), || format!("{}\n", made.id)));
        }
        let before = self.before.as_deref().map(chat_id).transpose()?;
        let page = local.session.chats().list(before, self.limit)?;
        Ok(Reply::either(self.json, || page_json(&page), || to_text(&page, context.terminal)))
    }
}

/// A chat as it is named on the command line.
pub(super) fn chat_id(text: &str) -> Result<ChatId, Failure> {
    parse_id(text, "chat", "chats")
}

fn page_json(page: &ListPage<Chat>) -> Value {
    let chats: Vec<Value> = page.rows.iter().map(to_json).collect();
    let next = page.rows.last().filter(|_| page.truncated).map(|chat| chat.id.to_string());
    json!({"chats": chats, "truncated": page.truncated, "next": next})
}

fn to_json(chat: &Chat) -> Value {
    json!({
        "id": chat.id.to_string(),
        "title": chat.title,
        "path": format!("/chats/{}", chat.name),
        "mode": chat.mode.word(),
        "made_by": chat.made_by,
        "created_at": chat.created_at.to_string(),
        "updated_at": chat.updated_at.to_string(),
        "bytes": chat.bytes,
    })
}

fn to_text(page: &ListPage<Chat>, terminal: Terminal) -> String {
    if page.rows.is_empty() {
        return "no chats\n".to_owned();
    }
    let mut table = Table::new(&["CHAT", "UPDATED", "MODE", "BY", "TITLE"]);
    for chat in &page.rows {
        table.push(vec![
            chat.id.to_string(),
            local_time(chat.updated_at),
            chat.mode.word().to_owned(),
            chat.made_by.clone(),
            chat.title.clone(),
        ]);
    }
    let last = page.rows.last().filter(|_| page.truncated);
    let hint = last.map(|last| format!("older chats remain: --before {}", last.id));
    table.render_with_hint(terminal, hint.as_deref())
}
