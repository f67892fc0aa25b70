//! The configuration: one TOML file, and variables `TOOLYARD__SECTION__KEY` that override it. A server checks all of
//! it at start; a local command checks only the sections that it uses. An error names its key, and nothing starts.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::Deserialize;
use toml::{Table, Value};
use yard_core::FaultCode;
use yard_dialects::assistant::{Provider, search_provider};
use yard_server::ProxyNetwork;

use crate::failure::Failure;

const PREFIX: &str = "TOOLYARD__";

/// The sections that only a server uses.
const SERVER_SECTIONS: [&str; 6] = ["server", "jwt", "registration", "workspaces", "log", "otel"];

/// Everything that can be configured.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Config {
    pub(crate) server: Server,
    pub(crate) jwt: Jwt,
    pub(crate) registration: Registration,
    pub(crate) workspaces: Workspaces,
    pub(crate) commands: Commands,
    pub(crate) web: Web,
    pub(crate) log: Log,
    pub(crate) otel: Otel,
}

/// The HTTP server.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Server {
    /// Where to listen.
    pub(crate) listen: Option<SocketAddr>,
    /// Names under which the server may be asked for.
    pub(crate) hosts: Vec<String>,
    /// Other sites whose pages may call.
    pub(crate) origins: Vec<String>,
    /// Cookies over TLS only.
    pub(crate) secure_cookies: bool,
    /// Proxies whose `X-Forwarded-For` says who asks: addresses, or ranges as `10.0.0.0/8`.
    pub(crate) trusted_proxies: Vec<String>,
    /// `/metrics` for other machines.
    pub(crate) public_metrics: bool,
}

impl Server {
    /// The parsed proxies.
    pub(crate) fn proxies(&self) -> Result<Vec<ProxyNetwork>, Failure> {
        let parse = |text: &String| {
            text.parse().map_err(|error| {
                invalid("server.trusted_proxies", &format_args!("{text:?}: {error}"))
            })
        };
        self.trusted_proxies.iter().map(parse).collect()
    }
}

/// Tokens.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Jwt {
    pub(crate) secret: Option<String>,
    pub(crate) access_token_expiration_minutes: u32,
    pub(crate) refresh_token_expiration_days: u32,
}

impl Default for Jwt {
    fn default() -> Self {
        Self {
            secret: None,
            access_token_expiration_minutes: 15,
            refresh_token_expiration_days: 30,
        }
    }
}

/// Who may make an account.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Registration {
    /// Whether a person without an account may register. By default only on a server that listens on loopback and has
    /// no trusted proxies.
    pub(crate) open: Option<bool>,
}

/// Where workspaces may be.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Workspaces {
    /// Folders of this machine at or below which people may place workspaces.
    pub(crate) folders: Vec<PathBuf>,
}

/// Commands: their limits and their box. `toolyard doctor` shows the defaults.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Commands {
    /// Whether commands may run unconfined if the machine supports no box.
    pub(crate) allow_unconfined: bool,
    /// Folders of this machine that every box shows, read-only: a toolchain, say.
    pub(crate) show: Vec<PathBuf>,
    /// The folders in which commands of a server find programs, in place of the PATH of the service: each is shown
    /// in every box, read-only, and on its PATH. The system's own come after them.
    pub(crate) path: Option<Vec<PathBuf>>,
    /// Whether commands reach hosts at all, once a person, a rule or `[web]` allows it; they do if this is
    /// left out.
    pub(crate) network: Option<bool>,
    /// `host:port` pairs of this machine or its network that commands can reach, once a person allows it.
    pub(crate) reach: Vec<String>,
    /// Memory of all processes of a command together.
    pub(crate) memory_mib: Option<u64>,
    /// Memory of all commands of one workspace of a server together.
    pub(crate) workspace_memory_mib: Option<u64>,
    /// Memory of all commands of a server together.
    pub(crate) all_memory_mib: Option<u64>,
    /// The longest time that a command may run.
    pub(crate) run_minutes: Option<u64>,
    /// Processes and threads of a command at a time.
    pub(crate) processes: Option<u64>,
    /// Processor time of a command; without it, as much as it takes.
    pub(crate) cpu_seconds: Option<u64>,
    /// Open files of a process.
    pub(crate) open_files: Option<u64>,
    /// The largest file that a command may write.
    pub(crate) file_mib: Option<u64>,
    /// Everything that a command may write.
    pub(crate) written_mib: Option<u64>,
    /// How much of one output stream is stored if it is longer than its answer shows.
    pub(crate) output_mib: Option<u64>,
    /// How much output of all commands of a workspace is stored. The oldest is removed first.
    pub(crate) kept_output_mib: Option<u64>,
    /// For how long command output is stored.
    pub(crate) kept_output_days: Option<u64>,
    /// How much removed build output of a workspace is stored, so that it can be undone to.
    pub(crate) kept_builds_mib: Option<u64>,
    /// How much a chat's home may hold, with its `/tmp`.
    pub(crate) home_mib: Option<u64>,
    /// How much a workspace stores of what its commands add to caches of packages.
    pub(crate) caches_mib: Option<u64>,
    /// Terminals of a workspace at a time.
    pub(crate) terminals: Option<usize>,
    /// How long a terminal may run.
    pub(crate) terminal_hours: Option<u64>,
    /// How long a terminal may be unused.
    pub(crate) terminal_idle_minutes: Option<u64>,
}

