//! The table of what was measured, and the list of the rows that miss their targets.

use std::time::Duration;

use crate::clock::{Duel, Solo};

/// One measured line.
pub(crate) struct Row {
    what: String,
    ours: String,
    peer: String,
    ratio: String,
    target: String,
    used: Option<Used>,
}

/// How much of its target a row uses: 1 is the whole target, and more is a miss.
#[derive(Clone, Copy)]
pub(crate) struct Used(f64);

impl Used {
    /// A miss of less than a tenth is reported and does not fail the run.
    const TOLERATED: f64 = 1.1;

    /// Of a value that should be at most `limit`.
    pub(crate) fn at_most(value: f64, limit: f64) -> Self {
        Self(value / limit)
    }

    /// Of a value that should be at least `limit`.
    pub(crate) fn at_least(value: f64, limit: f64) -> Self {
        Self(limit / value)
    }

    /// The one of two that is worse.
    pub(crate) fn or_worse(self, other: Self) -> Self {
        if self.0 <= other.0 || other.0.is_nan() { other } else { self }
    }

    /// The word in the last column of the table.
    pub(crate) fn verdict(self) -> &'static str {
        // What cannot be compared is a miss.
        if self.0 <= 1.0 { "ok" } else { "MISS" }
    }
}

/// The rows that miss their targets.
#[derive(Default)]
pub(crate) struct Misses {
    rows: Vec<String>,
    is_failure: bool,
}

impl Misses {
    /// Adds a row if it misses its target.
    pub(crate) fn check(&mut self, title: &str, what: &str, used: Option<Used>) {
        let Some(Used(used)) = used.filter(|used| used.verdict() != "ok") else { return };
        self.rows.push(format!("{title}: {} ({used:.2} times the target)", what.trim()));
        self.is_failure |= used.is_nan() || used > Used::TOLERATED;
    }

    /// Prints the one line that says which rows miss. Whether one of them misses by more than a tenth.
    pub(crate) fn report(self) -> bool {
        match self.rows.as_slice() {
            [] => println!("\nNo row misses its target."),
            rows => println!("\n{} rows miss their targets: {}", rows.len(), rows.join("; ")),
        }
        self.is_failure
    }
}

/// What a ratio or a value has to keep.
#[derive(Clone, Copy)]
pub(crate) enum Target {
    /// Ours takes at most so many times the peer's time.
    AtMost(f64),
    /// Ours is at least so many times faster.
    Faster(f64),
    /// Only shown.
    None,
}

impl Row {
    /// A row of two times; the ratio is the median of the rounds' own ratios.
    pub(crate) fn times(what: &str, duel: &Duel, target: Target) -> Self {
        let (ratio, target, used) = match target {
            Target::AtMost(most) => {
                let used = Used::at_most(duel.ratio, most);
                (format!("{:.2}x", duel.ratio), format!("<= {most}x"), Some(used))
            }
            Target::Faster(least) => {
                let faster = 1.0 / duel.ratio;
                let used = Used::at_least(faster, least);
                (format!("1/{faster:.1}"), format!("<= 1/{least}"), Some(used))
            }
            Target::None => (format!("{:.2}x", duel.ratio), String::new(), None),
        };
        let (ours, peer) = (time(duel.ours), time(duel.peer));
        Self { what: what.to_owned(), ours, peer, ratio, target, used }
    }

    /// A row of two times, whose difference has a bound.
    pub(crate) fn added(what: &str, duel: &Duel, most: Duration) -> Self {
        let added = duel.ours.saturating_sub(duel.peer);
        let cells = [
            time(duel.ours),
            time(duel.peer),
            format!("+{}", time(added)),
            format!("< +{}", time(most)),
        ];
        Self::words(what, cells, Some(Used::at_most(added.as_secs_f64(), most.as_secs_f64())))
    }

    /// A row of one time against a bound; beside it, what of it was on a processor.
    pub(crate) fn bound(what: &str, ours: Solo, most: Option<Duration>) -> Self {
        Self {
            what: what.to_owned(),
            ours: time(ours.wall),
            peer: format!("({} cpu)", time(ours.processor)),
            ratio: String::new(),
            target: most.map_or_else(String::new, |most| format!("< {}", time(most))),
            used: most.map(|most| Used::at_most(ours.wall.as_secs_f64(), most.as_secs_f64())),
        }
    }

    /// A row in words.
    pub(crate) fn words(what: &str, cells: [String; 4], used: Option<Used>) -> Self {
        let [ours, peer, ratio, target] = cells;
        Self { what: what.to_owned(), ours, peer, ratio, target, used }
    }

    fn cells(&self) -> [&str; 6] {
        let verdict = self.used.map_or("", Used::verdict);
        [&self.what, &self.ours, &self.peer, &self.ratio, &self.target, verdict]
    }
}

/// A duration with three digits.
pub(crate) fn time(duration: Duration) -> String {
    let micros = duration.as_secs_f64() * 1e6;
    match micros {
        ..1e3 => format!("{micros:.1} us"),
        ..1e6 => format!("{:.2} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

/// Prints the rows under their heads, and notes those that miss their targets.
pub(crate) fn print(title: &str, rows: &[Row], misses: &mut Misses) {
    let heads = ["", "ours", "peer", "ratio", "target", ""];
    let mut widths = heads.map(str::len);
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row.cells()) {
            *width = (*width).max(cell.chars().count());
        }
    }
    println!("\n{title}");
    line(heads, widths);
    for row in rows {
        line(row.cells(), widths);
        misses.check(title, &row.what, row.used);
    }
}

fn line(cells: [&str; 6], widths: [usize; 6]) {
    let mut text = format!("{:<w$}", cells[0], w = widths[0]);
    for (cell, width) in cells.iter().zip(widths).skip(1) {
        text.push_str(&format!("  {cell:>width$}"));
    }
    println!("{}", text.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_miss_of_less_than_a_tenth_is_reported_and_does_not_fail_the_run() {
        let mut misses = Misses::default();
        misses.check("Writing", "holds", Some(Used::at_most(1.0, 1.0)));
        misses.check("Writing", "has no target", None);
        misses.check("Writing", "misses a little", Some(Used::at_least(1.4, 1.5)));
        assert_eq!(misses.rows, ["Writing: misses a little (1.07 times the target)"]);
        assert!(!misses.is_failure);
        misses.check("Reading", "misses", Some(Used::at_most(4.0, 3.0)));
        misses.check("Reading", "cannot be compared", Some(Used::at_most(f64::NAN, 3.0)));
        assert_eq!(misses.rows.len(), 3);
        assert!(misses.report());
    }
}
