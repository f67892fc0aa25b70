//! W18: files that are not on disk are listed, read and searched like any other through the tools,
//! and nothing changes them.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests look at the disk themselves"
)]

use std::sync::Arc;

use serde_json::{Value, json};
use yard_core::op;
use yard_core::{ContentHash, FaultCode, WsPath};
use yard_testkit::{Folders, InMemoryFiles, OpenOptions, TestWorkspace};

const TEXT: &str = "user: where is the needle?\nassistant: in the haystack\n";

fn with_chats(names: &[&str]) -> (TestWorkspace, Arc<InMemoryFiles>) {
    let chats = Arc::new(InMemoryFiles::default());
    names.iter().for_each(|name| chats.put(name, TEXT));
    let virtual_files: Arc<dyn yard_kernel::VirtualFiles> = chats.clone();
    let plan = OpenOptions { virtual_files: Some(virtual_files), ..OpenOptions::default() };
    (TestWorkspace::open(&Folders::new(), plan).unwrap(), chats)
}

fn result(workspace: &TestWorkspace, tool: &str, args: Value) -> Value {
    let answer = workspace.call(tool, args.clone());
    assert!(answer.ok, "{tool} {args}: {}", answer.body);
    answer.body["result"].clone()
}

fn refusal(workspace: &TestWorkspace, tool: &str, args: Value) -> String {
    let answer = workspace.call(tool, args.clone());
    assert_eq!(answer.status, 400, "{tool} {args}: {}", answer.body);
    answer.failure_message()
}

fn paths(entries: &Value) -> Vec<String> {
    let entries = entries.as_array().unwrap().iter();
    entries.map(|entry| entry["path"].as_str().unwrap().to_owned()).collect()
}

fn at(path: &str) -> WsPath {
    WsPath::parse(path).unwrap()
}

#[test]
fn w18_chats_are_listed_without_a_folder_on_disk() {
    let (workspace, chats) = with_chats(&["b.chat", "a.chat"]);
    workspace.put("/zoo/z.txt", "z");
    workspace.put("/a.txt", "a");
    let root = result(&workspace, "ls", json!({"path": "/"}));
    assert_eq!(paths(&root["entries"]), ["/chats", "/zoo", "/a.txt"]);
    let folder = &root["entries"][0];
    assert_eq!(folder["file_type"], "folder");
    assert_eq!(folder["is_virtual"], true);
    let below = result(&workspace, "ls", json!({"path": "/chats"}));
    assert_eq!(
        below["entries"][0],
        json!({
            "id": chats.id("a.chat").to_string(),
            "synced": true,
            "name": "a.chat",
            "display_name": "a.chat",
            "path": "/chats/a.chat",
            "file_type": "chat",
            "is_virtual": true,
            "size": TEXT.len(),
            "updated_at": "1970-01-01T00:00:02.000Z"
        })
    );
    assert_eq!(below["total"], 2);
    assert!(!workspace.has("/chats"), "looking makes nothing");
}

#[test]
fn w18_listings_page_and_recurse_over_chats_as_over_files() {
    let (workspace, _) = with_chats(&["b.chat", "d.chat"]);
    workspace.put("/chats/a.txt", "a");
    workspace.put("/chats/c.txt", "c");
    workspace.put("/chats.txt", "x");
    let on_disk = ["/chats", "/chats.txt", "/chats/a.txt", "/chats/c.txt"];
    let listed = result(&workspace, "ls", json!({"path": "/", "recursive": true}));
    assert_eq!(paths(&listed["entries"]), on_disk, "a listing from above does not go in");
    assert_eq!(listed["entries"][0]["is_virtual"], false, "that folder is on disk");
    let all = ["/chats/a.txt", "/chats/b.chat", "/chats/c.txt", "/chats/d.chat"];
    let listed = result(&workspace, "ls", json!({"path": "/chats", "recursive": true}));
    assert_eq!(paths(&listed["entries"]), all);
    let page = result(&workspace, "ls", json!({"path": "/chats", "limit": 2}));
    assert_eq!(paths(&page["entries"]), ["/chats/a.txt", "/chats/b.chat"]);
    let rest =
        result(&workspace, "ls", json!({"path": "/chats", "limit": 2, "cursor": page["next"]}));
    assert_eq!(paths(&rest["entries"]), ["/chats/c.txt", "/chats/d.chat"]);
    assert_eq!(rest["truncated"], false);
}