/// The web: hosts that need no approval, and the search provider.
#[derive(Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Web {
    /// Hosts that need no approval: `example.com`, `*.example.com`.
    pub(crate) allow: Vec<String>,
    /// `host:port` pairs that may be on this machine or its network.
    pub(crate) exempt: Vec<String>,
    /// `searxng`, `brave` or `tavily`.
    pub(crate) search: Option<String>,
    /// Where the provider is.
    pub(crate) search_url: Option<String>,
    /// The key for the provider.
    pub(crate) search_key: Option<String>,
    /// The package indexes of `install_package`.
    pub(crate) pip_index: Option<String>,
    pub(crate) npm_index: Option<String>,
}

impl Web {
    /// The configured access to the web, without that of commands.
    fn to_web(&self) -> Result<yard_gate::Web, Failure> {
        let to_failure = |key: &'static str| move |why: String| invalid(key, &why);
        let mut web = yard_gate::Web::default();
        for pair in &self.exempt {
            web = web.exempting(pair).map_err(to_failure("web.exempt"))?;
        }
        if let Some(index) = &self.pip_index {
            web = web.installing_from("pip", index).map_err(to_failure("web.pip_index"))?;
        }
        if let Some(index) = &self.npm_index {
            web = web.installing_from("npm", index).map_err(to_failure("web.npm_index"))?;
        }
        for host in &self.allow {
            web = web.allowing(host).map_err(to_failure("web.allow"))?;
        }
        let Some(word) = &self.search else { return Ok(web) };
        let provider = Provider::from_word(word).ok_or_else(|| {
            let known = Provider::WORDS.map(|(_, word)| word).join(", ");
            invalid("web.search", &format!("unknown {word:?}; known: {known}"))
        })?;
        let search = search_provider(provider, self.search_url.as_deref(), self.search_key.clone());
        web.searching(search.map_err(to_failure("web.search"))?)
            .map_err(to_failure("web.search_url"))
    }
}

impl std::fmt::Debug for Web {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Web").field("allow", &self.allow).finish_non_exhaustive()
    }
}

/// What is logged.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Log {
    /// `info`, or by target: `info,session=debug`.
    pub(crate) level: String,
    /// `text` or `json`; without it, text on a terminal and JSON elsewhere.
    pub(crate) format: Option<LogFormat>,
}

impl Default for Log {
    fn default() -> Self {
        Self { level: "info".to_owned(), format: None }
    }
}

/// Where traces go.
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Otel {
    /// A collector that takes OTLP over HTTP; without it nothing is exported.
    pub(crate) endpoint: Option<String>,
    /// The name of this server in traces.
    pub(crate) service_name: String,
}

impl Default for Otel {
    fn default() -> Self {
        Self { endpoint: None, service_name: "toolyard".to_owned() }
    }
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// For people.
    Text,
    /// One object a line.
    Json,
}

