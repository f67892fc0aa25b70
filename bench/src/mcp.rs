//! Files over MCP: `toolyard mcp` beside the MCP project's reference server, a server in Rust and plain
//! `rg`, by turns in one run. Each server has a copy of the same tree to itself and is asked in the same
//! words over its standard input; the clock stops with the last byte of the line that answers.
//!
//! Every answer is compared with what it should be before its time counts: a wrong one ends the bench.
//! Who is not installed is left out, and a row that needs it is not judged.

mod board;
mod client;
mod fixture;

use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::board::{Keep, Row, Taken};
use self::client::{Server, found, text};
use self::fixture::{Crowd, EDITED, LARGE, MANY, PATTERN, SMALL, WORD, WRITTEN};
use crate::http::sibling;
use crate::search;
use crate::source::Dice;
use crate::table::Misses;
use crate::workspace::{Scratch, target};

/// A pipe has no time limit of its own: a server that is silent for so long ends the bench.
const LONGEST: Duration = Duration::from_secs(175);
/// A contestant that has used so many seconds for a row runs no more rounds of it.
const ENOUGH: f64 = 6.0;
const IDLE_BYTES: f64 = 25e6;

/// Measures and prints every row, and notes those that miss their targets.
pub(crate) fn measure(misses: &mut Misses) {
    let _done = watch();
    let scratch = Scratch::new();
    let mut lanes = lanes(&scratch);
    let mut rows = vec![start(&mut lanes), idle(&mut lanes)];
    open(&mut lanes, Toolset::Filesystem);
    rows.push(read(&mut lanes, "read 10 KB", SMALL, Pace { rounds: 200, each: 5 }));
    rows.push(read(&mut lanes, "read 1 MB", LARGE, Pace { rounds: 60, each: 2 }));
    rows.extend([write(&mut lanes), edit(&mut lanes), list(&mut lanes)]);
    rows.extend([Crowd::Half, Crowd::Whole].map(|crowd| glob(&mut lanes, "search_files", crowd)));
    open(&mut lanes, Toolset::Workspace);
    rows.extend([Crowd::Half, Crowd::Whole].map(|crowd| glob(&mut lanes, "glob", crowd)));
    rows.extend([Crowd::Half, Crowd::Whole].map(|crowd| grep(&mut lanes, crowd)));
    board::print("Files over MCP", &rows, misses);
}

fn watch() -> Sender<()> {
    let (done, over) = mpsc::channel();
    std::thread::spawn(move || {
        if over.recv_timeout(LONGEST) == Err(RecvTimeoutError::Timeout) {
            eprintln!("not done after {} seconds: a server hangs", LONGEST.as_secs());
            std::process::exit(1);
        }
    });
    done
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Toolyard,
    Npm,
    Rust,
    Rg,
}

const ALL: [Who; 4] = [Who::Toolyard, Who::Npm, Who::Rust, Who::Rg];
const SERVERS: [Who; 3] = [Who::Toolyard, Who::Npm, Who::Rust];
/// The reference server does not look into files.
const GREPPERS: [Who; 3] = [Who::Toolyard, Who::Rust, Who::Rg];

impl Who {
    fn name(self) -> &'static str {
        match self {
            Self::Toolyard => "toolyard",
            Self::Npm => "npm",
            Self::Rust => "rust",
            Self::Rg => "rg",
        }
    }

    /// Its program, where it is installed.
    fn program(self) -> Option<PathBuf> {
        let tools = target().join("bench-tools");
        let program = match self {
            Self::Toolyard => sibling("toolyard"),
            Self::Npm => {
                tools.join("npm/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")
            }
            Self::Rust => tools.join("bin/rust-mcp-filesystem"),
            Self::Rg => return search::rg(),
        };
        program.is_file().then_some(program)
    }
}

/// Only we have two: the drop-in does not look into files either.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Toolset {
    Filesystem,
    Workspace,
}

/// One contestant.
struct Lane {
    who: Who,
    program: PathBuf,
    root: PathBuf,
    state: PathBuf,
    toolset: Toolset,
    server: Option<Server>,
}

fn lanes(scratch: &Scratch) -> Vec<Lane> {
    let mut lanes = Vec::new();
    for who in ALL {
        let Some(program) = who.program() else {
            eprintln!("{} is left out: bench/run installs it", who.name());
            continue;
        };
        // `rg` only reads, and is to find the very files that we find.
        let copy = if who == Who::Rg { Who::Toolyard } else { who };
        let (root, state) = (fixture::copy(copy.name()), scratch.folder(who.name()));
        lanes.push(Lane { who, program, root, state, toolset: Toolset::Filesystem, server: None });
    }
    lanes
}

