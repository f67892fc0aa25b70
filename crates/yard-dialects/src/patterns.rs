//! Globs as callers of the dialects write them whose paths are relative: checked, and freed of the
//! workspace's own directory.

use yard_core::path::BOX_ROOT;
use yard_core::{Fault, FaultCode, Subject};

use crate::args;
use crate::tool::{Context, Stop};

/// The glob that `text` means, as searches take it.
pub(crate) fn glob(context: &Context<'_>, text: &str) -> Result<String, Stop> {
    let host_root = String::from_utf8_lossy(context.session.host_root());
    read(text, &host_root).map_err(Stop::Fault)
}

/// The same for who can name no path beside it: with several roots its first part names one (R15).
pub(crate) fn glob_from_top(context: &Context<'_>, text: &str) -> Result<String, Stop> {
    let text = text.trim();
    if context.mount().is_none() {
        return glob(context, text);
    }
    if text.starts_with('/') {
        // A pattern is a path until its first wildcard: that says which root is meant.
        let head = text.find(['*', '?', '[', '{']).unwrap_or(text.len());
        context.path(text[..head].rsplit_once('/').map_or("/", |(folder, _)| folder))?;
        return glob(context, text);
    }
    let text = text.strip_prefix("./").unwrap_or(text);
    let below = context.below_root(text)?;
    // With a slash before it, it begins at the root and not at any depth.
    Ok(format!("/{}", glob(context, below)?))
}

fn read(text: &str, host_root: &str) -> Result<String, Fault> {
    let text = text.trim();
    let fault = |code, message: String| Err(Fault::new(code, message).about(Subject::Pattern));
    if text.is_empty() {
        let message = "the pattern is empty; send a glob such as **/*.rs, or **/* for every file";
        return fault(FaultCode::BadPattern, message.to_owned());
    }
    if text.split('/').any(|part| part.trim() == "..") {
        let message = format!(
            "a pattern cannot climb by `..` ({}); search from another path",
            args::shown(text)
        );
        return fault(FaultCode::PathOutside, message);
    }
    if !text.starts_with('/') {
        return Ok(text.strip_prefix("./").unwrap_or(text).to_owned());
    }
    // A leading slash means the root of the workspace to whoever searches.
    let below = [host_root, BOX_ROOT].iter().find_map(|root| {
        text.strip_prefix(root.trim_end_matches('/')).filter(|rest| rest.starts_with('/'))
    });
    match below {
        Some(rest) => Ok(rest.to_owned()),
        None => fault(
            FaultCode::PathOutside,
            format!(
                "the pattern is absolute and not in the workspace ({}); leave out the leading slash",
                args::shown(text)
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_patterns_stay_in_the_workspace() {
        let read = |text| read(text, "/srv/job").map_err(|fault| fault.code());
        for (given, meant) in [
            (" *.rs ", "*.rs"),
            ("./src/**", "src/**"),
            ("/srv/job/src/*.rs", "/src/*.rs"),
            ("/workspace/*.rs", "/*.rs"),
            ("a..b/*", "a..b/*"),
        ] {
            assert_eq!(read(given).as_deref(), Ok(meant), "{given}");
        }
        for outside in ["/etc/*", "../*", "a/../../b", "/srv/jobs/*", "/**"] {
            assert_eq!(read(outside), Err(FaultCode::PathOutside), "{outside}");
        }
        assert_eq!(read(" "), Err(FaultCode::BadPattern));
    }
}
