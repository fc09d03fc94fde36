import { readFile } from "node:fs/promises";
import { html } from "hono/html";
import type { Pieces } from "../../core/status/pieces.ts";
import type { Status } from "../../core/status/status.ts";
import type { Markup } from "./markup.ts";
import { pageShell } from "./shell.ts";

/** The runbooks are beside it. */
const INDEX = new URL("../../../docs/runbooks/README.md", import.meta.url);

/** The Markdown of an alert's runbook; undefined for any other name. */
export async function readRunbook(name: string): Promise<string | undefined> {
  // Only letters: no name leads out of the folder.
  if (!/^Pacewatch[A-Za-z]+$/.test(name)) return undefined;
  try {
    return await readFile(new URL(`${name}.md`, INDEX), "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

export function* renderRunbookPage(name: string, text: string | undefined, status: Status): Pieces {
  const found = html`<article class="runbook">
    ${text
      ?.trim()
      .split(/\n{2,}/)
      .map(block)}
  </article>`;
  const missing = html`<h1>No runbook has this name</h1>`;
  const body = html`<p class="way"><a href="../">All upstreams</a></p>
    ${text === undefined ? missing : found}`;
  const title = text === undefined ? "Not found" : name;
  yield pageShell({ title, root: "../", self: "../", body }, status);
}

/** What the runbooks use of Markdown: headings, paragraphs, lists without lists in them, and commands. */
function block(text: string): Markup {
  if (text.startsWith("# ")) return html`<h1>${inline(text.slice(2))}</h1>`;
  if (text.startsWith("## ")) return html`<h2>${inline(text.slice(3))}</h2>`;
  if (text.startsWith("```"))
    return html`<pre><code>${text.split("\n").slice(1, -1).join("\n")}</code></pre>`;
  if (!text.startsWith("- ")) return html`<p>${inline(text)}</p>`;
  const items = text.slice(2).split("\n- ");
  return html`<ul>
    ${items.map((item) => html`<li>${inline(item)}</li> `)}
  </ul>`;
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
    else if (/^\w+\.md$/.test(target))
      parts.push(html`<a href="${target.slice(0, -3)}">${inline(words)}</a>`);
    // The other pages of the documentation are not served.
    else parts.push(...inline(words));
  }
  return [...parts, text.slice(end)];
}
