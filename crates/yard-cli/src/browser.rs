//! Opens an address in the browser of the person. The program that does it is the person's own, so it runs outside of a
//! box.
//!
//! Every user of a machine can read the arguments of every process. An address with a secret is therefore not an argument: it
//! is in a file that only the person can read, and that leads the browser there.

#![allow(clippy::disallowed_methods, reason = "the person asked for the page to be opened")]

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// The program that opens addresses on this system.
const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
/// Browsers that are distributed as snaps. A snap reads nothing outside of the home, no hidden files, and has a `/tmp` of its
/// own.
const BROWSERS: [&str; 6] = ["firefox", "chromium", "brave", "opera", "vivaldi", "microsoft-edge"];
/// Where snaps put the programs that start them.
const SNAPS: &str = "/snap/bin";

/// Opens an address, if there is a program for that. The address is printed, too, so a failure is no error.
pub(crate) fn open(address: &str) {
    let mut command = Command::new(OPENER);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut opener) = command.spawn() {
        // It may go on for as long as the browser does. Without a thread it stays a zombie, and nothing else happens.
        let _ = thread::Builder::new().name("opener".to_owned()).spawn(move || opener.wait());
    }
}

/// A file that leads a browser to an address. It is removed when this is dropped.
pub(crate) struct RedirectFile(PathBuf);

impl RedirectFile {
    /// A file of that name which only this user can read: in `private`, or else in another folder that the person's browser can
    /// read. `None` if there is none, or if it cannot be written.
    pub(crate) fn new(private: &Path, name: &str, address: &str) -> Option<Self> {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let is_snap = |name: &&&str| Path::new(SNAPS).join(name).exists();
        let snaps: Vec<&str> = BROWSERS.iter().filter(is_snap).copied().collect();
        let folder = readable_folder(private, home.as_deref(), &snaps)?;
        let path = folder.join(name);
        write_private(&path, &redirect_to(address)).ok()?;
        Some(Self(path))
    }

    /// The address of the file.
    pub(crate) fn address(&self) -> String {
        let mut address = "file://".to_owned();
        for byte in self.0.as_os_str().as_bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
                    address.push(char::from(*byte));
                }
                other => address.push_str(&format!("%{other:02X}")),
            }
        }
        address
    }
}

impl Drop for RedirectFile {
    fn drop(&mut self) {
        // One that stays has a code that is dead by then.
        let _ = fs::remove_file(&self.0);
    }
}

/// The page that leads to an address. The address has no character that HTML would read as markup.
fn redirect_to(address: &str) -> String {
    format!(
        "<!doctype html><meta charset=\"utf-8\"><title>Toolyard</title>\
         <meta http-equiv=\"refresh\" content=\"0; url={address}\"><a href=\"{address}\">Open Toolyard</a>\n"
    )
}

/// Writes a new file that only this user can read, in the place of one that an earlier page left.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// A folder whose files the person's browser can read. With a browser that is a snap that is `private` only if it is in the
/// home and nothing above it is hidden, else the folder of the snap itself.
fn readable_folder(private: &Path, home: Option<&Path>, snaps: &[&str]) -> Option<PathBuf> {
    if snaps.is_empty() {
        return Some(private.to_owned());
    }
    let home = home?;
    let is_hidden = |part: Component<'_>| part.as_os_str().as_bytes().starts_with(b".");
    if private.strip_prefix(home).is_ok_and(|below| !below.components().any(is_hidden)) {
        return Some(private.to_owned());
    }
    let own = |name: &&str| home.join("snap").join(name).join("common");
    snaps.iter().map(own).find(|folder| folder.is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_that_is_a_snap_gets_a_folder_that_it_can_read_or_none() {
        let home = tempfile::tempdir().unwrap();
        let (hidden, open) = (home.path().join(".local/page"), home.path().join("toolyard/page"));
        let folder =
            |private: &Path, snaps: &[&str]| readable_folder(private, Some(home.path()), snaps);
        assert_eq!(folder(&hidden, &[]).as_ref(), Some(&hidden));
        assert_eq!(folder(&open, &["firefox"]).as_ref(), Some(&open));
        assert_eq!(folder(&hidden, &["firefox"]), None);
        assert_eq!(folder(Path::new("/srv/page"), &["firefox"]), None, "outside of the home");
        let own = home.path().join("snap/firefox/common");
        fs::create_dir_all(&own).unwrap();
        assert_eq!(folder(&hidden, &["chromium", "firefox"]), Some(own));
    }

    #[test]
    fn the_file_is_private_and_its_address_is_escaped() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b%.html");
        for _ in 0..2 {
            write_private(&path, &redirect_to("http://127.0.0.1:1/#code=x")).unwrap();
        }
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let file = RedirectFile(path.clone());
        assert!(file.address().ends_with("/a%20b%25.html"), "{}", file.address());
        drop(file);
        assert!(!path.exists());
    }
}
