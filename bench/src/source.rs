//! Text that compresses and matches like source code, and bytes that do not; the same every time.

/// SplitMix64.
pub(crate) struct Dice(pub(crate) u64);

const NOUNS: [&str; 24] = [
    "buffer", "cursor", "frame", "header", "index", "journal", "kernel", "layout", "matcher",
    "node", "offset", "packet", "query", "record", "session", "token", "update", "value", "window",
    "worker", "bucket", "channel", "digest", "entry",
];
const VERBS: [&str; 16] = [
    "append", "build", "check", "decode", "encode", "find", "gather", "hash", "insert", "load",
    "merge", "parse", "read", "store", "take", "write",
];

impl Dice {
    /// The next number.
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.roll() % bound as u64) as usize
    }

    fn pick(&mut self, words: &[&'static str]) -> &'static str {
        words[self.below(words.len())]
    }

    /// One line of something like Rust, with its line end.
    pub(crate) fn line(&mut self) -> String {
        let (verb, noun, other) = (self.pick(&VERBS), self.pick(&NOUNS), self.pick(&NOUNS));
        let number = self.below(10_000);
        match self.below(9) {
            0 => format!("    // {verb} the {noun} before the {other} is gone ({number})\n"),
            1 => format!("pub fn {verb}_{noun}({other}: &mut {other}::State) -> Result<u64> {{\n"),
            2 => format!("    let {noun}_{number} = {other}.{verb}({number})?;\n"),
            3 => format!("    if {noun}.len() > {number} {{ return Err({other}.into()); }}\n"),
            4 => "}\n\n".to_owned(),
            5 => format!("        self.{noun}.{verb}(&{other}, {number:#x});\n"),
            6 => format!("    for {noun} in {other}s.iter().skip({number}) {{\n"),
            7 => format!("    assert_eq!({verb}_{noun}({number}), \"{other}-{number}\");\n"),
            _ => format!("use crate::{noun}::{{{other}, {verb}_{other}}};\n"),
        }
    }

    /// A name of two words and a number.
    pub(crate) fn name(&mut self) -> String {
        let (verb, noun) = (self.pick(&VERBS), self.pick(&NOUNS));
        format!("{verb}_{noun}_{}", self.below(100_000))
    }

    /// About `size` bytes of source.
    pub(crate) fn text(&mut self, size: usize) -> Vec<u8> {
        let mut text = String::with_capacity(size + 128);
        while text.len() < size {
            text.push_str(&self.line());
        }
        text.into_bytes()
    }

    /// `size` bytes that no compressor makes smaller, and that are no text.
    pub(crate) fn noise(&mut self, size: usize) -> Vec<u8> {
        (0..size.div_ceil(8)).flat_map(|_| self.roll().to_le_bytes()).take(size).collect()
    }
}

/// The same source with one line of it changed.
pub(crate) fn edited(text: &[u8], dice: &mut Dice) -> Vec<u8> {
    let ends: Vec<usize> =
        text.iter().enumerate().filter(|(_, b)| **b == b'\n').map(|(at, _)| at + 1).collect();
    let line = 1 + dice.below(ends.len() - 1);
    // One line for one: else the text would grow from edit to edit.
    let new = std::iter::repeat_with(|| dice.line()).find(|line| !line.ends_with("\n\n"));
    let new = new.unwrap_or_default();
    [&text[..ends[line - 1]], new.as_bytes(), &text[ends[line]..]].concat()
}
