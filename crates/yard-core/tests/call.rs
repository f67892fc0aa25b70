//! What a call leaves for the time after its answer.

#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex, mpsc};

use yard_core::{Afterwards, Call, Rest};
use yard_fixtures::FakeWorld;

#[derive(Default)]
struct Kept(Mutex<Vec<Rest>>);

impl Afterwards for Kept {
    fn leave(&self, rest: Rest) {
        self.0.lock().unwrap().push(rest);
    }
}

fn call() -> Call {
    Call::new(Arc::new(FakeWorld::new(1)))
}

#[test]
fn where_no_door_answers_first_nothing_waits() {
    let (says, said) = mpsc::channel();
    call().afterwards(move || says.send("at once").unwrap());
    assert_eq!(said.try_recv(), Ok("at once"));
}

#[test]
fn what_a_clone_leaves_is_left_to_the_same_door() {
    let ((says, said), kept) = (mpsc::channel(), Arc::new(Kept::default()));
    let call = call().leaving_to(Arc::<Kept>::clone(&kept)).within_millis(1_000);
    call.clone().afterwards(move || says.send("later").unwrap());
    drop(call);
    assert!(said.try_recv().is_err());
    kept.0.lock().unwrap().drain(..).for_each(|rest| rest());
    assert_eq!(said.try_recv(), Ok("later"));
}