#[test]
fn w18_the_folder_is_there_as_soon_as_there_is_a_chat() {
    let (workspace, chats) = with_chats(&[]);
    assert_eq!(result(&workspace, "ls", json!({}))["entries"], json!([]));
    assert_eq!(workspace.call("ls", json!({"path": "/chats"})).status, 404);
    chats.put("a.chat", TEXT);
    assert_eq!(paths(&result(&workspace, "ls", json!({}))["entries"]), ["/chats"]);
    chats.remove("a.chat");
    assert_eq!(workspace.call("ls", json!({"path": "/chats"})).status, 404);
    assert_eq!(workspace.call("read", json!({"path": "/chats/a.chat"})).status, 404);
}

/// Chats that are too many to be listed.
struct Innumerable(InMemoryFiles);

impl yard_kernel::VirtualFiles for Innumerable {
    fn list(&self) -> yard_core::Result<Vec<yard_kernel::VirtualFile>> {
        panic!("all chats were listed");
    }

    fn newest(&self) -> yard_core::Result<Option<yard_kernel::VirtualFile>> {
        self.0.newest()
    }

    fn find(&self, name: &yard_core::Name) -> yard_core::Result<Option<yard_kernel::VirtualFile>> {
        self.0.find(name)
    }

    fn text(
        &self,
        name: &yard_core::Name,
        call: &yard_core::Call,
    ) -> yard_core::Result<Option<Vec<u8>>> {
        self.0.text(name, call)
    }
}

#[test]
fn h10_listing_the_root_does_not_list_every_chat() {
    let chats = InMemoryFiles::default();
    chats.put("a.chat", TEXT);
    let virtual_files: Arc<dyn yard_kernel::VirtualFiles> = Arc::new(Innumerable(chats));
    let plan = OpenOptions { virtual_files: Some(virtual_files), ..OpenOptions::default() };
    let workspace = TestWorkspace::open(&Folders::new(), plan).unwrap();
    workspace.put("/a.txt", "a");
    assert_eq!(
        paths(&result(&workspace, "ls", json!({"path": "/"}))["entries"]),
        ["/chats", "/a.txt"]
    );
    assert_eq!(workspace.call("read", json!({"path": "/chats/a.chat"})).status, 200);
    for (tool, args) in [
        ("grep", json!({"pattern": "a"})),
        ("glob", json!({"pattern": "**/*"})),
        ("find", json!({})),
        ("ls", json!({"recursive": true})),
    ] {
        assert_eq!(workspace.call(tool, args).status, 200, "{tool}");
    }
}

#[test]
fn w18_chats_are_read_as_any_text() {
    let (workspace, _) = with_chats(&["a.chat"]);
    let hash = ContentHash::of(TEXT.as_bytes()).to_string();
    let read = result(&workspace, "read", json!({"path": "/chats/a.chat"}));
    assert_eq!(read["content"], TEXT);
    assert_eq!(read["hash"], hash);
    assert_eq!(read["synced"], true);
    assert_eq!(read["total_lines"], 2);
    let last = result(&workspace, "read", json!({"path": "/chats/a.chat", "offset": -1}));
    assert_eq!(last["content"], "assistant: in the haystack\n");
    assert_eq!(last["offset"], 1);
    let bytes = result(
        &workspace,
        "read",
        json!({"path": "/chats/a.chat", "byte_offset": 6, "byte_limit": 5}),
    );
    assert_eq!(bytes["content"], "where");
    let cat = result(&workspace, "cat", json!({"paths": ["/chats/a.chat"], "number_lines": true}));
    assert!(cat.to_string().contains("haystack"), "{cat}");
    let many = result(&workspace, "read_multiple_files", json!({"paths": ["/chats/a.chat"]}));
    assert!(many.to_string().contains("haystack"), "{many}");
    assert_eq!(workspace.call("read", json!({"path": "/chats"})).status, 400);
}

#[test]
fn w14_file_info_tells_of_chats_and_of_their_folder() {
    let (workspace, chats) = with_chats(&["a.chat"]);
    let info = result(&workspace, "file_info", json!({"path": "/chats/a.chat"}));
    assert_eq!(
        info,
        json!({
            "path": "/chats/a.chat",
            "file_type": "chat",
            "size": TEXT.len(),
            "line_count": 2,
            "synced": true,
            "created_at": "1970-01-01T00:00:01.000Z",
            "updated_at": "1970-01-01T00:00:02.000Z",
            "hash": ContentHash::of(TEXT.as_bytes()).to_string(),
            "id": chats.id("a.chat").to_string(),
            "is_virtual": true
        })
    );
    let folder = result(&workspace, "file_info", json!({"path": "/chats"}));
    assert_eq!(folder["file_type"], "folder");
    assert_eq!(folder["size"], Value::Null);
}

