//! The bytes of a JSON text, with room on both sides for what is put around it: a long answer is not moved
//! for that.

use bytes::Bytes;

use super::ROOM;

/// Bytes that are kept free before a text.
const BEFORE: usize = 64;

/// A JSON text that was put together from texts, so that it is UTF-8.
#[derive(Clone)]
pub(super) struct Written {
    bytes: Vec<u8>,
    start: usize,
}

impl Written {
    /// What `write` appends.
    pub(super) fn by<E>(write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>) -> Result<Self, E> {
        Self::about(0, write)
    }

    /// The same for a text that is known to be at least so long: it is not moved while it grows.
    pub(super) fn about<E>(
        length: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<Self, E> {
        let mut bytes = Vec::with_capacity(BEFORE + length + ROOM);
        bytes.resize(BEFORE, b' ');
        write(&mut bytes).map(|()| Self { bytes, start: BEFORE })
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    pub(super) fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    pub(super) fn into_bytes(self) -> Bytes {
        Bytes::from(self.bytes).slice(self.start..)
    }

    /// Puts texts before and after it.
    pub(super) fn surround(&mut self, before: &str, after: &str) {
        self.bytes.reserve(after.len());
        match self.start.checked_sub(before.len()) {
            Some(start) => {
                self.bytes[start..self.start].copy_from_slice(before.as_bytes());
                self.start = start;
            }
            None => {
                self.bytes.splice(..self.start, before.bytes());
                self.start = 0;
            }
        }
        self.bytes.extend_from_slice(after.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_around_a_text_is_around_it_also_when_there_is_no_room_left() {
        for length in [0, 1, BEFORE - 1, BEFORE, BEFORE + 1, 3 * BEFORE] {
            let text = |bytes: &mut Vec<u8>| {
                bytes.extend_from_slice(b"[1]");
                Ok::<(), ()>(())
            };
            let mut written = Written::by(text).unwrap();
            let before = "x".repeat(length);
            written.surround(&before, "y");
            written.surround("{", "}");
            let expected = format!("{{{before}[1]y}}");
            assert_eq!(written.as_str(), expected);
            assert_eq!(written.into_bytes(), expected);
        }
    }
}
