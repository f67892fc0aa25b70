//! The indentation of added lines, if a hunk was placed with white space ignored: it is shifted as the matched lines
//! of the file are shifted against those of the patch.

/// Maps indentations of the patch to those of the file.
pub(super) struct Shift<'a> {
    /// Indentations of matched lines in the patch, and of the same lines in the file.
    pairs: Vec<(&'a str, &'a str)>,
}

impl<'a> Shift<'a> {
    /// Learns from matched lines, the patch's and the file's.
    pub(super) fn new(matched: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for (patch, file) in matched {
            // Blank lines say nothing about the lines around them.
            if !patch.trim().is_empty() {
                pairs.push((indent(patch), indent(file)));
            }
        }
        pairs.sort_unstable();
        // Of lines that are indented alike in the patch and not in the file the first counts.
        pairs.dedup_by_key(|(patch, _)| *patch);
        Self { pairs }
    }

    /// Whether the file is indented as the patch is.
    pub(super) fn is_none(&self) -> bool {
        self.pairs.iter().all(|(patch, file)| patch == file)
    }

    /// A line of the patch, indented as the file is.
    pub(super) fn apply(&self, line: &str) -> String {
        let own = indent(line);
        let rest = &line[own.len()..];
        if rest.trim().is_empty() {
            return line.to_owned();
        }
        format!("{}{rest}", self.indentation(own))
    }

    fn indentation(&self, own: &str) -> String {
        let deeper = |pair: &&(&str, &str)| own.starts_with(pair.0);
        if let Some((patch, file)) = self.pairs.iter().rev().find(deeper) {
            return format!("{file}{}", self.convert(&own[patch.len()..]));
        }
        let shallower = |pair: &&(&str, &str)| pair.0.starts_with(own);
        let Some((patch, file)) = self.pairs.iter().find(shallower) else {
            return own.to_owned();
        };
        let surplus = self.convert(&patch[own.len()..]);
        // Where the file is not even that deep there is nothing left to take away.
        let kept = file.chars().count().saturating_sub(surplus.chars().count());
        file.strip_suffix(surplus.as_str())
            .map_or_else(|| file.chars().take(kept).collect(), str::to_owned)
    }

    /// White space of the patch in the file's characters.
    fn convert(&self, space: &str) -> String {
        let Some((from, to, many)) = self.unit() else { return space.to_owned() };
        if !space.chars().all(|character| character == from) {
            return space.to_owned();
        }
        match many {
            Many::Patch(width) => {
                let (whole, rest) = (space.len() / width, space.len() % width);
                format!("{}{}", to.repeat(whole), from.to_string().repeat(rest))
            }
            Many::File(width) => to.repeat(space.len() * width),
        }
    }

    /// What one step of the patch's indentation is in the file, where the two use different
    /// characters.
    fn unit(&self) -> Option<(char, &'static str, Many)> {
        let steps = self.pairs.windows(2).filter_map(|pair| match pair {
            [(p1, f1), (p2, f2)] => Some((p2.strip_prefix(p1)?, f2.strip_prefix(f1)?)),
            _ => None,
        });
        let mut pairs = self.pairs.iter().copied();
        let step = |(patch, file)| mixed_unit(patch, file).or_else(|| plain_unit(patch, file));
        // A single line cannot tell a wider step from a shift, unless its characters differ.
        steps.filter_map(step).next().or_else(|| pairs.find_map(|(p, f)| mixed_unit(p, f)))
    }
}

/// Which side has several characters where the other has one.
#[derive(Clone, Copy)]
enum Many {
    Patch(usize),
    File(usize),
}

fn is_all(text: &str, wanted: char) -> bool {
    !text.is_empty() && text.chars().all(|character| character == wanted)
}

fn mixed_unit(patch: &str, file: &str) -> Option<(char, &'static str, Many)> {
    if is_all(patch, ' ') && is_all(file, '\t') && patch.len().is_multiple_of(file.len()) {
        return Some((' ', "\t", Many::Patch(patch.len() / file.len())));
    }
    if is_all(patch, '\t') && is_all(file, ' ') && file.len().is_multiple_of(patch.len()) {
        return Some(('\t', " ", Many::File(file.len() / patch.len())));
    }
    None
}

/// Steps of the same characters, but of another width.
fn plain_unit(patch: &str, file: &str) -> Option<(char, &'static str, Many)> {
    let (character, text) = match () {
        () if is_all(patch, ' ') && is_all(file, ' ') => (' ', " "),
        () if is_all(patch, '\t') && is_all(file, '\t') => ('\t', "\t"),
        () => return None,
    };
    match (patch.len(), file.len()) {
        (p, f) if p == f => None,
        (p, f) if p.is_multiple_of(f) => Some((character, text, Many::Patch(p / f))),
        (p, f) if f.is_multiple_of(p) => Some((character, text, Many::File(f / p))),
        _ => None,
    }
}

fn indent(line: &str) -> &str {
    &line[..line.len() - line.trim_start().len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shifted(pairs: &[(&str, &str)], line: &str) -> String {
        Shift::new(pairs.iter().copied()).apply(line)
    }

    #[test]
    fn x3_added_lines_are_shifted_alike() {
        let lost = [("if x:", "    if x:"), ("    y", "        y")];
        assert_eq!(shifted(&lost, "        z"), "            z");
        assert_eq!(shifted(&lost, "z"), "    z");
        assert_eq!(shifted(&lost, "    z"), "        z");
        let gained = [("    if x:", "if x:"), ("        y", "    y")];
        assert_eq!(shifted(&gained, "        z"), "    z");
        assert_eq!(shifted(&gained, "            z"), "        z");
        assert_eq!(shifted(&[("        y", "    y")], "    z"), "z");
        assert_eq!(shifted(&[("        y", "    y")], "            z"), "        z");
        assert_eq!(shifted(&lost, "  "), "  ");
    }

    #[test]
    fn x3_tabs_and_spaces_are_the_files_own() {
        let tabs = [("    a", "\ta"), ("        b", "\t\tb")];
        assert_eq!(shifted(&tabs, "            c"), "\t\t\tc");
        assert_eq!(shifted(&tabs, "c"), "c");
        assert_eq!(shifted(&tabs, "      c"), "\t  c");
        let spaces = [("\ta", "  a")];
        assert_eq!(shifted(&spaces, "\t\tc"), "    c");
        assert_eq!(shifted(&spaces, "c"), "c");
        assert_eq!(shifted(&[("a", "\ta"), ("    b", "\t\tb")], "        c"), "\t\t\tc");
        assert_eq!(
            shifted(&[("  a", "    a"), ("    b", "        b")], "      c"),
            "            c"
        );
    }
}
