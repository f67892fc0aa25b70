//! The output of `git push --porcelain` as data: one line a ref.

use schemars::JsonSchema;
use serde::Serialize;

/// The result for one ref of the remote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(in super::super) struct PushedRef {
    /// The ref here.
    local: String,
    /// The ref there.
    remote: String,
    /// new, updated, forced, deleted, up to date or rejected.
    pub(in super::super) status: &'static str,
    /// Git's own words: which commits, or why not.
    pub(in super::super) summary: String,
}

/// The refs; other lines are skipped.
pub(in super::super) fn parse(text: &str) -> Vec<PushedRef> {
    text.lines().filter_map(pushed).collect()
}

/// `flag TAB from:to TAB summary`.
fn pushed(line: &str) -> Option<PushedRef> {
    let mut fields = line.splitn(3, '\t');
    let status = match fields.next()? {
        " " => "updated",
        "+" => "forced",
        "-" => "deleted",
        "*" => "new",
        "!" => "rejected",
        "=" => "up to date",
        _ => return None,
    };
    let (local, remote) = fields.next()?.split_once(':')?;
    let summary = fields.next().unwrap_or_default().to_owned();
    Some(PushedRef { local: local.to_owned(), remote: remote.to_owned(), status, summary })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_ref_is_a_line() {
        let text = "To ../remote.git\n*\trefs/heads/main:refs/heads/main\t[new branch]\n\
            !\tHEAD:refs/heads/x\t[rejected] (non-fast-forward)\nDone\n";
        let refs = parse(text);
        assert_eq!(refs.len(), 2);
        assert_eq!((refs[0].status, refs[1].status), ("new", "rejected"));
        assert_eq!(refs[1].summary, "[rejected] (non-fast-forward)");
    }

    proptest! {
        #[test]
        fn anything_at_all_is_read(text in "[ +*!=:\\ta\\n-]{0,200}") {
            prop_assert!(parse(&text).len() <= text.len());
        }
    }
}
