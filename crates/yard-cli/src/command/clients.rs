//! The clients of `toolyard mcp`: one table of how each is configured to start a server, from which
//! `--print-config` and docs/clients.md are rendered. Pure: it opens no file of any client and knows
//! nothing of what the server does.

use serde_json::Value;

use crate::shell_word::shell_word;

/// The name of the server in every configuration.
const SERVER: &str = "toolyard";
/// The variable that holds a workspace's key, so that no configuration holds the key itself.
const KEY: &str = "TOOLYARD_KEY";

/// One program that starts MCP servers or connects to them.
pub(crate) struct Client {
    /// How `--print-config` spells it.
    pub(crate) word: &'static str,
    /// What people call it.
    pub(crate) name: &'static str,
    /// Where the configuration goes, in Markdown.
    pub(crate) place: &'static str,
    format: Format,
    /// The command line that adds a server, up to where that server's own begins.
    adds: Option<&'static str>,
    local: fn(&Local) -> String,
    /// `None` if it takes no address with a header.
    remote: Option<fn(&str) -> String>,
}

/// What a configuration is written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Json,
    Toml,
    Yaml,
    Python,
}

impl Format {
    /// The language after a code fence in Markdown.
    fn fence(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Toml => "toml",
            Self::Yaml => "yaml",
            Self::Python => "python",
        }
    }
}

/// A command line in parts that every format takes as they are.
struct Local {
    /// The program, quoted.
    command: String,
    /// Its arguments, a list.
    args: String,
    /// Both, a list.
    line: String,
}

impl Local {
    fn new(command: &str, arguments: &[String]) -> Self {
        let arguments = || arguments.iter().map(String::as_str);
        Self {
            command: quoted(command),
            args: list(arguments()),
            line: list([command].into_iter().chain(arguments())),
        }
    }
}

