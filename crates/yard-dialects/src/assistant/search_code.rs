//! `search_code`: finds definitions and text by names or words, the best first (A6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use yard_core::WsPath;
use yard_core::op::{self, CodeAnswer, CodeLanguage, CodeMatch, CodeScope};

use super::root;
use crate::tool::{Context, Stop, Tool, Work};
use crate::{across_roots, paging};

/// Finds code by name or by words, the best result first: definitions of functions, methods, types and
/// constants, then lines of text. Use it to find where something is defined (`parse_config`,
/// `Session::perform`) or which code is about something (`retry with backoff`) when the exact spelling or
/// file is unknown; a name is found in any spelling (`parseConfig`) and by its beginning or its parts.
/// Search by regular expression instead when every occurrence is needed. Definitions are known in C, C++, Go,
/// Java, JavaScript, Python, Rust and TypeScript; every other text is searched by its words. Edits are seen at
/// once. Skips `.git` and what ignore files exclude. The first search in a large workspace takes seconds.
#[derive(Deserialize, JsonSchema)]
pub(super) struct SearchCode {
    /// A name, a qualified name or some words.
    query: String,
    /// Directory to search, relative to the workspace root.
    #[serde(default = "root")]
    path: String,
    /// Only files of this language.
    language: Option<Language>,
    /// What to find: definitions, lines of text, or both.
    #[serde(default)]
    kind: Kind,
    /// Most results to return.
    #[serde(default = "crate::defaults::number::<20>")]
    #[schemars(range(min = 1, max = 100))]
    limit: u64,
    /// Where a cut answer goes on: its `next`.
    cursor: Option<String>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Language {
    C,
    Cpp,
    Go,
    Java,
    Javascript,
    Python,
    Rust,
    Typescript,
}

#[derive(Clone, Copy, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    All,
    Definition,
    Text,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// What was found, the best first.
    results: Vec<Found>,
    /// Whether results remain after these.
    truncated: bool,
    /// The `cursor` that gives the results that remain; not there if none do.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<String>,
    /// How many files were searched.
    files: u64,
    /// What was not searched, and what to do about it; left out if everything was.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Found {
    /// The file, relative to the workspace root.
    path: String,
    /// The line, from 1: where the name of a definition stands, or the line of text that fits best.
    line: u64,
    /// Where the definition ends; of text the same line.
    end_line: u64,
    /// `function`, `method`, `class`, `struct`, `enum`, `variant`, `interface`, `trait`, `type`, `constant`,
    /// `module` or `macro`; `text` for a line.
    kind: &'static str,
    /// The name of a definition; not there for text.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// The type, module or function that the definition is in; left out if it is in none.
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    /// How well it fits; only results of one search compare.
    score: f64,
    /// The first lines of the definition, or the line.
    snippet: String,
}

impl Tool for SearchCode {
    type Args = Self;
    type Reply = Reply;
    const NAME: &'static str = "search_code";
    const WORK: Work = Work::Walk;

    fn run(args: Self, context: &Context<'_>) -> Result<Reply, Stop> {
        let search = op::SearchCode {
            path: WsPath::root(),
            query: args.query,
            language: args.language.map(language),
            scope: match args.kind {
                Kind::All => CodeScope::All,
                Kind::Definition => CodeScope::Definitions,
                Kind::Text => CodeScope::Text,
            },
            limit: usize::try_from(args.limit).unwrap_or(usize::MAX),
            skip: paging::skip_cursor(args.cursor.as_deref())?,
        };
        across_roots::search_code(context, &args.path, search, |answer, context| {
            Ok(Reply {
                truncated: answer.next.is_some(),
                next: answer.next.map(|next| next.to_string()),
                files: answer.files,
                message: message(&answer),
                results: answer
                    .results
                    .into_iter()
                    .map(|found| Found::of(found, context))
                    .collect(),
            })
        })
    }
}

fn language(language: Language) -> CodeLanguage {
    match language {
        Language::C => CodeLanguage::C,
        Language::Cpp => CodeLanguage::Cpp,
        Language::Go => CodeLanguage::Go,
        Language::Java => CodeLanguage::Java,
        Language::Javascript => CodeLanguage::JavaScript,
        Language::Python => CodeLanguage::Python,
        Language::Rust => CodeLanguage::Rust,
        Language::Typescript => CodeLanguage::TypeScript,
    }
}

impl Found {
    fn of(found: CodeMatch, context: &Context<'_>) -> Self {
        let (kind, name, container) = match found.definition {
            Some(defined) => (defined.kind.word(), Some(defined.name), defined.container),
            None => ("text", None, None),
        };
        Self {
            path: context.display(&found.path),
            line: found.line,
            end_line: found.end_line,
            kind,
            name,
            container,
            // Two digits are enough to compare results.
            score: (found.score * 100.0).round() / 100.0,
            snippet: found.snippet,
        }
    }
}

/// The files that were not searched, and what to do about them.
fn message(answer: &CodeAnswer) -> Option<String> {
    let mut parts = Vec::new();
    if answer.beyond > 0 {
        parts.push("the index is full, and files were left out: search a deeper `path`".to_owned());
    }
    if answer.too_large > 0 {
        parts.push(format!(
            "{} files above 1 MiB are not indexed: search those by regular expression",
            answer.too_large
        ));
    }
    if answer.partly > 0 {
        parts.push(format!(
            "of {} files only a part is indexed: they hold too many words, or their syntax took too long to read",
            answer.partly
        ));
    }
    if answer.withheld > 0 {
        parts.push(format!("{} files may not be read and were not searched", answer.withheld));
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}
