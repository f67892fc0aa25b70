//! Scripts that change a tree in every way that a shell has, from a seed.

use yard_testkit::Dice;

const NAMES: [&str; 12] =
    ["a", "b", "c", "d", "e", "sub/a", "sub/b", "sub/deep/c", "x y", "sub/d", "ü", "sub/deep/e"];

/// A tree to start from. It has no hard links: an overlay over the workspace separates the two names of a
/// file when one of them is written to (docs/limits.md).
pub(crate) fn tree(dice: &mut Dice) -> String {
    let mut script = String::from("umask 022; mkdir -p sub/deep empty\n");
    for _ in 0..dice.roll(12) + 4 {
        script.push_str(&line(dice).replace("ln -f ", "cp -f "));
    }
    script
}

/// What a command does to it.
pub(crate) fn script(dice: &mut Dice) -> String {
    let mut script = String::from("umask 022\n");
    for _ in 0..dice.roll(14) + 1 {
        script.push_str(&line(dice));
    }
    script
}

fn name(dice: &mut Dice) -> String {
    format!("'{}'", NAMES[dice.roll(NAMES.len())])
}

/// One change; that it may fail is part of it.
fn line(dice: &mut Dice) -> String {
    let (one, other) = (name(dice), name(dice));
    let number = dice.roll(1_000_000);
    let change = match dice.roll(24) {
        0..4 => format!("printf 'line {number}\\nand more\\n' > {one}"),
        4 => format!("printf 'added {number}\\n' >> {one}"),
        5 => format!("rm -f {one}"),
        6 => format!("rm -rf {one}"),
        7 => format!("mv -T {one} {other}"),
        8 => format!("mv {one} {other}"),
        // What `cp` copies of a folder into itself depends on the order in which it lists it.
        9 => format!("[ {one} = {other} ] || cp -a {one} {other}"),
        10 => format!("mkdir -p {one}/in/side"),
        11 => format!("ln -sfn target-{number} {one}"),
        // A folder that only root can enter would make a difference to the copy, where root is.
        12 => {
            let mode = ["600", "644", "755", "700"][dice.roll(4)];
            format!("if [ -d {one} ]; then chmod 700 {one}; else chmod {mode} {one}; fi")
        }
        13 => format!("ln -f {one} {other}"),
        14 => format!("truncate -s {} {one}", dice.roll(5_000)),
        15 => format!("head -c {} /dev/zero | tr '\\0' '\\1' > {one}", dice.roll(70_000)),
        16 => format!("rm -rf {one} && mkdir {one} && echo {number} > {one}/new"),
        17 => format!("rm -rf {one} && echo {number} > {one}"),
        22 => format!("rm -rf sub && mkdir -p sub/deep && echo {number} > sub/deep/new"),
        23 => format!("rm -rf {one}; mkdir -p {one}/in && echo {number} > {one}/in/f"),
        18 => "rmdir empty || mkdir empty".to_owned(),
        19 => format!("sed -i s/line/LINE/ {one}"),
        20 => format!("mkdir -p m-{number}/n && mv {one} m-{number}/n/"),
        _ => format!("printf '\\000\\377{number}' > {one}"),
    };
    format!("{{ {change}; }} >/dev/null 2>&1\n")
}
