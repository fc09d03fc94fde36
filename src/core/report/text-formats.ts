/** A report as Markdown, CSV and JSON, in pieces. What an upstream said is hostile: it stays a text in each of them. */

import { jsonPieces } from "../status/pieces.ts";
import { escapeText } from "../text/escape.ts";
import { type Cell, documentOf, figureText, type Part, type Table } from "./document.ts";
import { HOW } from "./how.ts";
import type { Report } from "./report.ts";

export function* markdownOf(report: Report): Generator<string> {
  let level = "#";
  for (const { title, blocks } of documentOf(report)) {
    yield `${level} ${plain(title)}\n\n`;
    level = "##";
    for (const block of blocks)
      yield block.kind === "paragraph" ? `${plain(block.text)}\n\n` : markdownTable(block);
  }
}

function markdownTable({ title, how, columns, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;
  const head = line(columns.map(plain)) + line(columns.map(() => "---"));
  const body = rows.map((row) => line(row.map((cell) => markdownCell(cell)))).join("");
  return `### ${plain(title)}\n\n${how === undefined ? "" : `${plain(how)}\n\n`}${head}${body}\n`;
}

function markdownCell(cell: Cell): string {
  if (typeof cell === "string") return plain(cell);
  // A figure is written without any sign of Markdown.
  return "said" in cell ? cell.said.map(code).join(" ") : figureText(cell);
}

function plain(text: string): string {
  return escapeText(text).replaceAll(/[\\`*_[\]<>|~&#@]/g, String.raw`\$&`);
}

/**
 * Nothing is markup, a link or a mention inside of code; only a table still ends its cells there. Some readers take two
 * backslashes for one: the number of those before a bar is odd.
 */
function code(text: string): string {
  const longest = [...text.matchAll(/`+/g)].reduce((most, [ticks]) => Math.max(most, ticks.length), 0);
  const fence = "`".repeat(longest + 1);
  const inCell = escapeText(text).replaceAll(/(?<!\\)(?:\\\\)*(\\?)\|/g, String.raw`$1\$&`);
  return `${fence} ${inCell} ${fence}`;
}

/** One line for each figure, so that all tables fit into one. How it was computed stands once, under a number. */
export function* csvOf(report: Report): Generator<string> {
  yield `${["about", "table", "row", "figure", "value", "unit", "how"].map(csvCell).join(",")}\r\n`;
  const numbers = new Map<Cell, string>();
  for (const part of documentOf(report)) yield* csvLines(part, numbers);
}

/** Cells that many lines have in common are written once. A year of many upstreams has half a million lines. */
function* csvLines({ title, blocks }: Part, numbers: Map<Cell, string>): Generator<string> {
  for (const block of blocks) {
    if (block.kind === "paragraph") continue;
    const { columns, rows, how } = block;
    const about = [title, block.title].map(csvCell).join(",");
    const figures = columns.slice(1, how === undefined ? -1 : undefined).map(csvCell);
    for (const [first = "", ...cells] of rows) {
      const sentence = how ?? cells.at(-1) ?? "";
      const number = numbers.get(sentence) ?? csvCell(String(numbers.size + 1));
      let lines = "";
      if (!numbers.has(sentence)) {
        numbers.set(sentence, number);
        lines = `"","How it was computed",${number},"",${csvCell(sentence)},"",""\r\n`;
      }
      const before = `${about},${csvCell(first)}`;
      for (const [place, figure] of figures.entries()) {
        const cell = cells[place] ?? "";
        lines += `${before},${figure},${csvCell(cell)},"${unitOf(cell)}",${number}\r\n`;
      }
      yield lines;
    }
  }
}

function unitOf(cell: Cell): string {
  return typeof cell === "object" && "way" in cell ? cell.way.unit : "";
}

/**
 * A spreadsheet takes what begins with these for a formula: behind an apostrophe it is a text. Where commas are decimal
 * points, a semicolon may begin a cell; the wide signs are those of East Asia.
 */
const FORMULA = /(^|;)(?=[\s"]*[=+\-@\t\r|%\uff1d\uff0b\uff0d\uff20])/g;

function csvCell(cell: Cell): string {
  if (typeof cell === "object" && "value" in cell) return String(cell.value ?? "");
  const text = escapeText(typeof cell === "string" ? cell : cell.said.join(" / "));
  return `"${text.replaceAll(FORMULA, "$1'").replaceAll('"', '""')}"`;
}

export function* jsonOf({ upstreams, ...report }: Report): Generator<string> {
  yield* jsonPieces({ ...report, how: HOW, upstreams });
  yield "\n";
}
