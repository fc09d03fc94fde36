/**
 * Brackets, commas and colons of JSON: parsed, it takes up to 150 bytes for each, whatever its length. V8 ends the whole
 * process where parsing takes more than there is. All that a megabyte can hold is within it.
 */
export const MOST_JSON_MARKS = 750_000;

export type JsonBody =
  | { readonly kind: "json"; readonly value: unknown }
  | { readonly kind: "empty" | "not_utf8" | "not_json" | "too_deep" | "too_many" };

/** Deeper JSON is an attack: V8 takes a tenth of a second for a megabyte of brackets, and delays all polls. */
export const MOST_LEVELS = 1_000;

const UTF8 = new TextDecoder("utf-8", { fatal: true });

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** A byte order mark is allowed. */
export function readJson(body: Uint8Array): JsonBody {
  let text: string;
  try {
    text = UTF8.decode(body);
  } catch {
    return { kind: "not_utf8" };
  }
  return parseJson(text);
}

export function parseJson(text: string): JsonBody {
  // As many levels need as many characters.
  const excess = text.length > MOST_LEVELS ? excessOf(text) : undefined;
  if (excess !== undefined) return { kind: excess };
  try {
    return { kind: "json", value: JSON.parse(text) };
  } catch {
    return { kind: /^[ \t\r\n]*$/.test(text) ? "empty" : "not_json" };
  }
}

function excessOf(text: string): "too_deep" | "too_many" | undefined {
  let [levels, marks] = [0, 0];
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfString(text, at);
    } else if (code === 0x5b || code === 0x7b) {
      levels += 1;
      marks += 1;
      if (levels > MOST_LEVELS) return "too_deep";
    } else if (code === 0x5d || code === 0x7d) {
      levels -= 1;
    } else if (code === 0x2c || code === 0x3a) {
      marks += 1;
    }
  }
  return marks > MOST_JSON_MARKS ? "too_many" : undefined;
}

/** Where the string that begins here ends: at a quote that no odd number of backslashes is before. */
function endOfString(text: string, from: number): number {
  for (let at = text.indexOf('"', from + 1); at !== -1; at = text.indexOf('"', at + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(at - 1 - backslashes) === BACKSLASH) backslashes += 1;
    if (backslashes % 2 === 0) return at;
  }
  return text.length;
}

/** Undefined where it is no JSON. */
export function contentOf(body: JsonBody): unknown {
  return body.kind === "json" ? body.value : undefined;
}
