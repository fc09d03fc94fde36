import { oneLine } from "../../core/text/escape.ts";

const LONGEST_VALUE = 1000;
const DIM = 2;
const LEVEL_COLOURS: ReadonlyMap<unknown, number> = new Map([
  ["trace", DIM],
  ["debug", 36],
  ["info", 32],
  ["warn", 33],
  ["error", 31],
]);

/** One JSON line of the log, as people read it at a terminal: time, level, message, fields. */
export function prettyLine(json: string, hasColours: boolean): string {
  const entry: Readonly<Record<string, unknown>> = JSON.parse(json);
  const { time, level, msg, ...fields } = entry;
  const paint = (code: number, text: string): string =>
    hasColours ? `\u001b[${code}m${text}\u001b[0m` : text;
  const parts = [
    paint(DIM, shown(time).slice(11, 23)),
    paint(LEVEL_COLOURS.get(level) ?? 0, shown(level).toUpperCase().padEnd(5)),
    oneLine(shown(msg), [], LONGEST_VALUE),
    ...Object.entries(fields).map(([name, value]) => paint(DIM, `${name}=`) + quoted(value)),
  ];
  return `${parts.join(" ")}\n`;
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value ?? "");
}

/** In quotes where a reader could not tell the value's end. */
function quoted(value: unknown): string {
  const text = shown(value);
  return oneLine(
    typeof value === "string" && /[\s"=]|^$/.test(text) ? JSON.stringify(text) : text,
    [],
    LONGEST_VALUE,
  );
}
