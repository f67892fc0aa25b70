//! No edit lands where its text does not name one place. Edits are perturbed as models do it
//! (indentation, quotes, trailing space, context that repeats itself or is stale), and what the
//! engine did is judged by a slow, obvious twin of the passes. `YARD_SOAK=1` runs ten times as many.

use std::collections::BTreeMap;
use std::ops::Range;

use yard_core::patch::{FilePatch, HunkLine, Pass, PatchForm, Sign, apply};

use super::support::{Dice, cases};
use super::{one, text_of};

fn file(dice: &mut Dice) -> Vec<String> {
    let spread = [3, 8, 30][dice.roll(3)];
    (0..10 + dice.roll(40))
        .map(|_| {
            let indent = "    ".repeat(dice.roll(3));
            match dice.roll(5) {
                0 => String::new(),
                1 => format!("{indent}}}"),
                2 => format!("{indent}say(\"it's {}\") - done", dice.roll(spread)),
                _ => format!("{indent}call({});", dice.roll(spread)),
            }
        })
        .collect()
}

/// What somebody's editor, or a model's memory, makes of a line.
fn perturbed(dice: &mut Dice, line: &str) -> String {
    match dice.roll(9) {
        0 => line.trim_start().to_owned(),
        1 => line.replace("    ", "\t"),
        2 => format!("{line}  "),
        3 => line.replace('"', "“").replace('\'', "’").replace(" - ", " – "),
        4 => format!("  {line}"),
        5 => "stale();".to_owned(),
        _ => line.to_owned(),
    }
}

/// A patch of one place of the file, in either form, and the file as it is by now.
fn case(dice: &mut Dice) -> (String, String) {
    let lines = file(dice);
    let start = dice.roll(lines.len() - 4);
    let (before, gone, after) = (dice.roll(3), 1 + dice.roll(2), dice.roll(3));
    let place = &lines[start..(start + before + gone + after).min(lines.len())];
    let noisy = dice.roll(3) == 0;
    let mut body = String::new();
    for (at, line) in place.iter().enumerate() {
        let line = if noisy { perturbed(dice, line) } else { line.clone() };
        let sign = if (before..before + gone).contains(&at) { '-' } else { ' ' };
        body.push_str(&format!("{sign}{line}\n"));
        if at == before {
            body.push_str("+    added();\n");
        }
    }
    let (old, new) = (place.len(), body.lines().filter(|line| !line.starts_with('-')).count());
    let patch = match dice.roll(2) {
        0 => format!("--- a/f\n+++ b/f\n@@ -{},{old} +{},{new} @@\n{body}", start + 1, start + 1),
        _ => format!("*** Begin Patch\n*** Update File: f\n@@\n{body}*** End Patch\n"),
    };
    let mut now = lines;
    for _ in 0..dice.roll(4) {
        let at = dice.roll(now.len());
        match dice.roll(4) {
            0 => drop(now.remove(at)),
            1 => now[at] = perturbed(dice, &now[at].clone()),
            2 => now.insert(at, "inserted();".to_owned()),
            // The same lines once more, somewhere else.
            _ => {
                let end = (start + 4).min(now.len());
                let again = now[start.min(end)..end].to_vec();
                now.splice(at..at, again);
            }
        }
    }
    (patch, now.iter().map(|line| format!("{line}\n")).collect())
}

/// A line at a pass, in other words than the engine's.
fn seen(pass: Pass, line: &str) -> String {
    let plain = |text: &str| -> String {
        let pairs = [('“', '"'), ('”', '"'), ('‘', '\''), ('’', '\''), ('–', '-')];
        let swap = |one: char| pairs.iter().find(|pair| pair.0 == one).map_or(one, |pair| pair.1);
        text.chars().map(swap).collect()
    };
    match pass {
        Pass::Stated | Pass::Exact | Pass::Fuzz(_) => line.to_owned(),
        Pass::TrailingSpace => line.trim_end().to_owned(),
        Pass::SurroundingSpace => line.trim().to_owned(),
        Pass::Punctuation => plain(line).trim().to_owned(),
    }
}

/// Every line, from 1, at which the wanted lines stand at a pass.
fn standing(file: &[&str], wanted: &[&str], pass: Pass) -> Vec<u64> {
    let key = |line: &&str| seen(pass, line);
    let wanted: Vec<String> = wanted.iter().map(key).collect();
    let file: Vec<String> = file.iter().map(key).collect();
    let starts = file.windows(wanted.len()).enumerate();
    starts.filter(|(_, lines)| *lines == wanted).map(|(at, _)| at as u64 + 1).collect()
}

