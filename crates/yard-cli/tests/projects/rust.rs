//! A Rust workspace with more than 100 dependencies, and a crate that links C. What a build of it costs in the box
//! is measured, too.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::counts::{self, counts};
use crate::packages::shell;
use crate::person::{Person, User};
use crate::story::{Install, Project, Setting, Toolset, furnish, play};
use crate::workspace::{Door, Workspace};

/// The versions of all dependencies.
const LOCK: &str = include_str!("../fixtures/rust-workspace.lock");

const TEXT: &str = "anstyle anstyle-parse base64 bs58 bytesize cesu8 diff difflib doc-comment dtoa dtoa-short dunce \
    fnv form_urlencoded glob heck hex httparse httpdate humantime ident_case is_terminal_polyfill itoa memchr \
    percent-encoding roman ryu shlex str_indices strsim take_mut termtree text-size try-lock unicode-bom \
    unicode-ident unicode-segmentation unicode-width unicode-xid unicode_categories unindent untrusted utf-8 \
    utf8parse wildmatch";
const SUMS: &str = "arrayvec bit-set bit-vec bitflags boolinator byteorder bytes cfg-if either equivalent fastrand \
    fixedbitset float-ord foldhash foreign-types foreign-types-shared futf hashers lazy_static mac maplit matches \
    md5 memo-map more-asserts new_debug_unreachable nohash-hasher numtoa once_cell oorandom option-ext quick-error \
    rustc-hash scopeguard slab smallvec static_assertions unreachable vec_map void";
const CHECKS: &str = "adler adler2 arrayref assert_matches atomic-waker cast constant_time_eq countme cpufeatures \
    crc crc-catalog crc32fast futures-core futures-io futures-sink futures-task lazycell leb128 log parking \
    pin-project-lite pin-utils precomputed-hash predicates-core rle-decode-fast simdutf8 stable_deref_trait subtle";

const TEXT_CODE: &str = "\
//! Words.

/// A number in words.
///
/// ```
/// assert_eq!(text::shown(3), \"3\");
/// ```
pub fn shown(number: u64) -> String {
    itoa::Buffer::new().format(number).to_owned()
}

