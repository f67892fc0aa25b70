//! `toolyard serve`: starts the HTTP server, and makes what it needs at the first start.

use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;

use yard_core::{ContentHash, FaultCode};
use yard_dialects::Catalog;
use yard_gate::admin::{AuthConfig, Refusal, Server};
use yard_sandbox::Level;
use yard_server::{App, BoundServer, Doctor, PageFiles, ServerSettings};
use yard_store::SqliteRegistry;

use crate::box_config;
use crate::config::{self, Config};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::last_events::LastEvents;
use crate::location::DataFolder;
use crate::log;
use crate::open_files::OpenFiles;
use crate::page_files;
use crate::reply::Reply;
use crate::server_workspaces::ServerWorkspaces;
use crate::telemetry::{self, Exporter};

/// Where the server listens unless an address is chosen.
const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 3000);

const HELP: &str = "\
The first start makes a database and a secret in the data folder; nothing else is needed.

Configuration: DATA-DIR/toolyard.toml (or --config), and over it variables TOOLYARD__SECTION__KEY:
  [server]        listen, hosts, origins, secure_cookies, public_metrics, trusted_proxies (addresses
                  or ranges, whose X-Forwarded-For says who asks)
  [jwt]           secret (32 characters or more), access_token_expiration_minutes (15),
                  refresh_token_expiration_days (30)
  [registration]  open (on a loopback address without trusted_proxies it is, unless this says otherwise)
  [workspaces]    folders (of this machine, below which people may place workspaces)
  [commands]      network (true), reach (host:port pairs of this machine or its network that commands
                  reach once a person allows it), show (folders that every box shows, read-only),
                  path (folders in which commands find programs, in place of the service's PATH),
                  all_memory_mib (of all commands together: three quarters of the machine's),
                  workspace_memory_mib (of those of one workspace: half of that), memory_mib (of one:
                  the same), processes (4096), run_minutes (60),
                  cpu_seconds (no limit), open_files (4096), file_mib (4096), written_mib (8192),
                  allow_unconfined (false),
                  output_mib (256, of a stream), kept_output_mib (2048, of a workspace),
                  kept_output_days (7), kept_builds_mib (2048, of a workspace),
                  home_mib (8192, of a chat's home and /tmp), caches_mib (16384, of packages that
                  commands of a workspace downloaded),
                  terminals (16, of a workspace), terminal_hours (12), terminal_idle_minutes (60)
  [web]           allow (hosts that need no approval, as example.com or *.example.com), exempt (host:port
                  pairs that may be on this machine or its network), search (searxng, brave or
                  tavily), search_url, search_key, pip_index and npm_index (addresses that
                  install_package takes packages from)
  [log]           level (info; info,session=debug adds answers), format (text or json)
  [otel]          endpoint (as http://127.0.0.1:4318; in builds with the feature telemetry), service_name
                  (toolyard)";

/// Serve people and agents over HTTP
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Options {
    /// Address and port to listen on [default: 127.0.0.1:3000]
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Configuration file [default: toolyard.toml in the data folder, if it is there]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Serve the files of the page from this folder, to work on them
    #[arg(long, value_name = "FOLDER", hide = true)]
    page_files: Option<PathBuf>,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let data = DataFolder::prepare(context.data_dir())?;
        let file = data.config(self.config.as_deref())?;
        let config = Config::read(file.as_deref(), config::variables())?;
        let exporter = Exporter::start(&config.otel)?;
        let _log = log::start(&config.log, exporter.as_ref())?;
        let files = OpenFiles::raise();
        let wanted = self.address(&config);
        let listening = BoundServer::at(wanted).map_err(|error| {
            Failure::io(&format!("{wanted} cannot be listened on"), &error)
                .with_hint("choose another with --listen, as in --listen 127.0.0.1:3001")
        })?;
        let address = listening.address;
        let page_files = self.page_files.clone().map(page_files::in_folder);
        let (app, level) = app(context, data.clone(), config, address, files, page_files)?;
        print_welcome(address, &data, level);
        yard_server::serve(listening, app, stop_signal);
        if let Some(exporter) = exporter {
            exporter.finish();
        }
        Ok(Reply::text(String::new()))
    }

    fn address(&self, config: &Config) -> SocketAddr {
        self.listen.or(config.server.listen).unwrap_or(DEFAULT_LISTEN)
    }
}

fn app(
    context: &CommandContext,
    data: DataFolder,
    config: Config,
    address: SocketAddr,
    files: OpenFiles,
    page_files: Option<PageFiles>,
) -> Result<(Arc<App>, Level), Failure> {
    let world = context.world();
    let (web, open_registration) = (config.web_access()?, is_registration_open(&config, address));
    let secret = match config.jwt.secret {
        Some(secret) => secret,
        None => data.token_secret(|| {
            world.secret().map(|secret| ContentHash::from_bytes(secret).to_string())
        })?,
    };
    let auth = AuthConfig {
        secret: secret.into_bytes(),
        access_minutes: config.jwt.access_token_expiration_minutes,
        refresh_days: config.jwt.refresh_token_expiration_days,
        open_registration,
    };
    let (registry, sandbox) = std::thread::scope(|scope| {
        // Making a box takes longer than opening a registry, so both are done at once.
        let probing = scope.spawn(|| box_config::probe_for_server(data.path(), &config.commands));
        (SqliteRegistry::open(data.path()), probing.join())
    });
    let (registry, sandbox) = (registry?, sandbox.unwrap_or_else(|panic| resume_unwind(panic)));
    let level = sandbox.level();
    let examined = sandbox.clone();
    let doctor = Doctor::new(move || super::doctor::report_of(&examined));
    let boxes = box_config::ServerBoxes { sandbox, commands: config.commands };
    let (folders, workspaces_world) = (config.workspaces.folders, Arc::clone(&world));
    let last_events = LastEvents::new(Arc::clone(&world));
    let workspaces =
        ServerWorkspaces { data, folders, boxes, web, world: workspaces_world, last_events };
    let server =
        Server::new(Arc::new(registry), Box::new(workspaces), world, auth).map_err(|refusal| {
            let why = match refusal {
                Refusal::Fields(fields) => {
                    fields.into_iter().map(|(_, message)| message).collect::<Vec<_>>().join("; ")
                }
                other => format!("{other:?}"),
            };
            Failure::misuse(FaultCode::BadArgument, format!("the token secret {why}"))
                .with_hint("it is jwt.secret in the data folder, or TOOLYARD__JWT__SECRET")
        })?;
    let settings = ServerSettings {
        trusted_proxies: config.server.proxies()?,
        hosts: config.server.hosts,
        origins: config.server.origins,
        secure_cookies: config.server.secure_cookies,
        is_local: false,
        page_files,
        public_metrics: config.server.public_metrics,
        commands: level,
        doctor: Some(doctor),
        connections: files.connections(),
        continue_trace: config.otel.endpoint.as_ref().map(|_| telemetry::continue_trace as _),
    };
    Ok((App::new(files.bound(server), Catalog::standard(), settings, None), level))
}

/// Whether a person without an account may register. By default only people on this machine may: not if other machines
/// reach the server, at its address or through a proxy.
fn is_registration_open(config: &Config, address: SocketAddr) -> bool {
    let is_local = address.ip().is_loopback() && config.server.trusted_proxies.is_empty();
    config.registration.open.unwrap_or(is_local)
}

/// Prints where the page is, and the first steps, for people who start a server by hand.
fn print_welcome(address: SocketAddr, data: &DataFolder, level: Level) {
    let commands = match level {
        Level::Full => "Commands run in boxes (level full)".to_owned(),
        Level::Unconfined => "Commands run UNCONFINED, as configured".to_owned(),
        Level::Walls => {
            "Commands run in place behind Landlock and seccomp (level walls): `toolyard doctor` says why"
                .to_owned()
        }
        Level::Refuse => "No commands run (level refuse): `toolyard doctor` says why".to_owned(),
    };
    let json = "-H 'Content-Type: application/json'";
    let text = format!(
        "Toolyard listens on http://{address} and keeps its data in {}\n\n\
         Open http://{address} in a browser to make an account and a workspace, and to see what agents do.\n\n\
         Or with curl:\n  \
         curl http://{address}/api/v1/auth/register {json} -d '{{\"email\": \"me@example.com\", \"password\": \"at least 12 characters\"}}'\n  \
         curl http://{address}/api/v1/auth/login {json} -d '{{\"email\": \"me@example.com\", \"password\": \"at least 12 characters\"}}'\n  \
         curl http://{address}/api/v1/workspaces {json} -H \"Authorization: Bearer $ACCESS_TOKEN\" -d '{{\"name\": \"First\"}}'\n\n\
         All routes: http://{address}/docs\n{commands}\n",
        data.path().display()
    );
    // If standard error is closed, there is no other place for the text.
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// Waits for SIGTERM or Ctrl-C.
pub(super) async fn stop_signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else {
        let _ = tokio::signal::ctrl_c().await;
        return;
    };
    tokio::select! {
        _ = terminated.recv() => {}
        _ = tokio::signal::ctrl_c() => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registration_is_closed_by_default_where_other_machines_reach_the_server() {
        let (loopback, public) = (DEFAULT_LISTEN, SocketAddr::from(([10, 0, 0, 1], 3000)));
        let behind_proxy = || {
            let mut config = Config::default();
            config.server.trusted_proxies = vec!["127.0.0.1".to_owned()];
            config
        };
        assert!(is_registration_open(&Config::default(), loopback));
        assert!(!is_registration_open(&Config::default(), public));
        assert!(!is_registration_open(&behind_proxy(), loopback));
        let mut opened = behind_proxy();
        opened.registration.open = Some(true);
        assert!(is_registration_open(&opened, loopback));
    }

    #[test]
    fn without_a_configured_address_the_default_one_is_used() {
        let chosen =
            Options { listen: None, config: None, page_files: None }.address(&Config::default());
        assert_eq!(chosen.to_string(), "127.0.0.1:3000");
    }
}
