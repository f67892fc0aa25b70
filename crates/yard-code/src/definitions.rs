//! The definitions of a source text, from its syntax tree. A text whose parsing takes too long has no definitions. The tree
//! is walked without recursion, so that its depth does not matter.

use std::ops::ControlFlow;
use std::time::Duration;

use tree_sitter::{Node, ParseOptions, Parser, Tree, TreeCursor};
use yard_core::op::DefinitionKind;
use yard_core::{Call, Result};

use crate::grammar::{Grammar, Name, Rule};
use crate::words;

/// How long parsing one file may take.
const PARSE_TIME: Duration = Duration::from_millis(500);
/// The clock is read after this number of the parser's progress reports, each of which is a hundred steps.
const STEPS: u32 = 8;
/// Most definitions of one file.
const MAX_DEFINITIONS: usize = 10_000;
/// Longer texts are not taken for names.
const MAX_NAME_BYTES: usize = 200;
/// Most declarators around a name in C.
const MAX_DECLARATORS: usize = 32;

/// Something that a file defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its name.
    pub name: Box<str>,
    /// How many parts its name has.
    pub parts: u8,
    /// What it defines.
    pub kind: DefinitionKind,
    /// The name of the type, module or function that contains it.
    pub container: Option<Box<str>>,
    /// The line of its name, from 1.
    pub line: u32,
    /// Its last line.
    pub end_line: u32,
    /// Whether it has a body; a declaration has none.
    pub has_body: bool,
}

/// What parsing a text resulted in.
#[derive(Default)]
pub(crate) struct Syntax {
    /// Its definitions, in their order.
    pub(crate) definitions: Vec<Definition>,
    /// Whether definitions may be missing: parsing took too long, or there are too many.
    pub(crate) is_cut: bool,
}

/// Parses a text.
pub(crate) fn read_syntax(
    parser: &mut Parser,
    grammar: &Grammar,
    text: &str,
    call: &Call,
) -> Result<Syntax> {
    let Some(tree) = parse(parser, grammar, text, call) else {
        parser.reset();
        call.check()?;
        return Ok(Syntax { definitions: Vec::new(), is_cut: true });
    };
    let mut walk = Walk { grammar, text, definitions: Vec::new(), containers: Vec::new() };
    walk.tree(&tree, call)?;
    Ok(Syntax { is_cut: walk.definitions.len() >= MAX_DEFINITIONS, definitions: walk.definitions })
}

fn parse(parser: &mut Parser, grammar: &Grammar, text: &str, call: &Call) -> Option<Tree> {
    parser.set_language(&grammar.language).ok()?;
    let (begun, mut steps) = (call.world().elapsed(), 0u32);
    let mut go_on = |_: &tree_sitter::ParseState| {
        steps = steps.wrapping_add(1);
        let looked = steps.is_multiple_of(STEPS);
        let late = looked && call.world().elapsed().saturating_sub(begun) > PARSE_TIME;
        if late || (looked && call.check().is_err()) {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    };
    let bytes = text.as_bytes();
    let options = ParseOptions::new().progress_callback(&mut go_on);
    parser.parse_with_options(&mut |at, _| &bytes[at.min(bytes.len())..], None, Some(options))
}

/// A node that contains definitions.
struct Container<'a> {
    depth: u32,
    name: Option<&'a str>,
    kind: ContainerKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ContainerKind {
    /// Its functions are functions.
    Module,
    /// Its functions are methods.
    Type,
    /// Its constants are local variables.
    Function,
}

struct Walk<'a> {
    grammar: &'a Grammar,
    text: &'a str,
    definitions: Vec<Definition>,
    containers: Vec<Container<'a>>,
}

impl<'a> Walk<'a> {
    fn tree(&mut self, tree: &Tree, call: &Call) -> Result<()> {
        let (mut cursor, mut depth, mut nodes) = (tree.walk(), 0u32, 0u32);
        loop {
            nodes = nodes.wrapping_add(1);
            if nodes.is_multiple_of(1 << 14) {
                call.check()?;
            }
            self.node(cursor.node(), depth);
            if self.definitions.len() >= MAX_DEFINITIONS {
                return Ok(());
            }
            if cursor.goto_first_child() {
                depth += 1;
            } else if !next(&mut cursor, &mut depth) {
                return Ok(());
            }
        }
    }

