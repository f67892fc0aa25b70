//! `git_push`: pushes commits to a remote, never without a person's approval (A6). A remote is a folder of the
//! workspace or an http or https address; the approval covers the host of that address.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::{Fault, FaultCode};
use yard_gate::{Asks, Finished};

use super::git::push_report::{self, PushedRef};
use super::git::{self, Repository};
use super::root;
use crate::tool::{Context, Hints, Stop, Tool, Work};
use crate::{args, commands};

/// Pushes a branch of a git repository to a remote: a folder of the workspace, or an http or https address. A
/// person is always asked first, and their yes covers the host. The person's keys and passwords are not there, so
/// a remote that asks for them is pushed to by the person. A branch without an upstream gets this one. Never overwrites what is there unless `forceWithLease`
/// says so, and then only what was last seen there.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct GitPush {
    /// Folder of the repository (the one that holds `.git`), relative to the workspace root.
    #[serde(default = "root")]
    repository: String,
    /// The remote's name, or a folder that is one, relative to the repository.
    #[serde(default = "origin")]
    remote: String,
    /// The branch, which has the same name there; the one that is checked out, if left out.
    branch: Option<String>,
    /// Replace commits that the remote has and this branch has not, if nobody else has pushed since.
    #[serde(default)]
    force_with_lease: bool,
}

fn origin() -> String {
    "origin".to_owned()
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The remote.
    remote: String,
    /// What became of each of its refs.
    refs: Vec<PushedRef>,
    /// What became of it in the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Tool for GitPush {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "git_push";
    const WORK: Work = Work::Run;
    const ASKS: Asks = Asks::Always;
    const HINTS: Hints = Hints::CHANGES.reaching_out();

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let repository = Repository::parse(context, &args.repository, None)?;
        let remote = remote(&args.remote)?;
        let branch = args.branch.as_deref().map(branch_name).transpose()?;
        let intent = Intent::resolve(context, &repository, remote, branch)?;
        let refspec = format!("{}:refs/heads/{}", intent.commit, intent.branch);
        // A person approves this commit for this address, whatever is checked out by then.
        let attempt = context.attempt.with_summary(&intent.summary(remote, args.force_with_lease));
        let attempt = attempt.with_address(&without_password(&intent.address));
        let context = &context.with(&attempt);
        let place = intent.place(remote, context.attempt.call().world().random());
        let receive = format!("--receive-pack={}", git::RECEIVE_PACK);
        let flags = ["git", "push", "--porcelain", "--no-verify", "--no-signed", &receive];
        let force = args.force_with_lease.then_some("--force-with-lease");
        let options = flags.into_iter().chain(["--recurse-submodules=no"]).chain(force);
        let push = |dry_run: Option<&'static str>| {
            let git = options.clone().chain(dry_run).chain(["--", &place.name, &refspec]);
            // A dry run sets no upstream.
            let shell = ["sh", "-c", PUSH, "sh", &intent.branch, remote];
            let shell = shell.into_iter().filter(|_| dry_run.is_none());
            let argv = shell.chain(git).map(OsString::from).collect();
            git::with_settings(git::command(&repository.folder, argv), &place.settings)
        };
        let finished = if intent.is_on_network() {
            if !context.session().has_network() {
                return Err(Stop::Fault(Fault::new(FaultCode::Unavailable, NO_NETWORK)));
            }
            // A dry run would reach the host before a person approved it.
            commands::run(context, &git::with_network(push(None)))?
        } else {
            // No person is asked about a push that cannot work.
            let dry_run = context.attempt.run_to_preview(&push(Some("--dry-run")))?;
            pushed_refs(context, &dry_run, remote)?;
            commands::run(context, &push(None))?
        };
        let refs = pushed_refs(context, &finished, remote)?;
        git::check_changes_stay(&finished)?;
        Ok(Reply {
            remote: remote.to_owned(),
            refs,
            message: commands::outcome_message(context, &finished),
        })
    }
}

/// The commit to push, and where to.
struct Intent {
    commit: String,
    branch: String,
    address: String,
    /// The remote has a name in the configuration of the repository.
    is_named: bool,
    subjects: String,
}

/// The address that a person approves, as a remote of git's that is there for one command.
struct PushPlace {
    name: String,
    settings: Vec<(String, String)>,
}

