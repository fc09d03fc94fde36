import { redact } from "../../core/text/escape.ts";

/**
 * Finds secrets in text that others wrote: unchanged, in base64, or with any of their characters escaped as in a URL, in
 * JSON or in HTML.
 */
export class SecretFinder {
  readonly isEmpty: boolean;
  readonly #literals: readonly string[];
  /** A part of each secret that no escaping changes. A text without any of them needs no expression at all. */
  readonly #marks: readonly string[];
  readonly #escapable: readonly string[];
  #patterns: readonly RegExp[] | undefined;

  constructor(secrets: readonly string[]) {
    const known = [...new Set(secrets)].filter((secret) => secret !== "");
    this.isEmpty = known.length === 0;
    this.#literals = known.flatMap((secret) => [secret, ...base64FormsOf(secret)]);
    // The longest first, because one secret may contain another.
    this.#escapable = known.filter(canBeMatched).sort((a, b) => b.length - a.length);
    this.#marks = this.#escapable.map(markOf);
  }

  isIn(text: string): boolean {
    return (
      this.#literals.some((literal) => text.includes(literal)) ||
      this.#patternsFor(text).some((pattern) => text.search(pattern) !== -1)
    );
  }

  hide(text: string): string {
    const left = redact(text, this.#literals);
    return this.#patternsFor(left).reduce((rest, pattern) => rest.replace(pattern, "<secret>"), left);
  }

  #patternsFor(text: string): readonly RegExp[] {
    const lower = text.toLowerCase();
    if (!this.#marks.some((mark) => lower.includes(mark))) return [];
    // Case is ignored, because header names arrive in lower case.
    this.#patterns ??= this.#escapable.map(
      (secret) => new RegExp(Array.from(secret, writingsOf).join(""), "gi"),
    );
    return this.#patterns;
  }
}

/** The longest part that no escaping changes, in lower case. */
function markOf(secret: string): string {
  const parts = secret.match(/[A-Za-z0-9]+/g) ?? [];
  return parts.reduce((longest, part) => (part.length > longest.length ? part : longest), "").toLowerCase();
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "amp",
  "<": "lt",
  ">": "gt",
  '"': "quot",
  "'": "apos",
};

/** The expression of a longer secret may not compile, and the error would print all of it. */
const MATCHED_MAX_CHARS = 512;
/** One, two or four backslashes may stand for each: with more of them, the ways to read a text would multiply. */
const BACKSLASHES_MAX = 6;

function canBeMatched(secret: string): boolean {
  return secret.length <= MATCHED_MAX_CHARS && secret.split("\\").length - 1 <= BACKSLASHES_MAX;
}

function writingsOf(character: string): string {
  if (/[A-Za-z0-9]/.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  // "25" is an escaped percent sign: a URL inside a URL.
  const inUrl = Array.from(Buffer.from(character), (byte) => `%(?:25)*${hex(byte, 2)}`).join("");
  const entity = ENTITIES[character];
  const writings = [
    inUrl,
    String.raw`\\{1,3}u${hex(code, 4)}`,
    `&(?:amp;)*#(?:0*${code}|x0*${hex(code, 1)});`,
    ...(entity === undefined ? [] : [`&(?:amp;)*${entity};`]),
    ...(character === " " ? [String.raw`\+`] : []),
    ...(character === "\\" ? [String.raw`\\\\\\\\`, String.raw`\\\\`] : []),
    (character === "/" || character === '"' ? String.raw`\\{0,3}` : "") + literally(character),
  ];
  return `(?:${writings.join("|")})`;
}

function hex(number: number, digits: number): string {
  return number.toString(16).padStart(digits, "0");
}

function literally(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}

/** A shorter form could be part of any word. */
const BASE64_MIN_CHARS = 8;

/**
 * In base64 a secret looks different at each of three offsets (as in `user:secret`). Only the characters that do not
 * depend on a neighbouring byte are certain.
 */
function base64FormsOf(secret: string): readonly string[] {
  const forms = [0, 1, 2].flatMap((offset) => {
    const bytes = Buffer.concat([Buffer.alloc(offset), Buffer.from(secret)]);
    const from = offset === 0 ? 0 : offset + 1;
    const to = Math.floor((bytes.length * 8) / 6);
    return (["base64", "base64url"] as const).map((alphabet) => bytes.toString(alphabet).slice(from, to));
  });
  const whole = Buffer.from(secret).toString("base64");
  const distinct = new Set([whole, whole.replace(/=+$/, ""), ...forms]);
  return [...distinct].filter((form) => form.length >= BASE64_MIN_CHARS);
}
