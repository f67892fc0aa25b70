//! `install_package`: packages for the project, from whichever public hosts they come (A6). A person is
//! asked before it starts; that yes covers the hosts.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use yard_core::{Fault, FaultCode, WsPath};
use yard_gate::{Access, Asks, Command, Finished};

use super::root;
use crate::tool::{Context, Hints, Stop, Tool, Work};
use crate::{args, commands};

/// Packages that one call installs, at most.
const MOST: usize = 50;
const NAME_BYTES: usize = 300;

pub(super) struct InstallPackage;

/// Installs packages for the project: `pip` into the folder's `.venv`, which it makes if there is none; `npm`
/// into `node_modules` and `package.json`; `cargo` adds them to `Cargo.toml` and its lock. A person is asked
/// first, unless they allowed it for this chat or by a rule; their yes covers every public host that the
/// packages come from. It runs in a sandbox; what it changes is a step that can be undone.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// Who installs them.
    manager: Manager,
    /// Names, with a version where one is wanted, as the manager reads them: `requests==2.32.3`, `left-pad@1`.
    packages: Vec<String>,
    /// Folder of the project, relative to the workspace root.
    #[serde(default = "root")]
    path: String,
    /// Seconds that it may take.
    #[serde(default = "timeout")]
    timeout: f64,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Manager {
    Pip,
    Npm,
    Cargo,
}

fn timeout() -> f64 {
    300.0
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reply {
    /// Who installed them.
    manager: Manager,
    /// What was asked for.
    packages: Vec<String>,
    /// What the manager said; of much, the beginning and the end.
    output: String,
    /// Hosts that it asked for and could not reach.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    refused_hosts: Vec<String>,
    /// What became of the files.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Manager {
    fn word(self) -> &'static str {
        match self {
            Self::Pip => "pip",
            Self::Npm => "npm",
            Self::Cargo => "cargo",
        }
    }

    /// A shell that installs its arguments.
    fn script(self) -> &'static str {
        match self {
            Self::Pip => {
                "[ -x .venv/bin/python ] || python3 -m venv .venv || exit\n\
                 exec .venv/bin/python -m pip install --disable-pip-version-check --no-input \
                 --progress-bar off -- \"$@\""
            }
            Self::Npm => "exec npm install --no-audit --no-fund --loglevel=error -- \"$@\"",
            Self::Cargo => "cargo add -- \"$@\" && exec cargo generate-lockfile",
        }
    }

    /// Where it takes packages from, as it wants to be told.
    fn settings(self, index: Option<&str>) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(&str, &str)> = Vec::new();
        match (self, index) {
            (Self::Pip, index) => {
                all.push(("PIP_CACHE_DIR", "/tmp/pip"));
                if let Some(index) = index {
                    all.push(("PIP_INDEX_URL", index));
                    // An index without TLS has no certificate to check; of any other it is checked.
                    if let Some(rest) = index.strip_prefix("http://") {
                        let host = rest.split('/').next().unwrap_or_default();
                        all.push(("PIP_TRUSTED_HOST", host));
                    }
                }
            }
            (Self::Npm, Some(index)) => all.push(("npm_config_registry", index)),
            (Self::Npm | Self::Cargo, _) => {}
        }
        all.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    }
}

impl Tool for InstallPackage {
    type Args = Args;
    type Reply = Reply;
    const NAME: &'static str = "install_package";
    const WORK: Work = Work::Run;
    const ASKS: Asks = Asks::ToStart;
    const HINTS: Hints = Hints::CHANGES.reaching_out();

    fn run(args: Args, context: &Context<'_>) -> Result<Reply, Stop> {
        let folder = context.path(&args.path)?;
        check(&args.packages)?;
        let index = context.session.package_index(args.manager.word())?;
        let shown = told(&args, &folder, index.as_deref());
        let session = context.session.showing(&shown);
        let finished = commands::run(
            &Context { session: &session, ..*context },
            &command(&args, folder, index.as_deref(), context)?,
        )?;
        if commands::code(&finished) != 0 {
            return Err(not_installed(context, &args, &finished));
        }
        let Args { manager, packages, .. } = args;
        let output = output(context, &finished);
        let message = commands::story(context, &finished);
        let refused_hosts = not_reached(&finished);
        Ok(Reply { manager, packages, output, refused_hosts, message })
    }
}

