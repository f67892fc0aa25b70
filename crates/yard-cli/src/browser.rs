//! Opens an address in the browser of the person. The program that does it is the person's own, so it runs outside of a
//! box.

#![allow(clippy::disallowed_methods, reason = "the person asked for the page to be opened")]

use std::process::{Command, Stdio};
use std::thread;

/// The program that opens addresses on this system.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Opens an address, if there is a program for that. The address is printed, too, so a failure is no error.
pub(crate) fn open(address: &str) {
    let mut command = Command::new(OPENER);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut opener) = command.spawn() {
        // It may go on for as long as the browser does. Without a thread it stays a zombie, and nothing else happens.
        let _ = thread::Builder::new().name("opener".to_owned()).spawn(move || opener.wait());
    }
}
