//! `toolyard doctor`: what the box around commands can do on this machine, and how to get the rest.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::json;
use yard_core::WsPath;
use yard_gate::{Actor, Leftover};
use yard_sandbox::{CommandLimits, Finding, Level, Programs, Sandbox, SandboxConfig};
use yard_server::{BoxReport, Doctor};

use crate::config::{self, Config};
use crate::context::CommandContext;
use crate::crash_leftovers;
use crate::failure::Failure;
use crate::location::{self, DataFolder};
use crate::overlap::overlap;
use crate::reply::Reply;
use crate::terminal::{ADDED, BOLD, FAINT, REMOVED, Terminal, visible_cell};
use crate::toolchains::FoundPrograms;
use crate::user_environment::UserEnvironment;
use crate::{box_config, box_page, storage};

use super::storage::size;

/// The name of the finding about the folder itself.
const THIS_FOLDER: &str = "this folder";
/// How many homes and how many caches are listed.
const MAX_LISTED: usize = 10;

const HELP: &str = "\
Boxes are made to find out. Exit code 1 when commands do not run in a full one, when the workspace does not
open, or when a crash left something in it that a person should see.";

/// See what the box around commands can do on this machine
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub(crate) struct Options {
    /// Print the page "What the box sees" and nothing of this machine
    #[arg(long, conflicts_with = "json")]
    page: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}

impl Options {
    pub(super) fn run(&self, context: &CommandContext) -> Result<Reply, Failure> {
        if self.page {
            return Ok(Reply::text(box_page::page()));
        }
        let config = configuration(context);
        let found = box_config::find_programs(&UserEnvironment::of_this_process());
        let shown = config.as_ref().map(|config| config.commands.show.clone()).unwrap_or_default();
        let about_server_programs = about_served_programs(&config, &shown);
        let about_programs = about_programs("your programs", &found, &shown);
        let sandbox = probe(context, found.programs, shown)?;
        let mut findings = sandbox.findings().to_vec();
        findings.push(about_programs);
        findings.extend(about_server_programs);
        findings.push(about_masked(&sandbox.masked()));
        findings.extend(about_configuration(&config));
        findings.extend(about_stored(context, &config));
        findings.extend(about_root(&sandbox, context));
        let is_root_unfit = |finding: &Finding| finding.name == THIS_FOLDER && !finding.ok;
        let runs = sandbox.level() == Level::Full && !findings.iter().any(is_root_unfit);
        let workspace = about_workspace(context, &mut findings);
        let opens = workspace.as_ref().is_ok_and(Vec::is_empty);
        let exit = u8::from(!runs || !opens);
        let value = || {
            let findings: Vec<_> = findings.iter().map(to_json).collect();
            json!({
                "ok": exit == 0,
                "level": sandbox.level().word(),
                "findings": findings,
                "workspace": match &workspace {
                    Ok(leftovers) => json!({"leftovers": crash_leftovers::to_json(leftovers)}),
                    Err(failure) => json!({"error": failure.message()}),
                },
            })
        };
        let text = || {
            let mut text = to_text(&findings, sandbox.level(), context.terminal);
            text.push_str(&match &workspace {
                Ok(leftovers) => crash_leftovers::to_text(leftovers, context.terminal),
                Err(failure) => {
                    let mark = context.terminal.paint(REMOVED, "✗");
                    format!("{mark} this workspace does not open: {}\n", failure.message())
                }
            });
            text
        };
        Ok(Reply { exit, ..Reply::either(self.json, value, text) })
    }
}

/// Which programs a server's boxes show, if the configuration names folders for them.
fn about_served_programs(config: &Result<Config, Failure>, shown: &[PathBuf]) -> Option<Finding> {
    let commands = &config.as_ref().ok()?.commands;
    commands.path.as_ref()?;
    let found = box_config::find_programs(&box_config::server_user(commands));
    Some(about_programs("programs of `serve`", &found, shown))
}

/// Which of the user's programs a box shows.
fn about_programs(name: &'static str, found: &FoundPrograms, configured: &[PathBuf]) -> Finding {
    let toolchains = match found.toolchains.as_slice() {
        [] => "no toolchain in the home".to_owned(),
        names => names.join(", "),
    };
    let shown = found.programs.shown.iter().chain(configured);
    let shown: Vec<String> = shown.map(|path| path.display().to_string()).collect();
    let folders = match shown.as_slice() {
        [] => "nothing besides the system's folders is shown".to_owned(),
        shown => format!("shown, read-only: {}", shown.join(", ")),
    };
    fact(name, format!("{toolchains}; {folders}"))
}

/// A finding that says how something is; nothing is wrong with it.
fn fact(name: &'static str, found: String) -> Finding {
    Finding { name, ok: true, needed: false, found, remedy: String::new() }
}

