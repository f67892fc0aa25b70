//! The text of an answer: its own, or one that is kept in memory and shared by all who read the same bytes.
//! What a kept text is as JSON is worked out once. It does not decide what is kept, or for how long.

use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// A text.
#[derive(Clone)]
pub struct Text(Held);

#[derive(Clone)]
enum Held {
    Own(String),
    Kept(Arc<KeptText>),
}

/// A text that is kept.
pub struct KeptText {
    text: String,
    json: OnceLock<Box<[u8]>>,
}

impl Text {
    /// The text, to change or to keep; copied if it is shared.
    pub fn into_string(self) -> String {
        match self.0 {
            Held::Own(text) => text,
            Held::Kept(kept) => kept.text.clone(),
        }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        self
    }

    /// The kept text that it is, if it is one.
    pub fn kept(&self) -> Option<&Arc<KeptText>> {
        match &self.0 {
            Held::Own(_) => None,
            Held::Kept(kept) => Some(kept),
        }
    }
}

impl KeptText {
    /// How many times as many bytes as the text all of it takes at most.
    pub const TIMES: usize = 3;

    /// Keeps a text.
    pub fn new(text: String) -> Self {
        Self { text, json: OnceLock::new() }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The text as JSON, which `write` makes of it. It is kept too, unless it is so long that nothing
    /// could be said about how much memory kept texts take.
    pub fn json(&self, write: impl FnOnce(&str) -> Vec<u8>) -> Cow<'_, [u8]> {
        if let Some(json) = self.json.get() {
            return Cow::Borrowed(json);
        }
        let json = write(&self.text);
        if json.len() > self.text.len().saturating_mul(Self::TIMES - 1) {
            return Cow::Owned(json);
        }
        Cow::Borrowed(self.json.get_or_init(|| json.into_boxed_slice()))
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match &self.0 {
            Held::Own(text) => text,
            Held::Kept(kept) => kept.as_str(),
        }
    }
}

impl Default for Text {
    fn default() -> Self {
        String::new().into()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(Held::Own(text))
    }
}

impl From<Arc<KeptText>> for Text {
    fn from(kept: Arc<KeptText>) -> Self {
        Self(Held::Kept(kept))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == *other
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        self.as_str() == other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_the_same_whoever_holds_it() {
        let kept = Arc::new(KeptText::new("a\n".to_owned()));
        let (own, shared) = (Text::from("a\n".to_owned()), Text::from(Arc::clone(&kept)));
        assert_eq!(own, shared);
        assert!(own.kept().is_none() && shared.kept().is_some());
        assert_eq!((own.into_string(), shared.into_string()), ("a\n".to_owned(), "a\n".to_owned()));
        assert_eq!(kept.as_str(), "a\n");
    }

    #[test]
    fn json_is_written_once_and_kept_only_where_it_is_short() {
        let kept = KeptText::new("four".to_owned());
        assert_eq!(*kept.json(|text| format!("\"{text}\"").into_bytes()), *b"\"four\"");
        assert_eq!(*kept.json(|_| unreachable!()), *b"\"four\"");
        let long = KeptText::new("four".to_owned());
        for length in [9, 10] {
            assert_eq!(long.json(|_| vec![b'x'; length]).len(), length);
        }
    }
}
