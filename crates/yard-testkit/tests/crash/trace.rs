//! The same, seen by a trace of the system calls.

use std::process::{Command, Stdio};

use yard_testkit::Folders;

use crate::judge::writer;

/// Every acknowledgement follows the flush of what it acknowledges.
#[test]
fn every_acknowledgement_follows_its_flush() {
    if Command::new("strace").arg("-V").output().is_err() {
        let _ = Command::new("apt-get").args(["install", "-y", "strace"]).output();
    }
    if Command::new("strace").arg("-V").output().is_err() {
        eprintln!("SKIPPED: strace is missing and cannot be installed; NOTHING WAS CHECKED");
        return;
    }
    let place = Folders::new();
    let out = place.root().parent().unwrap().join("trace");
    let calls = "trace=fsync,fdatasync,sync_file_range,syncfs,rename,renameat,renameat2,write,pwrite64,pwritev";
    let mut program = Command::new("strace");
    program.args(["-f", "-y", "-s", "200", "-e", calls, "-o"]).arg(&out);
    program.arg(std::env::current_exe().unwrap());
    writer(&mut program, &place, 5, 60);
    let status = program.stdout(Stdio::piped()).output().unwrap();
    assert!(status.status.success(), "{status:?}");
    let trace = std::fs::read_to_string(out).unwrap();
    let mut check = Trace::default();
    for line in trace.lines() {
        check.line(line);
    }
    eprintln!("{} acknowledgements, {} flushes of the log", check.acks, check.flushes);
    assert!(check.acks >= 40, "{} acknowledgements", check.acks);
}

/// What the log of system calls says so far.
#[derive(Default)]
struct Trace {
    acks: usize,
    flushes: usize,
    /// Writes to the database's log that were not flushed yet.
    unflushed: usize,
    /// Whether the change under way has written to the log, and flushed it.
    written: bool,
    flushed: bool,
    /// The thread that makes the changes. Others write hints into the log, which may be lost.
    writer: String,
}

impl Trace {
    fn line(&mut self, line: &str) {
        let (thread, call) = line.split_once(' ').unwrap_or(("", line));
        let call = call.trim_start();
        let log = call.contains("journal.db-wal");
        if call.contains("@try ") {
            (self.written, self.flushed) = (false, false);
            thread.clone_into(&mut self.writer);
        } else if thread != self.writer {
            // A flush by another thread is no promise to this one.
        } else if log && (call.starts_with("pwrite") || call.starts_with("write")) {
            self.unflushed += 1;
            self.written = true;
        } else if log && (call.starts_with("fdatasync") || call.starts_with("fsync")) {
            assert!(call.contains("= 0"), "a flush failed: {line}");
            self.unflushed = 0;
            self.flushes += 1;
            self.flushed = self.written;
        } else if call.starts_with("rename") && call.contains("/root") {
            assert!(self.flushed && self.unflushed == 0, "on disk before it is durable: {line}");
        } else if call.contains("@ack ") {
            self.acks += 1;
            assert!(self.written && self.flushed, "acknowledged without a flush: {line}");
            assert_eq!(self.unflushed, 0, "acknowledged before its flush: {line}");
        }
    }
}