/// What a person is asked about.
fn told(args: &Args, folder: &WsPath, index: Option<&str>) -> String {
    let from = index.map(|index| format!(" from {index}")).unwrap_or_default();
    let packages = args.packages.join(" ");
    format!(
        "{} installs in {folder}{from}, and may reach every public host:\n{packages}\n",
        args.manager.word()
    )
}

fn command(
    args: &Args,
    folder: WsPath,
    index: Option<&str>,
    context: &Context<'_>,
) -> Result<Command, Stop> {
    let manager = args.manager;
    let words = ["sh", "-c", manager.script(), "sh"].into_iter().map(OsString::from);
    Ok(Command {
        argv: words.chain(args.packages.iter().map(OsString::from)).collect(),
        env: manager.settings(index),
        scripts: Vec::new(),
        folder,
        wall: commands::wall(context, "timeout", (args.timeout * 1_000.0) as u64)?,
        reach: None,
    })
}

fn check(packages: &[String]) -> Result<(), Stop> {
    let odd = |name: &&String| {
        name.trim().is_empty()
            || name.len() > NAME_BYTES
            || name.starts_with('-')
            || name.contains(char::is_control)
    };
    if packages.is_empty() || packages.len() > MOST {
        return Err(Stop::argument("packages", format!("expected 1 to {MOST} packages")));
    }
    match packages.iter().find(odd) {
        None => Ok(()),
        Some(name) => {
            let message = format!("{} is no name of a package", args::shown(name));
            Err(Stop::argument("packages", message))
        }
    }
}

/// The hosts that were refused, or wait for a person.
fn not_reached(finished: &Finished) -> Vec<String> {
    let hosts = finished.ran.hosts.iter().filter(|host| host.access != Access::Through);
    hosts.map(|host| host.place.clone()).collect()
}

fn output(context: &Context<'_>, finished: &Finished) -> String {
    let texts =
        [&finished.ran.stdout, &finished.ran.stderr].map(|said| commands::told(context, said).text);
    texts.concat()
}

fn not_installed(context: &Context<'_>, args: &Args, finished: &Finished) -> Stop {
    let refused = not_reached(finished);
    let manager = args.manager.word();
    let message = match (refused.is_empty(), commands::code(finished)) {
        (false, _) => {
            let hosts = commands::hosts(&finished.ran.hosts).unwrap_or_default();
            format!("{manager} could not reach every host that it asked for; {hosts}")
        }
        (true, 127) => {
            format!("{manager} is not installed where commands run; ask a person to install it")
        }
        (true, code) => format!("{manager} ended with {code}; what it said is in `details`"),
    };
    let details = json!({"output": output(context, finished), "refusedHosts": refused});
    Stop::Detailed(Fault::new(FaultCode::Unavailable, message), details)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a6_only_an_index_without_tls_is_trusted_unchecked() {
        let trusted = |index| {
            let settings = Manager::Pip.settings(Some(index)).into_iter();
            settings.filter(|(name, _)| name == "PIP_TRUSTED_HOST").map(|(_, value)| value).next()
        };
        assert_eq!(trusted("https://index.example/simple"), None);
        assert_eq!(trusted("http://127.0.0.1:9/simple"), Some("127.0.0.1:9".into()));
    }

    #[test]
    fn a6_no_package_is_an_option() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        for odd in [&["--pre"][..], &[""], &["a\nb"], &[], &["ok", "-r"]] {
            assert!(check(&names(odd)).is_err(), "{odd:?}");
        }
        assert!(check(&names(&["requests==2.32.3", "@types/node@22"])).is_ok());
    }
}
