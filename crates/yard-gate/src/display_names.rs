//! Names for people that files have beside their own (W2). They are set by the files API and change nothing
//! on disk.

use yard_core::{Call, Fault, FaultCode, FileId, Result};
use yard_kernel::store_fault;

use crate::Session;

/// Most characters of such a name.
const NAME_CHARS: usize = 200;

impl Session {
    /// A file's name for people, if one was set.
    pub fn display_name(&self, file: FileId) -> Result<Option<String>> {
        self.open().desk.display_name(file).map_err(store_fault)
    }

    /// Sets a file's name for people; none takes it back. The caller has looked whether there is such a file.
    pub fn set_display_name(&self, call: &Call, file: FileId, name: Option<&str>) -> Result<()> {
        self.check_desk_write(call, "set display name")?;
        let name = name.map(checked).transpose()?;
        let audit = self.desk_audit(call, "set display name", format!("file {file}"));
        self.open().desk.set_display_name(file, name, &audit).map_err(store_fault)
    }
}

fn checked(name: &str) -> Result<&str> {
    let name = name.trim();
    let is_shown = !name.contains(char::is_control);
    if is_shown && (1..=NAME_CHARS).contains(&name.chars().count()) {
        return Ok(name);
    }
    let message = format!(
        "a display name has 1 to {NAME_CHARS} characters and no control characters; null takes it back"
    );
    Err(Fault::new(FaultCode::BadArgument, message))
}