/// Every client, in the order of docs/clients.md.
pub(crate) static CLIENTS: [Client; 12] = [
    Client {
        word: "claude-code",
        name: "Claude Code",
        place: "`.mcp.json` in the project, for everybody who works on it; or `~/.claude.json`, for you",
        format: Format::Json,
        adds: Some("claude mcp add toolyard --"),
        local: |local| typed_local("mcpServers", local),
        remote: Some(|url| typed_remote("mcpServers", url, "${TOOLYARD_KEY}")),
    },
    Client {
        word: "claude-desktop",
        name: "Claude Desktop",
        place: "`claude_desktop_config.json` in `~/Library/Application Support/Claude` (macOS) or `~/.config/Claude` (Linux)",
        format: Format::Json,
        adds: None,
        local: common_json,
        remote: None,
    },
    Client {
        word: "codex",
        name: "Codex",
        place: "`~/.codex/config.toml`; or `.codex/config.toml` in a project that you trust",
        format: Format::Toml,
        adds: Some("codex mcp add toolyard --"),
        local: |local| {
            let Local { command, args, .. } = local;
            format!("[mcp_servers.{SERVER}]\ncommand = {command}\nargs = {args}\n")
        },
        remote: Some(|url| {
            let url = quoted(url);
            format!("[mcp_servers.{SERVER}]\nurl = {url}\nbearer_token_env_var = \"{KEY}\"\n")
        }),
    },
    Client {
        word: "cursor",
        name: "Cursor",
        place: "`.cursor/mcp.json` in the project; or `~/.cursor/mcp.json`, for all of yours",
        format: Format::Json,
        adds: None,
        local: common_json,
        remote: Some(|url| plain_remote("mcpServers", "url", url, "${env:TOOLYARD_KEY}")),
    },
    Client {
        word: "vscode",
        name: "VS Code",
        place: "`.vscode/mcp.json` in the project; or the file that `MCP: Open User Configuration` opens",
        format: Format::Json,
        adds: None,
        local: |local| typed_local("servers", local),
        remote: Some(vscode_remote),
    },
    Client {
        word: "zed",
        name: "Zed",
        place: "`~/.config/zed/settings.json`, which `zed: open settings file` opens",
        format: Format::Json,
        adds: None,
        local: |local| {
            let members = [("command", &*local.command), ("args", &local.args), ("env", "{}")];
            json_entry("context_servers", &members)
        },
        // It puts no variables in: the key itself takes the place of this word.
        remote: Some(|url| plain_remote("context_servers", "url", url, "YOUR_KEY")),
    },
    Client {
        word: "gemini",
        name: "Gemini CLI",
        place: "`~/.gemini/settings.json`; or `.gemini/settings.json` in the project",
        format: Format::Json,
        adds: Some("gemini mcp add --scope user toolyard"),
        local: common_json,
        remote: Some(|url| plain_remote("mcpServers", "httpUrl", url, "${TOOLYARD_KEY}")),
    },
    Client {
        word: "opencode",
        name: "opencode",
        place: "`opencode.json` in the project; or `~/.config/opencode/opencode.json`",
        format: Format::Json,
        adds: None,
        local: |local| {
            let members = [("type", "\"local\""), ("command", &*local.line), ("enabled", "true")];
            json_entry("mcp", &members)
        },
        remote: Some(|url| {
            let headers = json_header("{env:TOOLYARD_KEY}");
            let members = [
                ("type", "\"remote\""),
                ("url", &quoted(url)),
                ("headers", headers.as_str()),
                // Else it looks for a login page as soon as a key is refused.
                ("oauth", "false"),
                ("enabled", "true"),
            ];
            json_entry("mcp", &members)
        }),
    },
    Client {
        word: "goose",
        name: "goose",
        place: "`~/.config/goose/config.yaml`",
        format: Format::Yaml,
        adds: None,
        local: |local| {
            yaml_entry(&[("type", "stdio"), ("cmd", &local.command), ("args", &local.args)])
        },
        remote: Some(|url| {
            let headers = format!("{{\"Authorization\": \"Bearer ${{{KEY}}}\"}}");
            yaml_entry(&[
                ("type", "streamable_http"),
                ("uri", &quoted(url)),
                ("env_keys", &list([KEY])),
                ("headers", &headers),
            ])
        }),
    },
    Client {
        word: "openai-agents",
        name: "OpenAI Agents SDK",
        place: "your program, after `pip install openai-agents`",
        format: Format::Python,
        adds: None,
        local: |local| python_local(include_str!("clients/openai_local.py"), local),
        remote: Some(|url| python_remote(include_str!("clients/openai_remote.py"), url)),
    },
    Client {
        word: "langchain",
        name: "LangChain",
        place: "your program, after `pip install langchain langchain-mcp-adapters`",
        format: Format::Python,
        adds: None,
        // In one session, because its client starts a process for each call otherwise.
        local: |local| python_local(include_str!("clients/langchain_local.py"), local),
        remote: Some(|url| python_remote(include_str!("clients/langchain_remote.py"), url)),
    },
    Client {
        word: "pydantic-ai",
        name: "Pydantic AI",
        place: "your program, after `pip install \"pydantic-ai-slim[mcp]\"` (version 2)",
        format: Format::Python,
        adds: None,
        local: |local| python_local(include_str!("clients/pydantic_local.py"), local),
        remote: Some(|url| python_remote(include_str!("clients/pydantic_remote.py"), url)),
    },
];

/// The client that is spelled so.
pub(crate) fn find(word: &str) -> Option<&'static Client> {
    CLIENTS.iter().find(|client| client.word == word)
}

impl Client {
    /// The configuration that has it start `command` with `arguments`.
    pub(crate) fn config(&self, command: &str, arguments: &[String]) -> String {
        (self.local)(&Local::new(command, arguments))
    }

    /// The configuration for a server at `url`, if it can send a key there.
    pub(crate) fn remote_config(&self, url: &str) -> Option<String> {
        self.remote.map(|render| render(url))
    }

    /// The command line that does the same as [`Client::config`], where it has one.
    pub(crate) fn add_command(&self, command: &str, arguments: &[String]) -> Option<String> {
        let mut line = self.adds?.to_owned();
        for word in [command].into_iter().chain(arguments.iter().map(String::as_str)) {
            line.push(' ');
            line.push_str(&shell_word(word));
        }
        Some(line)
    }
}

