//! Display names of files (W2). The files API sets them; they change nothing on disk.

use yard_core::{Call, Fault, FaultCode, FileId, Result};

use crate::Session;

/// The longest display name, in characters.
const MAX_NAME_CHARS: usize = 200;

impl Session {
    /// The display name of a file, if one was set.
    pub fn display_name(&self, file: FileId) -> Result<Option<String>> {
        self.open().records.display_name(file).map_err(Fault::from)
    }

    /// Sets or removes the display name of a file. The caller has checked that the file exists.
    pub fn set_display_name(&self, call: &Call, file: FileId, name: Option<&str>) -> Result<()> {
        self.check_record_write(call, "set display name")?;
        let name = name.map(checked).transpose()?;
        let audit = self.audit_entry(call, "set display name", format!("file {file}"));
        self.open().records.set_display_name(file, name, &audit).map_err(Fault::from)
    }
}

fn checked(name: &str) -> Result<&str> {
    let name = name.trim();
    let is_printable = !name.contains(char::is_control);
    if is_printable && (1..=MAX_NAME_CHARS).contains(&name.chars().count()) {
        return Ok(name);
    }
    let message = format!(
        "a display name has 1 to {MAX_NAME_CHARS} characters and no control characters; null takes it back"
    );
    Err(Fault::new(FaultCode::BadArgument, message))
}
