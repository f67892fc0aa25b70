//! The table of who needed how much. What a row has to keep is part of it.

use std::time::Duration;

use super::Who;
use crate::clock::middle;
use crate::table::{Misses, Used, time};

/// What one contestant needed, round by round: seconds, or bytes.
pub(super) struct Taken {
    pub(super) who: Who,
    pub(super) rounds: Vec<Vec<f64>>,
}

impl Taken {
    fn median(&self) -> f64 {
        middle(self.rounds.iter().flatten().copied())
    }

    /// What 99 of 100 need at most; of fewer, that is the worst of them.
    fn p99(&self) -> f64 {
        let mut all = self.rounds.concat();
        all.sort_unstable_by(f64::total_cmp);
        all.get((all.len() * 99).div_ceil(100).saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }

    /// The median of the rounds' own ratios.
    fn over(&self, peer: &Self) -> f64 {
        let sum = |round: &Vec<f64>| round.iter().sum::<f64>();
        middle(self.rounds.iter().zip(&peer.rounds).map(|(ours, theirs)| sum(ours) / sum(theirs)))
    }
}

/// What a row has to keep.
#[derive(Clone, Copy)]
pub(super) enum Keep {
    /// Ours is less than that one's.
    Ahead(Who),
    /// Ours is at most so many times that one's.
    Within(Who, f64),
    /// Ours is less than this.
    Below(f64),
}

impl Keep {
    fn words(self, shown: fn(f64) -> String) -> String {
        match self {
            Self::Ahead(peer) => format!("{} < 1x", peer.name()),
            Self::Within(peer, most) => format!("{} <= {most}x", peer.name()),
            Self::Below(most) => format!("< {}", shown(most)),
        }
    }
}

/// One measured line.
pub(super) struct Row {
    what: String,
    taken: Vec<Taken>,
    /// Who tried, and cannot.
    failed: Vec<Who>,
    keep: Vec<Keep>,
    shown: fn(f64) -> String,
}

impl Row {
    /// A row of seconds.
    pub(super) fn new(what: &str, taken: Vec<Taken>, keep: &[Keep]) -> Self {
        let shown = |seconds| time(Duration::from_secs_f64(seconds));
        Self { what: what.to_owned(), taken, failed: Vec::new(), keep: keep.to_vec(), shown }
    }

    /// The same row, of bytes.
    pub(super) fn of_bytes(self) -> Self {
        Self { shown: |bytes| format!("{:.1} MB", bytes / 1e6), ..self }
    }

    /// The same row, in which some cannot do the work. We are ahead of them.
    pub(super) fn without(self, failed: Vec<Who>) -> Self {
        Self { failed, ..self }
    }

    fn of(&self, who: Who) -> Option<&Taken> {
        self.taken.iter().find(|taken| taken.who == who)
    }

    fn ratio(&self, peer: Who) -> Option<f64> {
        Some(self.of(Who::Toolyard)?.over(self.of(peer)?))
    }

    /// How much of one target the row uses. Nothing where a contestant was not there.
    fn used(&self, keep: Keep) -> Option<Used> {
        match keep {
            Keep::Ahead(peer) | Keep::Within(peer, _) if self.failed.contains(&peer) => {
                self.of(Who::Toolyard).map(|_| Used::at_most(0.0, 1.0))
            }
            Keep::Ahead(peer) => Some(Used::at_most(self.ratio(peer)?, 1.0)),
            Keep::Within(peer, most) => Some(Used::at_most(self.ratio(peer)?, most)),
            Keep::Below(most) => Some(Used::at_most(self.of(Who::Toolyard)?.median(), most)),
        }
    }

    /// How much of its worst target the row uses. A row that lacks a contestant can miss and cannot hold.
    fn worst(&self) -> Option<Used> {
        let used: Vec<Option<Used>> = self.keep.iter().map(|keep| self.used(*keep)).collect();
        let is_complete = used.iter().all(Option::is_some);
        let worst = used.into_iter().flatten().reduce(Used::or_worse);
        worst.filter(|worst| is_complete || worst.verdict() != "ok")
    }

    /// A median and what 99 of 100 need.
    fn pair(&self, who: Who) -> [String; 2] {
        match self.of(who) {
            Some(taken) => [taken.median(), taken.p99()].map(self.shown),
            None if self.failed.contains(&who) => ["fails", ""].map(str::to_owned),
            None => Default::default(),
        }
    }

    fn cells(&self) -> Vec<String> {
        let mut cells = vec![self.what.clone()];
        cells.extend(
            [Who::Toolyard, Who::Npm, Who::Rust, Who::Rg].map(|who| self.pair(who)).concat(),
        );
        for peer in [Who::Npm, Who::Rust, Who::Rg] {
            let ratio = self.ratio(peer).map(|ratio| format!("{ratio:.2}x"));
            cells.push(ratio.unwrap_or_default());
        }
        let targets: Vec<String> = self.keep.iter().map(|keep| keep.words(self.shown)).collect();
        cells.extend([targets.join(", "), self.worst().map_or("", Used::verdict).to_owned()]);
        cells
    }
}

const HEADS: &str = "|toolyard|p99|npm|p99|rust|p99|rg|p99|/npm|/rust|/rg|target|";

/// Prints the rows under their heads.
pub(super) fn print(title: &str, rows: &[Row], misses: &mut Misses) {
    let mut lines = vec![HEADS.split('|').map(str::to_owned).collect::<Vec<_>>()];
    lines.extend(rows.iter().map(Row::cells));
    let wide = |column: usize| lines.iter().map(|line| line[column].chars().count()).max();
    let widths: Vec<usize> = (0..lines[0].len()).filter_map(wide).collect();
    println!("\n{title}");
    for line in &lines {
        let mut text = format!("{:<w$}", line[0], w = widths[0]);
        for (cell, width) in line.iter().zip(&widths).skip(1) {
            text.push_str(&format!("  {cell:>width$}"));
        }
        println!("{}", text.trim_end());
    }
    for row in rows {
        misses.check(title, &row.what, row.worst());
    }
}
