//! What stands in an example for what differs from run to run: ids, times and tokens. A
//! stand-in has the form of what it replaces, and the same thing has the same one throughout the story.

use std::collections::HashMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use serde_json::Value;

/// When the story happens.
const BEGIN: &str = "2026-01-15T09:30:00Z";
/// How far apart its requests are.
const BETWEEN: i64 = 4_000;
/// Milliseconds by which a time that the file system gives may be behind the clock.
const BEHIND: i64 = 12;
/// What lies further ahead than this is when something ends.
const AHEAD: i64 = 60_000;
/// How secrets begin, and how much of one is shown.
const SECRETS: [(&str, usize); 4] = [("eyJ", 10), ("tyk_", 4), ("tyr_", 4), ("tyc_", 4)];

pub(super) struct StandIns {
    /// By what they replace.
    known: HashMap<String, String>,
    /// When each request began, in milliseconds.
    began: Vec<i64>,
    /// How often each route was visited.
    visits: HashMap<String, u32>,
    /// What the next stand-in is made of: the route and its visit, so that a story that grows keeps the others,
    seed: String,
    /// and how many were made of that.
    made: u32,
}

impl StandIns {
    /// `address` is where the server listens.
    pub(super) fn new(address: &str) -> Self {
        let known = HashMap::from([(address.to_owned(), "127.0.0.1:3000".to_owned())]);
        Self { known, began: Vec::new(), visits: HashMap::new(), seed: String::new(), made: 0 }
    }

    /// A request to this route begins. A time tells which request it is of, so they are kept apart by more than a
    /// file's time may be wrong.
    pub(super) fn begin(&mut self, route: &str) {
        std::thread::sleep(Duration::from_millis(2 * BEHIND.unsigned_abs()));
        self.began.push(now());
        let visit = self.visits.entry(route.to_owned()).or_default();
        *visit += 1;
        self.seed = format!("{route} {visit}");
        self.made = 0;
    }

    /// JSON with stand-ins.
    pub(super) fn value(&mut self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.text(text).into(),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => {
                let recorded =
                    members.iter().map(|(name, value)| (name.clone(), self.value(value)));
                Value::Object(recorded.collect())
            }
            other => other.clone(),
        }
    }

    /// A text with stand-ins.
    pub(super) fn text(&mut self, text: &str) -> String {
        let mut recorded = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let word: &str = &rest[..word_length(rest)];
            if word.is_empty() {
                recorded.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
            let (length, stand_in) = self.word(word);
            recorded.push_str(&stand_in);
            rest = &rest[length..];
        }
        recorded
    }

    /// How much of the beginning of a word is replaced, or stays, and by what.
    fn word(&mut self, word: &str) -> (usize, String) {
        if let Some((_, shown)) = SECRETS.iter().find(|(prefix, _)| word.starts_with(prefix))
            && word.len() > 2 * shown
        {
            return (word.len(), format!("{}...", &word[..*shown]));
        }
        if let Some(known) = self.known.get(word) {
            return (word.len(), known.clone());
        }
        if let Some(id) = word.get(..36).filter(|id| is_id(id)) {
            return (36, self.id(id));
        }
        if let Some(time) = word.get(..24).filter(|time| time.ends_with('Z'))
            && let Ok(time) = time.parse::<Timestamp>()
        {
            return (24, self.time(time));
        }
        // What follows a mark may be an id of its own, as in `key:ID`.
        let end = word.find([':', '.', '_']).map_or(word.len(), |at| at + 1);
        (end, word[..end].to_owned())
    }

    fn id(&mut self, id: &str) -> String {
        if let Some(known) = self.known.get(id) {
            return known.clone();
        }
        let (high, low) = (self.number(), self.number());
        let millis = begin() + i64::try_from(low >> 48).unwrap();
        let stand_in = format!(
            "{:08x}-{:04x}-7{:03x}-{:x}{:03x}-{:012x}",
            millis >> 16,
            millis & 0xffff,
            high & 0xfff,
            8 + ((high >> 12) & 3),
            (high >> 16) & 0xfff,
            low & 0xffff_ffff_ffff
        );
        self.known.insert(id.to_owned(), stand_in.clone());
        stand_in
    }

    fn time(&self, time: Timestamp) -> String {
        let millis = time.as_millisecond();
        let after = millis - self.began.last().copied().unwrap_or_default();
        let recorded = if after > AHEAD {
            // Whole minutes from now.
            begin() + BETWEEN * self.now() + (after + 30_000) / 60_000 * 60_000
        } else {
            let request = self.began.iter().rposition(|began| began - BEHIND <= millis);
            begin() + BETWEEN * i64::try_from(request.unwrap_or(0)).unwrap()
        };
        format!("{:.3}", Timestamp::from_millisecond(recorded).unwrap())
    }

    /// The number of the request in question.
    fn now(&self) -> i64 {
        i64::try_from(self.began.len()).unwrap() - 1
    }

    /// A number that looks like any other, and is the same in every run.
    fn number(&mut self) -> u64 {
        self.made += 1;
        let seed = format!("{} {}", self.seed, self.made);
        let hashed = seed.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        // The last bytes reach every bit.
        let mixed = (hashed ^ (hashed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn now() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

fn begin() -> i64 {
    BEGIN.parse::<Timestamp>().unwrap().as_millisecond()
}

/// How long the word is with which a text begins.
fn word_length(text: &str) -> usize {
    let is_inside =
        |char: char| char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.' | ':');
    text.find(|char| !is_inside(char)).unwrap_or(text.len())
}

fn is_id(text: &str) -> bool {
    let is_dash = |at: usize| matches!(at, 8 | 13 | 18 | 23);
    text.bytes().enumerate().all(|(at, byte)| match is_dash(at) {
        true => byte == b'-',
        false => byte.is_ascii_hexdigit(),
    })
}
