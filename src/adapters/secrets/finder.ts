import { SEARCHED_TEXT_CHARS, searchedChars } from "../../core/exchange/bounds.ts";
import { capText } from "../../core/text/escape.ts";
import { keepNewest } from "../../core/text/remembered.ts";

/**
 * Keeps keys out of text that others wrote. What is kept of an answer is a few hundred characters, so all that it could
 * be decoded to is searched: no list of the ways to write a key is needed, and no expression is made of one.
 */

/** This many characters of a key in a row are found. Fewer could be part of any word. */
const RUN_CHARS = 8;

const HIDDEN = "<secret>";
export const WITHHELD = "<not kept: part of a key is in it, encoded>";

/** Ordinary text has some twenty readings. One with more of them, or with longer ones, was made to have them. */
const MOST_READINGS = 200;
const MOST_SEARCHED = 4;

type Runs = { readonly plain: ReadonlySet<number>; readonly all: ReadonlySet<number> };

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
    const { plain, all } = this.#runsOfSecrets();
    const searched = capText(text, SEARCHED_TEXT_CHARS);
    const budget = { left: searchedChars(searched.length) };
    const hidden = searched
      .split("\n")
      .map((line) => withoutRuns(line, plain))
      .map((line) => (isReadableIn(line, all, budget) ? WITHHELD : line))
      .join("\n");
    keepNewest(this.#searched, text, hidden, MOST_SEARCHED);
    return hidden;
  }

  #runsOfSecrets(): Runs {
    const known = this.#runs?.deref();
    if (known !== undefined) return known;
    const plain = runsOf(this.#secrets.map(inSmallLetters));
    const runs = { plain, all: runsOf(this.#secrets.flatMap(formsOf)) };
    this.#runs = new WeakRef(runs);
    return runs;
  }
}

/** `budget`: so many characters of readings are searched in one text. What is left unsearched counts as readable. */
function isReadableIn(text: string, runs: ReadonlySet<number>, budget: { left: number }): boolean {
  if (text.length < RUN_CHARS) return false;
  const readings = new Set([text]);
  // The loop also reads what it adds. It ends, as each decoding is shorter than its source.
  for (const reading of readings) {
    budget.left -= reading.length;
    if (budget.left < 0) return true;
    if (formsOf(reading).some((form) => hasRun(form, (hash) => runs.has(hash)))) return true;
    for (const decode of DECODERS) {
      for (const decoded of decode(reading)) if (decoded.length >= RUN_CHARS) readings.add(decoded);
    }
    if (readings.size > MOST_READINGS) return true;
  }
  return false;
}

/** In small letters, without what wraps lines or is put between characters; and without signs, which have the most ways to be written. */
function formsOf(text: string): readonly string[] {
  const lower = text.toLowerCase().replaceAll(/[^!-~]+/g, "");
  return [lower, lower.replaceAll(/[^a-z0-9]+/g, "")];
}

function withoutRuns(text: string, runs: ReadonlySet<number>): string {
  let [kept, keptTo] = ["", 0];
  hasRun(inSmallLetters(text), (hash, at) => {
    if (!runs.has(hash)) return false;
    // Runs that overlap or touch are one.
    if (at > keptTo || kept === "") kept += `${text.slice(keptTo, at)}${HIDDEN}`;
    keptTo = at + RUN_CHARS;
    return false;
  });
  return kept + text.slice(keptTo);
}

/** Keeps the length. Names of headers arrive in small letters. */
function inSmallLetters(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

function runsOf(texts: readonly string[]): ReadonlySet<number> {
  const runs = new Set<number>();
  for (const text of texts) hasRun(text, (hash) => void runs.add(hash));
  return runs;
}

const BASE = 0x01000193;
const BASE_OF_RUN = Array.from({ length: RUN_CHARS }, () => BASE).reduce((a, b) => Math.imul(a, b), 1);

/**
 * A rolling hash (Rabin-Karp): the hash of each run follows from that of the run before it, so no strings are cut. Two
 * different runs share a hash of 32 bits once in four thousand million.
 */
function hasRun(text: string, isTheOne: (hash: number, at: number) => boolean | void): boolean {
  let hash = 0;
  for (let end = 0; end < text.length; end += 1) {
    const leaving = end < RUN_CHARS ? 0 : Math.imul(text.charCodeAt(end - RUN_CHARS), BASE_OF_RUN);
    hash = (Math.imul(hash, BASE) + text.charCodeAt(end) - leaving) | 0;
    if (end >= RUN_CHARS - 1 && isTheOne(hash, end - RUN_CHARS + 1) === true) return true;
  }
  return false;
}

type Decoder = (text: string) => readonly string[];

/** One level of each. They are applied to each other's results until nothing new comes. */
const DECODERS: readonly Decoder[] = [
  (text) => [text.replaceAll(/%(?:u00)?([0-9a-f]{2})/gi, (_, hex: string) => fromHex(hex))],
  unescapeBackslashes,
  unescapeEntities,
  (text) => [text.replaceAll(/=(?:[ \t]*\r?\n|([0-9a-f]{2}))/gi, (_, hex?: string) => fromHex(hex))],
  // Pages put these into long words, so that they can be wrapped.
  (text) => [text.replaceAll(/<[^<>]*>/g, "")],
  // Also from the middle of a run, as what is before it may not belong to it. Lists and lines of pieces are joined, whatever is between them.
  (text) => decodeRuns(text.replaceAll(/[^!-~]+|["',]+/g, ""), /[a-z0-9+/_-]{11,}/gi, 4, "base64"),
  // However its bytes are marked or kept apart: 0x74, \x{74}, \u{74}, \U00000074, 74h, "74", <74>.
  (text) => decodeRuns(text.replaceAll(/0x|[^a-z0-9]+|[uxh]/gi, ""), /[0-9a-f]{16,}/gi, 2, "hex"),
  // Words are not joined, as any text would be one run.
  (text) => decodeRuns(text.replaceAll(/[^\s!-~]+/g, ""), /[a-z2-7]{13,}/gi, 8, "base32"),
  (text) => [codesIn(text, /\d+/g, 10)],
  (text) => [codesIn(text, /[0-7]+/g, 8)],
  (text) => [codesIn(text, /[01]{7,8}/g, 2)],
];

function codesIn(text: string, pattern: RegExp, base: number): string {
  return (text.match(pattern) ?? []).map((code) => fromCode(Number.parseInt(code, base))).join("");
}

/** As in JSON, in strings of most languages, and in the same once more. */
function unescapeBackslashes(text: string): readonly string[] {
  // Only from the first of several backslashes, or many in a row would each be tried with all after them.
  const pattern =
    /(?<!\\)\\+(?:u(?:\{([0-9a-f]{1,6})\}|([0-9a-f]{4}))|x([0-9a-f]{2})|([0-3][0-7]{2})|[nrt])|\\(["'/\\])/gi;
  const character = (
    _: string,
    point?: string,
    unit?: string,
    byte?: string,
    octal = "",
    sign = "",
  ): string =>
    sign || (octal === "" ? fromHex(point ?? unit ?? byte) : String.fromCharCode(Number.parseInt(octal, 8)));
  return [text.replaceAll(pattern, character)];
}

const ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Their last sign may be missing. Of the many names of signs those five are known, the others are left out. */
function unescapeEntities(text: string): readonly string[] {
  const pattern =
    /&(?:(amp|lt|gt|quot|apos);?|#0*(\d{1,3});|#x0*([0-9a-f]{1,2});|#?\w{2,24};|#0*(1[0-2]\d|[3-9]\d)|#x0*([2-7][0-9a-f]))/gi;
  const character = (_: string, name = "", code = "", hex = "", openCode = "", openHex = ""): string => {
    if (name !== "") return ENTITIES[name.toLowerCase()] ?? "";
    const digits = code || openCode;
    return digits === "" ? fromHex(hex || openHex) : fromCode(Number(digits));
  };
  return [text.replaceAll(pattern, character)];
}

/** A line feed, which no form contains, where there are no digits. */
function fromHex(digits = ""): string {
  return digits === "" ? "\n" : String.fromCharCode(Number.parseInt(digits, 16));
}

/** A key consists of ASCII's letters, digits and signs. */
function fromCode(code: number): string {
  return code >= 0x20 && code <= 0x7e ? String.fromCharCode(code) : "";
}

function decodeRuns(
  text: string,
  pattern: RegExp,
  offsets: number,
  encoding: "base64" | "hex" | "base32",
): readonly string[] {
  const runs = text.match(pattern);
  if (runs === null) return [];
  return Array.from({ length: offsets }, (_, offset) =>
    runs.map((run) => decodeRun(run.slice(offset), encoding)).join("\n"),
  );
}

function decodeRun(run: string, encoding: "base64" | "hex" | "base32"): string {
  if (encoding !== "base32") return Buffer.from(run, encoding).toString("latin1");
  const bytes: number[] = [];
  let [bits, length] = [0, 0];
  for (const digit of run.toLowerCase()) {
    bits = (bits << 5) | "abcdefghijklmnopqrstuvwxyz234567".indexOf(digit);
    length += 5;
    if (length < 8) continue;
    length -= 8;
    bytes.push((bits >> length) & 0xff);
  }
  return String.fromCharCode(...bytes);
}
