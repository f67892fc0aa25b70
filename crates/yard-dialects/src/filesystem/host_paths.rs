//! Paths as callers of the reference server write and read them: absolute ones of the host, or relative.
//! A caller that may not see the host (R13) reads and writes them from `/`, the root of the workspace.

use yard_core::{Fault, FaultCode, Subject, WsPath};

use crate::tool::{Context, Stop};

/// The path in the workspace that a caller's text means.
pub(super) fn parse(context: &Context<'_>, text: &str, subject: Subject) -> Result<WsPath, Stop> {
    let refuse = |code, message| Err(Stop::Fault(Fault::new(code, message).about(subject)));
    if is_windows(text.trim()) {
        let message = format!(
            "Access denied - Windows-style path received on a POSIX host: {text}. Send a path at or below {}",
            roots(context).join(" or ")
        );
        return refuse(FaultCode::PathOutside, message);
    }
    if text.trim() == "~" || text.trim().starts_with("~/") {
        let message = format!(
            "`~` has no meaning here ({text}); send a path at or below {}, or one relative to it",
            roots(context).join(" or ")
        );
        return refuse(FaultCode::BadPath, message);
    }
    context.path_about(text, subject).map_err(|stop| {
        stop.reword(|fault| {
            (fault.code() == FaultCode::PathOutside).then(|| outside("path", text, context))
        })
    })
}

/// The reference server's message about a path, or the target of a link, that leaves the workspace.
pub(super) fn outside(what: &str, shown: &str, context: &Context<'_>) -> String {
    let allowed = roots(context).join(", ");
    format!(
        "Access denied - {what} outside allowed directories: {shown} not in {allowed}. Send a path at or below \
         one of these"
    )
}

/// The directories that the caller may use.
pub(super) fn roots(context: &Context<'_>) -> Vec<String> {
    if !context.session().shows_host_paths() {
        return vec![WsPath::root().to_string()];
    }
    let roots = context.session().all_roots().into_iter();
    roots.map(|root| String::from_utf8_lossy(root).into_owned()).collect()
}

/// Whether a path names a drive: here it would be the name of a file.
fn is_windows(text: &str) -> bool {
    match text.as_bytes() {
        [drive, b':'] | [drive, b':', b'/' | b'\\', ..] => drive.is_ascii_alphabetic(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_told_from_a_name() {
        assert!(["C:", "c:\\x", "D:/x"].iter().all(|text| is_windows(text)));
        assert!(["C:x", "ab:/x", "/C:/x", "", "C"].iter().all(|text| !is_windows(text)));
    }
}
