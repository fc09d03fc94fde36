import { redact } from "../../core/text/escape.ts";

/**
 * Takes secrets out of text that others wrote: as they are, with each of their signs escaped as a URL, JSON or a page
 * would, in any mixture, and in base64.
 */
export class SecretFinder {
  readonly isEmpty: boolean;
  readonly #literals: readonly string[];
  /** What no writing of a secret lacks: where none of it is found, no expression need be made, let alone be run. */
  readonly #marks: readonly string[];
  readonly #takenApart: readonly string[];
  #patterns: readonly RegExp[] | undefined;

  constructor(secrets: readonly string[]) {
    const known = [...new Set(secrets)].filter((secret) => secret !== "");
    this.isEmpty = known.length === 0;
    this.#literals = known.flatMap((secret) => [secret, ...base64FormsOf(secret)]);
    // The longest first, as one secret may contain another.
    this.#takenApart = known.filter(canBeTakenApart).sort((a, b) => b.length - a.length);
    this.#marks = this.#takenApart.map(markOf);
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
    // In any case, as the names of headers come in small letters.
    this.#patterns ??= this.#takenApart.map(
      (secret) => new RegExp(Array.from(secret, writingsOf).join(""), "gi"),
    );
    return this.#patterns;
  }
}

/** The longest of its parts that are always written as they are, if in another case. */
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

/** A larger expression than this makes could not be compiled, and the error would print all of it. */
const LONGEST_TAKEN_APART = 512;
/** One, two or four of them may stand for each: with more of them, the ways to read a text would multiply. */
const MOST_BACKSLASHES = 6;

function canBeTakenApart(secret: string): boolean {
  return secret.length <= LONGEST_TAKEN_APART && secret.split("\\").length - 1 <= MOST_BACKSLASHES;
}

function writingsOf(character: string): string {
  if (/[A-Za-z0-9]/.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  // "25" is an escaped percent sign: a URL inside of a URL.
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

/** Where a form is too short it could be part of any word. */
const SHORTEST_BASE64 = 8;

/**
 * In base64 a secret looks different at each of three offsets (think of `user:secret`); what is certain of it
 * are the characters that no neighbouring byte reaches into.
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
  return [...distinct].filter((form) => form.length >= SHORTEST_BASE64);
}
