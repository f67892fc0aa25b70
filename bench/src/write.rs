//! Writing: a durable versioned write beside a plain durable one and beside git, and many writers at
//! once, with their flushes counted.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use yard_core::op::Write;

use crate::clock::{duel, middle};
use crate::counted::{Counted, Counts};
use crate::source::{Dice, edited};
use crate::table::{Row, Target, Used};
use crate::workspace::{Bench, Plan, Scratch, at};

const SIZE: usize = 10 << 10;
const WRITERS: usize = 32;

/// Every row about writing.
pub(crate) fn rows() -> Vec<Row> {
    let mut rows = vec![
        against_plain("write 10 KB, one line edited", Kind::Edited),
        against_plain("write 10 KB, new source", Kind::Source),
        against_plain("write 10 KB, incompressible", Kind::Noise),
        against_plain("create 10 KB, new source", Kind::Created),
    ];
    rows.push(against_git());
    rows.extend(crowd("32 writers, overwriting", Duration::ZERO, false, 1.5));
    rows.extend(crowd("32 writers, creating", Duration::ZERO, true, 1.5));
    rows.extend(crowd("32 writers, 2 ms in the flush", Duration::from_millis(2), false, 8.0));
    rows.extend(traced());
    rows
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Edited,
    Source,
    Noise,
    Created,
}

/// Contents to write one after another, made before any clock starts.
fn contents(kind: Kind, count: usize) -> std::vec::IntoIter<Vec<u8>> {
    let mut dice = Dice(3);
    let mut text = dice.text(SIZE);
    let mut next = || {
        text = match kind {
            Kind::Edited => edited(&text, &mut dice),
            Kind::Source | Kind::Created => dice.text(SIZE),
            Kind::Noise => dice.noise(SIZE),
        };
        text.clone()
    };
    (0..count).map(|_| next()).collect::<Vec<_>>().into_iter()
}

pub(crate) fn write(path: &str, content: Vec<u8>) -> Write {
    Write::replacing(at(path), content)
}

fn against_plain(what: &str, kind: Kind) -> Row {
    let scratch = Scratch::new();
    let (root, plain) = (scratch.folder("root"), scratch.folder("plain"));
    let bench = Bench::open(&root, &scratch.folder("state"), &Plan::default());
    let (rounds, each) = (150, 4);
    let count = (rounds + 1) * each as usize;
    let (mut ours, mut peers) = (contents(kind, count), contents(kind, count));
    let name = |left: usize| format!("file-{}.rs", if kind == Kind::Created { left } else { 0 });
    let duel = duel(
        rounds,
        each,
        || {
            let bytes = ours.next().expect("a content");
            bench.perform(write(&format!("/{}", name(ours.len())), bytes));
        },
        || {
            let bytes = peers.next().expect("a content");
            plain_write(&plain, &name(peers.len()), &bytes);
        },
    );
    Row::times(what, &duel, Target::AtMost(if kind == Kind::Created { 1.4 } else { 1.2 }))
}

/// What a careful editor does.
fn plain_write(folder: &Path, name: &str, bytes: &[u8]) {
    let temporary = folder.join(".temporary");
    let mut file = File::create(&temporary).expect("a file");
    file.write_all(bytes).expect("its bytes");
    file.sync_all().expect("a flush");
    std::fs::rename(&temporary, folder.join(name)).expect("a rename");
    File::open(folder).and_then(|folder| folder.sync_all()).expect("a flush");
}

fn against_git() -> Row {
    let scratch = Scratch::new();
    let (root, repo) = (scratch.folder("root"), scratch.folder("repo"));
    let bench = Bench::open(&root, &scratch.folder("state"), &Plan::default());
    git(&repo, &["init", "-q"]);
    // Ten in a row: what git leaves to be written is paid for by whoever flushes next.
    let (rounds, each) = (25, 10);
    let count = (rounds + 1) * each as usize;
    let (mut ours, mut peers) = (contents(Kind::Edited, count), contents(Kind::Edited, count));
    let duel = duel(
        rounds,
        each,
        || {
            bench.perform(write("/file.rs", ours.next().expect("a content")));
        },
        || {
            let bytes = peers.next().expect("a content");
            std::fs::write(repo.join("file.rs"), bytes).expect("a file");
            git(&repo, &["add", "file.rs"]);
            git(&repo, &["commit", "-q", "-m", "change"]);
        },
    );
    Row::times("write 10 KB, beside git add + commit", &duel, Target::Faster(20.0))
}

fn git(repo: &Path, arguments: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
        .args(arguments)
        .current_dir(repo)
        .status();
    assert!(done.expect("git").success(), "git {arguments:?}");
}

