//! A row that was changed behind the program's back is noticed by `verify`, whichever column it was.

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, params};
use serde_json::json;
use yard_core::op;
use yard_store::{SqliteStore, Store, first_chain};
use yard_testkit::TestWorkspace;

/// The tables that the audit chain speaks for, with the column that names their rows.
const TABLES: [(&str, &str); 6] = [
    ("step", "seq"),
    ("note", "number"),
    ("change", "id"),
    ("file", "id"),
    ("content", "id"),
    ("named", "id"),
];

/// Columns that decide nothing: what was last seen on disk is a hint that saves reading, and the depth of
/// a content only bounds the work of finding a base.
const HINTS: [(&str, &str); 5] = [
    ("file", "seen_size"),
    ("file", "seen_mtime"),
    ("file", "seen_ctime"),
    ("file", "seen_inode"),
    ("content", "depth"),
];

fn raw(workspace: &TestWorkspace) -> Connection {
    let raw = Connection::open(workspace.folders().state().join("journal.db")).unwrap();
    raw.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
    raw
}

/// What `verify` has to say; a store that it cannot read is noticed, too.
fn problems(workspace: &TestWorkspace) -> Vec<String> {
    match workspace.perform(op::Verify) {
        Ok(found) => found.problems,
        Err(fault) => vec![fault.to_string()],
    }
}

/// A workspace with steps of every kind, notes between them, and contents in several forms.
fn worked_in() -> TestWorkspace {
    let workspace = TestWorkspace::new();
    let call = |tool: &str, args: serde_json::Value| {
        let answer = workspace.call(tool, args);
        assert!(answer.ok, "{tool}: {}", answer.body);
    };
    let text = |n: usize| -> String { (0..60).map(|at| format!("line {at} of {n}\n")).collect() };
    call("write", json!({"path": "/a.txt", "content": text(1)}));
    for n in 0..3 {
        let edit = json!({"path": "/a.txt", "insert_line": n, "insert_content": "one more"});
        call("edit", edit);
    }
    call("mkdir", json!({"path": "/docs"}));
    call("write", json!({"path": "/docs/b.txt", "content": "b\n"}));
    call("mv", json!({"source": "/docs", "destination": "/papers"}));
    call("write", json!({"path": "/c.txt", "content": text(2)}));
    call("rm", json!({"path": "/c.txt"}));
    let noise: String =
        (0..9_000u32).map(|n| yard_core::ContentHash::of(&n.to_le_bytes()).to_string()).collect();
    call("write", json!({"path": "/noise.txt", "content": noise}));
    let call = workspace.call_context();
    let person = workspace.person();
    person.chats().make(&call, "A chat", None).unwrap();
    let steps =
        workspace.perform(op::History { of: op::HistoryOf::Workspace, before: None, limit: 9 });
    let newest = steps.unwrap().steps[0].id;
    workspace.perform(op::Undo::of(newest)).unwrap();
    workspace
}