/// Starts every server, after those before it ended.
fn open(lanes: &mut [Lane], toolset: Toolset) {
    lanes.iter_mut().for_each(|lane| lane.server = None);
    for lane in lanes.iter_mut().filter(|lane| lane.who != Who::Rg) {
        lane.toolset = toolset;
        lane.server = Some(Server::start(lane.command()).0);
    }
}

impl Lane {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        match self.who {
            Who::Toolyard => {
                command.args(["mcp", "--policy", "open", "--root"]).arg(&self.root);
                command.arg("--data-dir").arg(&self.state);
                if self.is_workspace() {
                    command.args(["--toolset", "workspace"]);
                }
            }
            Who::Npm => {
                command = Command::new("node");
                command.arg(&self.program).arg(&self.root);
            }
            Who::Rust => {
                command.arg("--allow-write").arg(&self.root);
            }
            Who::Rg => panic!("rg is no server"),
        }
        command
    }

    /// Whether it is asked by the names of the toolset `workspace`.
    fn is_workspace(&self) -> bool {
        self.who == Who::Toolyard && self.toolset == Toolset::Workspace
    }

    fn path(&self, name: &str) -> String {
        self.root.join(name).display().to_string()
    }

    /// A tool's result, or why it has none.
    fn attempt(&mut self, tool: &str, arguments: Value) -> Result<(Duration, Value), String> {
        let server = self.server.as_mut().expect("an open server");
        let arguments = json!({"name": tool, "arguments": arguments});
        let (took, result) = server.ask("tools/call", arguments);
        match result["isError"] == true {
            true => Err(format!("{} {tool}: {}", self.who.name(), text(&result))),
            false => Ok((took, result)),
        }
    }

    fn call(&mut self, tool: &str, arguments: Value) -> (Duration, Value) {
        self.attempt(tool, arguments).unwrap_or_else(|why| panic!("{why}"))
    }

    /// A path of an answer, as the tree names it.
    fn named(&self, path: &str) -> String {
        let root = self.root.to_str().expect("a path in UTF-8");
        path.strip_prefix(root).unwrap_or(path).trim_start_matches('/').to_owned()
    }

    fn check<T: PartialEq>(&self, what: &str, found: T, expected: T) {
        assert!(found == expected, "{}: {what}: a wrong answer", self.who.name());
    }
}

#[derive(Clone, Copy)]
struct Pace {
    rounds: usize,
    /// Calls of one contestant in a round.
    each: usize,
}

/// Lets some do the same work by turns. The order changes from round to round, so that nobody always
/// comes after the same one; the first rounds are not counted.
fn race(
    lanes: &mut [Lane],
    some: &[Who],
    pace: Pace,
    mut work: impl FnMut(&mut Lane, u64) -> f64,
) -> Vec<Taken> {
    let mut players: Vec<&mut Lane> =
        lanes.iter_mut().filter(|lane| some.contains(&lane.who)).collect();
    let mut taken: Vec<Taken> =
        players.iter().map(|lane| Taken { who: lane.who, rounds: Vec::new() }).collect();
    let mut spent = vec![0.0; players.len()];
    let uncounted = (pace.rounds / 10).max(1);
    for round in 0..pace.rounds + uncounted {
        for at in order(round, players.len()) {
            if spent[at] > ENOUGH && round > uncounted {
                continue;
            }
            let (began, first) = (Instant::now(), round * pace.each);
            let calls = (first..first + pace.each).map(|number| work(players[at], number as u64));
            let turn = calls.collect();
            spent[at] += began.elapsed().as_secs_f64();
            if round >= uncounted {
                taken[at].rounds.push(turn);
            }
        }
    }
    taken
}

/// Every rotation, there and back.
fn order(round: usize, players: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..players).collect();
    order.rotate_left(round % players.max(1));
    if round / players.max(1) % 2 == 1 {
        order.reverse();
    }
    order
}

const AHEAD: [Keep; 2] = [Keep::Ahead(Who::Npm), Keep::Ahead(Who::Rust)];
/// The Rust server flushes nothing and keeps no history.
const BESIDE_RUST: [Keep; 2] = [Keep::Ahead(Who::Npm), Keep::Within(Who::Rust, 2.0)];

/// From nothing to the answer of `initialize`, in a workspace that was opened before.
fn start(lanes: &mut [Lane]) -> Row {
    let pace = Pace { rounds: 15, each: 1 };
    let work = |lane: &mut Lane, _| Server::start(lane.command()).1.as_secs_f64();
    Row::new("start to first answer", race(lanes, &SERVERS, pace, work), &BESIDE_RUST)
}

