import { type Cell, documentOf, figureText, type Table } from "./document.ts";
import type { Report } from "./report.ts";
import { escaped } from "../../http/markup/markup.ts";
import { htmlStart } from "../../http/markup/html-start.ts";

/** One file that needs no other, with no script in it. Written as text, as it may have thousands of rows. */
export function* reportPage(report: Report): Generator<string> {
  let isFirst = true;
  for (const { title, blocks } of documentOf(report)) {
    if (isFirst) yield `${htmlStart(title)}<body class="report"><main><h1>${unbroken(title)}</h1>`;
    else yield `<section class="upstream"><h2 id="${escaped(title)}">${escaped(title)}</h2>`;
    for (const block of blocks)
      yield block.kind === "paragraph"
        ? `<p class="of">${escaped(block.text)}</p>`
        : tableOf(block, title, isFirst);
    if (!isFirst) yield "</section>";
    isFirst = false;
  }
  yield "</main></body></html>\n";
}

/** The first table leads to the upstreams. */
function tableOf({ title, how, columns, rows }: Table, part: string, isSummary: boolean): string {
  const heading = isSummary ? "h2" : "h3";
  const name = (cell: Cell | undefined): string =>
    isSummary && typeof cell === "string"
      ? `<a href="#${escaped(cell)}">${escaped(cell)}</a>`
      : textOf(cell ?? "");
  const row = ([first, ...others]: readonly Cell[]): string =>
    `<tr><th scope="row">${name(first)}</th>${others.map(cellOf).join("")}</tr>`;
  const isNumber = columns.map((_, place) => rows.some((cells) => isNumeric(cells[place])));
  const heads = columns.map(
    (column, place) => `<th scope="col"${numberClass(isNumber[place] === true)}>${escaped(column)}</th>`,
  );
  return `<${heading}>${escaped(title)}</${heading}>${how === undefined ? "" : `<p class="of">${escaped(how)}</p>`}
<div class="wide" role="region" aria-label="${escaped(`${title}, ${part}`)}" tabindex="0"><table><thead><tr>${heads.join("")}</tr></thead>
<tbody>${rows.map(row).join("\n")}</tbody></table></div>`;
}

function isNumeric(cell: Cell | undefined): boolean {
  return typeof cell === "object" && "value" in cell;
}

function numberClass(isNumber: boolean): string {
  return isNumber ? ' class="number"' : "";
}

function cellOf(cell: Cell): string {
  const isEarly = typeof cell === "object" && "early" in cell;
  return isEarly
    ? `<td class="number early">${textOf(cell)}</td>`
    : `<td${numberClass(isNumeric(cell))}>${textOf(cell)}</td>`;
}

function textOf(cell: Cell): string {
  if (typeof cell === "string") return unbroken(cell);
  if ("value" in cell) return figureText(cell);
  return cell.said.map((said) => `<bdi><code>${escaped(said)}</code></bdi>`).join(" ");
}

/** No line ends within a date, nor between a number and its unit. */
function unbroken(text: string): string {
  return escaped(text)
    .replaceAll(/\d{4}-\d\d(?:-\d\d)?/g, "<time>$&</time>")
    .replaceAll(/(\d) (?=%|m?s\b|min\b|[dh]\b|[A-Z]{3}\b)/g, "$1&nbsp;");
}
