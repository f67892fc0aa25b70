//! Power cuts: a writer works on an ext4 or xfs image whose file system is shut down under it. What was not
//! flushed is lost, and the next writer, under another boot, opens what is left. It has to find everything
//! that was acknowledged, and nobody else's work changed. Nothing is flushed between two cuts, except by the
//! program itself. Where a cut hits depends on the machine's speed; what the cuts found is repeated each time
//! by `older` and `lost`. `YARD_SEED=n` draws others.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use yard_core::ContentHash;
use yard_testkit::FakeWorld;
use yard_testkit::{soak, tree};

use crate::machine::{Machine, is_apart, run_apart};
use crate::model::{Model, below, whole};

/// After so many cuts a fresh image is taken: each opening checks the whole history.
const CUTS_AN_IMAGE: usize = 5;
/// Most changes that a writer must have acknowledged before the power is cut.
const MOST_AWAITED: usize = 5;
/// How long a writer may take to open what is left and to begin with its work.
const OPENING: Duration = Duration::from_secs(120);

#[test]
fn after_power_cuts_everything_acknowledged_is_there_and_nothing_removed_is_back() {
    run_apart("power::cuts_under_load");
}

#[test]
fn after_power_cuts_what_a_person_did_before_the_opening_stays() {
    match soak() {
        true => run_apart("power::cuts_with_a_person"),
        false => eprintln!("SKIPPED: power cuts with a person are part of the soak (YARD_SOAK=1)"),
    }
}

/// In a mount namespace of its own.
#[test]
fn cuts_under_load() {
    if is_apart() {
        cut_again_and_again(seed(1), if soak() { 300 } else { 20 }, false);
    }
}

/// In a mount namespace of its own.
#[test]
fn cuts_with_a_person() {
    if is_apart() {
        cut_again_and_again(seed(2), if soak() { 300 } else { 10 }, true);
    }
}

fn seed(usual: u64) -> u64 {
    std::env::var("YARD_SEED").ok().map_or(usual, |seed| seed.parse().unwrap())
}

fn cut_again_and_again(seed: u64, cuts: usize, with_person: bool) {
    let dice = FakeWorld::new(seed);
    let mut figures = Figures::default();
    for (round, first) in (0..cuts).step_by(CUTS_AN_IMAGE).enumerate() {
        let kind = ["ext4", "xfs"][round % 2];
        let mut series = Series::new(Machine::new(kind), seed);
        for cut in first..cuts.min(first + CUTS_AN_IMAGE) {
            let acts = match with_person && cut > first {
                true => {
                    Person { root: series.machine.root(), dice: &dice, acts: Vec::new() }.work()
                }
                false => Vec::new(),
            };
            // One in four cuts may hit the opening itself.
            let is_early = cut > first && dice.below(4) == 0;
            series.run(cut, &acts, is_early, &dice, &mut figures);
        }
        // The last cut is judged too.
        series.run(cuts, &[], false, &dice, &mut figures);
    }
    eprintln!("{figures:?}");
    assert!(figures.acknowledged >= figures.awaited, "the writer hardly wrote: {figures:?}");
}

/// What was done and looked at.
#[derive(Debug, Default)]
struct Figures {
    cuts: usize,
    early_cuts: usize,
    judged: usize,
    acknowledged: usize,
    /// Changes that were acknowledged before the power was cut, however slow the machine is.
    awaited: usize,
    files_checked: usize,
    person_acts: usize,
    /// Removals by the person that could not be told from lost writes.
    put_back: usize,
}

/// What a writer told.
#[derive(Default)]
pub(crate) struct WriterReport {
    pub(crate) found: Model,
    is_ready: bool,
    pub(crate) wrong: Vec<String>,
    unsynced: Vec<String>,
    /// The number of each step, its id and what it did.
    pub(crate) acknowledged: Vec<(u64, String, String)>,
    trying: Option<String>,
    failed: Option<String>,
}

