//! Many commands at once: bounded, each with its own answer; and files are read and written meanwhile.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::box_setup::{shell_as, workspace};

#[test]
fn a_hundred_commands_at_once_lose_nothing() {
    let workspace = workspace();
    let session = workspace.session();
    let answers = std::thread::scope(|scope| {
        let (workspace, session) = (&workspace, &session);
        let runs: Vec<_> = (0..100)
            .map(|number| {
                scope.spawn(move || {
                    shell_as(
                        workspace,
                        session,
                        &format!("sleep 0.2; echo {number} | tee out-{number}"),
                    )
                })
            })
            .collect();
        let mut slowest = Duration::ZERO;
        for number in 0..100 {
            let began = Instant::now();
            let args = json!({"path": format!("/beside-{number}"), "content": "x"});
            assert!(workspace.call("write", args).ok);
            let read = workspace.call("read", json!({"path": format!("/beside-{number}")}));
            assert!(read.ok, "{}", read.body);
            slowest = slowest.max(began.elapsed());
        }
        assert!(slowest < Duration::from_secs(20), "files wait for commands: {slowest:?}");
        runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
    });
    for (number, answer) in answers.iter().enumerate() {
        assert!(answer.ok, "{}", answer.body);
        assert_eq!(answer.body["result"]["stdout"], format!("{number}\n"), "{}", answer.body);
        assert_eq!(workspace.bytes(&format!("/out-{number}")), format!("{number}\n").into_bytes());
    }
}
