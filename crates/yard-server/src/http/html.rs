//! The frame of the pages for people, without scripts and foreign resources, and the escaping of texts.

/// A page. `body` is markup, in which foreign texts are escaped.
pub(super) fn frame(title: &str, body: &str) -> String {
    format!("{HEAD}<title>{}</title>{STYLE}{body}", escaped(title))
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">";

const STYLE: &str = "<style>\
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
border-radius:.4rem;margin:1rem 0}.no{color:#cf222e}</style>";

/// Escapes a text for a page, also inside a quoted attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Characters that change the direction of a text could hide what it says.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => safe.push('\u{fffd}'),
            '\n' | '\t' => safe.push(char),
            // Control characters could move the cursor or hide a line: their visible symbols are shown.
            '\u{7f}' => safe.push('\u{2421}'),
            '\0'..='\u{1f}' => safe.push(control_picture(char)),
            '\u{80}'..='\u{9f}' => safe.push('\u{fffd}'),
            _ => safe.push(char),
        }
    }
    safe
}

/// The visible symbol of a control character.
fn control_picture(control: char) -> char {
    char::from_u32(0x2400 + u32::from(control)).unwrap_or('\u{fffd}')
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
        assert_eq!(escaped("a\u{202e}b"), "a\u{fffd}b");
        assert_eq!(
            escaped("a\u{1b}[8mb\rc\0\u{7f}\u{9b}\n\t"),
            "a\u{241b}[8mb\u{240d}c\u{2400}\u{2421}\u{fffd}\n\t"
        );
        assert!(frame("<x>", "<p>").contains("<title>&lt;x&gt;</title>"));
    }
}
