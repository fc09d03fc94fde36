import { MOST_JSON_MARKS } from "./bounds.ts";

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
  // As many levels need as many bytes.
  const excess = body.length > MOST_LEVELS ? excessOf(body) : undefined;
  if (excess !== undefined) return { kind: excess };
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

/** Bytes that are part of a longer UTF-8 sequence are never brackets, commas or quotes. */
function excessOf(body: Uint8Array): "too_deep" | "too_many" | undefined {
  let [levels, marks] = [0, 0];
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
      marks += 1;
      if (levels > MOST_LEVELS) return "too_deep";
    } else if (byte === 0x5d || byte === 0x7d) {
      levels -= 1;
    } else if (byte === 0x2c || byte === 0x3a) {
      marks += 1;
    }
  }
  return marks > MOST_JSON_MARKS ? "too_many" : undefined;
}
