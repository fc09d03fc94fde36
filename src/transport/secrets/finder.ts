import { capText } from "../../kernel/text/escape.ts";
import { keepNewest } from "../../platform/remembered.ts";

/** So much of one text is searched, and so many characters of what it can be decoded to for each of its own. */
export const SEARCHED_TEXT_CHARS = 4_000;
const SEARCHED_PER_CHAR = 12;
/** A short text may be encoded many times over. */
const SEARCHED_LEAST_CHARS = 10_000;

export function searchedChars(textChars: number): number {
  return Math.max(SEARCHED_LEAST_CHARS, SEARCHED_PER_CHAR * textChars);
}

/**
 * Keeps keys out of text that others wrote. A key is found as it is, and in whatever the text can be decoded to by the
 * spellings below, one within another too, with white space anywhere between.
 */

/** This many characters of a key in a row are found. Fewer could be part of any word. */
const RUN_CHARS = 8;

const HIDDEN = "<secret>";
export const WITHHELD = "<not kept: part of a key is in it, encoded>";

/** Ordinary text has a dozen readings. One with more of them, or with longer ones, was made to have them. */
const MOST_READINGS = 200;
const MOST_SEARCHED = 4;

/**
 * How a character is written in URLs, quoted-printable, JSON and HTML; in braces, as we write what nobody sees. What names
 * none that a key may have is white space.
 */
const ESCAPES: readonly RegExp[] = [
  /%(?<hex>[0-9a-f]{2})/gi,
  /=(?:(?<hex>[0-9a-f]{2})|[ \t]*\r?\n)/gi,
  /\\(?:(?:u00|x)(?<hex>[0-9a-f]{2})|u\{(?<hex>[0-9a-f]{1,6})\}|(?<sign>["'/\\])|[nrt])/gi,
  /&(?:#x0*(?<hex>[0-9a-f]{1,2});?|#0*(?<decimal>\d{1,3});?|(?<sign>amp|lt|gt|quot|apos);)/gi,
];

const SIGNS: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/**
 * How a whole text is written. A run of these characters may begin with some that do not belong to it, so it is read from
 * each place where a byte may begin.
 */
const ENCODINGS = [
  { encoding: "base64", run: /[a-z0-9+/_-]{11,}/gi, places: 4 },
  { encoding: "hex", run: /[0-9a-f]{16,}/gi, places: 2 },
] as const;

type Runs = ReadonlySet<number>;

export class SecretFinder {
  readonly #secrets: readonly string[];
  /** Most failures of one upstream say the same: the last few texts, and what was left of them. */
  readonly #searched = new Map<string, string>();
  /** The runs of a long token take a hundred times its memory: whoever is short of memory may have it back. */
  #runs: WeakRef<Runs> | undefined;

  constructor(secrets: Iterable<string>) {
    this.#secrets = [...new Set(secrets)].filter(({ length }) => length >= RUN_CHARS);
  }

  /**
   * Without any run of a key's characters. A line is left out where any decoding of it has one. A text that is too long
   * to be searched is cut first.
   */
  hide(text: string): string {
    if (this.#secrets.length === 0 || text.length < RUN_CHARS) return text;
    const known = this.#searched.get(text);
    if (known !== undefined) return known;
    const runs = this.#runsOfSecrets();
    const searched = capText(text, SEARCHED_TEXT_CHARS);
    const budget = { left: searchedChars(searched.length) };
    const hidden = searched
      .split("\n")
      .map((line) => withoutRuns(line, runs))
      .map((line) => (isReadableIn(line, runs, budget) ? WITHHELD : line))
      .join("\n");
    keepNewest(this.#searched, text, hidden, MOST_SEARCHED);
    return hidden;
  }

  #runsOfSecrets(): Runs {
    const known = this.#runs?.deref();
    if (known !== undefined) return known;
    const runs = new Set(
      this.#secrets.flatMap((secret) => [...hashesOf(secret), ...hashesOf(withoutSpace(secret))]),
    );
    this.#runs = new WeakRef(runs);
    return runs;
  }
}

/** `budget`: so many characters of readings are searched in one text. What is left unsearched counts as readable. */
function isReadableIn(text: string, runs: Runs, budget: { left: number }): boolean {
  const readings = new Set([text]);
  // The loop also reads what it adds. It ends, as each decoding is shorter than its source.
  for (const reading of readings) {
    budget.left -= reading.length;
    if (budget.left < 0 || readings.size > MOST_READINGS) return true;
    const joined = withoutSpace(reading);
    if (hashesOf(joined).some((hash) => runs.has(hash))) return true;
    for (const escape of ESCAPES) addReading(readings, unescaped(reading, escape));
    for (const { encoding, run, places } of ENCODINGS) {
      const found = joined.match(run) ?? [];
      for (let place = 0; place < places; place += 1) {
        const decoded = found.map((part) => Buffer.from(part.slice(place), encoding).toString("latin1"));
        addReading(readings, decoded.join("\n"));
      }
    }
  }
  return false;
}

function addReading(readings: Set<string>, reading: string): void {
  if (reading.length >= RUN_CHARS) readings.add(reading);
}

function unescaped(text: string, escape: RegExp): string {
  let [read, readTo] = ["", 0];
  for (const { 0: whole, index, groups = {} } of text.matchAll(escape)) {
    const { hex, decimal, sign } = groups;
    const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
    const character = code >= 0x20 && code <= 0x7e ? String.fromCharCode(code) : "\n";
    read +=
      text.slice(readTo, index) + (sign === undefined ? character : (SIGNS[sign.toLowerCase()] ?? sign));
    readTo = index + whole.length;
  }
  return read + text.slice(readTo);
}

function withoutRuns(text: string, runs: Runs): string {
  let [kept, keptTo] = ["", 0];
  for (const [at, hash] of hashesOf(text).entries()) {
    if (!runs.has(hash)) continue;
    // Runs that overlap or touch are one.
    if (at > keptTo || kept === "") kept += `${text.slice(keptTo, at)}${HIDDEN}`;
    keptTo = at + RUN_CHARS;
  }
  return kept + text.slice(keptTo);
}

/** Keeps the length. Names of headers arrive in small letters. */
function inSmallLetters(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Nor anything else that is not seen, or that no key has. */
function withoutSpace(text: string): string {
  return text.replaceAll(/[^!-~]+/g, "");
}

const BASE = 0x01000193;
const BASE_OF_RUN = Array.from({ length: RUN_CHARS }, () => BASE).reduce((a, b) => Math.imul(a, b), 1);

/**
 * The hash of each run, in small letters. It rolls (Rabin-Karp): each follows from the one before it, so no strings are
 * cut, which would take four times as long, 0.1 ms more for each answer that is not ok. Two different runs share a hash of
 * 32 bits once in four thousand million.
 */
function hashesOf(text: string): Int32Array {
  const letters = inSmallLetters(text);
  const hashes = new Int32Array(Math.max(0, letters.length - RUN_CHARS + 1));
  let hash = 0;
  for (let end = 0; end < letters.length; end += 1) {
    const leaving = end < RUN_CHARS ? 0 : Math.imul(letters.charCodeAt(end - RUN_CHARS), BASE_OF_RUN);
    hash = (Math.imul(hash, BASE) + letters.charCodeAt(end) - leaving) | 0;
    if (end >= RUN_CHARS - 1) hashes[end - RUN_CHARS + 1] = hash;
  }
  return hashes;
}
