//! A machine whose power can be cut: a file system in an image file on a loop device, which the file
//! system's own shutdown call stops without writing anything more.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use tempfile::TempDir;
use yard_core::{Timestamp, World};
use yard_testkit::RealWorld;

/// The smallest image that every one of the file systems takes.
const IMAGE_BYTES: u64 = 320 << 20;

/// Programs that these tests need, besides root and loop devices.
const PROGRAMS: [&str; 7] =
    ["unshare", "mount", "umount", "mkfs.ext4", "mkfs.xfs", "xfs_io", "debugfs"];

/// The real world under a boot of its own.
pub(crate) struct Booted(pub(crate) u128);

impl World for Booted {
    fn now(&self) -> Timestamp {
        RealWorld.now()
    }

    fn random(&self) -> u128 {
        RealWorld.random()
    }

    fn secret(&self) -> Option<[u8; 32]> {
        RealWorld.secret()
    }

    fn boot_id(&self) -> u128 {
        self.0
    }
}

/// A root and a data folder on a file system of their own. The image itself is on another one.
pub(crate) struct Machine {
    home: TempDir,
    pub(crate) kind: &'static str,
    pub(crate) boot: u128,
}

impl Machine {
    pub(crate) fn new(kind: &'static str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let machine = Self { home, kind, boot: 1 };
        let image = std::fs::File::create(machine.image()).unwrap();
        image.set_len(IMAGE_BYTES).unwrap();
        drop(image);
        let force = if kind == "xfs" { "-f" } else { "-F" };
        must(Command::new(format!("mkfs.{kind}")).args(["-q", force]).arg(machine.image()));
        std::fs::create_dir(machine.mounted()).unwrap();
        machine.mount();
        std::fs::create_dir_all(machine.root()).unwrap();
        std::fs::create_dir_all(machine.state()).unwrap();
        must(Command::new("sync").arg("-f").arg(machine.root()));
        machine
    }

    fn image(&self) -> PathBuf {
        self.home.path().join("image")
    }

    fn mounted(&self) -> PathBuf {
        self.home.path().join("mounted")
    }

    /// A folder that no power cut touches.
    pub(crate) fn safe(&self) -> &Path {
        self.home.path()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.mounted().join("root")
    }

    pub(crate) fn state(&self) -> PathBuf {
        self.mounted().join("data/ws")
    }

    fn mount(&self) {
        must(Command::new("mount").args(["-o", "loop"]).arg(self.image()).arg(self.mounted()));
    }

    /// Stops the file system: whatever is not on the device yet never gets there, its log included.
    pub(crate) fn cut(&self) {
        must(Command::new("xfs_io").args(["-x", "-c", "shutdown"]).arg(self.mounted()));
    }

    /// Mounts what is left, under another boot. Nobody has a file open.
    pub(crate) fn restart(&mut self) {
        must(Command::new("umount").arg(self.mounted()));
        self.mount();
        self.boot += 1;
    }

    /// Flushes the file system and takes a copy of it.
    pub(crate) fn remember(&self) {
        must(Command::new("sync").arg("-f").arg(self.mounted()));
        let copy = self.home.path().join("copy");
        must(Command::new("cp").arg("--sparse=always").arg(self.image()).arg(copy));
    }

    /// Goes on, under another boot, with the copy that was taken.
    pub(crate) fn exchange(&mut self) {
        must(Command::new("umount").arg(self.mounted()));
        std::fs::rename(self.home.path().join("copy"), self.image()).unwrap();
        self.mount();
        self.boot += 1;
    }

    /// Changes inodes as only a power loss does: their times do not tell of it. `commands` are those of `debugfs`,
    /// which knows ext4 alone.
    pub(crate) fn edit_inodes(&self, commands: &str) {
        let script = self.home.path().join("inodes");
        std::fs::write(&script, commands).unwrap();
        must(Command::new("umount").arg(self.mounted()));
        let mut debugfs = Command::new("debugfs");
        let output = must(debugfs.arg("-w").arg("-f").arg(script).arg(self.image()));
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(words.lines().count() <= 1, "debugfs: {words}");
        self.mount();
    }

    /// The step up to which everything was renamed into place, as the disk has it now.
    pub(crate) fn applied(&self) -> u64 {
        let entries = std::fs::read_dir(self.state()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let steps = names.filter_map(|name| {
            name.strip_prefix("applied.")?.split_once('.')?.0.parse::<u64>().ok()
        });
        steps.max().unwrap_or(0)
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // A failed test may have left a process there for a moment. The mount namespace ends with the test.
        for _ in 0..20 {
            if Command::new("umount")
                .arg(self.mounted())
                .output()
                .is_ok_and(|out| out.status.success())
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn must(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

/// Why power cannot be cut here; nothing if it can.
fn obstacle() -> Option<String> {
    let is_there = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).exists())
    };
    if let Some(missing) = PROGRAMS.into_iter().find(|program| !is_there(program)) {
        return Some(format!("{missing} is missing"));
    }
    let home = tempfile::tempdir().unwrap();
    let image = home.path().join("image");
    std::fs::File::create(&image).unwrap().set_len(16 << 20).unwrap();
    must(Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image));
    let try_it = "mount -o loop \"$1\" /mnt && xfs_io -x -c shutdown /mnt && umount /mnt";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c", try_it, "sh"]).arg(&image);
    let tried = command.output().unwrap();
    let why = String::from_utf8_lossy(&tried.stderr).trim().to_owned();
    (!tried.status.success()).then(|| format!("no loop device can be mounted and shut down: {why}"))
}

/// Runs one of the tests of this binary in a mount namespace of its own, so that nothing stays mounted.
/// Where that cannot be had, it says so and nothing is checked.
pub(crate) fn run_apart(test: &str) {
    if let Some(why) = obstacle() {
        eprintln!("SKIPPED: {why}; NOTHING WAS CHECKED");
        return;
    }
    let status = Command::new("unshare")
        .args(["--mount", "--propagation", "private"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env("YARD_POWER_APART", "1")
        .status();
    assert!(status.unwrap().success(), "{test} failed");
}

/// Whether this process is the one that [`run_apart`] started.
pub(crate) fn is_apart() -> bool {
    std::env::var_os("YARD_POWER_APART").is_some()
}
