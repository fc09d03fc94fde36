/**
 * Finds a key in any text, without knowing what the code under test looks for: the text is decoded in every way that
 * anybody could decode it, and in what comes out a part of the key is searched that looks the same in every alphabet.
 */

import { WRITINGS } from "../../support/written.ts";

const BASE64_RUN = /[A-Za-z0-9+/_-]{12,}/g;

const NAMED_ENTITIES: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** Which of these cores show in the text, each with the name of the reading that shows it; empty for none. */
export function tracesOf(cores: readonly string[], text: string): readonly string[] {
  return [...readings(text)].flatMap(([name, reading]) => {
    const small = reading.toLowerCase();
    return cores.filter((core) => small.includes(core.toLowerCase())).map((core) => `${core}, read ${name}`);
  });
}

/** Which of these keys show in the text as the echoes write them: the middle of what they wrote is there. */
export function echoesIn(keys: readonly string[], text: string): readonly string[] {
  const readings = text.includes("&") ? [text, unescapeHtml(text)] : [text];
  const shown = readings.map((reading) => squeezed(reading.replaceAll(/\\+(?:[rn]|u0000|u\{e0001\})/g, "")));
  return keys.flatMap((key) => {
    const middles = middlesOf.get(key) ?? Object.entries(WRITINGS).map(middleOf(key));
    middlesOf.set(key, middles);
    return middles
      .filter(([, middle]) => shown.some((reading) => reading.includes(middle)))
      .map(([name]) => `${key}, ${name}`);
  });
}

type Middle = readonly [name: string, middle: string];

const middlesOf = new Map<string, readonly Middle[]>();

const middleOf =
  (key: string) =>
  ([name, write]: readonly [string, (text: string) => string]): Middle => {
    const written = squeezed(write(key));
    return [name, written.slice(Math.floor(written.length / 3), Math.ceil((written.length * 2) / 3))];
  };

function squeezed(text: string): string {
  return text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "");
}

function* readings(text: string): Generator<readonly [name: string, text: string]> {
  const unescaped = unescapeJson(text);
  const decoded = percentDecode(unescaped);
  yield ["as it is", text];
  yield ["without escapes", unescaped];
  yield ["without entities", unescapeHtml(text)];
  yield ["percent-decoded", decoded];
  yield ["percent-decoded twice", percentDecode(decoded)];
  for (const source of new Set([text, unescaped, decoded])) {
    const runs = source.match(BASE64_RUN) ?? [];
    for (const offset of [0, 1, 2, 3]) yield [`from base64, at ${offset}`, decodeRuns(runs, offset)];
  }
}

function unescapeJson(text: string): string {
  return text
    .replace(/\\u([0-9a-f]{4})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    .replace(/\\(["\\/])/g, "$1");
}

function unescapeHtml(text: string): string {
  return text.replace(
    /&(?:#x([0-9a-f]+)|#(\d+)|([a-z]+));/gi,
    (whole, hex?: string, digits?: string, name?: string) => {
      if (name !== undefined) return NAMED_ENTITIES[name] ?? whole;
      return String.fromCodePoint(hex === undefined ? Number(digits) : Number.parseInt(hex, 16));
    },
  );
}

function percentDecode(text: string): string {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}

function decodeRuns(runs: readonly string[], offset: number): string {
  return runs.map((run) => Buffer.from(run.slice(offset), "base64").toString("latin1")).join("\n");
}