impl WriterReport {
    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap();
        let mut answer = Self::default();
        let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
        for line in lines.filter_map(|line| line.trim_end().strip_prefix('@')) {
            answer.line(line);
        }
        answer
    }

    fn line(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "folder" => drop(self.found.folders.insert(rest.to_owned())),
            "file" => {
                let (path, hash) = rest.rsplit_once(' ').unwrap();
                self.found.files.insert(path.to_owned(), hash.to_owned());
            }
            "wrong" => self.wrong.push(rest.to_owned()),
            "unsynced" => self.unsynced.push(rest.to_owned()),
            "ready" => self.is_ready = true,
            "try" => self.trying = Some(rest.to_owned()),
            "ack" => {
                self.trying = None;
                self.acknowledged.push((u64::MAX, String::new(), rest.to_owned()));
            }
            "step" => {
                let (seq, id) = rest.split_once(' ').unwrap();
                let last = self.acknowledged.last_mut().unwrap();
                (last.0, last.1) = (seq.parse().unwrap(), id.to_owned());
            }
            "fail" => self.failed = Some(rest.to_owned()),
            _ => panic!("the writer told {line:?}"),
        }
    }
}

/// One image, and what must be on it.
struct Series {
    machine: Machine,
    seed: u64,
    /// What the tree may be: a change that was under way when the power went happened or did not.
    may_be: Vec<Model>,
    /// Changes of the runs that no opening has settled yet, with the numbers of their steps.
    unsettled: Vec<(u64, String)>,
    runs: u64,
}

impl Series {
    fn new(machine: Machine, seed: u64) -> Self {
        std::fs::write(machine.safe().join("acknowledged"), "").unwrap();
        Self { machine, seed, may_be: vec![Model::default()], unsettled: Vec::new(), runs: 0 }
    }

    /// Starts a writer, which opens what is left; lets it work; cuts the power; judges what it found.
    fn run(
        &mut self,
        cut: usize,
        acts: &[Act],
        is_early: bool,
        dice: &FakeWorld,
        figures: &mut Figures,
    ) {
        self.runs += 1;
        let context = format!("{} seed {} cut {cut}", self.machine.kind, self.seed);
        let applied = self.machine.applied();
        let before = Model::of(&tree(&self.machine.root()));
        let awaited = if is_early { 0 } else { dice.below(MOST_AWAITED + 1) };
        let answer = self.work(&context, is_early, awaited, dice);
        figures.awaited += awaited;
        figures.cuts += 1;
        figures.early_cuts += usize::from(is_early);
        figures.person_acts += acts.len();
        if !answer.is_ready {
            // What it found wrong may be the cut itself: the next opening looks again, and is judged by what
            // this one should have found. What the person did may have been lost with this cut.
            assert!(is_early, "{context}: the writer did not open: {:?}", answer.failed);
            if !acts.is_empty() {
                self.may_be.clear();
            }
            return;
        }
        assert!(answer.wrong.is_empty(), "{context}: {:#?}", answer.wrong);
        figures.judged += 1;
        figures.files_checked += answer.found.files.len();
        let judge =
            Judge { context: &context, applied, before: &before, unsettled: &self.unsettled, acts };
        if !self.may_be.is_empty() {
            figures.put_back += judge.check(&self.may_be, &answer);
        }
        self.settle(answer, figures);
    }

    /// Takes over what the writer found and did.
    fn settle(&mut self, answer: WriterReport, figures: &mut Figures) {
        figures.acknowledged += answer.acknowledged.len();
        self.unsettled.clear();
        let mut model = answer.found;
        let mut steps = String::new();
        for (seq, id, change) in answer.acknowledged {
            model.apply(&change);
            if !id.is_empty() {
                steps += &format!("{id}\n");
            }
            self.unsettled.push((seq, change));
        }
        use std::io::Write;
        let acknowledged = self.machine.safe().join("acknowledged");
        let mut file = File::options().append(true).open(acknowledged).unwrap();
        file.write_all(steps.as_bytes()).unwrap();
        self.may_be = vec![model.clone()];
        if let Some(change) = answer.trying {
            model.apply(&change);
            self.may_be.push(model);
            self.unsettled.push((u64::MAX, change));
        }
    }