/// A string of JSON that is one of TOML, of YAML and of Python too. What one of them does not take as it
/// is (TOML: DEL; YAML: what it cannot print) is escaped; all of that fits in four digits.
fn quoted(text: &str) -> String {
    let mut quoted = String::new();
    for letter in Value::from(text).to_string().chars() {
        match letter {
            '\u{7f}'..='\u{9f}'
            | '\u{2028}'..='\u{2029}'
            | '\u{feff}'
            | '\u{fffe}'..='\u{ffff}' => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            _ => quoted.push(letter),
        }
    }
    quoted
}

/// A list in one line, for all four formats.
fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.into_iter().map(quoted).collect();
    format!("[{}]", items.join(", "))
}

/// The server below `key`. By hand, because each member stays in the order of people and in one line.
fn json_entry(key: &str, members: &[(&str, &str)]) -> String {
    let lines: Vec<String> =
        members.iter().map(|(name, value)| format!("      \"{name}\": {value}")).collect();
    let lines = lines.join(",\n");
    format!("{{\n  \"{key}\": {{\n    \"{SERVER}\": {{\n{lines}\n    }}\n  }}\n}}\n")
}

/// What most clients read.
fn common_json(local: &Local) -> String {
    json_entry("mcpServers", &[("command", &local.command), ("args", &local.args)])
}

/// What clients read that want the kind of a server.
fn typed_local(key: &str, local: &Local) -> String {
    let Local { command, args, .. } = local;
    json_entry(key, &[("type", "\"stdio\""), ("command", command), ("args", args)])
}

fn typed_remote(key: &str, url: &str, secret: &str) -> String {
    let (url, headers) = (quoted(url), json_header(secret));
    json_entry(key, &[("type", "\"http\""), ("url", &url), ("headers", &headers)])
}

/// An address under the client's own name for it.
fn plain_remote(key: &str, name: &str, url: &str, secret: &str) -> String {
    json_entry(key, &[(name, &quoted(url)), ("headers", &json_header(secret))])
}

fn json_header(key: &str) -> String {
    format!("{{ \"Authorization\": {} }}", quoted(&format!("Bearer {key}")))
}

/// It asks for the key once and keeps it among its secrets.
fn vscode_remote(url: &str) -> String {
    let entry = typed_remote("servers", url, "${input:toolyard-key}");
    let input = "{ \"type\": \"promptString\", \"id\": \"toolyard-key\", \
                 \"description\": \"Toolyard key\", \"password\": true }";
    entry.replacen('{', &format!("{{\n  \"inputs\": [\n    {input}\n  ],"), 1)
}

fn yaml_entry(members: &[(&str, &str)]) -> String {
    let mut text = format!("extensions:\n  {SERVER}:\n    enabled: true\n    name: {SERVER}\n");
    text.push_str("    description: Files with a history\n");
    for (name, value) in members {
        text.push_str(&format!("    {name}: {value}\n"));
    }
    // Seconds: a call may wait for a person.
    text.push_str("    timeout: 300\n");
    text
}

/// A program with these values in place of their names, which it has in this order.
fn filled(program: &str, values: &[(&str, &str)]) -> String {
    let (mut text, mut rest) = (String::new(), program);
    for (name, value) in values {
        let (before, after) = rest.split_once(name).unwrap_or((rest, ""));
        text.push_str(before);
        text.push_str(value);
        rest = after;
    }
    text + rest
}

fn python_local(program: &str, local: &Local) -> String {
    filled(program, &[("COMMAND", &local.command), ("ARGS", &local.args)])
}

fn python_remote(program: &str, url: &str) -> String {
    filled(program, &[("URL", &quoted(url))])
}

const INTRODUCTION: &str = "\
# MCP clients

<!-- Generated from the table in crates/yard-cli/src/command/clients.rs: edit that, not this page. -->

`toolyard mcp` is an MCP server on standard input and output. Your agent gets the tools of the toolset
`filesystem`: the names, arguments and answers of npm's `@modelcontextprotocol/server-filesystem`. Where you
used that one, keep its folders and make the command `toolyard mcp`. Behind the tools is a workspace: every
change is a step with its diff, `toolyard history` in the folder lists them, `toolyard undo last` takes the
newest back, and no path leads out of the folder.

