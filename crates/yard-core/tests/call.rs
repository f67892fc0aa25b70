//! What a call leaves for the time after its answer.

use std::sync::{Arc, mpsc};

use yard_core::Call;
use yard_testkit::FakeWorld;

/// Words that were said, in order.
struct Said(mpsc::Sender<&'static str>, mpsc::Receiver<&'static str>);

impl Said {
    fn nothing() -> Self {
        let (says, hears) = mpsc::channel();
        Self(says, hears)
    }

    fn later(&self, word: &'static str) -> impl FnOnce() + Send + use<> {
        let says = self.0.clone();
        move || says.send(word).expect("a hearer")
    }

    /// Those that nobody asked for yet.
    fn words(&self) -> Vec<&'static str> {
        self.1.try_iter().collect()
    }
}

fn call() -> Call {
    Call::new(Arc::new(FakeWorld::new(1)))
}

#[test]
fn where_no_door_answers_first_nothing_waits() {
    let (call, said) = (call(), Said::nothing());
    call.afterwards(said.later("at once"));
    assert_eq!(said.words(), ["at once"]);
}

#[test]
fn what_waits_is_done_once_and_in_order_when_the_last_clone_goes() {
    let (call, said) = (call().answered_first(), Said::nothing());
    let clone = call.clone().within_millis(1_000);
    clone.afterwards(said.later("first"));
    call.afterwards(said.later("second"));
    drop(clone);
    assert!(said.words().is_empty(), "the door has not let go of it");
    drop(call);
    assert_eq!(said.words(), ["first", "second"]);
}

#[test]
fn what_waits_can_itself_let_go_of_a_call() {
    let (outer, said) = (call().answered_first(), Said::nothing());
    let inner = call().answered_first();
    inner.afterwards(said.later("inner"));
    outer.afterwards(move || drop(inner));
    outer.afterwards(said.later("outer"));
    drop(outer);
    assert_eq!(said.words(), ["inner", "outer"]);
}

#[test]
fn what_waits_is_done_also_when_its_call_panics() {
    let said = Said::nothing();
    let panics = {
        let word = said.later("all the same");
        move || {
            let call = call().answered_first();
            call.afterwards(word);
            panic!("on purpose");
        }
    };
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
    assert_eq!(said.words(), ["all the same"]);
}
