export type JsonBody =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "empty" | "not_utf8" | "not_json" | "too_deep" };

/** Deeper JSON is an attack: V8 takes a tenth of a second for a megabyte of brackets, and delays all polls. */
export const MOST_LEVELS = 1_000;

const UTF8 = new TextDecoder("utf-8", { fatal: true });

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A byte order mark is allowed. */
export function readJson(body: Uint8Array): JsonBody {
  // As many levels need as many bytes.
  if (body.length > MOST_LEVELS && isDeeperThan(MOST_LEVELS, body)) return { kind: "too_deep" };
  let text: string;
  try {
    text = UTF8.decode(body);
  } catch {
    return { kind: "not_utf8" };
  }
  try {
    return { kind: "json", value: JSON.parse(text) };
  } catch {
    return { kind: /^[ \t\r\n]*$/.test(text) ? "empty" : "not_json" };
  }
}

/** Bytes that are part of a longer UTF-8 sequence are never brackets or quotes. */
function isDeeperThan(mostLevels: number, body: Uint8Array): boolean {
  let levels = 0;
  let isInString = false;
  for (let index = 0; index < body.length; index += 1) {
    const byte = body[index];
    if (isInString) {
      if (byte === BACKSLASH) index += 1;
      else if (byte === QUOTE) isInString = false;
    } else if (byte === QUOTE) {
      isInString = true;
    } else if (byte === 0x5b || byte === 0x7b) {
      levels += 1;
      if (levels > mostLevels) return true;
    } else if (byte === 0x5d || byte === 0x7d) {
      levels -= 1;
    }
  }
  return false;
}
