//! Git as the `git_*` tools run it: one process in the box, told everything that could mislead it or make
//! it wait, and its failures in words from which the next call can succeed. What git prints is read by
//! the modules below, which run nothing.

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

/// As long as git may take.
const WALL: Duration = Duration::from_secs(120);
/// Bytes of what git prints that are read, at most.
const MOST_READ: u64 = 16 << 20;
/// Bytes of git's own words that an error repeats.
const QUOTED: usize = 1_000;

/// No configuration but the repository's, no prompt, no pager, no editor; pathspecs mean what they say.
/// The repository is the one in the folder where git starts, and none above it.
const SURROUNDINGS: [(&str, &str); 15] = [
    ("GIT_DIR", ".git"),
    ("GIT_WORK_TREE", "."),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_LITERAL_PATHSPECS", "1"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    // Over every setting of the repository. A push to an address on the network allows more.
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

/// Settings over the repository's own, which whoever works in it may have written.
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

/// The receiving end of a push to a folder, which no setting of this end reaches: no hooks there either,
/// and no branch is changed under somebody's work tree.
pub(super) const RECEIVE: &str = "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.directory=* \
     -c gc.auto=0 -c maintenance.auto=false -c receive.autogc=false \
     -c receive.denyCurrentBranch=refuse receive-pack";

/// A command that starts in the folder of a repository; `argv` is git and its arguments, or a shell that
/// calls git several times.
pub(super) fn command(repository: &WsPath, argv: Vec<OsString>) -> Command {
    let mut env: Vec<(OsString, OsString)> =
        SURROUNDINGS.iter().map(|(name, value)| (name.into(), value.into())).collect();
    env.push(("GIT_CONFIG_COUNT".into(), SETTINGS.len().to_string().into()));
    for (at, (key, value)) in SETTINGS.iter().enumerate() {
        env.push((format!("GIT_CONFIG_KEY_{at}").into(), key.into()));
        env.push((format!("GIT_CONFIG_VALUE_{at}").into(), value.into()));
    }
    Command { argv, env, scripts: Vec::new(), folder: repository.clone(), wall: WALL, reach: None }
}

/// The same command, which may use the network as far as its box has one. There is no transport by ssh: the keys
/// for it are the person's.
pub(super) fn with_network(mut command: Command) -> Command {
    for (name, value) in &mut command.env {
        if name == PROTOCOLS {
            *value = "file:http:https".into();
        }
    }
    command
}

/// Git with these arguments, to look at a repository: without a lock that it could do without.
pub(super) fn looking<I>(repository: &WsPath, arguments: I) -> Command
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

/// Where the paths that git prints begin.
pub(super) struct Place {
    /// The folder of the repository.
    pub(super) repository: WsPath,
    /// What of it is meant, as git is told it: all, if nothing is.
    pub(super) pathspec: Option<OsString>,
}

impl Place {
    /// The repository and the path in it that a caller named.
    pub(super) fn read(
        context: &Context<'_>,
        repository: &str,
        path: Option<&str>,
    ) -> Result<Self, Stop> {
        let repository = folder(context, repository)?;
        let pathspec = path.map(|path| pathspec(context, &repository, path, "path")).transpose()?;
        Ok(Self { repository, pathspec })
    }

    /// The end of a command line: what is no option, and then the path.
    pub(super) fn tail(&self, revision: Option<&str>) -> Vec<OsString> {
        let mut words: Vec<OsString> = revision.map(OsString::from).into_iter().collect();
        words.push("--".into());
        words.extend(self.pathspec.clone());
        words
    }
}

/// The folder of a repository, as a caller named it.
pub(super) fn folder(context: &Context<'_>, repository: &str) -> Result<WsPath, Stop> {
    let folder = commands::start_folder(context, repository);
    folder.map_err(|stop| envelope::named(stop, "repository"))
}

/// A path of the workspace, as git in this repository is told it.
pub(super) fn pathspec(
    context: &Context<'_>,
    repository: &WsPath,
    path: &str,
    argument: &str,
) -> Result<OsString, Stop> {
    let path = context.path(path).map_err(|stop| envelope::named(stop, argument))?;
    if !path.is_within(repository) {
        let message = format!(
            "{} is not in the repository at {}: every path is relative to the root of the workspace",
            context.shown(&path),
            context.shown(repository)
        );
        return Err(Stop::argument(argument, message));
    }
    let below = &path.relative()[repository.relative().len()..];
    let below = below.strip_prefix(b"/").unwrap_or(below);
    Ok(OsString::from_vec(if below.is_empty() { b".".to_vec() } else { below.to_vec() }))
}

/// A branch, a commit or a range of them, as a caller named it: never an option.
pub(super) fn revision<'a>(name: &str, text: &'a str) -> Result<&'a str, Stop> {
    let text = text.trim();
    let is_odd = |c: char| c.is_whitespace() || c.is_control();
    if text.is_empty() || text.starts_with('-') || text.contains(is_odd) {
        let message = format!(
            "{} names no commit: expected a branch, a tag, a hash, or two of them with .. between",
            args::shown(text)
        );
        return Err(Stop::argument(name, message));
    }
    Ok(text)
}

