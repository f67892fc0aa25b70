//! `install_package`: installs packages for the project from any public host (A6). A person approves it before it
//! starts; the approval covers the hosts. The project's files name the program that installs (`project/`): for `pip`
//! also uv, poetry, pdm and pipenv, for `npm` also pnpm, yarn and bun.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use yard_core::{Fault, FaultCode, WsPath};
use yard_gate::{Access, Asks, Command, Finished};

use super::project::python::Environment;
use super::project::{Folder, javascript};
use super::{install_advice, root};
use crate::hidden_programs::NOT_FOUND;
use crate::tool::{Context, Hints, Stop, Tool, Work};
use crate::{args, commands};

/// Packages that one call installs, at most.
const MAX_PACKAGES: usize = 50;
const MAX_NAME_BYTES: usize = 300;

/// Installs packages for the project: `pip` into its `.venv`, which is made if there is none, or by uv, poetry,
/// pdm or pipenv where the project is managed by one of them; `npm` into `node_modules` and `package.json`, or by
/// pnpm, yarn or bun where the project's lock file or `packageManager` names them; `cargo` adds them to
/// `Cargo.toml` and its lock. A person is asked first, unless they allowed it for this chat or by a rule; their yes
/// covers every public host that the packages come from. It runs in a sandbox; what it changes is a step that can
/// be undone.
#[derive(Deserialize, JsonSchema)]
pub(super) struct InstallPackage {
    /// Whose packages they are.
    manager: Manager,
    /// Names, with a version where one is wanted, as the manager reads them: `requests==2.32.3`, `left-pad@1`.
    packages: Vec<String>,
    /// Folder of the project, relative to the workspace root.
    #[serde(default = "root")]
    path: String,
    /// Seconds that it may take.
    #[serde(default = "crate::defaults::seconds::<300>")]
    timeout: f64,
}

#[derive(Clone, Copy, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Manager {
    Pip,
    Npm,
    Cargo,
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
    fn name(self) -> &'static str {
        match self {
            Self::Pip => "pip",
            Self::Npm => "npm",
            Self::Cargo => "cargo",
        }
    }

    /// The environment variables that tell it where to get packages.
    fn env(self, index: Option<&str>) -> Vec<(OsString, OsString)> {
        let mut all: Vec<(&str, &str)> = Vec::new();
        match (self, index) {
            (Self::Pip, index) => {
                // An environment outside of the project would vanish with the box.
                all.push(("POETRY_VIRTUALENVS_IN_PROJECT", "true"));
                all.push(("PIPENV_VENV_IN_PROJECT", "1"));
                if let Some(index) = index {
                    let names =
                        ["PIP_INDEX_URL", "UV_DEFAULT_INDEX", "PDM_PYPI_URL", "PIPENV_PYPI_MIRROR"];
                    all.extend(names.map(|name| (name, index)));
                    // Only an index without TLS, which has no certificate to check, is trusted.
                    if let Some(rest) = index.strip_prefix("http://") {
                        let host = rest.split('/').next().unwrap_or_default();
                        all.push(("PIP_TRUSTED_HOST", host));
                        all.push(("UV_INSECURE_HOST", host));
                    }
                }
            }
            (Self::Npm, Some(index)) => {
                let names = [
                    "npm_config_registry",
                    "YARN_REGISTRY",
                    "YARN_NPM_REGISTRY_SERVER",
                    "BUN_CONFIG_REGISTRY",
                ];
                all.extend(names.map(|name| (name, index)));
            }
            (Self::Npm | Self::Cargo, _) => {}
        }
        all.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    }
}

/// The program that installs the packages of one project.
#[derive(Debug, PartialEq, Eq)]
struct Installer {
    /// Its name.
    program: &'static str,
    /// A shell script that installs its arguments. It ends with [`NOT_FOUND`] if there is no such program.
    script: String,
    /// How to get the program if it is not there.
    install_advice: String,
}

impl Installer {
    /// The installer of the project in a folder, or why there is none.
    fn of(manager: Manager, folder: &Folder<'_>) -> Result<Self, Stop> {
        match manager {
            Manager::Npm => {
                let manager = javascript::Manager::of(folder);
                Ok(Self::program(manager.program(), manager.add()))
            }
            // Unlike `cargo generate-lockfile`, this updates no other package of the lock file.
            Manager::Cargo => Ok(Self {
                program: "cargo",
                script: "cargo add -- \"$@\" && exec cargo fetch".to_owned(),
                install_advice:
                    "cargo is not installed where commands run; ask a person to install it"
                        .to_owned(),
            }),
            Manager::Pip => match Environment::of(folder) {
                Environment::Managed { manager, .. } => match manager.add {
                    Some(command) => Ok(Self::program(manager.program, command)),
                    None => Err(cannot_add(manager.program)),
                },
                Environment::Venv(venv) => Ok(Self::pip(&venv, "")),
                Environment::Machine => Ok(Self::pip(
                    ".venv",
                    "[ -x .venv/bin/python ] || python3 -m venv .venv || exit\n",
                )),
            },
        }
    }