    /// Lets a writer open what is left and acknowledge so many changes, and cuts the power a moment later.
    fn work(
        &mut self,
        context: &str,
        is_early: bool,
        awaited: usize,
        dice: &FakeWorld,
    ) -> WriterReport {
        let out = self.machine.safe().join("told");
        let mut child = self.spawn(&out);
        let is_ready = || std::fs::read_to_string(&out).unwrap().contains("\n@ready\n");
        let has_acknowledged = || {
            let told = std::fs::read_to_string(&out).unwrap();
            told.contains("\n@ready\n") && told.matches("\n@ack ").count() >= awaited
        };
        let started = Instant::now();
        if is_early {
            std::thread::sleep(Duration::from_millis(dice.below(150) as u64));
        } else {
            while !has_acknowledged() && child.try_wait().unwrap().is_none() {
                assert!(
                    started.elapsed() < OPENING,
                    "{context}: the writer does not open or write"
                );
                std::thread::sleep(Duration::from_millis(2));
            }
            // Sometimes longer than the program waits with its own flush.
            let most = if dice.below(5) == 0 { 2_500 } else { 400 };
            std::thread::sleep(Duration::from_millis(dice.below(most) as u64));
        }
        let ended = child.try_wait().unwrap();
        let was_ready = is_ready();
        self.machine.cut();
        let _ = child.kill();
        child.wait().unwrap();
        let mut answer = WriterReport::read(&out);
        // A file system that was cut while the writer looked through it answers with errors.
        answer.is_ready &= was_ready || answer.wrong.is_empty();
        let words = std::fs::read_to_string(self.machine.safe().join("errors")).unwrap();
        assert!(
            ended.is_none(),
            "{context}: the writer ended by itself: {:?} {:?}\n{words}",
            answer.failed,
            answer.wrong
        );
        self.machine.restart();
        answer
    }

    fn spawn(&self, out: &Path) -> Child {
        let (root, state) = (self.machine.root(), self.machine.state());
        let seed = self.seed * 1_000_000 + self.runs;
        let order = format!("{}|{}|{seed}|{}", root.display(), state.display(), u64::MAX);
        let errors = self.machine.safe().join("errors");
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writer::child", "--nocapture"])
            .env("YARD_CRASH_CHILD", order)
            .env("YARD_CRASH_BOOT", self.machine.boot.to_string())
            .env("YARD_CRASH_ACKNOWLEDGED", self.machine.safe().join("acknowledged"))
            .stdout(append_to(out))
            .stderr(append_to(&errors))
            .spawn()
            .unwrap()
    }
}

/// An empty file that is written at its end only, however often it is opened.
pub(crate) fn append_to(path: &Path) -> Stdio {
    File::create(path).unwrap();
    File::options().append(true).open(path).unwrap().into()
}

/// What a person did between the restart of the machine and the opening.
#[derive(Clone, Debug)]
enum Act {
    /// The file has these bytes now.
    Saved(String, String),
    /// The entry is gone, with what was in it.
    Removed(String),
    /// The entry is there now, with what was in it: its files.
    Moved { from: String, to: String, files: Vec<(String, String)> },
}

struct Person<'a> {
    root: PathBuf,
    dice: &'a FakeWorld,
    acts: Vec<Act>,
}

impl Person<'_> {
    fn work(mut self) -> Vec<Act> {
        for count in 0..1 + self.dice.below(3) {
            self.act(count);
        }
        self.acts
    }

    fn real(&self, path: &str) -> PathBuf {
        self.root.join(&path[1..])
    }

    /// Paths that no earlier act has to do with.
    fn pick<'a>(&self, paths: impl Iterator<Item = &'a String>) -> Option<String> {
        let is_apart = |path: &&String| {
            let near = |other: &String| below(path, other) || below(other, path);
            !self.acts.iter().any(|act| match act {
                Act::Saved(saved, _) => near(saved),
                Act::Removed(removed) => near(removed),
                Act::Moved { from, to, .. } => near(from) || near(to),
            })
        };
        let all: Vec<&String> = paths.filter(is_apart).collect();
        all.get(self.dice.below(all.len().max(1))).map(|path| (*path).clone())
    }

    fn act(&mut self, count: usize) {
        let now = Model::of(&tree(&self.root));
        let file = self.pick(now.files.keys());
        let folder = self.pick(now.folders.iter());
        match (self.dice.below(8), file, folder) {
            (0 | 1, Some(file), _) => self.save(&file, count, 3, false),
            (2, Some(file), _) => self.save(&file, count, 3, true),
            (3, _, folder) => {
                let folder = folder.unwrap_or_default();
                // Half of them are too large to be loaded.
                let lines = if self.dice.below(2) == 0 { 3 } else { 40_000 };
                self.save(&format!("{folder}/person{count}"), count, lines, false);
            }
            (4, Some(file), _) => {
                std::fs::remove_file(self.real(&file)).unwrap();
                self.acts.push(Act::Removed(file));
            }
            (5, Some(file), _) => self.move_away(&now, file, count),
            (6, _, Some(folder)) => self.move_away(&now, folder, count),
            (7, _, Some(folder)) => {
                std::fs::remove_dir_all(self.real(&folder)).unwrap();
                self.acts.push(Act::Removed(folder));
            }
            _ => {}
        }
    }

    fn save(&mut self, path: &str, count: usize, lines: usize, by_rename: bool) {
        let text = whole(&format!("person {count} {}", self.dice.below(1 << 30)), lines);
        match by_rename {
            true => {
                let side = self.root.join("person-side");
                std::fs::write(&side, &text).unwrap();
                std::fs::rename(&side, self.real(path)).unwrap();
            }
            false => std::fs::write(self.real(path), &text).unwrap(),
        }
        self.acts.push(Act::Saved(path.to_owned(), ContentHash::of(text.as_bytes()).to_string()));
    }

    fn move_away(&mut self, now: &Model, from: String, count: usize) {
        let to = format!("/person-moved{count}");
        // What the person removed from there is not to come back by the person's own hand.
        let was_taken = self.acts.iter().any(|act| match act {
            Act::Saved(..) => false,
            Act::Removed(gone) | Act::Moved { from: gone, .. } => below(gone, &to),
        });
        if was_taken || self.real(&to).symlink_metadata().is_ok() {
            return;
        }
        std::fs::rename(self.real(&from), self.real(&to)).unwrap();
        let inside = now.files.iter().filter(|(path, _)| below(path, &from));
        let files =
            inside.map(|(path, hash)| (format!("{to}{}", &path[from.len()..]), hash.clone()));
        let files = files.collect();
        self.acts.push(Act::Moved { from, to, files });
    }
}

