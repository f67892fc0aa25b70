// SHA-256 of a text. The browser's own is only there on loopback and with TLS, and answers later.

/** The first 32 bits of the fractional parts of the roots of the first primes. @param {number} power @param {number} count */
function constants(power, count) {
  const found = [];
  for (let n = 2; found.length < count; n++) {
    let isPrime = true;
    for (let d = 2; d * d <= n; d++) if (n % d === 0) isPrime = false;
    if (isPrime) found.push(Math.floor((n ** power % 1) * 2 ** 32));
  }
  return found;
}

const START = constants(1 / 2, 8);
const ROUNDS = Uint32Array.from(constants(1 / 3, 64));

/** @param {number} word @param {number} by */
const rotate = (word, by) => (word >>> by) | (word << (32 - by));

/** @param {string} text @returns {string} 64 hexadecimal digits */
export function sha256(text) {
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(((bytes.length + 72) >> 6) << 6);
  padded.set(bytes);
  padded[bytes.length] = 0x80;
  const view = new DataView(padded.buffer);
  view.setUint32(padded.length - 8, Math.floor(bytes.length / 2 ** 29));
  view.setUint32(padded.length - 4, (bytes.length << 3) >>> 0);
  const state = Uint32Array.from(START);
  const words = new Uint32Array(64);
  const at = (/** @type {Uint32Array} */ list, /** @type {number} */ i) => /** @type {number} */ (list[i]);
  for (let block = 0; block < padded.length; block += 64) {
    for (let i = 0; i < 16; i++) words[i] = view.getUint32(block + i * 4);
    for (let i = 16; i < 64; i++) {
      const [a, b] = [at(words, i - 15), at(words, i - 2)];
      words[i] = at(words, i - 16) + (rotate(a, 7) ^ rotate(a, 18) ^ (a >>> 3)) + at(words, i - 7) + (rotate(b, 17) ^ rotate(b, 19) ^ (b >>> 10));
    }
    let [a, b, c, d, e, f, g, h] = /** @type {[number, number, number, number, number, number, number, number]} */ (/** @type {unknown} */ ([...state]));
    for (let i = 0; i < 64; i++) {
      const first = (h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + at(ROUNDS, i) + at(words, i)) | 0;
      const second = ((rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0;
      [h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, i) => (state[i] = at(state, i) + word));
  }
  return [...state].map((word) => word.toString(16).padStart(8, "0")).join("");
}
