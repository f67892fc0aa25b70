//! The corpora of patches and paths, replayed and then mutated: 40,000 times, or 400,000 times with
//! `YARD_SOAK=1`. The dice are the same every time, so that what fails once fails again; `YARD_SEED=n`
//! starts with other dice. `fuzz/` checks the same properties on what a fuzzer finds.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "a test that reads its corpus and fails loudly"
)]

mod support;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use support::{Dice, properties};

/// No input grows beyond this: what is slow by its size alone is no finding.
const LARGEST: usize = 16 << 10;

/// Words that mean something to a parser of patches or of paths.
const TOKENS: [&[u8]; 36] = [
    b"*** Begin Patch\n",
    b"*** End Patch\n",
    b"*** Add File: ",
    b"*** Update File: ",
    b"*** Delete File: ",
    b"*** Move to: ",
    b"*** End of File\n",
    b"@@",
    b"@@ -1,2 +1,2 @@\n",
    b"@@ -0,0 +1 @@\n",
    b"@@ -18446744073709551615,1 +1 @@\n",
    b"diff --git a/x b/x\n",
    b"--- a/x\n",
    b"+++ b/x\n",
    b"--- /dev/null\n",
    b"+++ /dev/null\n",
    b"\\ No newline at end of file\n",
    b"rename from x\n",
    b"rename to y\n",
    b"copy from x\n",
    b"copy to y\n",
    b"new file mode 100644\n",
    b"deleted file mode 100644\n",
    b"old mode 100644\nnew mode 100755\n",
    b"similarity index 100%\n",
    b"GIT binary patch\n",
    b"\"a/\\303\\274\"",
    b"<<'EOF'\n",
    b"```\n",
    b"\r\n",
    b"\n+",
    b"\n-",
    b"/../",
    b"//./",
    b"\\xff\\x5c",
    b"\xef\xbb\xbf",
];

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(name);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).collect();
    files.sort_by_key(fs::DirEntry::file_name);
    assert!(files.len() >= 12, "{} inputs of {name}", files.len());
    files.iter().map(|file| fs::read(file.path()).unwrap()).collect()
}

/// How many mutants are tried: a number and not a time, so that every machine tries the same ones.
fn mutants() -> usize {
    let soak = std::env::var_os("YARD_SOAK").is_some();
    if soak { 400_000 } else { 40_000 }
}

/// One input made of others.
fn mutated(dice: &mut Dice, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut input = dice.pick(corpus).clone();
    for _ in 0..=dice.roll(6) {
        let at = dice.roll(input.len() + 1);
        let end = (at + dice.roll(40)).min(input.len());
        match dice.roll(8) {
            0 => drop(input.drain(at..end)),
            1 => {
                let again = input[at..end].to_vec();
                drop(input.splice(at..at, again));
            }
            2 | 3 => {
                let token = *dice.pick(&TOKENS);
                drop(input.splice(at..at, token.iter().copied()));
            }
            4 => {
                let other = dice.pick(corpus);
                let from = dice.roll(other.len() + 1);
                let to = (from + dice.roll(200)).min(other.len());
                drop(input.splice(at..end, other[from..to].iter().copied()));
            }
            5 if at < input.len() => input[at] ^= 1 << dice.roll(8),
            6 if at < input.len() => input[at] = *dice.pick(b"\0\n\r\t /.\\\"+-@*0129xa\xc3\xff"),
            _ => input.truncate(end),
        }
    }
    input.truncate(LARGEST);
    input
}

/// Asks of one input, and says which one it was that failed.
fn ask(input: &[u8], property: &dyn Fn(&[u8])) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| property(input))) {
        eprintln!("the input: {:?}", input.escape_ascii().to_string());
        resume_unwind(panic);
    }
}

fn run(name: &str, property: &dyn Fn(&[u8])) {
    let mut pool = corpus(name);
    pool.iter().for_each(|input| ask(input, property));
    let seed = std::env::var("YARD_SEED").ok().and_then(|seed| seed.parse().ok());
    let dice = &mut Dice::new(seed.unwrap_or(0x0f22));
    let own = pool.len();
    for _ in 0..mutants() {
        let input = mutated(dice, &pool);
        ask(&input, property);
        // Mutants of mutants reach further; the pool stays small.
        if dice.one_in(8) {
            let at = own + dice.roll(own);
            if at < pool.len() { pool[at] = input } else { pool.push(input) }
        }
    }
}

#[test]
fn x3_no_mutant_of_a_patch_makes_a_parser_panic_or_prints_as_another() {
    run("patch", &|input| {
        properties::patch(&String::from_utf8_lossy(input));
    });
}

#[test]
fn r2_no_mutant_of_a_path_leaves_the_workspace_or_reads_back_as_another() {
    run("path", &|input| properties::path(input));
}
