//! No file that runs with the rights of its owner or group, no capability and no device comes out of what
//! an agent does: by a command, a write, an edit, an upload, a restore or an undo. A person's own file of
//! that kind stays what it is for as long as nobody changes it.

use std::fs;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::Path;

use serde_json::json;
use yard_core::op::Undo;
use yard_testkit::TestWorkspace;

use crate::box_setup::{newest, shell, workspace};

/// Every entry below a folder that has such bits, or is a device.
fn privileged(root: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut ahead = vec![root.to_owned()];
    while let Some(folder) = ahead.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let about = path.symlink_metadata().unwrap();
            let kind = about.file_type();
            let is_device = kind.is_char_device() || kind.is_block_device();
            if about.permissions().mode() & 0o6000 != 0 || is_device {
                found.push(format!("{} {:o}", path.display(), about.permissions().mode()));
            }
            if kind.is_dir() {
                ahead.push(path);
            }
        }
    }
    found.sort();
    found
}

fn set(workspace: &TestWorkspace, path: &str, mode: u32) {
    let at = workspace.root().join(path.trim_start_matches('/'));
    fs::set_permissions(at, fs::Permissions::from_mode(mode)).unwrap();
}

fn mode(workspace: &TestWorkspace, path: &str) -> u32 {
    let at = workspace.root().join(path.trim_start_matches('/'));
    fs::metadata(at).unwrap().permissions().mode() & 0o7777
}

/// Ways of making such a file, of which none may work.
const WAYS: &str = r#"
import os, ctypes
libc = ctypes.CDLL(None, use_errno=True)
TMP = 0o20200000
def attempt(what):
    try:
        what()
    except OSError:
        pass
def tmpfile(mode, name):
    fd = os.open('.', TMP | os.O_WRONLY, mode)
    libc.linkat(-100, b'/proc/self/fd/%d' % fd, -100, name.encode(), 0x400)
open('plain', 'w').write('x')
for at, mode in enumerate((0o4755, 0o2755, 0o6755, 0o7777)):
    attempt(lambda: tmpfile(mode, 'tmp%d' % at))
    attempt(lambda: os.open('open%d' % at, os.O_CREAT | os.O_WRONLY, mode))
    attempt(lambda: os.mknod('node%d' % at, 0o100000 | mode))
    attempt(lambda: os.mkdir('folder%d' % at, mode))
    attempt(lambda: os.chmod('plain', mode))
    fd = os.open('plain', os.O_RDWR)
    attempt(lambda: os.fchmod(fd, mode))
    libc.syscall(452, -100, b'plain', mode, 0)
    libc.syscall(85, b'creat%d' % at, mode)
attempt(lambda: os.mknod('null', 0o20666, os.makedev(1, 3)))
attempt(lambda: os.mknod('none', 0o20666, 0))
libc.syscall(316, -100, b'plain', -100, b'renamed', 4)
attempt(lambda: os.setxattr('plain', 'security.capability', bytes(20)))
"#;

#[test]
fn g2_no_way_of_making_a_set_id_file_or_a_device_lands() {
    let workspace = workspace();
    fs::write(workspace.root().join("ways.py"), WAYS).unwrap();
    let reply = shell(
        &workspace,
        "python3 ways.py; cp -p /usr/bin/su mine; install -m 4755 ways.py made; ls",
    );
    assert!(reply["stdout"].as_str().unwrap().contains("ways.py"), "{reply}");
    assert_eq!(privileged(workspace.root()), Vec::<String>::new());
}

#[test]
fn g2_no_way_of_making_one_works_in_place_on_a_terminal() {
    let workspace = workspace();
    fs::write(workspace.root().join("ways.py"), WAYS).unwrap();
    let args = json!({"cmd": "python3 ways.py; echo made", "session_id": "s"});
    let session = workspace.session();
    let answer = workspace.call_as(&session, "codex", "exec_command", args);
    assert!(answer.ok, "{}", answer.body);
    session.stop_all_terminals();
    assert!(workspace.root().join("plain").exists() || workspace.root().join("renamed").exists());
    assert_eq!(privileged(workspace.root()), Vec::<String>::new());
}

