//! `toolyard doctor`, on this machine.

use std::process::Command;

use serde_json::Value;

use crate::box_setup::{as_root_and_user, helper};

#[test]
fn the_doctor_says_line_by_line_what_the_box_can_do() {
    as_root_and_user("doctor::the_doctor_says_line_by_line_what_the_box_can_do", || {
        let doctor = |arguments: &[&str]| {
            let mut command = Command::new(helper());
            command.arg("doctor").args(arguments).env_clear().current_dir("/").output().unwrap()
        };
        let answer = doctor(&[]);
        let text = String::from_utf8(answer.stdout).unwrap();
        assert!(answer.status.success(), "{text}");
        for line in ["✓ namespaces ", "✓ overlay ", "✓ Landlock ", "\nfull - commands run"] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
        let answer: Value = serde_json::from_slice(&doctor(&["--json"]).stdout).unwrap();
        assert_eq!((&answer["ok"], &answer["level"]), (&Value::Bool(true), &Value::from("full")));
        let findings = answer["findings"].as_array().unwrap();
        assert!(findings.len() >= 7 && findings.iter().all(|one| one["found"] != ""), "{answer:#}");
        let needed = findings.iter().filter(|one| one["needed"] == true);
        assert!(needed.clone().count() >= 5 && needed.clone().all(|one| one["ok"] == true));
    });
}