/// Which parts of the shown folders commands cannot open.
fn about_masked(masked: &[PathBuf]) -> Finding {
    let names: Vec<String> = masked.iter().map(|path| path.display().to_string()).collect();
    let found = match names.as_slice() {
        [] => "nothing in the folders that are shown needs to be".to_owned(),
        names => format!("cannot be opened by commands: {}", names.join(", ")),
    };
    fact("masked", found)
}

/// Which hosts the configuration lets commands reach, and which limits it sets.
fn about_configuration(config: &Result<Config, Failure>) -> Vec<Finding> {
    let config = match config {
        Ok(config) => config,
        Err(failure) => {
            let remedy = failure.hint().unwrap_or_default().to_owned();
            let finding = fact("configuration", failure.message().to_owned());
            return vec![Finding { ok: false, remedy, ..finding }];
        }
    };
    let web = &config.web;
    let indexes = [&web.pip_index, &web.npm_index].into_iter().flatten();
    let hosts: Vec<&str> = web.allow.iter().chain(indexes).map(String::as_str).collect();
    let hosts = match hosts.as_slice() {
        [] => "none is allowed without asking".to_owned(),
        hosts => format!("allowed without asking: {}", hosts.join(", ")),
    };
    let limits = limits(&box_config::limits(&config.commands));
    vec![fact("hosts", hosts), fact("limits of a command", limits)]
}

/// The homes of chats and the caches of packages, workspace by workspace.
fn about_stored(context: &CommandContext, config: &Result<Config, Failure>) -> Vec<Finding> {
    let Some(data) = location::existing_data_folder(context.data_dir()) else { return Vec::new() };
    let retention = config.as_ref().map(|config| box_config::retention(&config.commands));
    let retention = retention.unwrap_or_default();
    let stored = storage::command_storage(&data);
    let homes = stored.iter().flat_map(|stored| {
        let of_one = |(chat, bytes): &(String, u64)| {
            format!("{} of chat {chat} in {}", size(*bytes), stored.name)
        };
        stored.homes.iter().map(of_one)
    });
    let caches = stored.iter().filter(|stored| stored.caches > 0);
    let caches = caches.map(|stored| format!("{} of {}", size(stored.caches), stored.name));
    let finding = |name, stored: Vec<String>, most: u64, whose: &str| {
        let some = stored.iter().take(MAX_LISTED).cloned().collect::<Vec<_>>().join(", ");
        let more = and_more(stored.len(), MAX_LISTED);
        let some = if some.is_empty() { "none".to_owned() } else { some };
        let most = size(most);
        let advice = "(`toolyard storage` shows all that is kept)";
        fact(name, format!("{some}{more}; at most {most} {whose} {advice}"))
    };
    vec![
        finding("homes of chats", homes.collect(), retention.home_bytes, "each"),
        finding("caches of packages", caches.collect(), retention.caches_bytes, "of a workspace"),
    ]
}

fn configuration(context: &CommandContext) -> Result<Config, Failure> {
    let file = match location::existing_data_folder(context.data_dir()) {
        Some(_) => DataFolder::prepare(context.data_dir())?.config(None)?,
        None => None,
    };
    Config::read(file.as_deref(), config::variables())
}

fn limits(limits: &CommandLimits) -> String {
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1_u32 << 30));
    let cpu =
        limits.cpu_seconds.map_or_else(|| "no limit".to_owned(), |seconds| format!("{seconds} s"));
    format!(
        "memory {}, {} processes, {} minutes, processor time {cpu}, {} open files, files up to {}, {} written",
        gib(limits.memory_bytes),
        limits.processes,
        limits.wall.as_secs() / 60,
        limits.open_files,
        gib(limits.file_bytes),
        gib(limits.written_bytes)
    )
}

/// What crashes left in this workspace, or the failure to open it.
fn about_workspace(
    context: &CommandContext,
    findings: &mut Vec<Finding>,
) -> Result<Vec<Leftover>, Failure> {
    let Some(local) = context.open_existing(Actor::LocalPerson)? else { return Ok(Vec::new()) };
    let tracked = local.session.withheld_and_tracked(&local.call_without_deadline())?;
    findings.extend(finding_about_tracked(&tracked));
    Ok(local.session.leftovers()?)
}

/// How many of a list are not shown.
fn and_more(all: usize, shown: usize) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

/// Rules withhold files, and git's objects have them.
fn finding_about_tracked(tracked: &[WsPath]) -> Option<Finding> {
    let names: Vec<String> = tracked.iter().take(5).map(ToString::to_string).collect();
    let more = and_more(tracked.len(), names.len());
    (!tracked.is_empty()).then(|| Finding {
        name: "withheld files",
        ok: false,
        needed: false,
        found: format!("git tracks {}{more}, which may not be read", names.join(", ")),
        remedy: "a command can read them out of the repository: stop tracking them (git rm --cached), and \
                 take them out of its history"
            .to_owned(),
    })
}