/// Which lines of the hunk are left when so much context was dropped at its ends: they stand in the
/// file where it landed.
fn kept(file: &[&str], patch: &FilePatch, line: u64, dropped: usize) -> Range<usize> {
    let lines = &patch.hunks[0].lines;
    let at = usize::try_from(line).unwrap() - 1;
    let is_context = |line: &HunkLine| line.sign == Sign::Context;
    for first in 0..=dropped {
        let kept = first..lines.len() - (dropped - first);
        let ends_are_context =
            lines[..kept.start].iter().all(is_context) && lines[kept.end..].iter().all(is_context);
        if ends_are_context && file[at..].starts_with(&old(patch, &kept)) {
            return kept;
        }
    }
    panic!("what was kept does not stand at line {line}");
}

fn old<'a>(patch: &'a FilePatch, kept: &Range<usize>) -> Vec<&'a str> {
    let lines = patch.hunks[0].lines[kept.clone()].iter();
    lines.filter(|line| line.sign != Sign::Add).map(|line| line.text.as_str()).collect()
}

#[test]
fn x3_nothing_lands_at_a_place_that_is_not_named_uniquely() {
    let mut tally: BTreeMap<String, u64> = BTreeMap::new();
    for seed in 0..cases() {
        let (patch, now) = case(&mut Dice::new(seed ^ 0xbeef));
        let file = one(&patch);
        let lines: Vec<&str> = now.lines().collect();
        let story = format!("seed {seed}\n{patch}\n--- now\n{now}");
        let mut part = 0..file.hunks[0].lines.len();
        let wanted = old(&file, &part);
        let passes = [Pass::Exact, Pass::TrailingSpace, Pass::SurroundingSpace, Pass::Punctuation];
        let find = |wanted: &[&str]| {
            let found = passes.iter().map(|pass| (*pass, standing(&lines, wanted, *pass)));
            found.into_iter().find(|(_, places)| !places.is_empty())
        };
        let first = find(&wanted);
        let done = match apply(now.as_bytes(), &file) {
            Ok(done) => done,
            Err(fault) => {
                *tally.entry(format!("{:?}", fault.code())).or_default() += 1;
                let several = first.is_some_and(|(_, places)| places.len() > 1);
                let code = format!("{:?}", fault.code());
                // A refusal for several places has several; blank ends and fuzz have their own.
                assert!(
                    several || first_is_none_or_fuzzy(&code, &passes, &lines, &wanted),
                    "{story}"
                );
                continue;
            }
        };
        let landed = done.hunks[0];
        match (landed.pass, first) {
            (Pass::Stated, _) => {
                let stated = file.hunks[0].stated.expect("a unified hunk").old as u64;
                assert_eq!(landed.line, stated, "{story}");
                assert!(standing(&lines, &wanted, Pass::Exact).contains(&stated), "{story}");
            }
            (Pass::Fuzz(dropped), first) => {
                assert_eq!(first, None, "a hunk that stands needs no fuzz\n{story}");
                part = kept(&lines, &file, landed.line, dropped);
                let rest = old(&file, &part);
                assert_eq!(standing(&lines, &rest, Pass::Exact), [landed.line], "{story}");
            }
            (pass, None) => {
                // Only an envelope's blank ends may be left out at a looser pass.
                assert_eq!(file.form, PatchForm::Freeform, "{story}");
                part = without_blank_ends(&file);
                assert_eq!(find(&old(&file, &part)), Some((pass, vec![landed.line])), "{story}");
            }
            (pass, first) => assert_eq!(first, Some((pass, vec![landed.line])), "{story}"),
        }
        let expected = replaced(&lines, &file, landed.line, &part);
        assert_eq!(bare(&text_of(&done)), bare(&expected), "{story}");
        *tally.entry(landed.pass.to_string()).or_default() += 1;
    }
    eprintln!("{tally:#?}");
    assert!(tally.len() > 5, "{tally:?}");
}

fn first_is_none_or_fuzzy(code: &str, passes: &[Pass], lines: &[&str], wanted: &[&str]) -> bool {
    let stands = passes.iter().any(|pass| !standing(lines, wanted, *pass).is_empty());
    !stands && matches!(code, "TextNotFound" | "TextNotUnique")
}

/// Without indentation: how added lines are shifted has tests of its own.
fn bare(text: &str) -> Vec<&str> {
    text.lines().map(str::trim_start).collect()
}