#[cfg(test)]
mod tests {
    #[test]
    fn numbers_are_shown() {
        assert_eq!(super::shown(12), \"12\");
    }
}
";

const SUMS_CODE: &str = "\
//! Sums.

pub fn total(lines: &[&str]) -> u64 {
    lines.iter().filter_map(|line| line.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::total;

    #[test]
    fn nothing_is_zero() {
        assert_eq!(total(&[]), 0);
    }

    #[test]
    fn two_lines() {
        let lines: smallvec::SmallVec<[&str; 2]> = smallvec::smallvec![\"1\", \"2\"];
        assert_eq!(total(&lines), 3);
    }

    #[test]
    #[ignore = \"another day\"]
    fn another_day() {
        assert_eq!(total(&[]), 1);
    }
}
";

const CHECKS_CODE: &str = "\
//! Checks.

pub fn sum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

#[test]
fn a_known_sum() {
    assert_eq!(sum(b\"123456789\"), 0xcbf4_3926);
}
";

const NATIVE_CODE: &str = "\
//! A function in C.

extern \"C\" {
    fn twice(number: u32) -> u32;
}

pub fn doubled(number: u32) -> u32 {
    unsafe { twice(number) }
}

#[test]
fn c_is_linked() {
    assert_eq!(doubled(21), 42);
}
";

const APP_CODE: &str = "\
fn main() {
    let total = sums::total(&[\"1\", \"2\"]);
    let doubled = native::doubled(u32::try_from(total).unwrap());
    println!(\"{} {}\", text::shown(u64::from(doubled)), checks::sum(b\"\"));
}
";

fn manifest(name: &str, dependencies: &str) -> String {
    let lines = dependencies.split_whitespace().map(|name| format!("{name} = \"*\"\n"));
    let lines: String = lines.collect();
    format!(
        "[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\n[dependencies]\n{lines}"
    )
}

fn project() -> Project {
    let own = ["text", "sums", "checks", "native"]
        .map(|name| format!("{name} = {{ path = \"../{name}\" }}\n"));
    let native = format!("{}\n[build-dependencies]\ncc = \"1\"\n", manifest("native", ""));
    Project {
        name: "rust",
        files: vec![
            ("Cargo.toml", "[workspace]\nresolver = \"2\"\nmembers = [\"crates/*\"]\n".to_owned()),
            ("Cargo.lock", LOCK.to_owned()),
            (".gitignore", "/target/\n".to_owned()),
            ("crates/text/Cargo.toml", manifest("text", TEXT)),
            ("crates/text/src/lib.rs", TEXT_CODE.to_owned()),
            ("crates/sums/Cargo.toml", manifest("sums", SUMS)),
            ("crates/sums/src/lib.rs", SUMS_CODE.to_owned()),
            ("crates/checks/Cargo.toml", manifest("checks", CHECKS)),
            ("crates/checks/src/lib.rs", CHECKS_CODE.to_owned()),
            ("crates/native/Cargo.toml", native),
            (
                "crates/native/build.rs",
                "fn main() {\n    println!(\"cargo:rerun-if-changed=twice.c\");\n    cc::Build::new().file(\"twice.c\").compile(\"twice\");\n}\n"
                    .to_owned(),
            ),
            (
                "crates/native/twice.c",
                "unsigned twice(unsigned number) { return 2 * number; }\n".to_owned(),
            ),
            ("crates/native/src/lib.rs", NATIVE_CODE.to_owned()),
            ("crates/app/Cargo.toml", manifest("app", "") + &own.concat()),
            ("crates/app/src/main.rs", APP_CODE.to_owned()),
        ],
        toolchain: Person::rust,
        prepare: "cargo fetch --quiet --locked",
        install: Some(Install {
            probe: "CARGO_HOME=/tmp/cargo CARGO_NET_RETRY=0 cargo fetch --manifest-path crates/app/Cargo.toml",
            command: "cargo add --quiet -p text ascii && cargo fetch --quiet",
            packages: ("cargo", &["ascii"]),
            folder: "crates/text",
            more: ("cargo add --quiet -p text bytecount && cargo fetch --quiet", "bytecount"),
        }),
        build: "cargo build",
        built: "target/debug/app",
        test: "cargo test --no-fail-fast",
        read: counts::cargo,
        counts: counts(6, 0, 1),
        breaks: (
            "crates/native/twice.c",
            "unsigned twice(unsigned number) { return 2 * number; }",
            "unsigned twice(unsigned number) { return 3 * number; }",
        ),
        broken: counts(5, 1, 1),
    }
}

#[test]
#[ignore = "needs real projects: scripts/test --full"]
fn a_rust_workspace_with_many_dependencies_and_c() {
    let names = LOCK.lines().filter(|line| line.starts_with("name = ")).count();
    assert!(names > 105, "{names} packages, of which five are the workspace's own");
    play(&project(), Setting { toolset: Toolset::Codex, user: User::Current, door: Door::Stdio });
}

/// How often each is measured: once, to see that it works, or for the figures.
fn rounds() -> usize {
    if is_soak() { 3 } else { 1 }
}

fn is_soak() -> bool {
    std::env::var_os("YARD_SOAK").is_some()
}

/// The middle one.
fn median(mut all: Vec<Duration>) -> Duration {
    all.sort();
    all[all.len() / 2]
}

fn timed(run: impl FnOnce()) -> Duration {
    let began = Instant::now();
    run();
    began.elapsed()
}

#[test]
#[ignore = "needs real projects: scripts/test --full"]
fn a_build_of_a_hundred_crates_costs_hardly_more_in_the_box() {
    let (project, person) = (project(), Person::new(User::Current));
    (project.toolchain)(&person);
    let (root, outside) =
        (furnish(&project, &person, "projects"), furnish(&project, &person, "copies"));
    let mut workspace = Workspace::open(&person, &root, Door::Stdio, "codex");
    let mut boxed = || {
        let answer = workspace.call("shell", &shell("cargo build --quiet --offline"));
        assert_eq!(answer["returncode"], 0, "{answer}");
    };
    let bare = || drop(person.run(&outside, "cargo build --quiet --offline"));
    let remove = |folder: &Path| drop(fs::remove_dir_all(folder.join("target")));
    let (mut full, mut idle) = ((Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
    for _ in 0..rounds() {
        remove(&outside);
        full.0.push(timed(bare));
        idle.0.push(timed(bare));
        remove(&root);
        full.1.push(timed(&mut boxed));
        idle.1.push(timed(&mut boxed));
    }
    println!("full builds, outside and in the box: {full:?}\nwith nothing to do: {idle:?}");
    let (full, idle) = ((median(full.0), median(full.1)), (median(idle.0), median(idle.1)));
    let ratio = full.1.as_secs_f64() / full.0.as_secs_f64();
    println!(
        "full: {:?} outside, {:?} in the box, {ratio:.3} times; idle: {idle:?}",
        full.0, full.1
    );
    // A machine that does other work meanwhile is measured by hand.
    if is_soak() {
        assert!(ratio <= 1.15, "a build takes {ratio:.3} times as long in the box");
        let more = idle.1.saturating_sub(idle.0);
        assert!(
            more <= Duration::from_millis(300),
            "a build with nothing to do takes {more:?} more"
        );
    }
}