/// What an opening has to leave as it is, and what it has to put right.
struct Judge<'a> {
    context: &'a str,
    /// The step up to which nothing can have been lost but bytes.
    applied: u64,
    /// The tree before the opening.
    before: &'a Model,
    unsettled: &'a [(u64, String)],
    acts: &'a [Act],
}

impl Judge<'_> {
    /// How many of the person's removals were put back, because their steps are beyond the applied mark.
    fn check(&self, may_be: &[Model], answer: &WriterReport) -> usize {
        let put_back = self.check_person(answer);
        let differences: Vec<Vec<String>> =
            may_be.iter().map(|model| self.differences(model, &answer.found)).collect();
        let fits = differences.iter().any(Vec::is_empty);
        assert!(
            fits,
            "{}: applied {}\ndifferences to what may be there: {differences:#?}\nperson: {:#?}\n\
             unsynced: {:?}\nunsettled: {:#?}\nbefore: {:#?}\nfound: {:#?}",
            self.context,
            self.applied,
            self.acts,
            answer.unsynced,
            self.unsettled,
            self.before,
            answer.found
        );
        put_back
    }

    fn check_person(&self, answer: &WriterReport) -> usize {
        let found = &answer.found;
        let hashes: BTreeSet<&String> = found.files.values().collect();
        let mut put_back = 0;
        for act in self.acts {
            let gone = match act {
                Act::Saved(path, hash) => {
                    // A folder whose lost move is done again takes along what the person saved in it.
                    let is_there = found.files.get(path) == Some(hash)
                        || (self.is_unsettled(path) && hashes.contains(hash));
                    assert!(is_there, "{}: {act:?} is {:?}", self.context, found.files.get(path));
                    None
                }
                Act::Removed(path) => Some(path),
                Act::Moved { from, files, .. } => {
                    for (path, hash) in files {
                        let now = found.files.get(path);
                        assert!(
                            now == Some(hash),
                            "{}: {path} was {hash} and is {now:?} after {act:?}",
                            self.context
                        );
                    }
                    Some(from)
                }
            };
            let Some(gone) = gone else { continue };
            if found.files.contains_key(gone) || found.folders.contains(gone) {
                assert!(self.is_unsettled(gone), "{}: {gone} is back: {act:?}", self.context);
                put_back += 1;
            }
        }
        put_back
    }

    /// Whether a step beyond the applied mark has to do with a path.
    fn is_unsettled(&self, path: &str) -> bool {
        self.unsettled.iter().any(|(seq, change)| {
            let mut paths = change.split(' ').skip(1).filter(|word| word.starts_with('/'));
            *seq > self.applied && paths.any(|word| below(path, word) || below(word, path))
        })
    }

    /// Whether a path is the person's, or in a folder that they changed.
    fn is_the_persons(&self, path: &str) -> bool {
        let near = |other: &str, removes: bool| {
            let above = other.rsplit_once('/').map_or("", |(above, _)| above);
            below(path, other)
                || below(other, path)
                || (removes && !above.is_empty() && below(path, above))
        };
        self.acts.iter().any(|act| match act {
            Act::Saved(saved, _) => near(saved, true),
            Act::Removed(removed) => near(removed, true),
            Act::Moved { from, to, .. } => near(from, true) || near(to, false),
        })
    }

    /// Whether the person touched a folder whose move was lost, or took away where it was to go. Such a folder
    /// stays where it is, with everything in it.
    fn hinders_a_move(&self) -> bool {
        let moves = self.unsettled.iter().filter(|(seq, _)| *seq > self.applied);
        { moves }.any(|(_, change)| {
            let ["mv", from, to] = change.split(' ').collect::<Vec<_>>()[..] else { return false };
            self.acts.iter().any(|act| match act {
                // Where it was to go may be a folder that was removed, which stays for the saved file.
                Act::Saved(path, _) => below(path, from) || below(path, to),
                Act::Removed(gone) | Act::Moved { from: gone, .. } => {
                    below(gone, from) || below(to, gone)
                }
            })
        })
    }

    /// Whether the person saved a file that lost moves have taken to this path.
    fn is_saved_where_it_stays(&self, path: &str) -> bool {
        let moves = self.unsettled.iter().filter(|(seq, _)| *seq > self.applied);
        let moves: Vec<_> = { moves }
            .filter_map(|(_, change)| match change.split(' ').collect::<Vec<_>>()[..] {
                ["mv", from, to] => Some((from, to)),
                _ => None,
            })
            .collect();
        let moved = |saved: &String| {
            moves.iter().fold(saved.clone(), |at, (from, to)| match below(&at, from) {
                true => format!("{to}{}", &at[from.len()..]),
                false => at,
            })
        };
        self.acts.iter().any(|act| matches!(act, Act::Saved(saved, _) if moved(saved) == path))
    }

    /// Whether a file that the person saved is in a folder. It went there with a folder whose lost move was
    /// done again, and a later step that removed that folder leaves the person's file, so the folder stays.
    fn holds_what_the_person_saved(&self, folder: &str, found: &Model) -> bool {
        self.acts.iter().any(|act| match act {
            Act::Saved(_, hash) => {
                found.files.iter().any(|(path, is)| is == hash && below(path, folder))
            }
            _ => false,
        })
    }

    /// Whether the person removed or moved something that steps beyond the applied mark have to do with.
    fn takes_unsettled(&self) -> bool {
        self.acts.iter().any(|act| match act {
            Act::Saved(..) => false,
            Act::Removed(from) | Act::Moved { from, .. } => self.is_unsettled(from),
        })
    }

    fn differences(&self, model: &Model, found: &Model) -> Vec<String> {
        let mut all = Vec::new();
        let hinders = self.hinders_a_move();
        let files: BTreeSet<&String> = model.files.keys().chain(found.files.keys()).collect();
        for path in files {
            let (must, is) = (model.files.get(path), found.files.get(path));
            let was = self.before.files.get(path);
            let is_saved = self.acts.iter().any(|act| match act {
                // It went along with its folder, whose lost move was done again.
                Act::Saved(saved, hash) => is == Some(hash) && self.is_unsettled(saved),
                _ => false,
            });
            // It was where a lost move had left it, and the person took it from there.
            let is_taken = is.is_none() && self.is_unsettled(path) && self.takes_unsettled();
            // The person wrote over it, in a folder that stays.
            let is_overwritten = is.is_none() && self.is_saved_where_it_stays(path);
            // Its folder stays where it is: its bytes are all there.
            let is_elsewhere = hinders
                && match (must, is) {
                    (Some(hash), None) => found.files.values().any(|other| other == hash),
                    (None, Some(hash)) => model.files.values().any(|other| other == hash),
                    _ => false,
                };
            let is_explained =
                is_saved || is_taken || is_overwritten || is_elsewhere || self.is_the_persons(path);
            if must != is && !is_explained {
                all.push(format!("{path} must be {must:?}, is {is:?}, was {was:?}"));
            }
        }
        for path in model.folders.symmetric_difference(&found.folders) {
            let is = found.folders.contains(path);
            let is_taken = !is && self.is_unsettled(path) && self.takes_unsettled();
            let is_explained = hinders
                || is_taken
                || self.is_the_persons(path)
                || self.holds_what_the_person_saved(path, found);
            if !is_explained {
                all.push(format!("the folder {path} is there: {is}"));
            }
        }
        all
    }
}