impl Intent {
    /// Asks git, before a person is asked.
    fn resolve(
        context: &Context<'_>,
        repository: &Repository,
        remote: &str,
        branch: Option<&str>,
    ) -> Result<Self, Stop> {
        let argv = ["sh", "-c", RESOLVE, "sh", branch.unwrap_or_default(), remote];
        let command = git::command(&repository.folder, argv.map(OsString::from).to_vec());
        let finished = context.attempt.run_to_preview(&command)?;
        if commands::exit_code(&finished) != 0 {
            return Err(not_pushed(context, &finished, &[], remote));
        }
        let stdout = commands::output_text(context, &finished.ran.stdout).text;
        let mut lines = stdout.splitn(5, '\n').map(str::to_owned);
        let mut next = || lines.next().unwrap_or_default();
        let (commit, branch, is_named) = (next(), next(), next() == "named");
        Ok(Self { commit, branch, is_named, address: next(), subjects: next() })
    }

    /// The address as a remote whose name nobody can guess. Settings of the repository cannot lead git elsewhere, even if
    /// they change after the address was shown: of several `insteadOf` that fit, git takes the longest, which is this name.
    fn place(&self, remote: &str, random: u128) -> PushPlace {
        let (name, address) = (format!("shown-{random:032x}"), &self.address);
        let mut settings = vec![
            (format!("remote.{name}.url"), name.clone()),
            (format!("url.{address}.insteadOf"), name.clone()),
            (format!("url.{address}.pushInsteadOf"), name.clone()),
        ];
        if self.is_named {
            // What was pushed is noted as the remote's, and `forceWithLease` goes by that.
            let noted = format!("+refs/heads/*:refs/remotes/{remote}/*");
            settings.push((format!("remote.{name}.fetch"), noted));
        }
        PushPlace { name, settings }
    }

    /// Whether git reaches the remote through the proxy of its box.
    fn is_on_network(&self) -> bool {
        ["http://", "https://"].iter().any(|scheme| self.address.starts_with(scheme))
    }

    /// The text that a person approves.
    fn summary(&self, remote: &str, force: bool) -> String {
        let force = if force { ", replacing what is there" } else { "" };
        let Self { commit, branch, subjects, .. } = self;
        let address = without_password(&self.address);
        format!("push to {remote} ({address}), branch {branch}{force}:\n{commit}\n{subjects}")
    }
}

/// Pushes, and sets the branch's upstream where it has none and the remote has a name. `$1` is the branch, `$2` the
/// remote; after them the command of the push.
const PUSH: &str = r#"
branch=$1 remote=$2
shift 2
"$@" || exit
git config --get "remote.$remote.url" >/dev/null || exit 0
git config --get "branch.$branch.remote" >/dev/null && exit 0
git config "branch.$branch.remote" "$remote" && git config "branch.$branch.merge" "refs/heads/$branch"
exit 0
"#;

const NO_NETWORK: &str = "commands have no network here (`network` of `[commands]`), and the remote is reached over it: \
     ask a person to push, or name a folder of the workspace in `remote`";

/// An address without the name and password that may stand before its host.
fn without_password(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let host_ends = rest.find('/').unwrap_or(rest.len());
    let host_begins = rest[..host_ends].rfind('@').map_or(0, |at| at + 1);
    format!("{scheme}://{}", &rest[host_begins..])
}

/// Prints the commit, the branch, whether the remote has a name, its address, and the subjects of the newest commits.
const RESOLVE: &str = r#"
branch=$1
[ -n "$branch" ] || branch=$(git symbolic-ref --quiet --short HEAD) || {
    echo "fatal: not currently on a branch" >&2; exit 1; }
commit=$(git rev-parse --verify --quiet "refs/heads/$branch^{commit}") || {
    echo "error: src refspec $branch does not match any" >&2; exit 1; }
named=named
address=$(git remote get-url --push --all -- "$2" 2>/dev/null) || {
    named=; address=$(git ls-remote --get-url -- "$2" 2>/dev/null) || address=$2; }
case $address in *"
"*) echo "error: the remote has several push addresses" >&2; exit 1;; esac
printf '%s\n%s\n%s\n%s\n' "$commit" "$branch" "$named" "$address"
git log --no-show-signature --format='  %h %s' -n 20 "$commit" --not --remotes="$2"
"#;

fn remote(text: &str) -> Result<&str, Stop> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('-') || text.contains(char::is_control) {
        let message =
            format!("{} is no name of a remote; send one such as origin", args::quoted(text));
        return Err(Stop::argument("remote", message));
    }
    Ok(text)
}