/// One at a time: two of the same program would share its pages.
fn idle(lanes: &mut [Lane]) -> Row {
    let work = |lane: &mut Lane, _| {
        lane.server = Some(Server::start(lane.command()).0);
        let path = lane.path(SMALL.0);
        lane.call("read_text_file", json!({"path": path}));
        std::thread::sleep(Duration::from_millis(300));
        lane.server.take().expect("the server").memory()
    };
    let taken = race(lanes, &SERVERS, Pace { rounds: 5, each: 1 }, work);
    Row::new("idle memory", taken, &[AHEAD[0], Keep::Below(IDLE_BYTES)]).of_bytes()
}

fn read(lanes: &mut [Lane], what: &str, (name, size): (&str, usize), pace: Pace) -> Row {
    let expected = fixture::source(size);
    let work = |lane: &mut Lane, _| {
        let path = lane.path(name);
        let (took, result) = lane.call("read_text_file", json!({"path": path}));
        lane.check(what, text(&result), expected.as_str());
        took.as_secs_f64()
    };
    Row::new(what, race(lanes, &SERVERS, pace, work), &AHEAD)
}

/// Over the same file, each time with contents that were nowhere before.
fn write(lanes: &mut [Lane]) -> Row {
    let what = "write 10 KB";
    let work = |lane: &mut Lane, number| {
        let path = lane.path(WRITTEN);
        let content = String::from_utf8(Dice(1_000 + number).text(10_000)).expect("text");
        let (took, _) = lane.call("write_file", json!({"path": path, "content": content}));
        lane.check(what, std::fs::read_to_string(path).expect("the file"), content);
        took.as_secs_f64()
    };
    let taken = race(lanes, &SERVERS, Pace { rounds: 100, each: 5 }, work);
    Row::new(what, taken, &BESIDE_RUST)
}

fn edit(lanes: &mut [Lane]) -> Row {
    let what = "edit one line of 100 KB";
    let work = |lane: &mut Lane, number: u64| {
        let path = lane.path(EDITED);
        let before = std::fs::read_to_string(&path).expect("the file");
        let lines = before.lines().count();
        let old = before.lines().nth(number as usize * 37 % lines).expect("a line");
        let new = format!("{}is what edit {number} says in place of all that", &old[..6]);
        let edits = json!([{"oldText": old, "newText": new}]);
        let (took, result) = lane.call("edit_file", json!({"path": path, "edits": edits}));
        lane.check(what, text(&result).contains(&format!("\n+{new}\n")), true);
        let after = std::fs::read_to_string(path).expect("the file");
        lane.check(what, after, before.replacen(old, &new, 1));
        took.as_secs_f64()
    };
    Row::new(what, race(lanes, &SERVERS, Pace { rounds: 60, each: 2 }, work), &AHEAD)
}

fn list(lanes: &mut [Lane]) -> Row {
    let what = "list 1,000 entries";
    let expected = sorted((0..MANY).map(fixture::entry));
    let work = |lane: &mut Lane, _| {
        let path = lane.path("many");
        let (took, result) = lane.call("list_directory", json!({"path": path}));
        lane.check(what, &sorted(text(&result).lines().map(str::to_owned)), &expected);
        took.as_secs_f64()
    };
    Row::new(what, race(lanes, &SERVERS, Pace { rounds: 100, each: 2 }, work), &AHEAD)
}

/// Ours is `search_files`, as theirs are, or `glob`.
fn glob(lanes: &mut [Lane], tool: &str, crowd: Crowd) -> Row {
    let expected = sorted(crowd.named().into_iter());
    let what = format!("{tool} in {}, {} found", crowd.words(), expected.len());
    let failed = failing(lanes, crowd);
    let able: Vec<Who> = ALL.into_iter().filter(|who| !failed.contains(who)).collect();
    let work = |lane: &mut Lane, _| {
        let (took, found) = glob_once(lane, crowd);
        lane.check(&what, &sorted(found.into_iter()), &expected);
        took.as_secs_f64()
    };
    let taken = race(lanes, &able, Pace { rounds: 11, each: 1 }, work);
    let keep = [AHEAD[0], AHEAD[1], Keep::Within(Who::Rg, 1.5)];
    Row::new(&what, taken, &keep).without(failed)
}

