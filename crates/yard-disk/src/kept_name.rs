//! Makes and parses the names of kept files. No other module knows their form, and this one opens no file.

use yard_core::{ContentHash, RunId, VersionId};
use yard_store::{KeptFile, Retention};

/// Separates the content's hash from the run's id in the name of a file of build output.
const OUTPUT_SEPARATOR: &str = "-output-";

/// A displaced file that becomes a version.
pub fn of_version(version: VersionId) -> KeptFile {
    KeptFile { name: version.to_string(), retention: Retention::Keep }
}

/// A copy that becomes a version. If its step is never recorded, a sweep reads the content's hash from the name.
pub fn of_copy(content: &ContentHash, version: VersionId) -> KeptFile {
    KeptFile { name: format!("{content}-{version}"), retention: Retention::Keep }
}

/// A file of build output.
pub fn of_build_output(content: &ContentHash, run: RunId) -> KeptFile {
    KeptFile { name: format!("{content}{OUTPUT_SEPARATOR}{run}"), retention: Retention::Evictable }
}

/// The content's hash in the name of a copy or of build output.
pub fn content_in(name: &str) -> Option<ContentHash> {
    name.split('-').next()?.parse().ok()
}

/// The run's id in the name of build output.
pub fn run_in(name: &str) -> Option<RunId> {
    let (content, run) = name.split_once(OUTPUT_SEPARATOR)?;
    content.parse::<ContentHash>().ok()?;
    run.parse().ok()
}

/// The retention of the kept file with that name.
pub fn retention_of(name: &str) -> Retention {
    if run_in(name).is_some() { Retention::Evictable } else { Retention::Keep }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_they_were_made_of() {
        let content = ContentHash::of(b"built");
        let (run, version) = (RunId::from_bytes([7; 16]), VersionId::from_bytes([8; 16]));
        let [built, copy, version] =
            [of_build_output(&content, run), of_copy(&content, version), of_version(version)];
        for file in [&built, &copy, &version] {
            assert_eq!(retention_of(&file.name), file.retention, "{}", file.name);
        }
        assert_eq!((content_in(&built.name), run_in(&built.name)), (Some(content), Some(run)));
        assert_eq!((content_in(&copy.name), run_in(&copy.name)), (Some(content), None));
        assert_eq!((content_in(&version.name), run_in(&version.name)), (None, None));
    }
}
