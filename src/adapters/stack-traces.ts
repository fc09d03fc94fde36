import { readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { fileURLToPath } from "node:url";

/** The last part of a line of a stack trace. */
const PLACE = /(file:\/\/\/[^)\s]+\.m?js):(\d+):(\d+)/;

/**
 * Stack traces of the bundle name the sources. Node.js could do this by itself, but it keeps every map in memory from the
 * start (8 MB); here a map is read when a stack trace is.
 */
export function nameSourcesInStackTraces(): void {
  const maps = new Map<string, SourceMap | undefined>();
  Error.prepareStackTrace = (error, frames) => {
    // V8 writes a frame as it does in a stack trace; its type does not say so.
    // oxlint-disable-next-line typescript/no-base-to-string
    const lines = frames.map((frame) => `\n    at ${withSource(frame.toString(), maps)}`);
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

function withSource(frame: string, maps: Map<string, SourceMap | undefined>): string {
  return frame.replace(PLACE, (place, file: string, line: string, column: string) => {
    if (!maps.has(file)) maps.set(file, readMap(file));
    const entry = maps.get(file)?.findEntry(Number(line) - 1, Number(column) - 1);
    if (entry === undefined || !("originalSource" in entry)) return place;
    const source = entry.originalSource.replace(/^(?:\.\.\/)+/, "");
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`;
  });
}

/** Undefined for a file that has none. */
function readMap(file: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(`${fileURLToPath(file)}.map`, "utf8")));
  } catch {
    return undefined;
  }
}