/// Which lines of the hunk are left without the blank context at its ends.
fn without_blank_ends(patch: &FilePatch) -> Range<usize> {
    let lines = &patch.hunks[0].lines;
    let solid = |line: &HunkLine| line.sign != Sign::Context || !line.text.trim().is_empty();
    lines.iter().position(solid).unwrap()..lines.iter().rposition(solid).unwrap() + 1
}

/// The file with the kept lines of the hunk done by hand where it landed.
fn replaced(file: &[&str], patch: &FilePatch, line: u64, kept: &Range<usize>) -> String {
    let mut at = usize::try_from(line).unwrap() - 1;
    let mut after: Vec<&str> = file[..at].to_vec();
    for one in &patch.hunks[0].lines[kept.clone()] {
        match one.sign {
            Sign::Add => after.push(&one.text),
            Sign::Remove => at += 1,
            Sign::Context => {
                after.push(file[at]);
                at += 1;
            }
        }
    }
    after.extend(&file[at..]);
    after.iter().map(|line| format!("{line}\n")).collect()
}

/// The lines, from 0, at or below an anchor that belong to it by indentation.
fn block(lines: &[&str], head: usize) -> Range<usize> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut end = head + 1;
    while end < lines.len() {
        let line = lines[end];
        let bracket = line.trim_start().starts_with(['}', ')', ']', '{']);
        let own = depth(lines[head]);
        let inside = line.trim().is_empty() || depth(line) > own || depth(line) == own && bracket;
        if !inside {
            break;
        }
        end += 1;
    }
    head..end
}

/// Lines at which the anchor stands: at the first pass that has any, and at all.
fn heads(lines: &[&str], anchor: &str) -> [Vec<usize>; 2] {
    let passes = [Pass::Exact, Pass::TrailingSpace, Pass::SurroundingSpace, Pass::Punctuation];
    let found = passes.iter().map(|pass| standing(lines, &[anchor], *pass));
    let found: Vec<Vec<u64>> = found.filter(|places| !places.is_empty()).collect();
    let from_zero = |places: &Vec<u64>| -> Vec<usize> {
        places.iter().map(|line| usize::try_from(*line).unwrap() - 1).collect()
    };
    [from_zero(found.first().unwrap()), from_zero(found.last().unwrap())]
}

#[test]
fn x3_an_anchored_edit_lands_in_the_only_place_below_its_anchor() {
    let (mut inside, mut below, mut refused) = (0, 0, 0);
    for seed in 0..cases() {
        let dice = &mut Dice::new(seed ^ 0xa5c0);
        let lines = file(dice);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let start = 1 + dice.roll(lines.len() - 4);
        let wanted = &lines[start..=start + dice.roll(2)];
        let anchor = lines[dice.roll(start)];
        if anchor.is_empty() || wanted.iter().all(|line| line.is_empty()) {
            continue;
        }
        let anchor = if dice.roll(3) == 0 { anchor.trim() } else { anchor };
        let gone: String = wanted.iter().map(|line| format!("-{line}\n")).collect();
        let patch =
            format!("*** Begin Patch\n*** Update File: f\n@@ {anchor}\n{gone}*** End Patch\n");
        let now: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let story = format!("seed {seed}\n{patch}\n--- now\n{now}");
        let Ok(done) = apply(now.as_bytes(), &one(&patch)) else {
            refused += 1;
            continue;
        };
        let landed = done.hunks[0];
        let places = standing(&lines, wanted, landed.pass);
        let at = |line: &u64| usize::try_from(*line).unwrap() - 1;
        let [written, loose] = heads(&lines, anchor);
        let within = |heads: &[usize]| -> Vec<u64> {
            let holds = |line: &u64| {
                let (start, end) = (at(line), at(line) + wanted.len());
                let blocks = heads.iter().map(|head| block(&lines, *head));
                blocks.into_iter().any(|block| block.start <= start && end <= block.end)
            };
            places.iter().copied().filter(holds).collect()
        };
        let mut named = within(&written);
        if named.is_empty() && landed.pass == Pass::Exact {
            named = within(&loose);
        }
        if named.is_empty() {
            named = places.iter().copied().filter(|line| at(line) >= written[0]).collect();
            below += 1;
        } else {
            inside += 1;
        }
        assert_eq!(named, [landed.line], "{story}");
    }
    eprintln!("inside {inside}, below {below}, refused {refused}");
    assert!(inside > 9 && below > 9 && refused > 9, "{inside} {below} {refused}");
}