/// Makes boxes to find out what they can do.
fn probe(
    context: &CommandContext,
    programs: Programs,
    shown: Vec<PathBuf>,
) -> Result<Sandbox, Failure> {
    let helper = std::env::current_exe()
        .map_err(|error| Failure::io("this program cannot be found", &error))?;
    let scratch = scratch(context);
    let config = SandboxConfig { scratch, programs, shown, ..SandboxConfig::default() };
    Ok(Sandbox::probe(helper, config))
}

/// Finds out what the box of this person's commands can do, once it is asked.
pub(super) fn of_this_machine(context: CommandContext) -> Doctor {
    let probed: OnceLock<Option<Sandbox>> = OnceLock::new();
    Doctor::new(move || {
        let probed = probed.get_or_init(|| {
            let programs = box_config::find_programs(&UserEnvironment::of_this_process()).programs;
            let config = configuration(&context);
            let shown = config.map(|config| config.commands.show).unwrap_or_default();
            probe(&context, programs, shown).ok()
        });
        match probed {
            Some(sandbox) => report_of(sandbox),
            None => BoxReport { level: Level::Refuse, findings: Vec::new() },
        }
    })
}

/// What is known of a box.
pub(super) fn report_of(sandbox: &Sandbox) -> BoxReport {
    BoxReport { level: sandbox.level(), findings: sandbox.findings().to_vec() }
}

/// The folder in which boxes are probed: the folder of the layers, if it exists.
fn scratch(context: &CommandContext) -> PathBuf {
    let data = location::existing_data_folder(context.data_dir());
    data.unwrap_or_else(|| SandboxConfig::default().scratch)
}

/// Findings about the folder that commands work on: the one that the command line names, or the current one.
fn about_root(sandbox: &Sandbox, context: &CommandContext) -> Vec<Finding> {
    let named = context.roots().first().cloned();
    let Ok(root) = location::canonical_text(named.as_deref().unwrap_or(Path::new("."))) else {
        return Vec::new();
    };
    let root = PathBuf::from(root);
    // The root of the machine is no workspace, and a box refuses it.
    if root == Path::new("/") || sandbox.level() <= Level::Refuse {
        return Vec::new();
    }
    let mut findings = vec![sandbox.finding_about(&root)];
    let others = location::other_roots(&root, context.data_dir());
    let overlapping: Vec<_> = others.iter().filter(|other| overlap(&root, other)).collect();
    if !overlapping.is_empty() {
        let names: Vec<_> = overlapping.iter().take(5).map(|at| at.display().to_string()).collect();
        findings.push(Finding {
            name: "overlapping roots",
            ok: false,
            needed: false,
            found: format!("files of {} are also in {}", root.display(), names.join(", ")),
            remedy: "each takes what is changed through the other for the work of somebody else; \
                     work through one of them"
                .to_owned(),
        });
    }
    findings
}

fn to_json(finding: &Finding) -> serde_json::Value {
    json!({
        "name": finding.name,
        "ok": finding.ok,
        "needed": finding.needed,
        "found": finding.found,
        "remedy": finding.remedy,
    })
}

/// One line for each finding, and below it the remedy if something is missing.
fn to_text(findings: &[Finding], level: Level, terminal: Terminal) -> String {
    let width = findings.iter().map(|finding| finding.name.chars().count()).max();
    let width = width.unwrap_or(0);
    let mut text = String::new();
    for finding in findings {
        let mark = match (finding.ok, finding.needed) {
            (true, _) => terminal.paint(ADDED, "✓"),
            (false, true) => terminal.paint(REMOVED, "✗"),
            (false, false) => terminal.paint(FAINT, "-"),
        };
        let found = visible_cell(&finding.found);
        text.push_str(&format!("{mark} {:width$}  {found}\n", finding.name));
        if !finding.ok && !finding.remedy.is_empty() {
            let remedy = format!("{:width$}    {}", "", visible_cell(&finding.remedy));
            text.push_str(&terminal.line(FAINT, &remedy));
        }
    }
    text.push_str(&format!("\n{} {}\n", terminal.paint(BOLD, level.word()), level_meaning(level)));
    text
}

fn level_meaning(level: Level) -> &'static str {
    match level {
        Level::Full => "- commands run in a box, on a layer over the workspace",
        Level::Walls => {
            "- commands run behind Landlock and seccomp: read-only in plan mode, else in place"
        }
        Level::Refuse => "- commands do not run",
        Level::Unconfined => "- commands run with nothing around them",
    }
}