#[test]
fn w10_chats_are_searched_where_they_are_named_and_nowhere_else() {
    let (workspace, _) = with_chats(&["b.chat"]);
    for path in ["/a.txt", "/chats/a.txt", "/chats/c.txt", "/z.txt"] {
        workspace.put(path, "needle\n");
    }
    for args in [
        json!({"pattern": "needle"}),
        json!({"pattern": "needle", "path_pattern": "%.t%"}),
        json!({"pattern": "needle", "path": "/", "include_ignored": true}),
    ] {
        let found = result(&workspace, "grep", args);
        let on_disk = ["/a.txt", "/chats/a.txt", "/chats/c.txt", "/z.txt"];
        assert_eq!(paths(&found["matches"]), on_disk);
    }
    let unnamed = json!({"pattern": "haystack", "path_pattern": "%.chat"});
    assert_eq!(result(&workspace, "grep", unnamed)["matches"], json!([]));
    let named = result(&workspace, "grep", json!({"pattern": "needle", "path": "/chats"}));
    assert_eq!(paths(&named["matches"]), ["/chats/a.txt", "/chats/b.chat", "/chats/c.txt"]);
    for path_pattern in ["/chats/%", "chats/*.chat", "./chats/b.chat"] {
        let args = json!({"pattern": "haystack", "path_pattern": path_pattern});
        let one = result(&workspace, "grep", args);
        assert_eq!(paths(&one["matches"]), ["/chats/b.chat"], "{path_pattern}");
        assert_eq!(one["matches"][0]["line_number"], 2);
    }
    for path in ["/chats/b.chat", "/chats"] {
        let grep = op::Grep {
            pattern: "haystack".to_owned(),
            flavor: op::RegexFlavor::Plain,
            case_sensitive: true,
            path: at(path),
            filter: op::PathFilter::All,
            before: 0,
            after: 0,
            include_ignored: false,
            limit: None,
            cursor: None,
        };
        assert_eq!(workspace.perform(grep).unwrap().matches.len(), 1, "{path}");
    }
}

#[test]
fn w11_chats_are_globbed_where_they_are_named_and_never_found() {
    let (workspace, _) = with_chats(&["a.chat", "b.chat"]);
    workspace.put("/chats/long.txt", TEXT.repeat(9));
    for pattern in ["*.chat", "**/*.chat", "*/a.chat"] {
        let globbed = result(&workspace, "glob", json!({"pattern": pattern}));
        assert_eq!(globbed["matches"], json!([]), "{pattern}");
    }
    let all = result(&workspace, "glob", json!({"pattern": "**/*"}));
    assert_eq!(paths(&all["matches"]), ["/chats", "/chats/long.txt"]);
    for pattern in ["/chats/*.chat", "chats/*.chat"] {
        let globbed = result(&workspace, "glob", json!({"pattern": pattern}));
        assert_eq!(paths(&globbed["matches"]), ["/chats/a.chat", "/chats/b.chat"], "{pattern}");
        assert_eq!(globbed["matches"][0]["is_virtual"], true);
    }
    let globbed = result(&workspace, "glob", json!({"pattern": "a.*", "path": "/chats"}));
    assert_eq!(paths(&globbed["matches"]), ["/chats/a.chat"]);
    for args in [
        json!({"file_type": "chat"}),
        json!({"path": "/", "max_size": TEXT.len()}),
        json!({"path": "/chats", "name": "*.chat"}),
        json!({"path": "/chats", "file_type": "chat"}),
    ] {
        assert_eq!(result(&workspace, "find", args.clone())["matches"], json!([]), "{args}");
    }
    let found = result(&workspace, "find", json!({"path": "/chats"}));
    assert_eq!(paths(&found["matches"]), ["/chats/long.txt"]);
    std::fs::remove_dir_all(workspace.root().join("chats")).unwrap();
    assert_eq!(result(&workspace, "find", json!({"path": "/chats"}))["matches"], json!([]));
}

