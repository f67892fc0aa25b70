// Colours for source text, line by line: comments, strings, numbers and keywords. It is not exact and does not have to be:
// it only helps the eye.

/** @typedef {{ kind: "" | "comment" | "string" | "number" | "word", text: string }} Token */

const WORDS = new Set(("abstract and as assert async await begin break case catch class const continue debugger def default defer del delete do elif else end enum except export extends extern false finally fn for from func function " +
  "go goto if impl implements import in instanceof interface is lambda let loop match mod module move mut new nil none None not null or package pass private protected pub public raise ref return select self Self static struct super switch this throw trait true True False try type typeof undefined union unless unsafe use using var void when where while with yield then fi esac done local echo " +
  "select from where insert update create table").split(" "));

const HASH = /\.(py|rb|sh|bash|zsh|toml|ya?ml|r|pl|conf|cfg|ini|nix|ex|exs|tf|mk|dockerfile)$|(^|\/)(Makefile|Dockerfile|\.[^/]*)$/i;
const DASHES = /\.(sql|lua|hs|elm|ada)$/i;
const PLAIN = /\.(txt|md|markdown|log|csv|tsv|plan|chat|rst|adoc)$|(^|\/)(README|LICENSE|CHANGELOG)[^/]*$/i;

const STRINGS = String.raw`"(?:[^"\\]|\\.)*"?|'(?:[^'\\]|\\.)*'?|\x60(?:[^\x60\\]|\\.)*\x60?`;
const REST = String.raw`|\b\d[\d_.a-fxA-FX]*\b|[A-Za-z_]\w*`;
const PATTERNS = {
  hash: new RegExp(`#.*|${STRINGS}${REST}`, "g"),
  dashes: new RegExp(`--.*|${STRINGS}${REST}`, "g"),
  slashes: new RegExp(String.raw`\/\/.*|\/\*.*?(?:\*\/|$)|^\s*\*.*|${STRINGS}${REST}`, "g"),
};

/** What a file is coloured by, or null for a text without colours. @param {string} path */
export function languageOf(path) {
  if (PLAIN.test(path)) return null;
  return HASH.test(path) ? PATTERNS.hash : DASHES.test(path) ? PATTERNS.dashes : PATTERNS.slashes;
}

/**
 * @param {string} line
 * @param {RegExp | null} language
 * @returns {Token[]}
 */
export function tokens(line, language) {
  if (!language || line.length > 600) return [{ kind: "", text: line }];
  /** @type {Token[]} */
  const found = [];
  let at = 0;
  for (const match of line.matchAll(language)) {
    const text = match[0];
    const kind = kindOf(text);
    if (kind === "" || text === "") continue;
    if (match.index > at) found.push({ kind: "", text: line.slice(at, match.index) });
    found.push({ kind, text });
    at = match.index + text.length;
  }
  if (at < line.length) found.push({ kind: "", text: line.slice(at) });
  return found;
}

/** @param {string} text @returns {Token["kind"]} */
function kindOf(text) {
  if (/^(#|\/\/|\/\*|--|\s*\*)/.test(text)) return "comment";
  if (/^["'`]/.test(text)) return "string";
  if (/^\d/.test(text)) return "number";
  return WORDS.has(text) ? "word" : "";
}
