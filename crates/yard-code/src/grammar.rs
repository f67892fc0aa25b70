//! The supported languages, by the extensions of files, and the syntax nodes that define something in each of them.
//! `definitions.rs` walks syntax trees with these tables.

use std::sync::OnceLock;

use tree_sitter::Language;
use yard_core::WsPath;
use yard_core::op::{CodeLanguage, DefinitionKind};

use DefinitionKind::{
    Class, Constant, Enum, Function, Interface, Macro, Method, Module, Struct, Trait, Type, Variant,
};

/// Where a node has the name of its definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    /// In its field `name`.
    Field,
    /// In its field `name`, if it has a `body`. Without one it only refers to the name.
    WithBody,
    /// In its field `name`, outside of functions. Inside of one it is a local variable.
    Global,
    /// Inside its declarators, as in C.
    Declarator,
    /// In its field `name`, for a variable: a function if its value is one, else a constant outside of functions.
    Value,
    /// In its field `name` or `property`, for a field of a class whose value is a function.
    FieldValue,
    /// The last name of the expression to which a function is assigned.
    Assigned,
    /// On its left side, at the top level of the file.
    TopLeft,
    /// It only contains definitions, of the type in its field `type`.
    Container,
    /// After each token `fn` among its children: the arguments of a macro are tokens without syntax.
    Tokens,
}

/// What a node defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    pub(crate) kind: DefinitionKind,
    pub(crate) name: Name,
}