/// A path that git printed, relative to the root of the workspace.
pub(super) fn shown(context: &Context<'_>, repository: &WsPath, path: &[u8]) -> String {
    shown_by(|path| context.shown(path), repository, path)
}

fn shown_by(show: impl Fn(&WsPath) -> String, repository: &WsPath, path: &[u8]) -> String {
    let whole = [repository.relative(), path].join(&b'/');
    let is_folder = path.ends_with(b"/");
    match WsPath::from_bytes(&whole) {
        Ok(path) if is_folder => format!("{}/", show(&path)),
        Ok(path) => show(&path),
        Err(_) => String::from_utf8_lossy(&whole).into_owned(),
    }
}

/// All that git printed, if it did what it was asked to.
pub(super) fn printed(context: &Context<'_>, finished: &Finished) -> Result<Vec<u8>, Stop> {
    match commands::code(finished) {
        0 => commands::all_said(context, &finished.ran.stdout, MOST_READ),
        _ => Err(failed(context, finished)),
    }
}

/// Git's own words about its failure, without what it wrote for people at a terminal.
pub(super) fn complaint(context: &Context<'_>, finished: &Finished) -> String {
    let text = commands::told(context, &finished.ran.stderr).text;
    let end = text.floor_char_boundary(QUOTED.min(text.len()));
    text[..end].trim().to_owned()
}

/// Why git did not do it.
pub(super) fn failed(context: &Context<'_>, finished: &Finished) -> Stop {
    let said = complaint(context, finished);
    let fault = |code, message: String| refused(finished, Fault::new(code, message));
    if commands::is_out_of_time(finished) {
        return fault(FaultCode::Timeout, format!("git took longer than it may. {said}"));
    }
    // Outside of a repository `git diff` knows other options, and says how it is used there.
    if said.contains("not a git repository") || said.contains("usage: git diff --no-index") {
        let message = "there is no git repository in that folder. Name the folder of one in `repository` \
                       (the one that holds .git), or make one: run_code with the bash code `git init`";
        return fault(FaultCode::NotFound, message.to_owned());
    }
    if said.contains("unknown revision") || said.contains("bad revision") {
        let message =
            format!("git knows no such commit; git_log lists those that there are. {said}");
        return fault(FaultCode::BadArgument, message);
    }
    if said.contains(".lock': File exists") {
        let message = format!("another git is at work in this repository: call again. {said}");
        return fault(FaultCode::Stale, message);
    }
    let code = commands::code(finished);
    fault(FaultCode::BadArgument, format!("git ended with {code}: {said}"))
}

/// A failure of a git that did run: it is this call's answer, and nothing that a second try would change.
pub(super) fn refused(finished: &Finished, fault: Fault) -> Stop {
    Stop::Detailed(fault, json!({"exitCode": commands::code(finished)}))
}

/// What was done stays undone where nothing that the command changed was kept.
pub(super) fn check_kept(finished: &Finished) -> Result<(), Stop> {
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
        for odd in ["", " ", "-p", "--output=x", "a b", "a\0", "a\nb"] {
            assert!(revision("ref", odd).is_err(), "{odd:?}");
        }
        for fine in ["main", " HEAD~3 ", "a..b", "feature/x", "v1.0^{}", "@{u}"] {
            assert_eq!(revision("ref", fine).unwrap(), fine.trim());
        }
    }

    #[test]
    fn paths_are_those_of_the_workspace() {
        let at = |text| WsPath::parse(text).unwrap();
        assert_eq!(shown_by(relative::shown, &at("/"), b"a b"), "a b");
        assert_eq!(shown_by(relative::shown, &at("/sub"), b"a/b"), "sub/a/b");
        assert_eq!(shown_by(relative::shown, &at("/sub"), b"new/"), "sub/new/");
        assert_eq!(shown_by(relative::shown, &at("/"), b"a\xff"), "a\\xff");
    }
}