#[test]
fn w18_every_mutation_is_refused_and_points_to_the_chats_api() {
    let (workspace, _) = with_chats(&["a.chat"]);
    workspace.put("/own.txt", "mine");
    for (tool, args) in [
        ("write", json!({"path": "/chats/a.chat", "content": "x", "overwrite": true})),
        ("write", json!({"path": "/chats/new.chat", "content": "x"})),
        ("write", json!({"path": "/chats/a.chat/below.txt", "content": "x"})),
        ("touch", json!({"path": "/chats/a.chat"})),
        ("touch", json!({"path": "/chats/new.chat"})),
        ("mkdir", json!({"path": "/chats/a.chat"})),
        ("edit", json!({"path": "/chats/a.chat", "old_string": "user", "new_string": "you"})),
        ("mv", json!({"source": "/chats/a.chat", "destination": "/b.txt"})),
        ("mv", json!({"source": "/own.txt", "destination": "/chats/a.chat"})),
        ("mv", json!({"source": "/own.txt", "destination": "/chats/new.chat"})),
        ("rm", json!({"path": "/chats/a.chat"})),
    ] {
        let words = refusal(&workspace, tool, args.clone());
        assert!(words.contains("chats API"), "{tool} {args}: {words}");
    }
    assert!(!workspace.has("/chats"), "nothing was made");
    assert_eq!(workspace.bytes("/own.txt"), b"mine");
}

#[test]
fn w7_the_folder_of_chats_stays_while_it_holds_any() {
    let (workspace, chats) = with_chats(&["a.chat"]);
    workspace.put("/docs/n.txt", "n");
    refusal(&workspace, "rm", json!({"path": "/chats"}));
    refusal(&workspace, "mv", json!({"source": "/chats", "destination": "/old"}));
    refusal(&workspace, "mv", json!({"source": "/docs", "destination": "/chats"}));
    result(&workspace, "mkdir", json!({"path": "/chats"}));
    refusal(&workspace, "rm", json!({"path": "/chats"}));
    refusal(&workspace, "mv", json!({"source": "/chats", "destination": "/old"}));
    chats.remove("a.chat");
    result(&workspace, "rm", json!({"path": "/chats"}));
    assert!(!workspace.has("/chats"));
}

#[test]
fn w18_a_moved_folder_brings_no_file_to_a_reserved_place() {
    let (workspace, _) = with_chats(&[]);
    workspace.put("/docs/a.chat", "mine");
    refusal(&workspace, "mv", json!({"source": "/docs", "destination": "/chats"}));
    assert!(workspace.has("/docs/a.chat"));
}

#[test]
fn w18_links_do_not_lead_a_write_to_a_chat() {
    let (workspace, _) = with_chats(&["a.chat"]);
    std::fs::create_dir(workspace.root().join("chats")).unwrap();
    std::os::unix::fs::symlink("chats", workspace.root().join("way")).unwrap();
    std::os::unix::fs::symlink("chats/a.chat", workspace.root().join("direct")).unwrap();
    refusal(&workspace, "write", json!({"path": "/way/a.chat", "content": "x"}));
    refusal(&workspace, "write", json!({"path": "/direct", "content": "x"}));
    let listed = result(&workspace, "ls", json!({"path": "/way"}));
    assert_eq!(paths(&listed["entries"]), ["/chats/a.chat"]);
}

#[test]
fn w18_links_lead_a_look_to_the_chat_and_not_to_what_it_shadows() {
    let (workspace, _) = with_chats(&["a.chat"]);
    std::os::unix::fs::symlink("chats", workspace.root().join("way")).unwrap();
    std::os::unix::fs::symlink("chats/a.chat", workspace.root().join("direct")).unwrap();
    let seen = |workspace: &TestWorkspace| {
        for path in ["/way/a.chat", "/direct"] {
            let read = result(workspace, "read", json!({"path": path}));
            assert_eq!(read["content"], TEXT, "{path}");
            assert_eq!(read["path"], "/chats/a.chat");
        }
        let info = result(workspace, "file_info", json!({"path": "/way/a.chat"}));
        assert_eq!(info["is_virtual"], true);
        let listed = result(workspace, "ls", json!({"path": "/way"}));
        assert_eq!(paths(&listed["entries"]), ["/chats/a.chat"]);
    };
    seen(&workspace);
    workspace.put("/chats/a.chat", "shadowed");
    seen(&workspace);
}

#[test]
fn w18_other_files_in_the_folder_are_anybodys() {
    let (workspace, _) = with_chats(&["a.chat"]);
    result(&workspace, "write", json!({"path": "/chats/notes.txt", "content": "mine"}));
    let listed = result(&workspace, "ls", json!({"path": "/chats"}));
    assert_eq!(paths(&listed["entries"]), ["/chats/a.chat", "/chats/notes.txt"]);
    let step = workspace
        .perform(op::History { of: op::HistoryOf::Workspace, limit: 1, before: None })
        .unwrap()
        .steps;
    workspace.perform(op::Undo::of(step[0].id)).unwrap();
    assert!(!workspace.has("/chats"), "what the step made goes, chats or not");
    assert_eq!(
        paths(&result(&workspace, "ls", json!({"path": "/chats"}))["entries"]),
        ["/chats/a.chat"]
    );
}