type Row = (&'static str, DefinitionKind, Name);

/// A language with its rules, by the numbers of its nodes.
pub(crate) struct Grammar {
    pub(crate) language: Language,
    rules: Vec<Option<Rule>>,
}

impl Grammar {
    fn new(language: Language, rows: &[&[Row]]) -> Self {
        let count = u16::try_from(language.node_kind_count()).unwrap_or(u16::MAX);
        let rule = |id: u16| {
            let kind = language.node_kind_for_id(id).filter(|_| language.node_kind_is_named(id))?;
            let row = rows.iter().copied().flatten().find(|row| row.0 == kind)?;
            Some(Rule { kind: row.1, name: row.2 })
        };
        Self { rules: (0..count).map(rule).collect(), language }
    }

    /// The rule for nodes of that kind.
    pub(crate) fn rule(&self, kind: u16) -> Option<Rule> {
        self.rules.get(usize::from(kind)).copied().flatten()
    }
}

const RUST: &[Row] = &[
    ("function_item", Function, Name::Field),
    ("function_signature_item", Function, Name::Field),
    ("struct_item", Struct, Name::Field),
    ("union_item", Struct, Name::Field),
    ("enum_item", Enum, Name::Field),
    ("enum_variant", Variant, Name::Field),
    ("trait_item", Trait, Name::Field),
    ("type_item", Type, Name::Field),
    ("const_item", Constant, Name::Global),
    ("static_item", Constant, Name::Global),
    ("mod_item", Module, Name::WithBody),
    ("macro_definition", Macro, Name::Field),
    ("impl_item", Type, Name::Container),
    ("token_tree", Function, Name::Tokens),
];

const PYTHON: &[Row] = &[
    ("function_definition", Function, Name::Field),
    ("class_definition", Class, Name::Field),
    ("assignment", Constant, Name::TopLeft),
];

const JAVASCRIPT: &[Row] = &[
    ("function_declaration", Function, Name::Field),
    ("generator_function_declaration", Function, Name::Field),
    ("class_declaration", Class, Name::Field),
    ("method_definition", Method, Name::Field),
    ("variable_declarator", Constant, Name::Value),
    ("field_definition", Method, Name::FieldValue),
    ("public_field_definition", Method, Name::FieldValue),
    ("assignment_expression", Function, Name::Assigned),
];

const TYPESCRIPT: &[Row] = &[
    ("abstract_class_declaration", Class, Name::Field),
    ("interface_declaration", Interface, Name::Field),
    ("type_alias_declaration", Type, Name::Field),
    ("enum_declaration", Enum, Name::Field),
    ("function_signature", Function, Name::Field),
    ("method_signature", Method, Name::Field),
    ("abstract_method_signature", Method, Name::Field),
    ("internal_module", Module, Name::WithBody),
    ("module", Module, Name::WithBody),
];

const GO: &[Row] = &[
    ("function_declaration", Function, Name::Field),
    ("method_declaration", Method, Name::Field),
    ("type_spec", Type, Name::Field),
    ("type_alias", Type, Name::Field),
    ("const_spec", Constant, Name::Global),
    ("var_spec", Constant, Name::Global),
];

const JAVA: &[Row] = &[
    ("class_declaration", Class, Name::Field),
    ("record_declaration", Class, Name::Field),
    ("interface_declaration", Interface, Name::Field),
    ("annotation_type_declaration", Interface, Name::Field),
    ("enum_declaration", Enum, Name::Field),
    ("enum_constant", Variant, Name::Field),
    ("method_declaration", Method, Name::Field),
    ("constructor_declaration", Method, Name::Field),
    ("field_declaration", Constant, Name::Declarator),
];

const C: &[Row] = &[
    ("function_definition", Function, Name::Declarator),
    ("struct_specifier", Struct, Name::WithBody),
    ("union_specifier", Struct, Name::WithBody),
    ("enum_specifier", Enum, Name::WithBody),
    ("enumerator", Variant, Name::Field),
    ("type_definition", Type, Name::Declarator),
    ("preproc_def", Macro, Name::Field),
    ("preproc_function_def", Macro, Name::Field),
];

const CPP: &[Row] = &[
    ("class_specifier", Class, Name::WithBody),
    ("namespace_definition", Module, Name::WithBody),
    ("alias_declaration", Type, Name::Field),
    ("concept_definition", Type, Name::Field),
];

/// The language of a file, by its extension.
pub(crate) fn language_of(path: &WsPath) -> Option<CodeLanguage> {
    Some(match extension(path)? {
        "rs" => CodeLanguage::Rust,
        "py" | "pyi" => CodeLanguage::Python,
        "js" | "jsx" | "mjs" | "cjs" => CodeLanguage::JavaScript,
        "ts" | "tsx" | "mts" | "cts" => CodeLanguage::TypeScript,
        "go" => CodeLanguage::Go,
        "java" => CodeLanguage::Java,
        "c" => CodeLanguage::C,
        "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "hxx" => CodeLanguage::Cpp,
        _ => return None,
    })
}

/// Whether a file is of a language. A `.h` file is both C and C++.
pub(crate) fn is_of(path: &WsPath, language: CodeLanguage) -> bool {
    let header = language == CodeLanguage::C && extension(path) == Some("h");
    header || language_of(path) == Some(language)
}

/// The grammar of a file.
pub(crate) fn grammar_of(path: &WsPath) -> Option<&'static Grammar> {
    static MADE: [OnceLock<Grammar>; 9] = [const { OnceLock::new() }; 9];
    let (at, function, rows): (usize, _, &[&[Row]]) = match language_of(path)? {
        CodeLanguage::Rust => (0, tree_sitter_rust::LANGUAGE, &[RUST]),
        CodeLanguage::Python => (1, tree_sitter_python::LANGUAGE, &[PYTHON]),
        CodeLanguage::JavaScript => (2, tree_sitter_javascript::LANGUAGE, &[JAVASCRIPT]),
        CodeLanguage::TypeScript if extension(path) == Some("tsx") => {
            (3, tree_sitter_typescript::LANGUAGE_TSX, &[JAVASCRIPT, TYPESCRIPT])
        }
        CodeLanguage::TypeScript => {
            (4, tree_sitter_typescript::LANGUAGE_TYPESCRIPT, &[JAVASCRIPT, TYPESCRIPT])
        }
        CodeLanguage::Go => (5, tree_sitter_go::LANGUAGE, &[GO]),
        CodeLanguage::Java => (6, tree_sitter_java::LANGUAGE, &[JAVA]),
        CodeLanguage::C => (7, tree_sitter_c::LANGUAGE, &[C]),
        CodeLanguage::Cpp => (8, tree_sitter_cpp::LANGUAGE, &[C, CPP]),
    };
    Some(MADE[at].get_or_init(|| Grammar::new(Language::new(function), rows)))
}

fn extension(path: &WsPath) -> Option<&str> {
    let at = memchr::memrchr(b'.', path.relative())?;
    std::str::from_utf8(&path.relative()[at + 1..]).ok()
}
