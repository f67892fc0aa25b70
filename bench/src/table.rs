//! The table: a row a line of the issue, columns as wide as what is in them.

use std::time::Duration;

use crate::clock::{Duel, Solo};

/// One measured line.
pub(crate) struct Row {
    what: String,
    ours: String,
    peer: String,
    ratio: String,
    target: String,
    ok: Option<bool>,
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
        let (ratio, target, ok) = match target {
            Target::AtMost(most) => {
                (format!("{:.2}x", duel.ratio), format!("<= {most}x"), Some(duel.ratio <= most))
            }
            Target::Faster(least) => {
                let faster = 1.0 / duel.ratio;
                (format!("1/{faster:.1}"), format!("<= 1/{least}"), Some(faster >= least))
            }
            Target::None => (format!("{:.2}x", duel.ratio), String::new(), None),
        };
        let (ours, peer) = (time(duel.ours), time(duel.peer));
        Self { what: what.to_owned(), ours, peer, ratio, target, ok }
    }

    /// A row of one time against a bound; beside it, what of it was on a processor.
    pub(crate) fn bound(what: &str, ours: Solo, most: Option<Duration>) -> Self {
        Self {
            what: what.to_owned(),
            ours: time(ours.wall),
            peer: format!("({} cpu)", time(ours.processor)),
            ratio: String::new(),
            target: most.map_or_else(String::new, |most| format!("< {}", time(most))),
            ok: most.map(|most| ours.wall < most),
        }
    }

    /// A row in words.
    pub(crate) fn words(what: &str, cells: [String; 4], ok: Option<bool>) -> Self {
        let [ours, peer, ratio, target] = cells;
        Self { what: what.to_owned(), ours, peer, ratio, target, ok }
    }

    fn cells(&self) -> [&str; 6] {
        let ok = match self.ok {
            Some(true) => "ok",
            Some(false) => "MISS",
            None => "",
        };
        [&self.what, &self.ours, &self.peer, &self.ratio, &self.target, ok]
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

/// Prints the rows under their heads.
pub(crate) fn print(title: &str, rows: &[Row]) {
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
    }
}

fn line(cells: [&str; 6], widths: [usize; 6]) {
    let mut text = format!("{:<w$}", cells[0], w = widths[0]);
    for (cell, width) in cells.iter().zip(widths).skip(1) {
        text.push_str(&format!("  {cell:>width$}"));
    }
    println!("{}", text.trim_end());
}
