/** Text from outside, made safe to print on one line of a log, a page or a terminal. */

const DETAIL_MAX_CHARS = 300;

/** Controls, format characters (bidi overrides, zero widths, tags), line separators, lone surrogates. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const NAMED: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** An escape that was cut in half. */
const HALF_ESCAPE = /\\(?:u(?:[0-9a-f]{0,3}|\{[0-9a-f]*))?$/;

function escapeCharacter(character: string): string {
  const named = NAMED[character];
  if (named !== undefined) return named;
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, "0")}`;
}

/** Backslashes stay as they are, so escaped text passes unchanged. */
export function escapeText(text: string): string {
  return text.replace(UNSAFE, escapeCharacter);
}

/** At most `maxChars` UTF-16 units, the mark of the cut included; no pair of surrogates and no escape is halved. */
export function capText(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  if (maxChars < 1) return "";
  const kept = text.slice(0, maxChars - 1).replace(/[\uD800-\uDBFF]$/, "");
  return `${kept.replace(HALF_ESCAPE, "")}…`;
}

/** Escaping makes no text shorter: what would be cut is not escaped. */
export function oneLine(text: string, maxChars: number = DETAIL_MAX_CHARS): string {
  return capText(escapeText(text.slice(0, maxChars + 1)), maxChars);
}

/** Anything can be thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** As Node.js names what failed: ENOENT, ECONNRESET, ERR_… */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null || !("code" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

export function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
