//! `toolyard ui`: the page of one person on this machine, over all workspaces of the data folder. It needs no account:
//! the address that it prints has a code, which is good once.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use yard_core::{ContentHash, FaultCode};
use yard_dialects::Catalog;
use yard_gate::admin::{AuthConfig, Refusal, Server};
use yard_server::{App, BoundServer, ServerSettings};
use yard_store::SqliteRegistry;

use super::doctor;
use super::serve::stop_signal;
use crate::browser::{self, RedirectFile};
use crate::context::CommandContext;
use crate::failure::Failure;
use crate::local_workspaces::LocalWorkspaces;
use crate::location::DataFolder;
use crate::log;
use crate::open_files::OpenFiles;
use crate::page_files;
use crate::reply::Reply;

/// The port that is tried first, so that bookmarks and permissions of the browser stay good.
const USUAL_PORT: u16 = 3030;
/// The folder of the data folder that keeps the logins of the page.
const FOLDER: &str = "page";
/// How long a browser stays logged in without being used.
const LOGIN_DAYS: u32 = 30;
const ACCESS_MINUTES: u32 = 15;
/// The largest number of connections: one person has a few tabs open.
const MAX_CONNECTIONS: usize = 256;

const HELP: &str = "\
It shows every folder that `toolyard mcp` and `toolyard call` have worked in: what waits for you, what was
changed and by whom, and what you can take back. It works beside the agents, and only on this machine.";

/// See what agents do, decide, and take things back, in your browser
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Options {
    /// Port to listen on [default: 3030, or any other if that is taken]
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Print the address, and open no browser
    #[arg(long)]
    no_open: bool,
    /// Serve the files of the page from this folder, to work on them
    #[arg(long, value_name = "FOLDER", hide = true)]
    page_files: Option<PathBuf>,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        let _log = log::start_if_asked()?;
        let data = DataFolder::prepare(context.data_dir())?;
        let listening = self.listen().map_err(|error| {
            Failure::io("the port cannot be listened on", &error)
                .with_hint("choose another with --port, or none for any that is free")
        })?;
        let listens_at = listening.address;
        let files = OpenFiles::raise();
        let server = files.bound(server(context, &data)?);
        let code = server.new_local_code().map_err(to_failure)?;
        let connections =
            files.connections().map_or(MAX_CONNECTIONS, |fit| fit.min(MAX_CONNECTIONS));
        let settings = ServerSettings {
            is_local: true,
            page_files: self.page_files.clone().map(page_files::in_folder),
            connections: Some(connections),
            doctor: Some(doctor::of_this_machine(context.clone())),
            ..ServerSettings::default()
        };
        let app = App::new(server, Catalog::standard(), settings, None);
        let address = format!("http://{listens_at}/#code={code}");
        let text = format!(
            "The page: {address}\n(good once and for a minute; Ctrl-C ends the page, and no agent)\n"
        );
        // If standard error is closed, the browser still opens the page.
        let _ = io::stderr().lock().write_all(text.as_bytes());
        let redirect = if self.no_open { None } else { open_page(&data, listens_at, &address) };
        yard_server::serve(listening, app, stop_signal);
        drop(redirect);
        Ok(Reply::text(String::new()))
    }

    fn listen(&self) -> io::Result<BoundServer> {
        let at = |port| BoundServer::at(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
        match self.port {
            Some(port) => at(port),
            None => at(USUAL_PORT).or_else(|_| at(0)),
        }
    }
}

/// Opens the page in the browser, by a file that has the code. A browser that can read none gets the address without it.
fn open_page(data: &DataFolder, listens_at: SocketAddr, address: &str) -> Option<RedirectFile> {
    let name = format!("open-{}.html", listens_at.port());
    let file = RedirectFile::new(&data.path().join(FOLDER), &name, address);
    match &file {
        Some(file) => browser::open(&file.address()),
        None => {
            browser::open(&format!("http://{listens_at}/"));
            let note =
                "(your browser may not be able to log in by itself: open the address above)\n";
            let _ = io::stderr().lock().write_all(note.as_bytes());
        }
    }
    file
}

/// A server whose only person is the one of this machine.
fn server(context: &CommandContext, data: &DataFolder) -> Result<Server, Failure> {
    let world = context.world();
    let folder = DataFolder::prepare(Some(&data.path().join(FOLDER)))?;
    let secret = folder.token_secret(|| {
        world.secret().map(|secret| ContentHash::from_bytes(secret).to_string())
    })?;
    let config = AuthConfig {
        secret: secret.into_bytes(),
        access_minutes: ACCESS_MINUTES,
        refresh_days: LOGIN_DAYS,
        open_registration: false,
    };
    let registry = SqliteRegistry::open(folder.path())?;
    let workspaces = LocalWorkspaces::new(context.clone(), data.path().to_owned());
    let server = Server::new(Arc::new(registry), Box::new(workspaces), world, config);
    let server = server.map_err(to_failure)?;
    server.add_local_person("You").map_err(to_failure)?;
    Ok(server)
}

fn to_failure(refusal: Refusal) -> Failure {
    match refusal {
        Refusal::Fault(fault) => fault.into(),
        other => Failure::new(FaultCode::Unavailable, format!("the page cannot start: {other:?}")),
    }
}