#[test]
fn g2_a_persons_set_id_file_loses_the_bits_whenever_its_bytes_are_replaced() {
    let workspace = workspace();
    type Replace<'a> = &'a dyn Fn(&TestWorkspace);
    let replace: [(&str, Replace<'_>); 5] = [
        ("write", &|workspace| {
            workspace
                .call("write", json!({"path": "/tool", "content": "theirs\n", "overwrite": true}));
        }),
        ("edit", &|workspace| {
            let args = json!({"path": "/tool", "old_string": "ours", "new_string": "theirs"});
            workspace.call("edit", args);
        }),
        ("command", &|workspace| {
            shell(workspace, "printf 'theirs\\n' > new; cat new > tool; rm new");
        }),
        ("sed -i", &|workspace| {
            shell(workspace, "sed -i s/ours/theirs/ tool");
        }),
        ("patch", &|workspace| {
            let patch =
                "*** Begin Patch\n*** Update File: tool\n@@\n-ours\n+theirs\n*** End Patch\n";
            let args = json!({"patchText": patch});
            let session = workspace.session();
            let call = workspace.call_context();
            let answer = workspace.catalog().call("coder", "apply_patch", args, &session, &call);
            assert!(answer.ok, "{}", answer.body);
        }),
    ];
    for (way, replace) in replace {
        workspace.put("/tool", "ours\n");
        set(&workspace, "/tool", 0o6755);
        replace(&workspace);
        assert_eq!(workspace.bytes("/tool"), b"theirs\n", "{way}");
        assert_eq!(mode(&workspace, "/tool") & 0o6000, 0, "{way}");
        // Neither does what brings the old version back.
        workspace.perform(Undo::of(newest(&workspace).0)).unwrap();
        assert_eq!(workspace.bytes("/tool"), b"ours\n", "{way}");
        assert_eq!(mode(&workspace, "/tool") & 0o6000, 0, "{way}, undone");
    }
}

#[test]
fn g2_a_persons_set_id_file_is_left_alone_by_commands_that_do_nothing_to_it() {
    let workspace = workspace();
    workspace.put("/tool", "ours\n");
    fs::create_dir(workspace.root().join("shared")).unwrap();
    set(&workspace, "/tool", 0o4755);
    set(&workspace, "/shared", 0o2775);
    shell(&workspace, "cat tool; ls -l; echo x > shared/new; chmod 2775 shared || true");
    assert_eq!(mode(&workspace, "/tool"), 0o4755);
    assert_eq!(mode(&workspace, "/shared"), 0o2775);
    shell(&workspace, "mv tool moved; cp moved copied");
    assert_eq!(mode(&workspace, "/copied"), 0o755);
    assert_eq!(mode(&workspace, "/moved") & 0o6000, 0, "what a command moved is what it made");
}

#[test]
fn g2_a_removed_set_id_file_comes_back_without_the_bits() {
    let workspace = workspace();
    workspace.put("/tool", "ours\n");
    set(&workspace, "/tool", 0o6755);
    workspace.call("rm", json!({"path": "/tool"}));
    workspace.perform(Undo::of(newest(&workspace).0)).unwrap();
    assert_eq!((workspace.bytes("/tool"), mode(&workspace, "/tool")), (b"ours\n".to_vec(), 0o755));
}

#[test]
fn g13_what_a_command_wrote_beyond_its_limit_does_not_land_and_holes_stay_holes() {
    use std::os::unix::fs::MetadataExt as _;
    let workspace = workspace();
    let reply = shell(&workspace, "truncate -s 200M hollow; printf x >> hollow");
    assert!(
        reply["message"].as_str().is_some_and(|message| message.contains("created")),
        "{reply}"
    );
    let about = fs::metadata(workspace.root().join("hollow")).unwrap();
    assert_eq!(about.size(), (200 << 20) + 1);
    assert!(about.blocks() * 512 < 8 << 20, "{} bytes on disk", about.blocks() * 512);
    let command = "for n in 1 2 3; do truncate -s 4G big$n; done; echo x > small";
    let session = workspace.session();
    let answer = crate::box_setup::shell_as(&workspace, &session, command);
    let text = answer.body.to_string();
    assert!(text.contains("nothing of it was kept"), "{text}");
    assert!(!workspace.root().join("small").exists() && !workspace.root().join("big1").exists());
}
