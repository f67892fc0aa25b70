//! The newest contents that this process wrote or read. A file on disk that still holds one of them is
//! compared with it instead of being hashed: that is how most edits of a row of edits begin.
//!
//! A hint and nothing more: what is not here is hashed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use yard_core::{ContentHash, FastMap, KeptText};

/// Larger contents are not kept.
pub(crate) const LARGEST: usize = 64 << 10;
/// When there is more than this, everything is forgotten. With what they are as JSON, contents may take
/// [`KeptText::TIMES`] as much.
const MOST: usize = 1 << 20;

/// A few contents by their hashes.
#[derive(Default)]
pub(crate) struct Recent(Mutex<Contents>);

#[derive(Default)]
struct Contents {
    by_hash: FastMap<ContentHash, Content>,
    bytes: usize,
}

#[derive(Clone)]
enum Content {
    /// Bytes as they were written; nobody has asked whether they are text, or they are none.
    Bytes(Arc<Vec<u8>>),
    Text(Arc<KeptText>),
}

impl Content {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_str().as_bytes(),
        }
    }
}

impl Recent {
    /// The hash of the bytes: the expected one if that content is known and the same.
    pub(crate) fn hash(&self, bytes: &[u8], expected: Option<ContentHash>) -> ContentHash {
        expected.filter(|hash| self.is(hash, bytes)).unwrap_or_else(|| ContentHash::of(bytes))
    }

    /// Whether the bytes are known to be the content of that hash.
    fn is(&self, hash: &ContentHash, bytes: &[u8]) -> bool {
        self.get(hash).is_some_and(|content| content.bytes() == bytes)
    }

    /// The content of that hash as a text, if it is known and UTF-8 and the bytes are the same.
    pub(crate) fn text(&self, hash: &ContentHash, bytes: &[u8]) -> Option<Arc<KeptText>> {
        match self.get(hash).filter(|content| content.bytes() == bytes)? {
            Content::Text(text) => Some(text),
            Content::Bytes(same) => {
                let text = Arc::new(KeptText::new(str::from_utf8(&same).ok()?.to_owned()));
                if let Some(known) = self.contents().by_hash.get_mut(hash) {
                    *known = Content::Text(Arc::clone(&text));
                }
                Some(text)
            }
        }
    }

    fn get(&self, hash: &ContentHash) -> Option<Content> {
        self.contents().by_hash.get(hash).cloned()
    }

    fn contents(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a content that was just written.
    pub(crate) fn keep(&self, hash: ContentHash, bytes: Vec<u8>) {
        self.put(hash, Content::Bytes(Arc::new(bytes)));
    }

    /// Keeps a text that was just read.
    pub(crate) fn keep_text(&self, hash: ContentHash, text: String) {
        self.put(hash, Content::Text(Arc::new(KeptText::new(text))));
    }

    fn put(&self, hash: ContentHash, content: Content) {
        let length = content.bytes().len();
        let mut contents = self.contents();
        // What is known already is not worked out again.
        if length > LARGEST || contents.by_hash.contains_key(&hash) {
            return;
        }
        if contents.bytes + length > MOST {
            *contents = Contents::default();
        }
        contents.bytes += length;
        contents.by_hash.insert(hash, content);
    }
}

/// A large content that somebody reads in parts, so that it is unpacked once and not for each part.
/// At most one a workspace: who reads another at the same time has to unpack again.
#[derive(Default)]
pub(crate) struct InParts(Mutex<Option<(ContentHash, Arc<Vec<u8>>)>>);

impl InParts {
    /// The content, if it is the one that is being read.
    pub(crate) fn get(&self, hash: &ContentHash) -> Option<Arc<Vec<u8>>> {
        let held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        held.as_ref().filter(|(known, _)| known == hash).map(|(_, bytes)| Arc::clone(bytes))
    }

    /// Holds a content for the next part.
    pub(crate) fn hold(&self, hash: ContentHash, bytes: Arc<Vec<u8>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((hash, bytes));
    }

    /// Lets go of whatever is held.
    pub(crate) fn release(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_the_bytes_whatever_was_expected() {
        let recent = Recent::default();
        let (one, two) = (ContentHash::of(b"one"), ContentHash::of(b"two"));
        recent.keep(one, b"one".to_vec());
        for expected in [None, Some(one), Some(two)] {
            assert_eq!(recent.hash(b"one", expected), one);
            assert_eq!(recent.hash(b"two", expected), two);
        }
    }

    #[test]
    fn a_text_is_shared_while_the_bytes_are_the_same() {
        let recent = Recent::default();
        let hash = ContentHash::of("é".as_bytes());
        assert!(recent.text(&hash, "é".as_bytes()).is_none());
        recent.keep(hash, "é".into());
        let (one, two) = (recent.text(&hash, "é".as_bytes()), recent.text(&hash, "é".as_bytes()));
        assert!(Arc::ptr_eq(&one.unwrap(), &two.unwrap()));
        assert!(recent.text(&hash, b"e").is_none());
        assert_eq!(recent.hash("é".as_bytes(), Some(hash)), hash);

        let binary = ContentHash::of(&[0xff]);
        recent.keep(binary, vec![0xff]);
        assert!(recent.text(&binary, &[0xff]).is_none());
    }

    #[test]
    fn memory_is_bounded() {
        let recent = Recent::default();
        for number in 0..200u32 {
            let bytes = vec![number as u8; LARGEST];
            recent.keep(ContentHash::of(&bytes), bytes);
            assert!(recent.0.lock().unwrap().bytes <= MOST);
        }
        recent.keep(ContentHash::of(b"x"), vec![0; LARGEST + 1]);
        assert!(!recent.0.lock().unwrap().by_hash.contains_key(&ContentHash::of(b"x")));
    }
}
