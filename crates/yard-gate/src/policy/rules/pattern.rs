//! A glob on paths, as a rule writes it. Nothing here knows what a rule says or who is calling.

use globset::GlobMatcher;
use yard_core::{EffectKind, PathEffect, WsPath};

use super::matcher;

/// A glob on paths: without a slash on the name at any depth, with one from the root on.
#[derive(Clone, Debug)]
pub(super) struct PathPattern {
    glob: GlobMatcher,
    /// The folders that every path it matches lies in, as far as they are spelled out.
    pub(super) base: Option<WsPath>,
    /// It matches everything below its base, and the base is all that it spells out.
    pub(super) is_tree: bool,
    /// The folders that what it matches lies in, from the root on; of `infra/**` that is `infra` itself.
    above: Vec<GlobMatcher>,
    /// Of `infra/**` and the like: the folder itself, which is changed where it comes, goes or moves.
    folder: Option<GlobMatcher>,
}

impl PathPattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let from_root = text.strip_prefix('/').unwrap_or(text);
        let odd = |part: &str| matches!(part, "" | "." | "..");
        if from_root.split('/').any(odd) {
            return Err(format!(
                "path {text:?}: no empty name, `.` or `..`; for what is in a folder write `folder/**`"
            ));
        }
        if has_slash_in_braces(from_root) {
            return Err(format!(
                "path {text:?}: no `/` between braces; write a list of paths, such as [\"src/a/**\", \"lib/**\"]"
            ));
        }
        let anywhere = !text.contains('/');
        let pattern = if anywhere { format!("**/{text}") } else { from_root.to_owned() };
        let glob = matcher(&pattern, "path")?;
        let is_plain = |part: &&str| !part.contains(['*', '?', '[', '{', '\\']);
        let plain: Vec<&str> = from_root.split('/').take_while(is_plain).collect();
        let rest: Vec<&str> = from_root.split('/').skip(plain.len()).collect();
        let base =
            if anywhere { None } else { WsPath::from_bytes(plain.join("/").as_bytes()).ok() };
        let parts: Vec<&str> = from_root.split('/').collect();
        let spelled =
            if anywhere { 0 } else { parts.iter().take_while(|part| **part != "**").count() };
        let spelled = spelled.min(parts.len() - 1);
        let above = (1..=spelled).map(|count| matcher(&parts[..count].join("/"), "path"));
        let folder =
            pattern.strip_suffix("/**").filter(|folder| !folder.is_empty() && *folder != "**");
        Ok(Self {
            glob,
            base,
            is_tree: rest == ["**"] && !anywhere,
            above: above.collect::<Result<_, _>>()?,
            folder: folder.map(|folder| matcher(folder, "path")).transpose()?,
        })
    }

    /// The folders that every path it matches lies in, as far as they are spelled out.
    pub(super) fn base(&self) -> Option<&WsPath> {
        self.base.as_ref().filter(|base| !base.is_root())
    }

    /// Whether it matches the path, or could match something below it that the effect takes along. Who looks
    /// at a tree is shown nothing of it that a rule withholds, so that only the tree's own path counts.
    pub(super) fn matches(&self, effect: &PathEffect) -> bool {
        effect.names().any(|name| {
            let is_folder = || {
                let folder = self.folder.as_ref().filter(|_| effect.kind.changes());
                folder.is_some_and(|folder| is_match(folder, name))
            };
            self.covers_path(name)
                || is_folder()
                || effect.with_contents && !effect.kind.looks() && self.reaches_into(name)
        })
    }

    /// Whether the effect puts a link in the place of a folder that it is about, or of one above it.
    pub(super) fn is_exchanged_by(&self, effect: &PathEffect) -> bool {
        use EffectKind::{Create, Modify, MoveTo};
        effect.is_link
            && matches!(effect.kind, Create | Modify | MoveTo)
            && effect.names().any(|name| self.above.iter().any(|above| is_match(above, name)))
    }

    /// Whether it matches the path, and everything below it that the effect takes along.
    pub(super) fn covers(&self, effect: &PathEffect) -> bool {
        if !effect.with_contents {
            return self.covers_path(&effect.path);
        }
        let is_all = self.glob.glob().glob() == "**/**";
        let is_below = |base: &WsPath| effect.path.is_within(base);
        is_all || self.is_tree && self.base.as_ref().is_some_and(is_below)
    }

    pub(super) fn covers_path(&self, path: &WsPath) -> bool {
        is_match(&self.glob, path)
    }

    fn reaches_into(&self, folder: &WsPath) -> bool {
        match &self.base {
            None => true,
            Some(base) => base.is_within(folder) || folder.is_within(base),
        }
    }
}

/// Whether the alternatives of a glob have several names: a pattern is compared name by name.
fn has_slash_in_braces(pattern: &str) -> bool {
    let (mut depth, mut is_escaped) = (0_usize, false);
    for character in pattern.chars() {
        match character {
            _ if is_escaped => {}
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '/' if depth > 0 => return true,
            _ => {}
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    false
}

fn is_match(glob: &GlobMatcher, path: &WsPath) -> bool {
    use std::os::unix::ffi::OsStrExt as _;
    glob.is_match(std::ffi::OsStr::from_bytes(path.relative()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_between_braces_is_refused_with_what_to_write() {
        for text in ["{src/a,lib}/**", "/x/{a,{b/c,d}}"] {
            let error = PathPattern::parse(text).unwrap_err();
            assert!(error.contains("write a list of paths"), "{error}");
        }
        for text in ["{src,lib}/a/**", r"\{src/a\}", "a/*.{rs,toml}"] {
            assert!(PathPattern::parse(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn g16_a_rule_on_all_of_a_folder_is_about_the_folder_itself() {
        use EffectKind::{Create, MoveFrom, Read, Remove};
        for (pattern, kind, path, matches) in [
            ("infra/**", Create, "/infra", true),
            ("infra/**", Remove, "/infra", true),
            ("infra/**", MoveFrom, "/infra", true),
            ("**/gen/**", Remove, "/a/gen", true),
            ("infra/**", Remove, "/infrastructure", false),
            ("infra/**", Read, "/infra", false),
        ] {
            let effect = PathEffect::new(kind, WsPath::parse(path).unwrap());
            let pattern = PathPattern::parse(pattern).unwrap();
            assert_eq!(pattern.matches(&effect), matches, "{kind:?} {path}");
        }
    }
}