/// Many writers on one workspace, each with a file of its own.
struct Crowd {
    bench: Bench,
    counts: Arc<Counts>,
    creating: bool,
    round: usize,
    _scratch: Scratch,
}

impl Crowd {
    fn new(delay: Duration, creating: bool) -> Self {
        let scratch = Scratch::new();
        let counts = Arc::new(Counts::default());
        let shared = Arc::clone(&counts);
        let wrap =
            move |store| Arc::new(Counted { store, counts: Arc::clone(&shared), delay }) as Arc<_>;
        let plan = Plan { store: &wrap, ..Plan::default() };
        let bench = Bench::open(&scratch.folder("root"), &scratch.folder("state"), &plan);
        Self { bench, counts, creating, round: 0, _scratch: scratch }
    }

    /// Commits a second of that many writers with so many writes each, and their batches a commit.
    fn run(&mut self, writers: usize, each: usize) -> (f64, f64) {
        self.round += 1;
        let round = self.round;
        // What is written is made before the clock starts.
        let mut work: Vec<Vec<Write>> = (0..writers)
            .map(|writer| {
                let mut dice = Dice((round * 100 + writer) as u64);
                let mut text = dice.text(SIZE);
                let mut one = |number: usize| {
                    text = edited(&text, &mut dice);
                    let name = match self.creating {
                        true => format!("/made-{round}-{writer}-{number}.rs"),
                        false => format!("/file-{writer}.rs"),
                    };
                    write(&name, text.clone())
                };
                (0..each).map(&mut one).collect()
            })
            .collect();
        self.counts.take();
        let start = Instant::now();
        std::thread::scope(|scope| {
            for writes in work.drain(..) {
                let bench = self.bench.clone();
                scope.spawn(move || {
                    for write in writes {
                        bench.perform(write);
                    }
                });
            }
        });
        let seconds = start.elapsed().as_secs_f64();
        let (batches, _) = self.counts.take();
        let commits = (writers * each) as f64;
        (commits / seconds, batches as f64 / commits)
    }
}

fn crowd(what: &str, delay: Duration, creating: bool, least: f64) -> Vec<Row> {
    let mut crowd = Crowd::new(delay, creating);
    let rounds: Vec<_> =
        (0..10).map(|_| (crowd.run(1, 100), crowd.run(WRITERS, 20))).skip(1).collect();
    let one = middle(rounds.iter().map(|(one, _)| one.0));
    let many = middle(rounds.iter().map(|(_, many)| many.0));
    let gain = middle(rounds.iter().map(|(one, many)| many.0 / one.0));
    let flushes = middle(rounds.iter().map(|(_, many)| many.1));
    let cells = [
        format!("{many:.0}/s"),
        format!("{one:.0}/s"),
        format!("{gain:.2}x"),
        format!(">= {least}x"),
    ];
    let counted = [format!("{flushes:.3}"), "1".into(), String::new(), "<= 0.25".into()];
    vec![
        Row::words(
            &format!("{what}: commits, beside one"),
            cells,
            Some(Used::at_least(gain, least)),
        ),
        Row::words("  flushes a commit", counted, Some(Used::at_most(flushes, 0.25))),
    ]
}

/// In a process of its own: a crowd, for whoever traces it.
pub(crate) fn storm(writers: usize, each: usize) {
    let mut crowd = Crowd::new(Duration::ZERO, false);
    let (rate, flushes) = crowd.run(writers, each);
    println!("{rate:.0} commits/s, {flushes:.3} batches a commit, {} commits", writers * each);
}

/// The same count as the operating system sees it, where strace is installed.
fn traced() -> Option<Row> {
    let program = std::env::current_exe().ok()?;
    let output = Command::new("strace")
        .args(["-f", "-c", "-e", "trace=fdatasync,fsync,syncfs"])
        .arg(program)
        .args(["storm", "32", "50"])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let calls: u64 = text
        .lines()
        .filter(|line| line.ends_with("sync") || line.ends_with("syncfs"))
        .filter_map(|line| line.split_whitespace().nth(3)?.parse::<u64>().ok())
        .sum();
    if calls == 0 {
        eprintln!("strace cannot trace here, so its row is left out");
        return None;
    }
    let flushes = calls as f64 / (WRITERS * 50) as f64;
    let cells = [format!("{flushes:.3}"), "1".into(), String::new(), "<= 0.25".into()];
    Some(Row::words(
        "  fsync, fdatasync a commit (strace)",
        cells,
        Some(Used::at_most(flushes, 0.25)),
    ))
}
