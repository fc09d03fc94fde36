import type { AdvertisedLimit } from "./reading.ts";

/** Splits a header value and trims its parts. Quoted text is not split. */
export function splitOutsideQuotes(text: string, separator: "," | ";"): readonly string[] {
  const parts: string[] = [];
  let from = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at++) {
    const char = text[at];
    if (char === "\\" && isQuoted) at++;
    else if (char === '"') isQuoted = !isQuoted;
    else if (char === separator && !isQuoted) {
      parts.push(text.slice(from, at).trim());
      from = at + 1;
    }
  }
  parts.push(text.slice(from).trim());
  return parts;
}

/** Undefined if one part cannot be read. */
export function readAll<Part, Read>(
  parts: readonly Part[],
  read: (part: Part) => Read | undefined,
): readonly Read[] | undefined {
  const all: Read[] = [];
  for (const part of parts) {
    const value = read(part);
    if (value === undefined) return undefined;
    all.push(value);
  }
  return all;
}

/** A limit of 0 is not accepted: with no request at all, nobody would see it rise again. */
function limitOf(text: string): number | undefined {
  const number = Math.floor(plainNumberOf(text) ?? 0);
  return number >= 1 ? number : undefined;
}

function windowMsOf(parameters: readonly string[]): number | "none" | undefined {
  for (const parameter of parameters) {
    const [key, value] = parameter.split("=", 2);
    if (key !== "w" && key !== "window") continue;
    const seconds = plainNumberOf(value ?? "");
    return seconds === undefined || seconds <= 0 ? undefined : seconds * 1000;
  }
  return "none";
}

function advertisedOf(text: string): AdvertisedLimit | undefined {
  const [number, ...parameters] = splitOutsideQuotes(text, ";");
  const requests = limitOf(number ?? "");
  const window = windowMsOf(parameters);
  if (requests === undefined || window === undefined) return undefined;
  return { requests, perMs: window === "none" ? undefined : window };
}

/** `100`, or policies as in older drafts: `100, 100;w=60, 5000;w=3600;comment="daytime"`. */
export function limitsOf(text: string): readonly AdvertisedLimit[] | undefined {
  return readAll(splitOutsideQuotes(text, ","), advertisedOf);
}

const PLAIN_NUMBER = /^\d{1,15}(?:\.\d{1,9})?$/;

/** A number as headers write it: digits, perhaps with a fraction; no sign, no exponent, at most 15 digits. */
export function plainNumberOf(text: string): number | undefined {
  return PLAIN_NUMBER.test(text) ? Number(text) : undefined;
}
