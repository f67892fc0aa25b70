//! Globs of the dialects with relative paths. They are checked, and the folder of the workspace is removed from
//! absolute ones.

use yard_core::path::BOX_ROOT;
use yard_core::{Fault, FaultCode, Subject};

use crate::args;
use crate::tool::{Context, Stop};

/// The glob that `text` means, as searches take it.
pub(crate) fn glob(context: &Context<'_>, text: &str) -> Result<String, Stop> {
    let host_root = String::from_utf8_lossy(context.session().host_root());
    read(&context.session().with_real_root(text), &host_root).map_err(Stop::Fault)
}

/// As [`glob`], for an absolute pattern of a tool without a path argument: with several roots it names one (R15).
pub(crate) fn absolute_glob(context: &Context<'_>, text: &str) -> Result<String, Stop> {
    let text = text.trim();
    if context.mount().is_some() {
        // A pattern is a path until its first wildcard: that says which root is meant.
        let head = text.find(['*', '?', '[', '{']).unwrap_or(text.len());
        context.path(text[..head].rsplit_once('/').map_or("/", |(folder, _)| folder))?;
    }
    glob(context, text)
}

/// The pattern after a `!`, which leaves out what it matches; `!(` begins a group.
fn negated(text: &str) -> Option<&str> {
    text.strip_prefix('!').filter(|rest| !rest.starts_with('('))
}

/// The globs of a search of all roots (R15), converted for the root of this context; none if they match nothing
/// there. A glob that begins with the name of a root, or with a pattern for it, is for the roots that this matches.
pub(crate) fn in_root(
    context: &Context<'_>,
    globs: &[String],
) -> Result<Option<Vec<String>>, Stop> {
    let host_root = String::from_utf8_lossy(context.session().host_root());
    let (mut here, mut finds) = (Vec::new(), false);
    for text in globs {
        let left_out = negated(text.trim());
        let text = &*context.session().with_real_root(left_out.unwrap_or(text.trim()));
        let glob = match text.starts_with('/') {
            true => read(text, &host_root).ok(),
            false => below_root(context, &read(text, &host_root)?),
        };
        match (glob, left_out) {
            (Some(glob), Some(_)) => here.push(format!("!{glob}")),
            (Some(glob), None) => {
                finds = true;
                here.push(glob);
            }
            (None, _) => {}
        }
    }
    // If every pattern leaves something out, the rest of each root is searched.
    if !finds && !globs.iter().all(|glob| negated(glob.trim()).is_some()) {
        return Ok(None);
    }
    if here.is_empty() {
        here.push("**".to_owned());
    }
    Ok(Some(here))
}

/// A glob from the top folder, converted for this root; none if it is for other roots.
fn below_root(context: &Context<'_>, glob: &str) -> Option<String> {
    let Some(mount) = context.mount() else { return Some(glob.to_owned()) };
    let Some((first, rest)) = split_first(glob) else {
        // A glob without a slash matches names at any depth, unless it is the name of a root.
        return match mount.named(glob.as_bytes()) {
            Some(root) => (root.name == mount.name).then(|| "/**".to_owned()),
            None => Some(glob.to_owned()),
        };
    };
    if first == "**" {
        return Some(glob.to_owned());
    }
    let matches =
        globset::Glob::new(first).is_ok_and(|first| first.compile_matcher().is_match(&mount.name));
    // The slash binds the rest to the root; without it, the rest would match at any depth.
    matches.then(|| if rest.is_empty() { "/**".to_owned() } else { format!("/{rest}") })
}

/// A glob up to its first slash outside of groups, and the rest after it.
fn split_first(glob: &str) -> Option<(&str, &str)> {
    let mut open = 0_usize;
    let slash = glob.char_indices().find(|(_, character)| {
        match character {
            '{' | '(' | '[' => open += 1,
            '}' | ')' | ']' => open = open.saturating_sub(1),
            _ => {}
        }
        *character == '/' && open == 0
    });
    slash.map(|(at, _)| (&glob[..at], &glob[at + 1..]))
}

/// Reads a glob; one that begins with `!` leaves out what it matches.
fn read(text: &str, host_root: &str) -> Result<String, Fault> {
    match negated(text.trim()) {
        Some(rest) => Ok(format!("!{}", read_wanted(rest, host_root)?)),
        None => read_wanted(text, host_root),
    }
}

/// Reads a glob without a sign before it.
fn read_wanted(text: &str, host_root: &str) -> Result<String, Fault> {
    let text = text.trim();
    let fault = |code, message: String| Err(Fault::new(code, message).about(Subject::Pattern));
    if text.is_empty() {
        let message = "the pattern is empty; send a glob such as **/*.rs, or **/* for every file";
        return fault(FaultCode::BadPattern, message.to_owned());
    }
    if text.split('/').any(|part| part.trim() == "..") {
        let message = format!(
            "a pattern cannot climb by `..` ({}); search from another path",
            args::quoted(text)
        );
        return fault(FaultCode::PathOutside, message);
    }
    if !text.starts_with('/') {
        return Ok(text.strip_prefix("./").unwrap_or(text).to_owned());
    }
    // The kernel reads a leading slash as the root of the workspace.
    let below = [host_root, BOX_ROOT].iter().find_map(|root| {
        text.strip_prefix(root.trim_end_matches('/')).filter(|rest| rest.starts_with('/'))
    });
    match below {
        Some(rest) => Ok(rest.to_owned()),
        None => fault(
            FaultCode::PathOutside,
            format!(
                "the pattern is absolute and not in the workspace ({}); leave out the leading slash",
                args::quoted(text)
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
            (" !./src/**", "!src/**"),
            ("!/workspace/*.rs", "!/*.rs"),
            ("!!a", "!!a"),
        ] {
            assert_eq!(read(given).as_deref(), Ok(meant), "{given}");
        }
        for outside in ["/etc/*", "!/etc/*", "!../a", "../*", "a/../../b", "/srv/jobs/*", "/**"] {
            assert_eq!(read(outside), Err(FaultCode::PathOutside), "{outside}");
        }
        assert_eq!(read(" "), Err(FaultCode::BadPattern));
    }
}