fn columns(raw: &Connection, table: &str) -> Vec<(String, String)> {
    let sql = format!("SELECT name, type FROM pragma_table_info('{table}')");
    let mut statement = raw.prepare(&sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}

fn keys(raw: &Connection, table: &str, key: &str) -> Vec<Sql> {
    let mut statement = raw.prepare(&format!("SELECT {key} FROM {table} ORDER BY {key}")).unwrap();
    statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Other values that a column could have had.
fn others(value: &Sql, declared: &str) -> Vec<Sql> {
    let mut others = match value {
        Sql::Integer(number) => vec![Sql::Integer(number + 1), Sql::Integer(number - 1)],
        Sql::Text(text) => vec![Sql::Text(format!("{text}x"))],
        Sql::Blob(bytes) => {
            let mut bytes = bytes.clone();
            match bytes.last_mut() {
                Some(last) => *last ^= 1,
                None => bytes.push(b'x'),
            }
            vec![Sql::Blob(bytes)]
        }
        Sql::Real(_) => vec![],
        Sql::Null => {
            return vec![match declared {
                "INTEGER" | "ANY" => Sql::Integer(1),
                "TEXT" => Sql::Text("x".to_owned()),
                _ => Sql::Blob(vec![7; 16]),
            }];
        }
    };
    others.push(Sql::Null);
    others
}

/// Changes one value of each row of every table in turn, and changes it back.
#[test]
fn a_change_of_any_column_of_any_audited_row_is_noticed() {
    let workspace = worked_in();
    assert_eq!(problems(&workspace), Vec::<String>::new());
    let raw = raw(&workspace);
    let every = if std::env::var_os("YARD_SOAK").is_some() { 1 } else { 4 };
    let (mut tried, mut unnoticed) = (0, Vec::new());
    for (table, key) in TABLES {
        let keys = keys(&raw, table, key);
        assert!(!keys.is_empty(), "{table}");
        let last = keys.len() - 1;
        let chosen = keys.iter().enumerate().filter(|(at, _)| at % every == 0 || *at == last);
        for (_, row) in chosen {
            for (column, declared) in columns(&raw, table) {
                if HINTS.contains(&(table, column.as_str())) {
                    continue;
                }
                let value: Sql = raw
                    .query_row(
                        &format!("SELECT {column} FROM {table} WHERE {key} = ?1"),
                        [row],
                        |row| row.get(0),
                    )
                    .unwrap();
                for other in others(&value, &declared) {
                    let change = format!("UPDATE {table} SET {column} = ?2 WHERE {key} = ?1");
                    // What the table itself refuses needs no verify.
                    if raw.execute(&change, params![row, other]).is_err() {
                        continue;
                    }
                    tried += 1;
                    if problems(&workspace).is_empty() {
                        unnoticed
                            .push(format!("{table}.{column} of {row:?}: {value:?} to {other:?}"));
                    }
                    let now = if column == key { &other } else { row };
                    raw.execute(&change, params![now, value]).unwrap();
                }
            }
        }
    }
    assert_eq!(unnoticed, Vec::<String>::new(), "of {tried}");
    assert!(tried > 200, "{tried}");
    assert_eq!(problems(&workspace), Vec::<String>::new(), "everything is as it was");
}

/// Gives every row the hash that the version before would have given it.
fn as_the_version_before(workspace: &TestWorkspace) {
    let store = SqliteStore::open(workspace.folders().state()).unwrap();
    let raw = raw(workspace);
    let mut hash = [0; 32];
    for row in store.audit(0, usize::MAX).unwrap() {
        let step = row.step.as_ref().map(|step| (step.id, step.changes));
        hash = first_chain(&hash, &row.entry, step);
        let changed = match step {
            Some((id, _)) => {
                let sql = "UPDATE step SET hash = ?2, formula = 1 WHERE id = ?1";
                raw.execute(sql, params![id.as_bytes(), hash])
            }
            None => {
                let sql = "UPDATE note SET hash = ?2, formula = 1 WHERE number = ?1";
                raw.execute(sql, params![row.number as i64, hash])
            }
        };
        assert_eq!(changed, Ok(1));
    }
}

#[test]
fn rows_of_the_version_before_verify_and_what_they_left_out_is_covered_from_now_on() {
    let workspace = worked_in();
    as_the_version_before(&workspace);
    let workspace = workspace.reopen();
    let before = workspace.perform(op::Verify).unwrap();
    assert_eq!(before.problems, Vec::<String>::new());
    workspace.call("write", json!({"path": "/new.txt", "content": "new\n"}));
    let workspace = workspace.reopen();
    let after = workspace.perform(op::Verify).unwrap();
    assert_eq!(after.problems, Vec::<String>::new());
    assert_eq!(after.audit_rows, before.audit_rows + 1, "they are sealed once");
    let raw = raw(&workspace);
    let tampered = |change: &str, back: &str| {
        assert_eq!(raw.execute(change, []), Ok(1), "{change}");
        assert_ne!(problems(&workspace), Vec::<String>::new(), "{change}");
        raw.execute(back, []).unwrap();
    };
    tampered(
        "UPDATE step SET author = 2 WHERE seq = 1",
        "UPDATE step SET author = 1 WHERE seq = 1",
    );
    tampered(
        "UPDATE step SET chat = zeroblob(16) WHERE seq = 1",
        "UPDATE step SET chat = NULL WHERE seq = 1",
    );
    tampered(
        "UPDATE step SET undoes = 1 WHERE seq = 3",
        "UPDATE step SET undoes = NULL WHERE seq = 3",
    );
    // A new row that passes itself off as one of the older ones.
    tampered(
        "UPDATE step SET formula = 1 WHERE seq = (SELECT max(seq) FROM step)",
        "UPDATE step SET formula = 2 WHERE seq = (SELECT max(seq) FROM step)",
    );
    assert_eq!(problems(&workspace), Vec::<String>::new(), "everything is as it was");
    // Without the seal nothing says which rows were there before.
    raw.execute("DELETE FROM note WHERE action = 'seal'", []).unwrap();
    assert_ne!(problems(&workspace), Vec::<String>::new());
}
