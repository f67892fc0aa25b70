//! What the box reports about a command, while it runs and at its end.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::BoxNetwork;

/// Gets the output and the sockets of a command while it runs. An error ends the command, and the run returns it.
pub trait CommandListener {
    /// Called once before the command starts. After an error it does not start.
    fn starts(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// Called with each socket that was asked for, in the same order.
    fn opened(&mut self, socket: OwnedFd) -> io::Result<()> {
        drop(socket);
        Ok(())
    }
    /// Called with the network of the box, if it has one of its own.
    fn has_network(&mut self, network: BoxNetwork) {
        drop(network);
    }
    /// The sockets that the watcher of the command shall wait on.
    fn listening(&mut self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }
    /// Called when one of those sockets is ready.
    fn accept(&mut self) {}
    /// Called with bytes of the standard output.
    fn stdout(&mut self, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
    /// Called with bytes of the standard error.
    fn stderr(&mut self, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}

/// How a command ended. No process of it is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandEnd {
    /// How the command's own process ended.
    pub exit: Exit,
    /// Why the sandbox stopped it, if it did.
    pub stopped: Option<StopReason>,
    /// The time from the request to the end.
    pub took: Duration,
}

impl CommandEnd {
    /// The exit code as a shell shows it: 128 and the signal's number if a signal ended the command.
    pub fn code(&self) -> i32 {
        match self.exit {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
        }
    }
}

/// How the process of a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

yard_core::spelled_enum! {
    /// Why the sandbox stopped a command.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum StopReason {
        /// Its wall time, or the call's deadline, was over.
        Wall = "wall",
        /// The call was cancelled.
        Cancelled = "cancelled",
        /// All its processes together took too much memory.
        Memory = "memory",
        /// Its processor time was over.
        Cpu = "cpu",
        /// It had too many processes, and no control group refused them.
        Processes = "processes",
        /// It wrote too much.
        Written = "written",
        /// The file system of its overlay was almost full.
        DiskFull = "disk-full",
        /// It put too much into its home and `/tmp`.
        HomeFull = "home-full",
    }
}