#[test]
fn w18_a_real_file_is_shadowed_and_verify_says_so() {
    let (workspace, chats) = with_chats(&["a.chat"]);
    workspace.put("/chats/a.chat", "needle of a real file\n");
    workspace.put("/chats/b.chat", "b");
    assert_eq!(result(&workspace, "read", json!({"path": "/chats/a.chat"}))["content"], TEXT);
    let listed = result(&workspace, "ls", json!({"path": "/chats"}));
    assert_eq!(paths(&listed["entries"]), ["/chats/a.chat", "/chats/b.chat"]);
    assert_eq!(listed["entries"][0]["is_virtual"], true);
    assert_eq!(listed["entries"][1]["is_virtual"], false);
    for path in ["/", "/chats"] {
        let found = result(&workspace, "grep", json!({"pattern": "real file", "path": path}));
        assert_eq!(found["matches"], json!([]), "{path}");
        let found = result(&workspace, "find", json!({"path": path, "name": "*.chat"}));
        assert_eq!(paths(&found["matches"]), ["/chats/b.chat"], "{path}");
    }
    let listed = result(&workspace, "ls", json!({"path": "/", "recursive": true}));
    assert_eq!(paths(&listed["entries"]), ["/chats", "/chats/b.chat"]);
    assert_eq!(workspace.perform(op::Verify).unwrap().shadowed, [at("/chats/a.chat")]);

    chats.remove("a.chat");
    let read = result(&workspace, "read", json!({"path": "/chats/a.chat"}));
    assert_eq!(read["content"], "needle of a real file\n");
    refusal(
        &workspace,
        "write",
        json!({"path": "/chats/a.chat", "content": "x", "overwrite": true}),
    );
    assert_eq!(workspace.perform(op::Verify).unwrap().shadowed, []);
}

#[test]
fn w18_whatever_stands_at_the_folders_place_is_shadowed() {
    let (workspace, _) = with_chats(&["a.chat"]);
    std::fs::create_dir(workspace.root().join("other")).unwrap();
    std::os::unix::fs::symlink("other", workspace.root().join("chats")).unwrap();
    let root = result(&workspace, "ls", json!({"path": "/", "recursive": true}));
    assert_eq!(paths(&root["entries"]), ["/other"]);
    let root = result(&workspace, "ls", json!({"path": "/"}));
    assert_eq!(paths(&root["entries"]), ["/chats", "/other"]);
    assert_eq!(root["entries"][0]["is_virtual"], true);
    let below = result(&workspace, "glob", json!({"pattern": "*.chat", "path": "/chats"}));
    assert_eq!(paths(&below["matches"]).len(), 1);
    assert_eq!(workspace.perform(op::Verify).unwrap().shadowed, [at("/chats")]);
    refusal(&workspace, "write", json!({"path": "/chats/a.chat", "content": "x"}));
}

#[test]
fn w18_import_skips_what_is_reserved() {
    let (workspace, _) = with_chats(&["a.chat"]);
    workspace.put("/chats/a.chat", "shadowed");
    workspace.put("/chats/n.txt", "n");
    let imported =
        workspace.perform(op::Import { path: WsPath::root(), include_ignored: true }).unwrap();
    assert_eq!(imported.added, 2, "the folder and the file of somebody's own");
    let skipped: Vec<&WsPath> = imported.skipped.iter().map(|(path, _)| path).collect();
    assert_eq!(skipped, [&at("/chats/a.chat")]);
    assert_eq!(workspace.bytes("/chats/a.chat"), b"shadowed");
}

#[test]
fn w18_no_undo_and_no_restore_bring_a_file_to_a_reserved_place() {
    let (workspace, _) = with_chats(&[]);
    // A folder that was elsewhere when the file in it was removed is the folder of chats now.
    workspace.put("/docs/a.chat", "mine");
    result(&workspace, "rm", json!({"path": "/docs/a.chat"}));
    let removal = workspace
        .perform(op::History { of: op::HistoryOf::Workspace, limit: 1, before: None })
        .unwrap()
        .steps;
    result(&workspace, "mv", json!({"source": "/docs", "destination": "/chats"}));
    let undone = workspace.perform(op::Undo::of(removal[0].id)).unwrap_err();
    assert_eq!(undone.code(), FaultCode::BadPath, "{undone}");
    let trash = workspace.perform(op::Trash { limit: 1, skip: 0 }).unwrap().entries;
    let restored = workspace.perform(op::Restore::Removed(trash[0].file)).unwrap_err();
    assert_eq!(restored.code(), FaultCode::BadPath, "{restored}");
    assert!(!workspace.has("/chats/a.chat"));
}