    fn node(&mut self, node: Node<'_>, depth: u32) {
        while self.containers.last().is_some_and(|container| container.depth >= depth) {
            self.containers.pop();
        }
        let Some(rule) = self.grammar.rule(node.kind_id()) else { return };
        if rule.name == Name::Container {
            let name = node.child_by_field_name("type").and_then(|node| self.type_name(node));
            self.containers.push(Container { depth, name, kind: ContainerKind::Type });
        } else if rule.name == Name::Tokens {
            self.tokens(node, rule.kind);
        } else if let Some((name, kind)) = self.named(node, rule, depth) {
            self.define(node, name, kind, depth);
        }
    }

    fn define(&mut self, node: Node<'_>, named: Named<'a>, kind: DefinitionKind, depth: u32) {
        let container = self.containers.last();
        let in_type = container.is_some_and(|container| container.kind == ContainerKind::Type);
        let kind = match kind {
            DefinitionKind::Function if in_type || named.container.is_some() => {
                DefinitionKind::Method
            }
            kind => kind,
        };
        let container_kind = match kind {
            DefinitionKind::Module => ContainerKind::Module,
            DefinitionKind::Function | DefinitionKind::Method => ContainerKind::Function,
            _ => ContainerKind::Type,
        };
        let body = node.child_by_field_name("body").or(node.child_by_field_name("value"));
        let has_body = container_kind != ContainerKind::Function || body.is_some();
        self.definitions.push(self.definition(&named, kind, last_row(node), has_body));
        if kind != DefinitionKind::Constant {
            let name = Some(named.text);
            self.containers.push(Container { depth, name, kind: container_kind });
        }
    }

    /// Adds the functions in the tokens of a macro call: `fn`, a name, and the next braces.
    fn tokens(&mut self, tree: Node<'_>, kind: DefinitionKind) {
        let mut cursor = tree.walk();
        let mut children = tree.children(&mut cursor).peekable();
        while let Some(word) = children.next() {
            let Some(name) =
                children.next_if(|next| word.kind() == "fn" && next.kind() == "identifier")
            else {
                continue;
            };
            let Some(named) = self.name(name) else { continue };
            let is_before = |node: &Node<'_>| node.kind() != ";" && !self.is_braced(*node);
            while children.next_if(is_before).is_some() {}
            let body = children.peek().filter(|node| self.is_braced(**node));
            let end = last_row(*body.unwrap_or(&name));
            let definition = self.definition(&named, kind, end, body.is_some());
            self.definitions.push(definition);
        }
    }

    fn is_braced(&self, node: Node<'_>) -> bool {
        node.kind() == "token_tree" && self.text.as_bytes().get(node.start_byte()) == Some(&b'{')
    }

    fn definition(
        &self,
        named: &Named<'a>,
        kind: DefinitionKind,
        last_row: usize,
        has_body: bool,
    ) -> Definition {
        let around = self.containers.iter().rev().find_map(|container| container.name);
        Definition {
            name: named.text.into(),
            parts: u8::try_from(words::parts(named.text).len()).unwrap_or(u8::MAX),
            kind,
            container: named.container.or(around).map(Box::from),
            line: line(named.row),
            end_line: line(last_row.max(named.row)),
            has_body,
        }
    }

    /// The name and kind of a node's definition; `None` if the node defines nothing.
    fn named(&self, node: Node<'_>, rule: Rule, depth: u32) -> Option<(Named<'a>, DefinitionKind)> {
        let field = |name| node.child_by_field_name(name);
        let is_function = |container: &Container<'_>| container.kind == ContainerKind::Function;
        let in_function = self.containers.iter().any(is_function);
        let mut kind = rule.kind;
        let named = match rule.name {
            Name::Container | Name::Tokens => return None,
            Name::Field => field("name")?,
            Name::WithBody => field("body").and(field("name"))?,
            Name::Global => field("name").filter(|_| !in_function)?,
            Name::Declarator => declared(node)?,
            Name::TopLeft => {
                field("left").filter(|left| depth <= 2 && left.kind() == "identifier")?
            }
            Name::Value => {
                let value = field("value").and_then(value_kind);
                kind = value.or((!in_function).then_some(kind))?;
                field("name").filter(|name| name.kind() == "identifier")?
            }
            Name::FieldValue => {
                field("value").and_then(value_kind)?;
                field("name").or(field("property"))?
            }
            Name::Assigned => {
                kind = field("right").and_then(value_kind)?;
                field("left").and_then(|left| left.child_by_field_name("property"))?
            }
        };
        if let (DefinitionKind::Type, Some(of)) = (kind, field("type")) {
            kind = match of.kind() {
                "struct_type" | "struct_specifier" => DefinitionKind::Struct,
                "interface_type" => DefinitionKind::Interface,
                _ => kind,
            };
        }
        let mut named = self.name(named)?;
        if let Some(receiver) = field("receiver") {
            named.container = self.type_name(receiver);
        }
        Some((named, kind))
    }