fn glob_once(lane: &mut Lane, crowd: Crowd) -> (Duration, Vec<String>) {
    if lane.who == Who::Rg {
        let (took, output) = rg(lane, &["--files", "-g", PATTERN, crowd.folder()]);
        return (took, output.lines().map(str::to_owned).collect());
    }
    if lane.is_workspace() {
        let arguments = json!({"pattern": PATTERN, "path": inside(crowd), "limit": 0});
        let (took, result) = lane.call("glob", arguments);
        let paths = found(&result);
        let paths = paths.iter().map(|found| lane.named(found["path"].as_str().expect("a path")));
        return (took, paths.collect());
    }
    let arguments = json!({"path": lane.path(crowd.folder()), "pattern": PATTERN});
    let (took, result) = lane.call("search_files", arguments);
    (took, text(&result).lines().map(|path| lane.named(path)).collect())
}

/// The contestants that cannot search there. The Rust one holds a descriptor for each entry, and fails where the limit
/// on open files is lower.
fn failing(lanes: &mut [Lane], crowd: Crowd) -> Vec<Who> {
    let mut failing = Vec::new();
    for lane in lanes.iter_mut().filter(|lane| lane.who == Who::Rust) {
        let arguments = json!({"path": lane.path(crowd.folder()), "pattern": PATTERN});
        if let Err(why) = lane.attempt("search_files", arguments) {
            eprintln!("{why}");
            assert!(why.contains("Too many open files"), "another failure");
            failing.push(lane.who);
        }
    }
    failing
}

fn grep(lanes: &mut [Lane], crowd: Crowd) -> Row {
    let root = lanes.first().expect("a contestant").root.clone();
    let expected = sorted(crowd.hits(&root).into_iter());
    let what = format!("grep in {}, {} lines", crowd.words(), expected.len());
    let failed = failing(lanes, crowd);
    let able: Vec<Who> = GREPPERS.into_iter().filter(|who| !failed.contains(who)).collect();
    let work = |lane: &mut Lane, _| {
        let (took, found) = grep_once(lane, crowd);
        lane.check(&what, &sorted(found.into_iter()), &expected);
        took.as_secs_f64()
    };
    let taken = race(lanes, &able, Pace { rounds: 11, each: 1 }, work);
    Row::new(&what, taken, &[AHEAD[1], Keep::Within(Who::Rg, 1.5)]).without(failed)
}

/// Each hit as `path:line`, which every contestant reports.
fn grep_once(lane: &mut Lane, crowd: Crowd) -> (Duration, Vec<String>) {
    if lane.who == Who::Rg {
        let (took, output) = rg(lane, &["-n", "--", WORD, crowd.folder()]);
        let place = |line: &str| line.splitn(3, ':').take(2).collect::<Vec<_>>().join(":");
        return (took, output.lines().map(place).collect());
    }
    if lane.is_workspace() {
        // The case counts, as it does for rg.
        let arguments =
            json!({"pattern": WORD, "path": inside(crowd), "limit": 0, "case_sensitive": true});
        let (took, result) = lane.call("grep", arguments);
        return (took, found(&result).iter().map(|hit| place(lane, hit)).collect());
    }
    let arguments = json!({"path": lane.path(crowd.folder()), "pattern": "*", "query": WORD});
    let (took, result) = lane.call("search_files_content", arguments);
    (took, indented(lane, text(&result)))
}

fn place(lane: &Lane, hit: &Value) -> String {
    assert!(hit["line_text"].as_str().is_some_and(|line| line.contains(WORD)), "{hit}");
    format!("{}:{}", lane.named(hit["path"].as_str().expect("a path")), hit["line_number"])
}

/// A file's path, and below it `  line:column: text` for each of its hits.
fn indented(lane: &Lane, output: &str) -> Vec<String> {
    let (mut path, mut hits) = (String::new(), Vec::new());
    for line in output.lines().filter(|line| !line.is_empty()) {
        match line.strip_prefix("  ").and_then(|hit| hit.split(':').next()) {
            Some(number) => hits.push(format!("{path}:{number}")),
            None => path = lane.named(line),
        }
    }
    hits
}

/// The folder, as the toolset `workspace` names it.
fn inside(crowd: Crowd) -> String {
    format!("/{}", crowd.folder())
}

/// From nothing to the end of the process, whose output is read.
fn rg(lane: &Lane, arguments: &[&str]) -> (Duration, String) {
    let mut command = search::command(&lane.program, &lane.root, arguments);
    let began = Instant::now();
    let output = search::output(&mut command);
    (began.elapsed(), String::from_utf8(output).expect("text"))
}

fn sorted(lines: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<String> = lines.collect();
    lines.sort_unstable();
    lines
}
