//! `toolyard keys`: the agents' keys of a server, and how one is revoked where the server runs.

use serde_json::{Value, json};
use yard_core::FaultCode;
use yard_gate::Actor;
use yard_gate::registry::KeyRow;
use yard_store::{AuditEntry, Registry as _, SqliteRegistry};

use crate::context::CommandContext;
use crate::failure::Failure;
use crate::location;
use crate::reply::Reply;
use crate::short_ids;
use crate::table::Table;
use crate::terminal::Terminal;

use super::history::local_time;

/// How many keys are read at a time.
const PAGE: usize = 1_000;

const HELP: &str = "\
Keys are made over HTTP, by the owner of a workspace. A running server refuses a revoked key within a second;
what the agent has open in a terminal goes on until that ends.";

/// List the agents' keys of a server, or revoke one
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Options {
    /// Revoke the key with this id, or with the only id that begins so
    #[arg(long, value_name = "ID")]
    revoke: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let data = location::data_folder_of_server(context.data_dir()).ok_or_else(|| {
            Failure::new(FaultCode::NotFound, "no server keeps people and keys in this data folder")
                .with_hint("name the server's data folder with --data-dir or TOOLYARD_DATA_DIR")
        })?;
        let registry = SqliteRegistry::open(&data)?;
        let keys = all_keys(&registry)?;
        let Some(name) = &self.revoke else {
            let text = || to_text(&keys, context.terminal);
            return Ok(Reply::either(self.json, || to_json(&keys), text));
        };
        let (key, _) = find_key(&keys, name)?;
        let audit = AuditEntry {
            at: context.world().now(),
            actor: Actor::LocalPerson.name(),
            action: "revoke key".to_owned(),
            detail: format!("key {} to workspace {}", key.id, key.workspace),
        };
        if !registry.revoke_key(key.workspace, key.id, &audit)? {
            let message = format!("key {} was revoked by somebody else meanwhile", key.id);
            return Err(Failure::new(FaultCode::NotFound, message));
        }
        let value = || json!({"revoked": key.id.to_string()});
        let text = || format!("revoked {} ({})\n", key.id, key.name);
        Ok(Reply::either(self.json, value, text))
    }
}

/// Every key that was not revoked, with the name of its workspace.
fn all_keys(registry: &SqliteRegistry) -> Result<Vec<(KeyRow, String)>, Failure> {
    let mut keys: Vec<(KeyRow, String)> = Vec::new();
    loop {
        let after = keys.last().map(|(key, _)| key.id);
        let page = registry.all_keys(after, PAGE)?;
        let is_last = page.len() < PAGE;
        keys.extend(page);
        if is_last {
            return Ok(keys);
        }
    }
}

/// Finds the key that a person names.
fn find_key<'a>(keys: &'a [(KeyRow, String)], name: &str) -> Result<&'a (KeyRow, String), Failure> {
    let digits = short_ids::id_digits(name.trim()).ok_or_else(|| {
        Failure::misuse(FaultCode::BadArgument, format!("not the id of a key: {name}"))
            .with_hint("toolyard keys lists them")
    })?;
    let fits = |(key, _): &&(KeyRow, String)| short_ids::begins_with(&key.id.to_string(), &digits);
    let matching: Vec<_> = keys.iter().filter(fits).collect();
    match matching[..] {
        [key] => Ok(key),
        [] => Err(Failure::new(FaultCode::NotFound, format!("no key begins with {name}"))
            .with_hint("toolyard keys lists them; those that were revoked are gone")),
        _ => {
            Err(Failure::misuse(FaultCode::BadArgument, format!("several keys begin with {name}"))
                .with_hint("give more digits of it"))
        }
    }
}

fn to_json(keys: &[(KeyRow, String)]) -> Value {
    let entry = |(key, workspace): &(KeyRow, String)| {
        json!({
            "id": key.id.to_string(),
            "name": key.name,
            "role": key.role.word(),
            "toolsets": key.toolsets,
            "chat": key.chat.map(|chat| chat.to_string()),
            "workspace": {"id": key.workspace.to_string(), "name": workspace},
            "made_by": key.made_by.to_string(),
            "created_at": key.created_at.to_string(),
        })
    };
    json!({"keys": keys.iter().map(entry).collect::<Vec<Value>>()})
}

fn to_text(keys: &[(KeyRow, String)], terminal: Terminal) -> String {
    if keys.is_empty() {
        return "there are no keys\n".to_owned();
    }
    let ids: Vec<String> = keys.iter().map(|(key, _)| key.id.to_string()).collect();
    let length = short_ids::short_length(&ids);
    let mut table = Table::new(&["ID", "NAME", "ROLE", "TOOLSETS", "CREATED", "WORKSPACE"]);
    for ((key, workspace), id) in keys.iter().zip(&ids) {
        let toolsets = key.toolsets.as_ref().map(|names| names.join(","));
        table.push(vec![
            id.chars().take(length).collect(),
            key.name.clone(),
            key.role.word().to_owned(),
            toolsets.unwrap_or_else(|| "all".to_owned()),
            local_time(key.created_at),
            workspace.clone(),
        ]);
    }
    table.render(terminal)
}