    /// The name in a node: of `a::b::c` it is `c`, with the container `b`.
    fn name(&self, mut node: Node<'_>) -> Option<Named<'a>> {
        let mut container = None;
        for _ in 0..MAX_DECLARATORS {
            if let Some(scope) = node.child_by_field_name("scope") {
                container = self.type_name(scope);
            }
            match node.child_by_field_name("name") {
                Some(inner) => node = inner,
                None => break,
            }
        }
        let text = self.text.get(node.byte_range())?.trim_matches(['"', '\'', '`']);
        let fits = !text.is_empty() && text.len() <= MAX_NAME_BYTES && !text.contains('\n');
        fits.then_some(Named { text, container, row: node.start_position().row })
    }

    /// The bare name of a type: `Server` of `(s *Server[T])`.
    fn type_name(&self, node: Node<'_>) -> Option<&'a str> {
        let text = self.text.get(node.byte_range())?;
        let outer = text.split(['<', '[']).next().unwrap_or(text);
        words::words(outer).last()
    }
}

struct Named<'a> {
    text: &'a str,
    container: Option<&'a str>,
    row: usize,
}

/// Moves the cursor to the next node that is no child of the current one. False at the end of the tree.
fn next(cursor: &mut TreeCursor<'_>, depth: &mut u32) -> bool {
    while !cursor.goto_next_sibling() {
        if !cursor.goto_parent() {
            return false;
        }
        *depth -= 1;
    }
    true
}

/// The kind of a variable with such a value, if the value is a function or class.
fn value_kind(value: Node<'_>) -> Option<DefinitionKind> {
    match value.kind() {
        "arrow_function" | "function_expression" | "generator_function" => {
            Some(DefinitionKind::Function)
        }
        "class" => Some(DefinitionKind::Class),
        _ => None,
    }
}

/// The node of the name inside a node's declarators: pointers, arrays, parameters and parentheses.
fn declared(node: Node<'_>) -> Option<Node<'_>> {
    let mut named = node.child_by_field_name("declarator")?;
    for _ in 0..MAX_DECLARATORS {
        let inner = named.child_by_field_name("declarator").or_else(|| match named.kind() {
            "parenthesized_declarator" | "reference_declarator" => named.named_child(0),
            _ => None,
        });
        match inner {
            Some(inner) => named = inner,
            None => return Some(named),
        }
    }
    None
}

/// The last row with text of a node. Some nodes end with a line break.
fn last_row(node: Node<'_>) -> usize {
    let end = node.end_position();
    if end.column == 0 { end.row.saturating_sub(1) } else { end.row }
}

fn line(row: usize) -> u32 {
    u32::try_from(row).unwrap_or(u32::MAX).saturating_add(1)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use yard_core::{Timestamp, World, WsPath};

    use super::*;
    use crate::grammar::grammar_of;

    struct Still;

    impl World for Still {
        fn now(&self) -> Timestamp {
            Timestamp::from_millis(0)
        }
        fn random(&self) -> u128 {
            0
        }
        fn secret(&self) -> Option<[u8; 32]> {
            None
        }
        fn boot_id(&self) -> u128 {
            0
        }
    }

    /// Each definition as `kind container.name line-end`.
    fn found(name: &str, text: &str) -> Vec<String> {
        let path = WsPath::parse(&format!("/{name}")).unwrap();
        let call = Call::new(Arc::new(Still));
        let grammar = grammar_of(&path).unwrap();
        let found = read_syntax(&mut Parser::new(), grammar, text, &call).unwrap().definitions;
        let shown = |found: Definition| {
            let container = found.container.map_or(String::new(), |name| format!("{name}."));
            let (kind, name) = (found.kind.word(), found.name);
            format!("{kind} {container}{name} {}-{}", found.line, found.end_line)
        };
        found.into_iter().map(shown).collect()
    }

    #[test]
    fn rust() {
        let text = "mod a;\nmod b {\n  pub fn c() {}\n}\nimpl<T> Tree<T> {\n  const D: u8 = 1;\n  fn e(&self) {\n    fn f() {}\n  }\n}\n\
            trait G { fn h(); }\nenum I { J }\n#[inline]\nfn k() {\n}\nmacro_rules! l { () => {} }\nstruct M;\ntype N = M;\n";
        assert_eq!(
            found("x.rs", text),
            [
                "module b 2-4",
                "function b.c 3-3",
                "constant Tree.D 6-6",
                "method Tree.e 7-9",
                "function e.f 8-8",
                "trait G 11-11",
                "method G.h 11-11",
                "enum I 12-12",
                "variant I.J 12-12",
                "function k 14-15",
                "macro l 16-16",
                "struct M 17-17",
                "type N 18-18",
            ]
        );
    }

    #[test]
    fn rust_in_the_tokens_of_a_macro_call() {
        let text = "mod tests {\n  proptest! {\n    #[test]\n    fn a(b in 0..9u8, fn_c in d()) {\n      let e = 1;\n    }\n    fn f() -> u8;\n  }\n}\n\
            macro_rules! g { () => { fn $h() {} fn i() {} } }\nlater!(fn);\n";
        let expected = ["module tests 1-9", "function tests.a 4-6", "function tests.f 7-7"];
        let found = found("x.rs", text);
        assert_eq!(found[..3], expected);
        assert_eq!(found[3..], ["macro g 10-10", "function g.i 10-10"]);
    }

    #[test]
    fn python_and_go_and_java() {
        let python = "A = 1\nclass B:\n    c = 2\n    @wraps\n    def d(self):\n        e = 3\ndef f(): pass\n";
        assert_eq!(
            found("x.py", python),
            ["constant A 1-1", "class B 2-6", "method B.d 5-6", "function f 7-7"]
        );
        let go = "package p\nconst A = 1\ntype B struct { c int }\nfunc (b *B) D() { var e = 1 }\nfunc F() {}\ntype G interface { H() }\n";
        assert_eq!(
            found("x.go", go),
            [
                "constant A 2-2",
                "struct B 3-3",
                "method B.D 4-4",
                "function F 5-5",
                "interface G 6-6"
            ]
        );
        let java = "class A {\n  static final int B = 1;\n  @Override\n  void c() { int d = 1; }\n  A() {}\n}\nenum E { F }\ninterface G { void h(); }\n";
        assert_eq!(
            found("x.java", java),
            [
                "class A 1-6",
                "constant A.B 2-2",
                "method A.c 4-4",
                "method A.A 5-5",
                "enum E 7-7",
                "variant E.F 7-7",
                "interface G 8-8",
                "method G.h 8-8"
            ]
        );
    }

    #[test]
    fn javascript_and_typescript() {
        let javascript = "export function a() { const b = 1; }\nexport const c = () => {};\nclass D { e() {} f = () => {} }\nmodule.exports.g = function () {};\nconst H = 1;\n";
        let expected = [
            "function a 1-1",
            "function c 2-2",
            "class D 3-3",
            "method D.e 3-3",
            "method D.f 3-3",
            "function g 4-4",
            "constant H 5-5",
        ];
        for name in ["x.js", "x.ts", "x.tsx"] {
            assert_eq!(found(name, javascript), expected, "{name}");
        }
        let typescript = "interface A { b(): void }\ntype C = string;\nenum D { E }\nabstract class F { abstract g(): void; }\nnamespace H { export function i() {} }\n";
        assert_eq!(
            found("x.ts", typescript),
            [
                "interface A 1-1",
                "method A.b 1-1",
                "type C 2-2",
                "enum D 3-3",
                "class F 4-4",
                "method F.g 4-4",
                "module H 5-5",
                "function H.i 5-5"
            ]
        );
    }

    #[test]
    fn c_and_cpp() {
        let c = "#define A 1\nstruct b { int c; };\nstatic char *\nd(int e)\n{ return 0; }\ntypedef struct b f;\nenum g { H };\nint i(void);\n";
        let expected = [
            "macro A 1-1",
            "struct b 2-2",
            "function d 4-5",
            "struct f 6-6",
            "enum g 7-7",
            "variant g.H 7-7",
        ];
        assert_eq!(found("x.c", c), expected);
        assert_eq!(found("x.h", c), expected);
        let cpp = "namespace a {\nclass B { void c() {} };\nvoid B::d() {}\ntemplate <class T> T e(T t) { return t; }\nusing F = B;\n}\n";
        assert_eq!(
            found("x.cpp", cpp),
            [
                "module a 1-6",
                "class a.B 2-2",
                "method B.c 2-2",
                "method B.d 3-3",
                "function a.e 4-4",
                "type a.F 5-5"
            ]
        );
    }

    #[test]
    fn deeply_nested_syntax_does_not_overflow_the_stack() {
        let deep =
            format!("fn a() {{ {} {} }}\nfn b() {{}}\n", "(".repeat(200_000), ")".repeat(200_000));
        let call = Call::new(Arc::new(Still));
        let path = WsPath::parse("/x.rs").unwrap();
        let grammar = grammar_of(&path).unwrap();
        read_syntax(&mut Parser::new(), grammar, &deep, &call).unwrap();
    }
}
