import { html, raw } from "hono/html";
import type { StatusSnapshot } from "../../core/status/status.ts";
import { PAGE_STYLE } from "./style.ts";
import { type Markup, moment, SIGN_SHAPES } from "./markup.ts";
import { dateTime } from "./wording.ts";

export const REFRESH_SECONDS = 10;

/** How a page is looked at. */
export type View = {
  /** Whether it asks to be loaded again by itself. */
  readonly refreshes: boolean;
};

export type Shell = {
  readonly title: string;
  /** From this page to the root: links are relative, so that they work under any path of a reverse proxy. */
  readonly root: "./" | "../";
  /** From this page to itself. */
  readonly self: string;
  readonly view: View;
  readonly body: Markup;
};

/** What all pages share. It refreshes by a header of the answer, not from here: what runs can then be held still. */
export function pageShell({ title, root, self, view, body }: Shell, snapshot: StatusSnapshot): Markup {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Pacewatch</title>
        ${raw(PAGE_STYLE)}
      </head>
      <body>
        ${SIGN_SHAPES}
        <header class="top">
          <p class="brand"><a href="${root}">Pacewatch</a></p>
          <p class="clock">${moment(snapshot.nowMs, snapshot.nowMs)} · ${refreshing(self, view)}</p>
        </header>
        <main>${body}</main>
        <footer>
          <p>
            Pacewatch ${snapshot.version}, running since ${dateTime(snapshot.startedAtMs)} · as JSON:
            <a href="${root}api/v1/upstreams">upstreams</a>, <a href="${root}api/v1/incidents">incidents</a>,
            <a href="${root}api/v1/config">running config</a> · <a href="${root}metrics">metrics</a>
          </p>
        </footer>
      </body>
    </html>`;
}

function refreshing(self: string, { refreshes }: View): Markup {
  return refreshes
    ? html`fresh every ${REFRESH_SECONDS} s, <a href="?refresh=off">hold still</a>`
    : html`<strong>held still</strong>, <a href="${self}">refresh again</a>`;
}
