//! `toolyard blame`: a line for each line, in columns that line up, and JSON.

use crate::support::TestWorkspace;

#[test]
fn each_line_has_its_step_its_actor_and_its_time() {
    let workspace = TestWorkspace::new();
    let lines: Vec<String> = (1..=12).map(|number| format!("line {number}\n")).collect();
    workspace.write("/src/a.txt", &lines.concat());
    let first = workspace.newest_step();
    workspace.call(
        "edit",
        serde_json::json!({"path": "/src/a.txt", "old_string": "line 2\n", "new_string": "\ttwo\n"}),
    );
    let second = workspace.newest_step();
    let shown = workspace.run(&["blame", "src/a.txt"]);
    assert_eq!(shown.exit, 0, "{}", shown.stderr);
    let rows: Vec<&str> = shown.stdout.lines().collect();
    assert_eq!(rows.len(), 13, "{}", shown.stdout);
    let column = rows[0].find("TEXT").unwrap();
    for (number, row) in rows.iter().enumerate().skip(1) {
        let step = if number == 2 { &second } else { &first };
        let id = row.split(' ').next().unwrap();
        assert!(step.starts_with(id) && id.len() >= 13, "{row}");
        let text = if number == 2 { "    two".to_owned() } else { format!("line {number}") };
        assert_eq!(row[column..], text, "{}", shown.stdout);
        assert!(row[..column].trim_end().ends_with(&format!(" {number}")), "{row}");
    }
    let value = workspace.json(&["blame", "src/a.txt"]);
    assert_eq!((&value["total_lines"], &value["path"]), (&12.into(), &"/src/a.txt".into()));
    assert_eq!(value["ranges"][1]["step_id"], second.as_str());
    assert_eq!(
        (&value["ranges"][2]["first_line"], &value["ranges"][2]["last_line"]),
        (&3.into(), &12.into())
    );
    assert_eq!(value["steps"].as_array().unwrap().len(), 2, "{value}");
}

#[test]
fn what_has_no_lines_says_what_to_do() {
    let workspace = TestWorkspace::new();
    workspace.write("/src/a.txt", "1\n");
    let missing = workspace.run(&["blame", "nope.txt"]);
    assert_eq!(missing.exit, 1);
    assert!(missing.stderr.contains("no history"), "{}", missing.stderr);
    let folder = workspace.run(&["blame", "src", "--json"]);
    assert_eq!((folder.exit, &folder.json()["code"]), (1, &"is_folder".into()));
}
