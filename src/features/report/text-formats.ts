/** A report as CSV and JSON, in pieces. What an upstream said is hostile: it stays a text in each of them. */

import { jsonPieces } from "../../http/routes/pieces.ts";
import { escapeText } from "../../kernel/text/escape.ts";
import { type Cell, documentOf, type Part } from "./document.ts";
import { HOW } from "./how.ts";
import type { Report } from "./report.ts";

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