/// A plain name, without the characters that have a meaning in a refspec.
fn branch_name(text: &str) -> Result<&str, Stop> {
    let name = git::revision("branch", text)?;
    if name.contains([':', '+', '*', '?', '[', '\\', '^', '~']) || name.contains("..") {
        let message =
            format!("{} is no name of a branch; send one such as main", args::quoted(name));
        return Err(Stop::argument("branch", message));
    }
    Ok(name)
}

/// The refs that a push reports; a fault if it failed.
fn pushed_refs(
    context: &Context<'_>,
    finished: &Finished,
    remote: &str,
) -> Result<Vec<PushedRef>, Stop> {
    let refs = push_report::parse(&commands::output_text(context, &finished.ran.stdout).text);
    match commands::exit_code(finished) {
        0 => Ok(refs),
        _ => Err(not_pushed(context, finished, &refs, remote)),
    }
}

fn not_pushed(
    context: &Context<'_>,
    finished: &Finished,
    refs: &[PushedRef],
    remote: &str,
) -> Stop {
    if commands::is_out_of_time(finished) {
        return git::failure(context, finished);
    }
    let stderr = git::stderr_excerpt(context, finished);
    let fault = |code, message: String| git::with_exit_code(finished, Fault::new(code, message));
    if let Some(rejected) = refs.iter().find(|one| one.status == "rejected") {
        let message = format!(
            "the remote did not take it: {}. If it has commits that this branch has not, merge them first; \
             or push with `forceWithLease` to replace them",
            rejected.summary
        );
        return fault(FaultCode::Stale, message);
    }
    if stderr.contains("not allowed") && stderr.contains("transport") {
        let message = format!(
            "{} cannot be reached from here: over the network git has http and https alone, because the keys \
             for ssh are the person's. Ask a person to push, or name a remote with such an address, or a folder of \
             the workspace, in `remote`",
            without_password(remote)
        );
        return fault(FaultCode::Unavailable, message);
    }
    if let Some(hosts) = commands::hosts_message(&finished.ran.hosts) {
        return fault(FaultCode::Unavailable, format!("git could not reach the remote; {hosts}"));
    }
    if stderr.contains("could not read Username")
        || stderr.contains("could not read Password")
        || stderr.contains("Authentication failed")
    {
        let message = "the remote asks for a name and a password, and those of the person are not in the box: ask \
                       the person to push";
        return fault(FaultCode::Unavailable, message.to_owned());
    }
    if stderr.contains("several push addresses") {
        let message = format!(
            "{remote} has several push addresses, and a yes is to one place: name one of them in `remote`. \
             run_code with the bash code `git remote -v` lists them"
        );
        return fault(FaultCode::BadArgument, message);
    }
    if stderr.contains("does not appear to be a git repository") {
        let message = format!(
            "there is no remote {}. run_code with the bash code `git remote -v` lists those that there are, \
             `git remote add NAME FOLDER` adds one",
            args::quoted(remote)
        );
        return fault(FaultCode::NotFound, message);
    }
    if stderr.contains("does not match any") || stderr.contains("not currently on a branch") {
        let message =
            format!("there is no such branch with a commit: name one in `branch`. {stderr}");
        return fault(FaultCode::BadArgument, message);
    }
    git::failure(context, finished)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a6_neither_a_remote_nor_a_branch_is_an_option_or_a_refspec() {
        for invalid in ["-f", "--mirror", "", "a\nb"] {
            assert!(remote(invalid).is_err(), "{invalid:?}");
            assert!(branch_name(invalid).is_err(), "{invalid:?}");
        }
        for invalid in ["+main", "main:other", "a..b", "HEAD~1", ":main"] {
            assert!(branch_name(invalid).is_err(), "{invalid:?}");
        }
        for (address, shown) in [
            ("https://ann:secret@git.example/x@y.git", "https://git.example/x@y.git"),
            ("https://git.example", "https://git.example"),
            ("https://secret@git.example", "https://git.example"),
            ("../remote.git", "../remote.git"),
        ] {
            assert_eq!(without_password(address), shown);
        }
        assert_eq!(branch_name("feature/x").unwrap(), "feature/x");
        assert_eq!(remote("../remote.git").unwrap(), "../remote.git");
    }
}
