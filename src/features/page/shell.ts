import { html, raw } from "hono/html";
import type { Status } from "../status/status.ts";
import { LAST_HOUR, type Range, RANGES } from "../history/timeline.ts";
import { htmlStart } from "../../http/markup/html-start.ts";
import { type Markup, moment, SHARED_SHAPES } from "../../http/markup/markup.ts";
import { dateTime } from "../../kernel/time/civil-day.ts";

export const REFRESH_SECONDS = 10;

export type View = {
  /** Whether the browser reloads the page by itself. */
  readonly refreshes: boolean;
  /** What the plots show. */
  readonly range: Range;
};

export const FIRST_VIEW: View = { refreshes: true, range: LAST_HOUR };

export function viewOf(search: URLSearchParams): View {
  const range = RANGES.find(({ name }) => name === search.get("range")) ?? FIRST_VIEW.range;
  return { refreshes: search.get("refresh") !== "off", range };
}

/** From this page to itself in another view. `self` is its way without any. */
function linkTo(self: string, { refreshes, range }: View): string {
  const search = new URLSearchParams();
  if (range !== FIRST_VIEW.range) search.set("range", range.name);
  if (!refreshes) search.set("refresh", "off");
  return search.size === 0 ? self : `?${search.toString()}`;
}

/** A way to each other range. */
export function rangeLinks(self: string, view: View): Markup {
  const links = RANGES.map((range) => {
    const isShown = String(range === view.range);
    return html`<a href="${linkTo(self, { ...view, range })}" aria-current="${isShown}">${range.words}</a> `;
  });
  return html`<nav class="ranges" aria-label="Range of the plots">Last ${links}</nav>`;
}

export type Shell = {
  readonly title: string;
  /** From this page to the root. Links are relative, so they work under any path of a reverse proxy. */
  readonly root: "./" | "../";
  /** From this page to itself. */
  readonly self: string;
  /** Undefined for a page that stays as it is. */
  readonly view?: View;
  readonly body: Markup;
};

/** What all pages share. The refresh is a response header, not markup: only so can the reader stop it. */
export function pageShell({ title, root, self, view, body }: Shell, status: Status): string {
  const page = html`${raw(htmlStart(title))}
      <body>
        ${SHARED_SHAPES}
        <header class="top">
          <p class="brand"><a href="${root}">Pacewatch</a></p>
          <p class="clock">
            ${moment(status.nowMs, status.nowMs)}${view === undefined ? "" : html` · ${refreshSwitch(self, view)}`}
          </p>
        </header>
        <main>${body}</main>
        <footer>
          <p>
            Pacewatch ${status.version}, running since ${dateTime(status.startedAtMs)} · as JSON:
            <a href="${root}api/v1/upstreams">upstreams</a>, <a href="${root}api/v1/incidents">incidents</a>,
            <a href="${root}api/v1/config">running config</a> · <a href="${root}metrics">metrics</a> ·
            <a href="${root}runbooks/">runbooks</a>, <a href="${root}runbooks/glossary">words</a>
          </p>
        </footer>
      </body>
    </html>`;
  if (page instanceof Promise) throw new Error("cannot write a page: a part of it is still awaited");
  return page.toString();
}

function refreshSwitch(self: string, view: View): Markup {
  const other = linkTo(self, { ...view, refreshes: !view.refreshes });
  return view.refreshes
    ? html`refreshes every ${REFRESH_SECONDS} s, <a href="${other}">pause</a>`
    : html`<strong>refresh paused</strong>, <a href="${other}">resume</a>`;
}
