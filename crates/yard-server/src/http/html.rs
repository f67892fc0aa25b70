//! The frame of the pages for people, without scripts and foreign resources, and the escaping of texts.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use yard_core::ContentHash;
use yard_core::invisible::by_number;

/// What these pages may load: their own style and nothing else. No scripts, no frames, no forms to other sites.
pub(super) static POLICY: LazyLock<String> = LazyLock::new(|| {
    let style = STANDARD.encode(ContentHash::of(STYLE.as_bytes()).as_bytes());
    format!(
        "default-src 'none'; style-src 'sha256-{style}'; form-action 'self'; frame-ancestors 'none'; \
         base-uri 'none'"
    )
});

/// A page. `body` is markup, in which foreign texts are escaped.
pub(super) fn frame(title: &str, body: &str) -> String {
    format!("{HEAD}<title>{}</title><style>{STYLE}</style>{body}", escaped(title))
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">";

const STYLE: &str = "\
:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
padding:0 1rem 3rem}h2{margin:2.2rem 0 .4rem}h4{margin:1rem 0 .3rem}p{margin:.5rem 0}\
nav a{display:inline-block;margin-right:.9rem}summary{cursor:pointer;padding:.4rem 0}\
summary code{font-size:1em;overflow-wrap:anywhere}summary code+span{display:block;margin-left:5.55rem;opacity:.75}\
pre{overflow:auto;margin:.4rem 0;padding:.8rem;border:1px solid #8884;border-radius:.4rem;font-size:.85em}\
code,pre{font-family:ui-monospace,monospace}.m{display:inline-block;min-width:4.5em;font-weight:600}\
small{opacity:.7}details{border-bottom:1px solid #8883}details details{border:0}\
details[open]>:last-child{margin-bottom:1rem}ins{color:#1a7f37;text-decoration:none}\
del{color:#cf222e;text-decoration:none}table{border-collapse:collapse;font-size:.9em}\
td{padding:.2rem 1.2rem .2rem 0;vertical-align:top;border-top:1px solid #8883}\
label{display:block;margin:.4rem 0}input:not([type]),input[type=email],\
input[type=password],textarea{display:block;width:100%;box-sizing:border-box;font:inherit;padding:.4rem}\
button{font:inherit;padding:.4rem 1rem;margin:.6rem .6rem .6rem 0}fieldset{border:1px solid #8884;\
border-radius:.4rem;margin:1rem 0}.no{color:#cf222e}";

/// Escapes a text for a page, also inside a quoted attribute. What cannot be seen in it is shown by its number.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in by_number(text).chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ => safe.push(char),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_texts_are_escaped() {
        assert_eq!(
            escaped("<a href=\"x\" b='&'>"),
            "&lt;a href=&quot;x&quot; b=&#39;&amp;&#39;&gt;"
        );
        assert_eq!(escaped("a\u{202e}b\u{200b}\u{e0041}"), "a‹U+202E›b‹U+200B›‹U+E0041›");
        assert_eq!(
            escaped("a\u{1b}[8mb\rc\0\u{7f}\u{9b}\n\t"),
            "a‹U+001B›[8mb‹U+000D›c‹U+0000›‹U+007F›‹U+009B›\n\t"
        );
        assert!(frame("<x>", "<p>").contains("<title>&lt;x&gt;</title>"));
    }
}