Below is what each client reads for a project in `/path/to/project`. Where a file has other servers already,
add the entry `toolyard` beside them. A program that was not started from a terminal may not find `toolyard`:
write its full path, which `command -v toolyard` says.
";

const PRINTED: &str = "
`toolyard mcp --root DIR --print-config CLIENT` prints the same for your folder. CLIENT is one of
";

const OPTIONS: &str = "
## Options

They go among the arguments, after `mcp`:

| | |
|---|---|
| `--root DIR` | a folder to work in; may be given several times, and `DIR` alone means the same. With another toolset than `filesystem`, several are folders at the top, under their names |
| `--read-only` | nothing is changed |
| `--history` | also tools with which the agent sees what was changed and takes it back |
| `--policy PRESET` | how much waits for your yes: `open`, `guarded` or `strict`; `toolyard approve` shows what waits |
| `--toolset NAME` | other tools over the same workspace, such as `workspace` or `codex`; see [dialects](dialects.md) |
| `--data-dir DIR` | where the history is kept, outside of every root |
";

const REMOTE: &str = "
## Over HTTP

`toolyard serve` speaks MCP as well, at an address for each workspace. The key is one of that workspace,
made as in the [first tour](../README.md), and is sent as `Authorization: Bearer KEY`. Most clients take it
from the variable `TOOLYARD_KEY`; VS Code asks for it, and in Zed's file it takes the place of `YOUR_KEY`.
";

/// The whole of docs/clients.md.
pub(crate) fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    text.push_str(&spellings());
    for client in &CLIENTS {
        text.push_str(&local_section(client));
    }
    text.push_str(OPTIONS);
    text.push_str(&several_roots());
    text.push_str(REMOTE);
    for client in &CLIENTS {
        text.push_str(&remote_section(client));
    }
    text
}

/// How to have a configuration printed, in lines that people read.
fn spellings() -> String {
    let words: Vec<String> = CLIENTS.iter().map(|client| format!("`{}`", client.word)).collect();
    let lines: Vec<String> = words.chunks(6).map(|words| words.join(", ")).collect();
    format!("{PRINTED}{}.\n", lines.join(",\n"))
}

fn local_section(client: &Client) -> String {
    let arguments = ["mcp", "--root", "/path/to/project"].map(str::to_owned);
    let Client { name, place, .. } = client;
    let mut text = format!("\n## {name}\n\nIn {place}:\n\n");
    text.push_str(&fenced(client.format, &client.config("toolyard", &arguments)));
    if let Some(line) = client.add_command("toolyard", &arguments) {
        text.push_str(&format!("\nOr, in one line:\n\n    {line}\n"));
    }
    text
}

/// As most clients read it: two folders, looked at and left alone.
fn several_roots() -> String {
    let arguments =
        ["mcp", "--root", "/path/to/project", "--root", "/path/to/other", "--read-only"];
    let config = common_json(&Local::new("toolyard", &arguments.map(str::to_owned)));
    format!("\nTwo folders, to read only:\n\n{}", fenced(Format::Json, &config))
}

fn remote_section(client: &Client) -> String {
    let name = client.name;
    match client.remote_config("http://127.0.0.1:3000/mcp/WORKSPACE_ID") {
        Some(config) => format!("\n### {name}\n\n{}", fenced(client.format, &config)),
        None => {
            format!("\n### {name}\n\nIts file takes commands, no addresses: use the form above.\n")
        }
    }
}

