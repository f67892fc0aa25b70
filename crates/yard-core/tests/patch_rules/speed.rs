//! How long it takes, in proportion: large files with many hunks, long patches, and repetition that
//! would make a careless search quadratic. Bounds are wide, for loaded machines.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use yard_core::patch::{apply, parse};

use super::one;

fn timed<T>(what: &str, bound: Duration, work: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = work();
    let took = start.elapsed();
    eprintln!("{what}: {took:?}");
    assert!(took < bound, "{what}: {took:?}");
    result
}

fn row(number: usize) -> String {
    format!("    let value_{} = compute(value_{number}, {number});\n", number % 700)
}

/// 10 MB, and a diff of 1,000 hunks all over it.
fn large() -> (String, String) {
    let rows: Vec<String> = (0..220_000).map(row).collect();
    let mut diff = String::from("--- a/f\n+++ b/f\n");
    for hunk in 0..1_000 {
        let at = hunk * 219;
        let _ = writeln!(diff, "@@ -{0},3 +{0},3 @@", at + 1);
        let _ =
            write!(diff, " {}-{}+    changed({hunk});\n {}", rows[at], rows[at + 1], rows[at + 2]);
    }
    (rows.concat(), diff)
}

/// A line of a unified diff in an envelope.
fn chunk_line(line: &str) -> String {
    if line.starts_with("@@") { "@@\n".to_owned() } else { format!("{line}\n") }
}

#[test]
fn x3_a_thousand_hunks_in_a_large_file_take_linear_time() {
    let (file, diff) = large();
    assert!(file.len() > 9_000_000, "{}", file.len());
    let bound = Duration::from_secs(8);
    let patch = timed("parse 1,000 hunks", bound, || one(&diff));
    let stated = timed("apply at stated lines", bound, || apply(file.as_bytes(), &patch).unwrap());
    let body: String = diff.lines().skip(2).map(chunk_line).collect();
    let envelope = format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n");
    let chunks = timed("parse 1,000 chunks", bound, || one(&envelope));
    let same = timed("apply chunks", bound, || apply(file.as_bytes(), &chunks).unwrap());
    assert_eq!(same.content, stated.content);
    let drifted = format!("one line more\n{file}");
    let done = timed("apply after a drift", bound, || apply(drifted.as_bytes(), &patch).unwrap());
    assert_eq!(done.content.len(), stated.content.len() + 14);
    let indented = file.replace("    let", "\tlet");
    let done = timed("apply with other indentation", bound, || apply(indented.as_bytes(), &patch));
    assert_eq!(done.unwrap().hunks.len(), 1_000);
}

#[test]
fn x3_repetition_does_not_make_it_quadratic() {
    let same = "x\n".repeat(100_000);
    let mut patch = String::from("*** Begin Patch\n*** Update File: f\n@@\n");
    for _ in 0..5_000 {
        patch.push_str(" x\n");
    }
    patch.push_str("-y\n+z\n*** End Patch\n");
    let bound = Duration::from_secs(8);
    let unique = format!("{same}y\n{same}");
    let done =
        timed("one place among equal lines", bound, || apply(unique.as_bytes(), &one(&patch)));
    assert_eq!(done.unwrap().hunks[0].line, 95_001);
    let many = patch.replace("-y", "-x");
    timed("everywhere", bound, || apply(same.as_bytes(), &one(&many)).unwrap_err());
    let brackets = "}\n".repeat(200_000);
    let anchored = "*** Begin Patch\n*** Update File: f\n@@ }\n@@ }\n-x\n+y\n*** End Patch\n";
    timed("blocks of brackets", bound, || apply(brackets.as_bytes(), &one(anchored)).unwrap_err());
    let heads = "x\n y\n".repeat(100_000);
    let anchored = format!(
        "*** Begin Patch\n*** Update File: f\n@@ x\n{}-z\n*** End Patch\n",
        " y\n".repeat(5_000)
    );
    timed("as many blocks", bound, || apply(heads.as_bytes(), &one(&anchored)).unwrap_err());
    let nearly = "x\n".repeat(4_999) + "y\n";
    let nearly = nearly.repeat(20);
    timed("nearly everywhere", bound, || apply(nearly.as_bytes(), &one(&many)).unwrap_err());
}

#[test]
fn r10_a_failure_in_a_large_file_is_explained_soon() {
    let rows: Vec<String> = (0..22_000).map(row).collect();
    let file = rows.concat();
    assert!(file.len() > 900_000, "{}", file.len());
    let stale =
        format!("@@ -1,3 +1,3 @@\n {}-{}+x\n {}", rows[9_000], "    let stale = 1;\n", rows[9_002]);
    let patch = one(&format!("--- a/f\n+++ b/f\n{}", stale.replace("compute", "computed")));
    let fault = timed("explain in 1 MB", Duration::from_secs(5), || {
        apply(file.as_bytes(), &patch).unwrap_err()
    });
    assert!(fault.message().contains("The closest place is"), "{fault}");
}

#[test]
fn long_patches_parse_in_linear_time() {
    let bound = Duration::from_secs(8);
    for part in
        ["@@ -1,2 +1 @@\n", "--- a/x\n", "+++ b/x\n", "*** Begin Patch\n", "@@ x\n", "\n", "\\ \n"]
    {
        let text = part.repeat(200_000);
        let _ = timed(&format!("{part:?}"), bound, || parse(&text));
        let wrapped = format!("*** Begin Patch\n*** Update File: x\n{text}*** End Patch\n");
        let _ = timed(&format!("wrapped {part:?}"), bound, || parse(&wrapped));
    }
    let files: String = (0..50_000).map(|n| format!("*** Delete File: f{n}\n")).collect();
    let files = format!("*** Begin Patch\n{files}*** End Patch\n");
    assert_eq!(timed("50,000 sections", bound, || parse(&files)).unwrap().files.len(), 50_000);
}