    fn program(program: &'static str, command: &[&str]) -> Self {
        let script = format!("exec {} \"$@\"", command.join(" "));
        Self { program, script, install_advice: install_advice::for_manager(program) }
    }

    /// pip of a virtual environment; one that uv made has no pip.
    fn pip(venv: &str, first: &str) -> Self {
        let python = format!("{venv}/bin/python");
        let script = format!(
            "{first}command -v {python} >/dev/null || exit {NOT_FOUND}\n\
             if ! {python} -c 'import pip' 2>/dev/null; then\n\
             command -v uv >/dev/null && exec uv pip install --python {python} \"$@\"\n\
             {python} -m ensurepip --upgrade >/dev/null || exit\n\
             fi\n\
             exec {python} -m pip install --disable-pip-version-check --no-input --progress-bar off -- \"$@\""
        );
        let environment = Environment::Venv(venv.to_owned());
        let install_advice = install_advice::for_python(&python, &environment);
        Self { program: "pip", script, install_advice }
    }
}

fn cannot_add(program: &str) -> Stop {
    let message = format!(
        "the project's environments are managed by {program}, which installs what pyproject.toml names: add the \
         packages to the dependencies there"
    );
    Stop::Fault(Fault::new(FaultCode::Unavailable, message))
}

impl Tool for InstallPackage {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "install_package";
    const WORK: Work = Work::Run;
    const ASKS: Asks = Asks::ToStart;
    const HINTS: Hints = Hints::CHANGES.reaching_out();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let folder = commands::start_folder(context, &args.path)?;
        check_names(&args.packages)?;
        let index = context.session().package_index(args.manager.name())?;
        let index = index.as_deref();
        let installer = Installer::of(args.manager, &Folder::new(context, folder.clone()))?;
        let attempt = context.attempt.with_summary(&summary(&args, &installer, &folder, index));
        let command = command(&args, &installer, folder, index, context)?;
        let finished = commands::run(&context.with(&attempt), &command)?;
        if commands::exit_code(&finished) != 0 {
            return Err(not_installed(context, &installer, &finished));
        }
        let Self { manager, packages, .. } = args;
        let output = output(context, &finished);
        let message = commands::outcome_message(context, &finished);
        let refused_hosts = unreached_hosts(&finished);
        Ok(Reply { manager, packages, output, refused_hosts, message })
    }
}

/// The text that a person approves.
fn summary(
    args: &InstallPackage,
    installer: &Installer,
    folder: &WsPath,
    index: Option<&str>,
) -> String {
    let from = index.map(|index| format!(" from {index}")).unwrap_or_default();
    let packages = args.packages.join(" ");
    format!(
        "{} installs in {folder}{from}, and may reach every public host:\n{packages}\n",
        installer.program
    )
}

fn command(
    args: &InstallPackage,
    installer: &Installer,
    folder: WsPath,
    index: Option<&str>,
    context: &Context<'_>,
) -> Result<Command, Stop> {
    let shell = ["sh", "-c", &installer.script, "sh"].map(OsString::from).into_iter();
    let argv = shell.chain(args.packages.iter().map(OsString::from)).collect();
    let wall = commands::time_limit(context, "timeout", (args.timeout * 1_000.0) as u64)?;
    Ok(Command { env: args.manager.env(index), ..Command::new(argv, folder, wall) })
}

fn check_names(packages: &[String]) -> Result<(), Stop> {
    let is_invalid = |name: &&String| {
        name.trim().is_empty()
            || name.len() > MAX_NAME_BYTES
            || name.starts_with('-')
            || name.contains(char::is_control)
    };
    if packages.is_empty() || packages.len() > MAX_PACKAGES {
        let message = format!("expected 1 to {MAX_PACKAGES} packages");
        return Err(Stop::argument("packages", message));
    }
    match packages.iter().find(is_invalid) {
        None => Ok(()),
        Some(name) => {
            let message = format!(
                "{} is no name of a package; send one such as requests",
                args::quoted(name)
            );
            Err(Stop::argument("packages", message))
        }
    }
}