fn fenced(format: Format, text: &str) -> String {
    format!("```{}\n{text}```\n", format.fence())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Words with what each format has to escape, and what a shell would read.
    const AWKWARD: [&str; 10] = [
        "mcp",
        "--root",
        "/with space/and \"quotes\"",
        r"C:\users\new\table",
        "/Ünïcödé/プロジェクト/🦀",
        "it's #not: [a] {list}, & no $comment",
        "line\nbreak\ttab\r",
        "del\u{7f} nel\u{85} c1\u{9b} ls\u{2028} bom\u{feff} non\u{ffff} nul\u{0}",
        "",
        "'''\"\"\"\\",
    ];

    fn awkward() -> Vec<String> {
        AWKWARD.map(str::to_owned).to_vec()
    }

    fn configs(format: Format) -> Vec<(&'static str, String)> {
        let clients = CLIENTS.iter().filter(|client| client.format == format);
        clients.map(|client| (client.word, client.config("tool yard", &awkward()))).collect()
    }

    /// The command line that a configuration of JSON holds, whatever its shape.
    fn command_line(entry: &Value) -> Vec<String> {
        let mut line = Vec::new();
        for member in [&entry["command"], &entry["args"]] {
            match member {
                Value::String(word) => line.push(word.clone()),
                Value::Array(words) => {
                    line.extend(words.iter().map(|word| word.as_str().unwrap().to_owned()));
                }
                _ => {}
            }
        }
        line
    }

    fn wanted() -> Vec<String> {
        ["tool yard"].into_iter().chain(AWKWARD).map(str::to_owned).collect()
    }

    fn entry_of(config: &str) -> Value {
        let config: Value = serde_json::from_str(config).unwrap();
        let keys = ["mcpServers", "servers", "context_servers", "mcp"];
        keys.iter().map(|key| config[key]["toolyard"].clone()).find(Value::is_object).unwrap()
    }

    #[test]
    fn every_word_is_unique_and_found() {
        let words: BTreeSet<&str> = CLIENTS.iter().map(|client| client.word).collect();
        assert_eq!(words.len(), CLIENTS.len());
        for client in &CLIENTS {
            assert_eq!(find(client.word).unwrap().name, client.name);
            assert!(client.word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-'));
        }
        assert!(find("emacs").is_none());
    }

    #[test]
    fn every_json_config_holds_the_command_line() {
        let configs = configs(Format::Json);
        assert_eq!(configs.len(), 7);
        for (word, config) in configs {
            assert_eq!(command_line(&entry_of(&config)), wanted(), "{word}");
        }
    }

    #[test]
    fn the_toml_config_holds_the_command_line() {
        let [(_, config)] = &configs(Format::Toml)[..] else { panic!("one client reads TOML") };
        let config: toml::Table = toml::from_str(config).unwrap();
        let entry = &config["mcp_servers"]["toolyard"];
        assert_eq!(command_line(&serde_json::to_value(entry).unwrap()), wanted());
    }

    #[test]
    fn lists_of_yaml_and_python_stay_in_one_line_and_are_lists_of_json() {
        let line = list(AWKWARD);
        let back: Vec<String> = serde_json::from_str(&line).unwrap();
        assert_eq!(back, awkward());
        assert!(!line.chars().any(char::is_control));
        for (word, config) in [configs(Format::Yaml), configs(Format::Python)].concat() {
            assert!(config.contains(&line), "{word}");
            assert!(config.contains("\"tool yard\""), "{word}");
        }
    }

    #[test]
    fn a_command_line_is_quoted_for_a_shell() {
        let arguments = ["mcp", "--root", "/it's a folder", ""].map(str::to_owned);
        let line = find("codex").unwrap().add_command("toolyard", &arguments);
        let wanted = r"codex mcp add toolyard -- toolyard mcp --root '/it'\''s a folder' ''";
        assert_eq!(line.as_deref(), Some(wanted));
        assert_eq!(find("zed").unwrap().add_command("toolyard", &arguments), None);
    }

    #[test]
    fn every_remote_config_has_the_address_and_no_key() {
        let url = "http://127.0.0.1:3000/mcp/a-workspace";
        for client in &CLIENTS {
            let Some(config) = client.remote_config(url) else { continue };
            assert!(config.contains(&quoted(url)), "{}", client.word);
            match client.format {
                Format::Json => {
                    let entry = entry_of(&config);
                    let header = entry["headers"]["Authorization"].as_str().unwrap();
                    assert!(header.starts_with("Bearer "), "{}", client.word);
                }
                Format::Toml => drop(toml::from_str::<toml::Table>(&config).unwrap()),
                Format::Yaml | Format::Python => assert!(config.contains("Bearer ")),
            }
        }
    }

    #[test]
    fn the_document_shows_every_client() {
        let document = document();
        for client in &CLIENTS {
            assert!(document.contains(&format!("\n## {}\n", client.name)));
            assert!(document.contains(&format!("`{}`", client.word)));
        }
        assert_eq!(document.matches("```").count() % 2, 0);
    }
}
