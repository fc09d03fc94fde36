/** Something that is wrong with a config, and where: line and column count from 1. */
export type Fault = {
  readonly file: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
};

export function formatFault({ file, line, column, message }: Fault): string {
  return `${file}:${line}:${column}: ${message}`;
}

export function byPlace(a: Fault, b: Fault): number {
  return a.line - b.line || a.column - b.column || (a.message < b.message ? -1 : 1);
}
