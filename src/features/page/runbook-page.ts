import { readFile } from "node:fs/promises";
import { html, raw } from "hono/html";
import type { Pieces } from "../../http/routes/pieces.ts";
import type { Status } from "../status/status.ts";
import { codeOf } from "../../kernel/text/escape.ts";
import { type Markup, scrollTable } from "../../http/markup/markup.ts";
import { pageShell } from "./shell.ts";

/** The runbooks are beside it. */
const INDEX = new URL("../../../docs/runbooks/README.md", import.meta.url);

/** The Markdown of an alert's runbook, of the glossary, or of their list where there is no name; undefined for any other. */
export async function readRunbook(name: string): Promise<string | undefined> {
  if (name === "") return (await readFile(INDEX, "utf8")).split(/^## /m)[0];
  if (name === "glossary") return await readFile(new URL("../glossary.md", INDEX), "utf8");
  // Only letters, and few: no name leads out of the folder, or is refused by the file system. A folder elsewhere has files, so links may end like theirs.
  const [, alert] = /^(Pacewatch[A-Za-z]{1,100})(?:\.md)?$/.exec(name) ?? [];
  if (alert === undefined) return undefined;
  try {
    return await readFile(new URL(`${alert}.md`, INDEX), "utf8");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

export function* renderRunbookPage(text: string | undefined, status: Status): Pieces {
  const blocks = text
    ?.trim()
    .split(/\n{2,}/)
    .map(block);
  const found = html`<article class="runbook">${blocks}</article>`;
  const body = html`<p class="way"><a href="../">All upstreams</a> · <a href="./">all runbooks</a></p>
    ${text === undefined ? html`<h1>No runbook has this name</h1>` : found}`;
  const title = /^# (.+)/.exec(text ?? "")?.[1] ?? "Not found";
  yield pageShell({ title, root: "../", self: "../", body }, status);
}

/** What the runbooks use of Markdown: headings, paragraphs, lists without lists in them, tables, and commands. */
function block(text: string): Markup {
  if (text.startsWith("# ")) return html`<h1>${breakable(text.slice(2))}</h1>`;
  if (text.startsWith("## ")) return html`<h2>${inline(text.slice(3))}</h2>`;
  if (text.startsWith("```"))
    return html`<pre><code>${text.split("\n").slice(1, -1).join("\n")}</code></pre>`;
  if (text.startsWith("|")) return table(text.split("\n"));
  if (!text.startsWith("- ")) return html`<p>${inline(text)}</p>`;
  const items = text.slice(2).split("\n- ");
  return html`<ul>
    ${items.map((item) => html`<li>${inline(item)}</li> `)}
  </ul>`;
}

/** The name of an alert is longer than a phone is wide: it may break before a capital. */
function breakable(name: string): readonly Markup[] {
  return name
    .split(/(?<=[a-z])(?=[A-Z])/)
    .map((word, index) => html`${index === 0 ? "" : raw("<wbr>")}${word}`);
}

function table([head = "", _line, ...rows]: readonly string[]): Markup {
  const cellsOf = (row: string): readonly string[] => row.split(/ *\| */).slice(1, -1);
  const columns = cellsOf(head).map((title) => ({ title }));
  const body = rows.map(
    (row) =>
      html`<tr>
        ${cellsOf(row).map((cell) => html`<td>${inline(cell)}</td> `)}
      </tr> `,
  );
  return scrollTable("Table", "", columns, body);
}

const INLINE = /`(?<code>[^`]+)`|\b_(?<emphasis>[^_]+)_\b|\[(?<words>[^\]]+)\]\((?<target>[^)]+)\)/g;

function inline(text: string): (Markup | string)[] {
  const parts: (Markup | string)[] = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    const { code, emphasis, words = "", target = "" } = match.groups ?? {};
    parts.push(text.slice(end, match.index));
    end = match.index + match[0].length;
    if (code !== undefined) parts.push(html`<code>${code}</code>`);
    else if (emphasis !== undefined) parts.push(html`<em>${emphasis}</em>`);
    else if (/^Pacewatch\w+\.md$/.test(target))
      parts.push(html`<a href="${target.slice(0, -3)}">${inline(words)}</a>`);
    // The other pages of the documentation are not served, but in the package.
    else parts.push(...inline(words), ` (docs/${target.replace(/^\.\.\/|#.*/g, "")})`);
  }
  return [...parts, text.slice(end)];
}
