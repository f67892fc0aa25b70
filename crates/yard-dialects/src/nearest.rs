//! The known name that a caller most likely meant.

use strsim::osa_distance;

/// The name in `known` nearest to `word`, if one is near enough to be suggested.
///
/// Near means a few typing mistakes, or one name inside the other: `file_path` is near `path`.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    known
        .into_iter()
        .filter_map(|candidate| Some((score(&word, &candidate.to_lowercase())?, candidate)))
        .min_by_key(|(score, _)| *score)
        .map(|(_, candidate)| candidate)
}

/// The distance of two names; none if it is too large.
fn score(word: &str, candidate: &str) -> Option<usize> {
    // A text longer than any known name is no misspelling of one, and would cost time to compare.
    if word.len() > 64 {
        return None;
    }
    // Insertions, deletions, substitutions and swaps of neighbours.
    let distance = osa_distance(word, candidate);
    let longest = word.chars().count().max(candidate.chars().count());
    let within = candidate.len() >= 3 && word.contains(candidate)
        || word.len() >= 3 && candidate.contains(word);
    (distance <= longest.div_ceil(3) || within).then_some(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_counts_typing_mistakes() {
        for (a, b, mistakes) in [
            ("", "", 0),
            ("", "ab", 2),
            ("path", "path", 0),
            ("pth", "path", 1),
            ("paht", "path", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(osa_distance(a, b), mistakes, "{a} {b}");
            assert_eq!(osa_distance(b, a), mistakes, "{b} {a}");
        }
    }

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["path", "offset", "limit"];
        for (word, found) in [
            ("pth", Some("path")),
            ("filePath", Some("path")),
            ("Limits", Some("limit")),
            ("ofset", Some("offset")),
            ("zzzzzz", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), found, "{word}");
        }
        assert_eq!(nearest(&"path".repeat(100), known), None);
    }
}
