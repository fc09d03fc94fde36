import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { fileURLToPath } from "node:url";

/** The last part of a line of a stack trace. */
const PLACE = /(file:\/\/\/[^)\s]+\.m?js):(\d+):(\d+)/;

/** By the file that they are of; undefined for one that has none. */
const maps = new Map<string, SourceMap | undefined>();

/**
 * Stack traces of the bundle name the sources. Node.js can do this by itself, but it reads every map at the start and keeps
 * it, which takes 2 MB and a fifteenth of the start; here a map is read when a stack trace is.
 */
export function nameSourcesInStackTraces(): void {
  Error.prepareStackTrace = (error, frames) => {
    // V8 writes a frame as it does in a stack trace; its type does not say so.
    // oxlint-disable-next-line typescript/no-base-to-string
    const lines = frames.map((frame) => `\n    at ${frame.toString().replace(PLACE, withSource)}`);
    return `${headOf(error)}${lines.join("")}`;
  };
}

function headOf(error: Error): string {
  try {
    return String(error);
  } catch {
    return "Error";
  }
}

function withSource(place: string, file: string, line: string, column: string): string {
  if (!maps.has(file)) maps.set(file, mapOf(file));
  const entry = maps.get(file)?.findEntry(Number(line) - 1, Number(column) - 1);
  if (entry === undefined || !("originalSource" in entry)) return place;
  const source = entry.originalSource.replace(/^(?:\.\.\/)+/, "");
  return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
}

function mapOf(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(file)}.map`, "utf8")));
  } catch {
    return undefined;
  }
}
