//! Searching code: definitions and text, the best first.

use crate::WsPath;

/// A language whose definitions are known; files of any other are text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CodeLanguage {
    /// C.
    C,
    /// C++; headers (`.h`) count as C too.
    Cpp,
    /// Go.
    Go,
    /// Java.
    Java,
    /// JavaScript, with JSX.
    JavaScript,
    /// Python.
    Python,
    /// Rust.
    Rust,
    /// TypeScript, with TSX.
    TypeScript,
}

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeScope {
    /// Definitions and text.
    All,
    /// Definitions alone.
    Definitions,
    /// Text alone.
    Text,
}

crate::spelled_enum! {
    /// What a definition defines.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum DefinitionKind {
        /// A function that belongs to no type.
        Function = "function",
        /// A function of a type.
        Method = "method",
        /// A class.
        Class = "class",
        /// A struct or union.
        Struct = "struct",
        /// An enumeration.
        Enum = "enum",
        /// One case of an enumeration.
        Variant = "variant",
        /// An interface.
        Interface = "interface",
        /// A trait.
        Trait = "trait",
        /// Another name of a type.
        Type = "type",
        /// A constant, or a variable of a whole module or class.
        Constant = "constant",
        /// A module or namespace.
        Module = "module",
        /// A macro.
        Macro = "macro",
    }
}

/// Searches code by names and words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchCode {
    /// Names or words; `Type::method` and `module.name` say where a name is defined.
    pub query: String,
    /// The folder to search.
    pub path: WsPath,
    /// Only files of that language.
    pub language: Option<CodeLanguage>,
    /// What is looked for.
    pub scope: CodeScope,
    /// At most that many.
    pub limit: usize,
    /// How many of the best were given before (how a cut answer goes on).
    pub skip: usize,
}

/// What was found, the best first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CodeAnswer {
    /// The results, cut at the limit.
    pub results: Vec<CodeMatch>,
    /// Where the next answer goes on: its `skip`; `None` if nothing remains.
    pub next: Option<usize>,
    /// Text files below the folder that were searched.
    pub files: u64,
    /// Text files that were not searched, because they are too large.
    pub too_large: u64,
    /// Files that were not searched, because the index is full; there may be more of them.
    pub beyond: u64,
    /// Files of which only a part is known: their words were too many, or their syntax took too long.
    pub partly: u64,
    /// Files that were not searched, because the caller may not read them.
    pub withheld: u64,
}

/// One result.
#[derive(Clone, Debug, PartialEq)]
pub struct CodeMatch {
    /// The file.
    pub path: WsPath,
    /// Its line, from 1: where the name of a definition stands, or the line of text that fits best.
    pub line: u64,
    /// Where the definition ends; of text the same line.
    pub end_line: u64,
    /// What is defined there, if it is a definition.
    pub definition: Option<Defined>,
    /// How well it fits: more is better, and only results of one search compare.
    pub score: f64,
    /// The first lines of it.
    pub snippet: String,
}

/// A definition as an answer names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defined {
    /// What it defines.
    pub kind: DefinitionKind,
    /// Its name.
    pub name: String,
    /// The type, module or function that it is in.
    pub container: Option<String>,
}