/// The hosts that were refused, or wait for a person's approval.
fn unreached_hosts(finished: &Finished) -> Vec<String> {
    let hosts = finished.ran.hosts.iter().filter(|host| host.access != Access::Through);
    hosts.map(|host| host.host_port.clone()).collect()
}

fn output(context: &Context<'_>, finished: &Finished) -> String {
    let streams = [&finished.ran.stdout, &finished.ran.stderr];
    streams.map(|stream| commands::output_text(context, stream).text).concat()
}

fn not_installed(context: &Context<'_>, installer: &Installer, finished: &Finished) -> Stop {
    let refused = unreached_hosts(finished);
    let manager = installer.program;
    let message = match (refused.is_empty(), commands::exit_code(finished)) {
        (false, _) => {
            let hosts = commands::hosts_message(&finished.ran.hosts).unwrap_or_default();
            format!("{manager} could not reach every host that it asked for; {hosts}")
        }
        (true, NOT_FOUND) => installer.install_advice.clone(),
        (true, code) => format!("{manager} ended with {code}; what it said is in `details`"),
    };
    let details = json!({"output": output(context, finished), "refusedHosts": refused});
    if commands::is_out_of_time(finished) {
        let message = commands::outcome_message(context, finished).unwrap_or(message);
        return Stop::Detailed(Fault::new(FaultCode::Timeout, message), details);
    }
    Stop::Detailed(Fault::new(FaultCode::Unavailable, message), details)
}

#[cfg(test)]
mod tests {
    use super::super::project::fixture::{Table, path};
    use super::*;

    #[test]
    fn a6_only_an_index_without_tls_is_trusted_unchecked() {
        let trusted = |index| {
            let env = Manager::Pip.env(Some(index)).into_iter();
            env.filter(|(name, _)| name == "PIP_TRUSTED_HOST").map(|(_, value)| value).next()
        };
        assert_eq!(trusted("https://index.example/simple"), None);
        assert_eq!(trusted("http://127.0.0.1:9/simple"), Some("127.0.0.1:9".into()));
    }

    #[test]
    fn a6_the_files_of_a_project_choose_its_installer() {
        let of = |manager, files: &[(&str, &str)]| {
            let table = Table::new(files);
            let installer = Installer::of(manager, &Folder::new(&table, path("/")));
            installer.map(|installer| (installer.program, installer.script))
        };
        let exec = |command: &str| format!("exec {command} \"$@\"");
        for (manager, file, program, script) in [
            (Manager::Pip, "uv.lock", "uv", exec("uv add")),
            (Manager::Pip, "poetry.lock", "poetry", exec("poetry add --no-interaction")),
            (Manager::Pip, "pdm.lock", "pdm", exec("pdm add --no-self")),
            (Manager::Pip, "Pipfile", "pipenv", exec("pipenv install")),
            (Manager::Npm, "pnpm-lock.yaml", "pnpm", exec("pnpm add --reporter=append-only")),
            (Manager::Npm, "yarn.lock", "yarn", exec("yarn add")),
            (Manager::Npm, "bun.lock", "bun", exec("bun add")),
        ] {
            assert_eq!(of(manager, &[(file, "")]).unwrap(), (program, script), "{file}");
        }
        let (program, script) = of(Manager::Cargo, &[]).unwrap();
        assert_eq!(
            (program, script.as_str()),
            ("cargo", "cargo add -- \"$@\" && exec cargo fetch")
        );
        let (program, script) = of(Manager::Npm, &[]).unwrap();
        assert!(program == "npm" && script.starts_with("exec npm install "), "{script}");
        let (program, script) = of(Manager::Pip, &[("venv/pyvenv.cfg", "")]).unwrap();
        assert!(program == "pip" && script.contains("exec venv/bin/python -m pip install"));
        assert!(!script.contains("-m venv"), "there is one: {script}");
        let (_, script) = of(Manager::Pip, &[]).unwrap();
        assert!(script.starts_with("[ -x .venv/bin/python ] || python3 -m venv .venv"), "{script}");
        let hatch = [("pyproject.toml", "[tool.hatch.envs.default]\n")];
        match of(Manager::Pip, &hatch) {
            Err(Stop::Fault(fault)) => assert!(fault.message().contains("pyproject.toml")),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a6_no_package_is_an_option() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        for odd in [&["--pre"][..], &[""], &["a\nb"], &[], &["ok", "-r"]] {
            assert!(check_names(&names(odd)).is_err(), "{odd:?}");
        }
        assert!(check_names(&names(&["requests==2.32.3", "@types/node@22"])).is_ok());
    }
}
