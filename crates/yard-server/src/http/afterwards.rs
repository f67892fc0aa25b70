//! What a request leaves for the time after its answer. It is done for that request, on whichever thread
//! the answer goes, and also where nobody is left to answer.

use std::mem;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use yard_core::{Afterwards, Rest};

use super::body;
use crate::request_id::RequestId;

/// What one request left.
pub(super) struct Left {
    id: RequestId,
    rest: Mutex<Vec<Rest>>,
}

impl Left {
    /// Nothing so far.
    pub(super) fn by(id: &RequestId) -> Self {
        Self { id: id.clone(), rest: Mutex::default() }
    }

    /// Does what there is.
    pub(super) fn catch_up(&self) {
        let rest = mem::take(&mut *self.rest.lock().unwrap_or_else(PoisonError::into_inner));
        if !rest.is_empty() {
            self.id.in_scope(|| rest.into_iter().for_each(|work| work()));
        }
    }
}

impl Afterwards for Left {
    fn leave(&self, rest: Rest) {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner).push(rest);
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        self.catch_up();
    }
}

/// The bytes of an answer, which take `rest` with them when the socket has taken them. Large ones, that a
/// client may leave there for as long as it likes, do not wait for that.
pub(super) fn answer_first<T: Send + 'static>(bytes: Bytes, rest: T) -> Bytes {
    if bytes.len() > body::SMALL_BYTES { bytes } else { Bytes::from_owner(LastWord { bytes, rest }) }
}

struct LastWord<T> {
    bytes: Bytes,
    #[expect(dead_code, reason = "it is there to be dropped")]
    rest: T,
}

impl<T> AsRef<[u8]> for LastWord<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::thread;

    use super::*;

    /// What work says: its word, and for which request it was done.
    type Said = (&'static str, Option<String>);

    fn says(word: &'static str, to: &mpsc::Sender<Said>) -> Rest {
        let to = to.clone();
        Box::new(move || {
            let id = RequestId::current().map(|id| id.to_string());
            to.send((word, id)).unwrap();
        })
    }

    fn mine(word: &'static str) -> Said {
        (word, Some("mine".to_owned()))
    }

    fn left() -> Arc<Left> {
        Arc::new(Left::by(&RequestId::new("mine")))
    }

    #[test]
    fn it_is_done_once_in_order_and_for_its_request_wherever_it_goes() {
        let (to, said) = mpsc::channel();
        let left = left();
        left.leave(says("first", &to));
        left.leave(says("second", &to));
        assert_eq!(said.try_iter().count(), 0);
        RequestId::new("another").in_scope(|| left.catch_up());
        assert_eq!(said.try_iter().collect::<Vec<_>>(), [mine("first"), mine("second")]);
        left.leave(says("third", &to));
        thread::spawn(move || drop(left)).join().unwrap();
        assert_eq!(said.try_iter().collect::<Vec<_>>(), [mine("third")]);
        assert_eq!(RequestId::current(), None);
    }

    #[test]
    fn work_that_is_done_can_leave_more() {
        let (to, said) = mpsc::channel();
        let left = left();
        let (again, more) = (Arc::clone(&left), says("more", &to));
        left.leave(Box::new(move || again.leave(more)));
        left.catch_up();
        drop(left);
        assert_eq!(said.try_iter().collect::<Vec<_>>(), [mine("more")]);
    }

    #[test]
    fn what_a_request_left_is_done_when_the_last_byte_of_its_answer_goes() {
        let (to, said) = mpsc::channel();
        let left = left();
        left.leave(says("after", &to));
        let mut bytes = answer_first(Bytes::from_static(b"{}"), left);
        assert_eq!(bytes.split_to(1), "{");
        assert_eq!(bytes, "}");
        assert_eq!(said.try_iter().count(), 0);
        drop(bytes);
        assert_eq!(said.try_iter().collect::<Vec<_>>(), [mine("after")]);
    }

    #[test]
    fn no_client_holds_it_back_by_leaving_a_large_answer_unread() {
        let (to, said) = mpsc::channel();
        let left = left();
        left.leave(says("before", &to));
        let bytes = answer_first(vec![0; body::SMALL_BYTES + 1].into(), left);
        assert_eq!(said.try_iter().collect::<Vec<_>>(), [mine("before")]);
        assert_eq!(bytes.len(), body::SMALL_BYTES + 1);
    }
}
