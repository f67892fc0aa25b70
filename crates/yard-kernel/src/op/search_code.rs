//! search-code: definitions and lines of text that match names and words, the best first.
//!
//! The index says what matches and where. The lines that an answer shows are read here, from the files as they are now.

use std::borrow::Cow;

use yard_code::{Hit, HitKind, Query, Refresh, SearchScope, best_line, text_of};
use yard_core::op::{CodeAnswer, CodeMatch, Defined, SearchCode};
use yard_core::{Call, Effect, EffectKind, Fault, FaultCode, Result, Subject, WsPath};
use yard_disk::read_all;
use yard_search::is_unsearchable;

use crate::lookup::read_target::folder_at;
use crate::proposal::{Execute, Planned};
use crate::virtual_files::VirtualEntries;
use crate::workspace::Workspace;

/// How often a search is tried if files change while it runs.
const MAX_ATTEMPTS: usize = 3;
/// Lines of a definition that are shown.
const MAX_SHOWN_LINES: usize = 6;
/// Characters of a line that are shown.
const MAX_SHOWN_CHARACTERS: usize = 200;

impl Execute for SearchCode {
    fn plan(&self, workspace: &Workspace, call: &Call) -> Result<Planned<CodeAnswer>> {
        let query = Query::parse(&self.query)?;
        let (folder, virtuals) = folder_at(workspace, &self.path)?;
        if folder.is_command_output() {
            return Err(not_code(&folder));
        }
        let effect = Effect::one(EffectKind::Read, folder.clone()).with_contents();
        let search = Search { operation: self, workspace, call, query, folder, virtuals };
        for _ in 1..MAX_ATTEMPTS {
            if let Some(answer) = search.answer(OnChangedFile::Retry)? {
                return Ok(Planned::Answer { effect, answer });
            }
        }
        let answer = search.answer(OnChangedFile::Skip)?.unwrap_or_default();
        Ok(Planned::Answer { effect, answer })
    }
}

/// What to do about a file that changed after it was indexed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OnChangedFile {
    /// The whole search is repeated.
    Retry,
    /// The file is not in the answer.
    Skip,
}

struct Search<'a> {
    operation: &'a SearchCode,
    workspace: &'a Workspace,
    call: &'a Call,
    query: Query,
    folder: WsPath,
    virtuals: VirtualEntries,
}

impl Search<'_> {
    /// The answer; `None` if the search has to be repeated.
    fn answer(&self, on_changed_file: OnChangedFile) -> Result<Option<CodeAnswer>> {
        let Self { operation, workspace, call, .. } = self;
        let view = self.virtuals.view_without_files();
        let (index, disk, folder) = (&workspace.code, &*workspace.disk, &self.folder);
        Refresh { index, disk, folder, view: &view, call }.run()?;
        let scope = SearchScope {
            folder: &self.folder,
            language: operation.language,
            scope: operation.scope,
            call,
        };
        let ranked = workspace.code.rank(&self.query, &scope, operation.skip, operation.limit);
        let (mut results, mut passed, mut bytes) = (Vec::new(), 0, 0);
        for hit in &ranked.hits {
            call.check()?;
            let Some(text) = self.text(hit)? else {
                if on_changed_file == OnChangedFile::Retry {
                    return Ok(None);
                }
                passed += 1;
                continue;
            };
            passed += 1;
            let found = to_match(hit, &text, &ranked.weights);
            bytes += found.as_ref().map_or(0, |found| found.snippet.len() as u64);
            results.extend(found);
            if bytes > workspace.limits().answer_bytes {
                break;
            }
        }
        let cut = ranked.more || passed < ranked.hits.len();
        Ok(Some(CodeAnswer {
            next: cut.then(|| operation.skip.saturating_add(passed)),
            results,
            files: ranked.files,
            too_large: ranked.too_large,
            beyond: ranked.beyond,
            partly: ranked.partly,
            withheld: ranked.withheld,
        }))
    }

    /// The text of a result's file; `None` if the file changed since it was indexed.
    fn text(&self, hit: &Hit) -> Result<Option<String>> {
        let opened = self.workspace.disk.open_listed(&hit.path);
        let (mut file, stat) = match opened {
            Ok(opened) if opened.1.signature == hit.signature => opened,
            Ok(_) => return Ok(None),
            Err(fault) if is_unsearchable(fault.code()) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let bytes = read_all(&mut file, stat.size(), &hit.path)?;
        Ok(text_of(&bytes).map(Cow::into_owned))
    }
}

/// A result with its lines; `None` if other results show all matching lines of the file.
fn to_match(hit: &Hit, text: &str, weights: &[(String, f64)]) -> Option<CodeMatch> {
    let (line, end_line, definition) = match &hit.kind {
        HitKind::Text(except) => {
            let line = best_line(text, weights, except)?;
            (line, line, None)
        }
        HitKind::Definition(definition) => {
            let defined = Defined {
                kind: definition.kind,
                name: definition.name.to_string(),
                container: definition.container.as_ref().map(ToString::to_string),
            };
            (definition.line, definition.end_line, Some(defined))
        }
    };
    let lines = ((end_line - line) as usize + 1).min(MAX_SHOWN_LINES);
    let from = text.lines().skip(line as usize - 1);
    let snippet: Vec<String> = from.take(lines).map(cut).collect();
    Some(CodeMatch {
        path: hit.path.clone(),
        line: line.into(),
        end_line: end_line.into(),
        definition,
        score: hit.score,
        snippet: snippet.join("\n"),
    })
}

fn cut(line: &str) -> String {
    match line.char_indices().nth(MAX_SHOWN_CHARACTERS) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line.to_owned(),
    }
}

fn not_code(folder: &WsPath) -> Fault {
    let message = format!(
        "{folder} holds what commands printed, which is not indexed. Read a file of it, or search it by regular expression"
    );
    Fault::new(FaultCode::BadPath, message).about(Subject::Path)
}
