//! Git as the `git_*` tools run it: one process in the box, with settings that nothing in the repository can override
//! and without prompts; and its failures as faults that say what to send instead. The modules below parse the output
//! of git, and run nothing.

pub(super) mod changes;
pub(super) mod history;
pub(super) mod push_report;
pub(super) mod status;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt as _;
use std::time::Duration;

use serde_json::json;
use yard_core::{Fault, FaultCode, WsPath};
use yard_gate::{Command, Finished};

use crate::tool::{Context, Stop};
use crate::{args, commands, envelope};

/// The time that git may take.
const TIME_LIMIT: Duration = Duration::from_secs(120);
/// Bytes of the output of git that are parsed.
const MAX_PARSED_OUTPUT: u64 = 16 << 20;
/// Bytes of an error message of git that a fault repeats.
const MAX_QUOTED: usize = 1_000;

/// No configuration but the repository's, no prompt, no pager, no editor; pathspecs are literal.
/// The repository is the one in the folder where git starts, and none above it.
const ENVIRONMENT: [(&str, &str); 15] = [
    ("GIT_DIR", ".git"),
    ("GIT_WORK_TREE", "."),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // This overrides every setting of the repository. `with_network` allows more.
    (PROTOCOLS, "file"),
    ("GIT_ASKPASS", "false"),
    ("SSH_ASKPASS", "false"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", "false"),
    ("GIT_ADVICE", "0"),
    ("LC_ALL", "C.UTF-8"),
];

/// The transports that git may use.
const PROTOCOLS: &str = "GIT_ALLOW_PROTOCOL";

/// Settings that override the repository's own, which an agent may have written.
const SETTINGS: [(&str, &str); 25] = [
    ("core.hooksPath", "/dev/null"),
    // The box of a server that is root shows files as another user's than the index has them.
    ("core.checkStat", "minimal"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.sshCommand", "false"),
    ("core.askPass", "false"),
    ("core.quotePath", "false"),
    ("credential.helper", ""),
    ("safe.directory", "*"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("commit.gpgSign", "false"),
    ("push.gpgSign", "false"),
    ("push.followTags", "false"),
    ("log.showSignature", "false"),
    ("submodule.recurse", "false"),
    ("color.ui", "false"),
    ("diff.noprefix", "false"),
    ("diff.mnemonicPrefix", "false"),
    ("diff.srcPrefix", "a/"),
    ("diff.dstPrefix", "b/"),
    ("diff.relative", "false"),
    ("diff.renames", "true"),
    ("diff.submodule", "short"),
    ("i18n.logOutputEncoding", "UTF-8"),
];

/// The program that receives a push to a folder. [`SETTINGS`] do not reach it: it runs no hooks either, and refuses
/// to change the branch that is checked out there.
pub(super) const RECEIVE_PACK: &str = "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory=* \
     -c gc.auto=0 -c maintenance.auto=false -c receive.autogc=false \
     -c receive.denyCurrentBranch=refuse receive-pack";

/// A command that starts in the folder of a repository; `argv` is git and its arguments, or a shell that
/// calls git several times.
pub(super) fn command(repository: &WsPath, argv: Vec<OsString>) -> Command {
    let mut env: Vec<(OsString, OsString)> =
        ENVIRONMENT.iter().map(|(name, value)| (name.into(), value.into())).collect();
    env.push(("GIT_CONFIG_COUNT".into(), SETTINGS.len().to_string().into()));
    for (at, (key, value)) in SETTINGS.iter().enumerate() {
        env.push((format!("GIT_CONFIG_KEY_{at}").into(), key.into()));
        env.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
    }
    Command { env, ..Command::new(argv, repository.clone(), TIME_LIMIT) }
}

/// Adds settings that override the repository's own.
pub(super) fn with_settings(mut command: Command, settings: &[(String, String)]) -> Command {
    for (name, value) in &mut command.env {
        if name == "GIT_CONFIG_COUNT" {
            *value = (SETTINGS.len() + settings.len()).to_string().into();
        }
    }
    for (at, (key, value)) in (SETTINGS.len()..).zip(settings) {
        command.env.push((format!("GIT_CONFIG_KEY_{at}").into(), key.into()));
        command.env.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
    }
    command
}

/// Lets a command use the network as far as its box has one. There is no transport by ssh: its keys are the person's.
pub(super) fn with_network(mut command: Command) -> Command {
    for (name, value) in &mut command.env {
        if name == PROTOCOLS {
            *value = "file:http:https".into();
        }
    }
    command
}

/// Git with these arguments, which takes no optional locks.
pub(super) fn read_only_command<I>(repository: &WsPath, arguments: I) -> Command
where
    I: IntoIterator,
    I::Item: AsRef<OsStr>,
{
    let arguments = arguments.into_iter().map(|argument| argument.as_ref().to_owned());
    let mut command =
        command(repository, [OsString::from("git")].into_iter().chain(arguments).collect());
    command.env.push(("GIT_OPTIONAL_LOCKS".into(), "0".into()));
    command
}

/// A repository, and the path in it that a call is about.
pub(super) struct Repository {
    /// The paths that git prints are relative to this folder.
    pub(super) folder: WsPath,
    /// None for the whole repository.
    pathspec: Option<OsString>,
}

impl Repository {
    /// Parses the arguments `repository` and `path`.
    pub(super) fn parse(
        context: &Context<'_>,
        repository: &str,
        path: Option<&str>,
    ) -> Result<Self, Stop> {
        let folder = commands::start_folder(context, repository)
            .map_err(|stop| envelope::with_argument(stop, "repository"))?;
        let pathspec = path.map(|path| pathspec(context, &folder, path, "path")).transpose()?;
        Ok(Self { folder, pathspec })
    }

    /// The end of a command line: the revision, and after `--` the path.
    pub(super) fn revision_and_path(&self, revision: Option<&str>) -> Vec<OsString> {
        let revision = revision.map(OsString::from).into_iter();
        revision.chain([OsString::from("--")]).chain(self.pathspec.clone()).collect()
    }
}

/// A path of the workspace, relative to the repository.
pub(super) fn pathspec(
    context: &Context<'_>,
    repository: &WsPath,
    path: &str,
    argument: &str,
) -> Result<OsString, Stop> {
    let path = context.path(path).map_err(|stop| envelope::with_argument(stop, argument))?;
    if !path.is_within(repository) {
        let message = format!(
            "{} is not in the repository at {}: every path is relative to the root of the workspace",
            context.display(&path),
            context.display(repository)
        );
        return Err(Stop::argument(argument, message));
    }
    let below = &path.relative()[repository.relative().len()..];
    let below = below.strip_prefix(b"/").unwrap_or(below);
    Ok(OsString::from_vec(if below.is_empty() { b".".to_vec() } else { below.to_vec() }))
}

/// A branch, a commit or a range of commits from the argument `name`. git takes none of them for an option.
pub(super) fn revision<'a>(name: &str, text: &'a str) -> Result<&'a str, Stop> {
    let text = text.trim();
    let is_invalid = |c: char| c.is_whitespace() || c.is_control();
    if text.is_empty() || text.starts_with('-') || text.contains(is_invalid) {
        let message = format!(
            "{} names no commit: expected a branch, a tag, a hash, or two of them with .. between",
            args::quoted(text)
        );
        return Err(Stop::argument(name, message));
    }
    Ok(text)
}

/// A path that git printed, as the caller reads it.
pub(super) fn display(context: &Context<'_>, repository: &WsPath, path: &[u8]) -> String {
    display_by(|path| context.display(path), repository, path)
}

fn display_by(display: impl Fn(&WsPath) -> String, repository: &WsPath, path: &[u8]) -> String {
    let whole = [repository.relative(), path].join(&b'/');
    let is_folder = path.ends_with(b"/");
    match WsPath::from_bytes(&whole) {
        Ok(path) if is_folder => format!("{}/", display(&path)),
        Ok(path) => display(&path),
        Err(_) => String::from_utf8_lossy(&whole).into_owned(),
    }
}

/// The standard output of a git that succeeded.
pub(super) fn stdout(context: &Context<'_>, finished: &Finished) -> Result<Vec<u8>, Stop> {
    match commands::exit_code(finished) {
        0 => Ok(context.attempt.whole_output(&finished.ran.stdout, MAX_PARSED_OUTPUT)?),
        _ => Err(failure(context, finished)),
    }
}

/// The beginning of git's error message.
pub(super) fn stderr_excerpt(context: &Context<'_>, finished: &Finished) -> String {
    let text = commands::output_text(context, &finished.ran.stderr).text;
    let end = text.floor_char_boundary(MAX_QUOTED.min(text.len()));
    text[..end].trim().to_owned()
}

/// The fault for a git that failed.
pub(super) fn failure(context: &Context<'_>, finished: &Finished) -> Stop {
    let stderr = stderr_excerpt(context, finished);
    let fault = |code, message: String| with_exit_code(finished, Fault::new(code, message));
    if commands::is_out_of_time(finished) {
        return fault(FaultCode::Timeout, format!("git took longer than it may. {stderr}"));
    }
    // Outside of a repository `git diff` takes other options, and prints how it is used there.
    if stderr.contains("not a git repository") || stderr.contains("usage: git diff --no-index") {
        let message = "there is no git repository in that folder. Name the folder of one in `repository` \
                       (the one that holds .git), or make one: run_code with the bash code `git init`";
        return fault(FaultCode::NotFound, message.to_owned());
    }
    if stderr.contains("unknown revision") || stderr.contains("bad revision") {
        let message =
            format!("git knows no such commit; git_log lists those that there are. {stderr}");
        return fault(FaultCode::BadArgument, message);
    }
    if stderr.contains(".lock': File exists") {
        let message = format!("another git is at work in this repository: call again. {stderr}");
        return fault(FaultCode::Stale, message);
    }
    let code = commands::exit_code(finished);
    fault(FaultCode::BadArgument, format!("git ended with {code}: {stderr}"))
}

/// The fault of a git that did run, with its exit code. It is the result of the call: an approved call that failed so
/// is not tried again.
pub(super) fn with_exit_code(finished: &Finished, fault: Fault) -> Stop {
    Stop::Detailed(fault, json!({"exitCode": commands::exit_code(finished)}))
}

/// Fails if the changes of the command were dropped: then the call has done nothing.
pub(super) fn check_changes_stay(finished: &Finished) -> Result<(), Stop> {
    match &finished.dropped {
        None => Ok(()),
        Some(why) => Err(Stop::Fault(Fault::new(FaultCode::Denied, why.clone()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relative;

    #[test]
    fn a6_a_revision_is_never_an_option() {
        for invalid in ["", " ", "-p", "--output=x", "a b", "a\0", "a\nb"] {
            assert!(revision("ref", invalid).is_err(), "{invalid:?}");
        }
        for valid in ["main", " HEAD~3 ", "a..b", "feature/x", "v1.0^{}", "@{u}"] {
            assert_eq!(revision("ref", valid).unwrap(), valid.trim());
        }
    }

    #[test]
    fn paths_that_git_prints_become_paths_of_the_workspace() {
        let at = |text| WsPath::parse(text).unwrap();
        assert_eq!(display_by(relative::display, &at("/"), b"a b"), "a b");
        assert_eq!(display_by(relative::display, &at("/sub"), b"a/b"), "sub/a/b");
        assert_eq!(display_by(relative::display, &at("/sub"), b"new/"), "sub/new/");
        assert_eq!(display_by(relative::display, &at("/"), b"a\xff"), "a\\xff");
    }
}
