import { escapeText } from "../../core/text/escape.ts";

/** Something that is wrong with a config, and where: line and column count from 1. */
export type Fault = {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
};

/** One line: a config may hold any characters, and a fault repeats some of them. */
export function formatFault({ file, line, column, message }: Fault): string {
  return escapeText(`${file}:${line}:${column}: ${message}`);
}

export function byPlace(a: Fault, b: Fault): number {
  return a.line - b.line || a.column - b.column || (a.message < b.message ? -1 : 1);
}
