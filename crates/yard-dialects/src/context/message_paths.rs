//! Paths in the messages of faults. The kernel writes them from the root of the workspace; here they become paths as
//! the caller writes them, so that it can send them back (R2). Only paths that the call named are replaced, and only in
//! the first line: the lines below it quote contents of files.

use yard_core::WsPath;

/// A message with each of the paths, and of the folders above them, as `display` writes it; none if it names none.
pub(crate) fn rewrite(
    message: &str,
    named: &[WsPath],
    display: impl Fn(&WsPath) -> String,
) -> Option<String> {
    let (line, rest) = message.split_at(message.find('\n').unwrap_or(message.len()));
    let mut spellings: Vec<(String, String)> = Vec::new();
    for path in named {
        let mut at = Some(path.clone());
        while let Some(path) = at {
            spellings.push((path.to_string(), display(&path)));
            at = path.parent();
        }
    }
    // A longer path comes before those that it begins with.
    spellings.sort_by_key(|(own, _)| std::cmp::Reverse(own.len()));
    let mut rewritten = String::with_capacity(message.len());
    let (mut at, mut has_path) = (0, false);
    while at < line.len() {
        let here = &line[at..];
        let spelling = spellings.iter().find(|(own, _)| {
            here.starts_with(own.as_str()) && is_whole(&line[..at], &here[own.len()..])
        });
        match spelling {
            Some((own, displayed)) => {
                rewritten.push_str(displayed);
                (at, has_path) = (at + own.len(), true);
            }
            None => {
                let next = here.chars().next().map_or(1, char::len_utf8);
                rewritten.push_str(&here[..next]);
                at += next;
            }
        }
    }
    rewritten.push_str(rest);
    has_path.then_some(rewritten)
}

/// Whether a path between these texts is no part of a longer one.
fn is_whole(before: &str, after: &str) -> bool {
    let is_of_name = |character: char| {
        character.is_alphanumeric() || matches!(character, '/' | '_' | '-' | '.' | '*' | '{' | '}')
    };
    let mut after = after.chars();
    let ends = match after.next() {
        // The end of a sentence.
        Some('.') => after.next().is_none_or(char::is_whitespace),
        next => !next.is_some_and(is_of_name),
    };
    ends && !before.chars().next_back().is_some_and(is_of_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r2_a_path_in_an_error_is_one_that_the_caller_can_send_back() {
        let named = [WsPath::parse("/src/a b.txt").unwrap()];
        let rewritten =
            |message: &str| rewrite(message, &named, |path| path.to_string()[1..].to_owned());
        let relative = |message: &str, expected: &str| {
            assert_eq!(rewritten(message).as_deref(), Some(expected));
        };
        relative("/src/a b.txt: the text was not found", "src/a b.txt: the text was not found");
        relative("File not found: /src/a b.txt", "File not found: src/a b.txt");
        relative(
            "/src is a file. Make it a folder: /src.",
            "src is a file. Make it a folder: src.",
        );
        relative("(\"/src/a b.txt\")\nquoted /src", "(\"src/a b.txt\")\nquoted /src");
        let root = |message: &str| {
            rewrite(message, &[WsPath::root()], |path| {
                if path.is_root() { ".".to_owned() } else { path.to_string() }
            })
        };
        assert_eq!(root("may not create /").as_deref(), Some("may not create ."));
        assert_eq!(root("/ is a folder, not a file").as_deref(), Some(". is a folder, not a file"));
        assert_eq!(root("/src, http://a/ and a/b"), None);
        for other in [
            "/api/{id}/src is an address",
            "/src/a b.txt2 is there",
            "/usr/src is there",
            "/source",
            "in /srcs",
            "no path",
        ] {
            assert_eq!(rewritten(other), None, "{other}");
        }
    }
}