impl Config {
    /// Reads the file's text, if there is one, and the variables that override it.
    pub(crate) fn read(
        file: Option<&str>,
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Self, Failure> {
        Self::from_table(merge(file, variables)?)
    }

    /// As [`Config::read`], for a local command. The sections that only a server uses have their defaults, so
    /// that a mistake in them does not stop the command.
    pub(crate) fn read_for_local_command(file: Option<&str>) -> Result<Self, Failure> {
        let is_for_servers = |name: &str| SERVER_SECTIONS.contains(&name);
        let variables = variables().filter(|(name, _)| {
            let key = name.strip_prefix(PREFIX).unwrap_or_default().to_lowercase();
            !is_for_servers(key.split("__").next().unwrap_or_default())
        });
        let mut table = merge(file, variables)?;
        table.retain(|section, _| !is_for_servers(section));
        Self::from_table(table)
    }

    fn from_table(table: Table) -> Result<Self, Failure> {
        let config: Self = serde_path_to_error::deserialize(Value::Table(table))
            .map_err(|error| invalid(&error.path().to_string(), error.inner()))?;
        config.check()?;
        config.server.proxies()?;
        config.web_access()?;
        Ok(config)
    }

    /// The configured access to the web, for tools and commands.
    pub(crate) fn web_access(&self) -> Result<yard_gate::Web, Failure> {
        let mut web = self.web.to_web()?;
        for pair in &self.commands.reach {
            web = web.reaching(pair).map_err(|why| invalid("commands.reach", &why))?;
        }
        Ok(if self.commands.network == Some(false) { web.without_commands() } else { web })
    }

    fn check(&self) -> Result<(), Failure> {
        let is_invalid = |folder: &&PathBuf| {
            !folder.is_absolute() || folder.as_os_str().as_encoded_bytes().contains(&b':')
        };
        if let Some(folder) = self.commands.path.iter().flatten().find(is_invalid) {
            let why = format!("expected absolute folders without a colon, and not {folder:?}");
            return Err(invalid("commands.path", &why));
        }
        let short = self.jwt.secret.as_ref().is_some_and(|secret| secret.chars().count() < 32);
        let (minutes, days) =
            (self.jwt.access_token_expiration_minutes, self.jwt.refresh_token_expiration_days);
        let no_collector = self.otel.endpoint.as_deref().is_some_and(|url| !is_collector(url));
        let address = "expected the address of a collector, as http://127.0.0.1:4318";
        let problems = [
            (short, "jwt.secret", "expected at least 32 characters"),
            (minutes == 0, "jwt.access_token_expiration_minutes", "expected at least 1"),
            (days == 0, "jwt.refresh_token_expiration_days", "expected at least 1"),
            (no_collector, "otel.endpoint", address),
            (self.otel.service_name.trim().is_empty(), "otel.service_name", "expected a name"),
        ];
        let problem = problems.iter().find(|(is_wrong, ..)| *is_wrong);
        problem.map_or(Ok(()), |(_, key, what)| Err(invalid(key, what)))
    }
}

/// The file's tables with the variables that override them.
fn merge(
    file: Option<&str>,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<Table, Failure> {
    let mut table: Table = match file {
        Some(text) => text.parse().map_err(|error| invalid("the configuration file", &error))?,
        None => Table::new(),
    };
    for (name, value) in variables {
        if let Some(key) = name.strip_prefix(PREFIX) {
            set(&mut table, key, &value).ok_or_else(|| {
                let message = format!("{name}: expected {PREFIX}SECTION__KEY");
                Failure::misuse(FaultCode::BadArgument, message)
            })?;
        }
    }
    Ok(table)
}

/// The variables of the environment. One that is not UTF-8 is no setting.
pub(crate) fn variables() -> impl Iterator<Item = (String, String)> {
    let all = crate::location::environment();
    all.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

/// Traces go to a collector in plain HTTP: a collector on the same machine can forward them over TLS.
fn is_collector(url: &str) -> bool {
    let Ok(url) = url.parse::<http::Uri>() else { return false };
    url.scheme_str() == Some("http") && url.host().is_some() && url.query().is_none()
}

/// Sets `SECTION__KEY` in the table; `None` if it is not of that form.
fn set(table: &mut Table, name: &str, value: &str) -> Option<()> {
    let name = name.to_lowercase();
    let (section, key) = name.split_once("__")?;
    let section = table.entry(section).or_insert_with(|| Value::Table(Table::new()));
    section.as_table_mut()?.insert(key.to_owned(), parse_value(&name, value));
    Some(())
}

/// The value of a variable: a number, a truth or a list if the text is one, else the text. A secret is always a text.
fn parse_value(name: &str, value: &str) -> Value {
    let text = Value::String(value.to_owned());
    if name.ends_with("secret") || name.ends_with("_key") {
        return text;
    }
    match format!("v = {value}").parse::<Table>() {
        Ok(mut table) => table.remove("v").unwrap_or(text),
        Err(_) => text,
    }
}

fn invalid(key: &str, why: &dyn std::fmt::Display) -> Failure {
    let variable = key.replace('.', "__").to_uppercase();
    Failure::misuse(FaultCode::BadArgument, format!("configuration: {key}: {why}"))
        .with_hint(format!("it is set in toolyard.toml, or by {PREFIX}{variable}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &str, variables: &[(&str, &str)]) -> Result<Config, String> {
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Config::read(Some(file), variables).map_err(|failure| failure.message().to_owned())
    }

    #[test]
    fn variables_stand_over_the_file() {
        let file = "[jwt]\naccess_token_expiration_minutes = 5\n[server]\nhosts = [\"a.example\"]";
        let config = read(
            file,
            &[
                ("TOOLYARD__JWT__ACCESS_TOKEN_EXPIRATION_MINUTES", "7"),
                ("TOOLYARD__SERVER__SECURE_COOKIES", "true"),
                ("TOOLYARD__JWT__SECRET", "12345678901234567890123456789012"),
                ("TOOLYARD__REGISTRATION__OPEN", "false"),
                ("TOOLYARD_DATA_DIR", "elsewhere"),
            ],
        );
        let config = config.unwrap();
        assert_eq!(config.jwt.access_token_expiration_minutes, 7);
        assert!(config.server.secure_cookies && config.server.hosts == ["a.example"]);
        assert_eq!(config.jwt.secret.as_deref(), Some("12345678901234567890123456789012"));
        assert_eq!(config.registration.open, Some(false));
    }

    #[test]
    fn the_web_is_configured_and_checked() {
        let config = read(
            "[web]\nallow = ['*.example.com']\nexempt = ['127.0.0.1:8080', '[::1]:90']",
            &[
                ("TOOLYARD__WEB__SEARCH", "brave"),
                ("TOOLYARD__WEB__SEARCH_KEY", "12345"),
                ("TOOLYARD__WEB__ALLOW", "['docs.example']"),
            ],
        );
        let config = config.unwrap();
        assert_eq!(config.web.allow, ["docs.example"]);
        assert_eq!(config.web.search_key.as_deref(), Some("12345"));
        assert!(!format!("{config:?}").contains("12345"), "a key is no part of a log");
        let to_failure = |file| read(file, &[]).unwrap_err();
        assert!(to_failure("[web]\nexempt = ['localhost']").contains("web.exempt"));
        assert!(to_failure("[web]\nexempt = ['http://a:1/']").contains("web.exempt"));
        assert!(to_failure("[commands]\nreach = ['5432']").contains("commands.reach"));
        assert!(to_failure("[commands]\npath = ['bin']").contains("commands.path"));
        assert!(to_failure("[web]\nallow = ['https://a/']").contains("web.allow"));
        assert!(to_failure("[web]\nsearch = 'bing'").contains("known: searxng, brave, tavily"));
        assert!(to_failure("[web]\nsearch = 'tavily'").contains("search_key"));
        assert!(to_failure("[web]\nsearch = 'searxng'").contains("search_url"));
    }

    #[test]
    fn a_mistake_in_a_section_of_servers_does_not_stop_a_local_command() {
        let local = |file| Config::read_for_local_command(Some(file));
        let config = local("jwt = 3\n[otel]\nendpoint = 'no'\n[commands]\nterminals = 3").unwrap();
        assert_eq!(config.commands.terminals, Some(3));
        for invalid in
            ["[commands]\nterminals = 'three'", "[comands]\nterminals = 3", "[web]\nallow = 3"]
        {
            assert!(local(invalid).is_err(), "{invalid}");
        }
    }

    #[test]
    fn a_mistake_names_its_key() {
        let to_failure = |file, variables: &[(&str, &str)]| read(file, variables).unwrap_err();
        assert!(to_failure("", &[("TOOLYARD__JWT__SECRET", "short")]).contains("jwt.secret"));
        assert!(to_failure("[server]\nlisten = 3", &[]).contains("server.listen"));
        assert!(to_failure("[server]\nhosst = []", &[]).contains("hosst"));
        assert!(to_failure("[jwt", &[]).contains("configuration file"));
        assert!(to_failure("", &[("TOOLYARD__JWT", "x")]).contains("TOOLYARD__JWT"));
        let minutes = "TOOLYARD__JWT__ACCESS_TOKEN_EXPIRATION_MINUTES";
        assert!(to_failure("", &[(minutes, "0")]).contains("access_token_expiration_minutes"));
        assert!(to_failure("", &[(minutes, "soon")]).contains("access_token_expiration_minutes"));
        for invalid in
            ["collector", "https://collector.example", "http://", "grpc://a:4317", "4318"]
        {
            assert!(
                to_failure("", &[("TOOLYARD__OTEL__ENDPOINT", invalid)]).contains("otel.endpoint")
            );
        }
        assert!(to_failure("[otel]\nservice_name = ''", &[]).contains("otel.service_name"));
        assert!(read("[otel]\nendpoint = 'http://localhost:4318'", &[]).is_ok());
    }
}
