import { html } from "hono/html";
import { escapeText } from "../core/escape.ts";
import { spokenDuration } from "../core/spoken.ts";
import { clockTime, dateTime, isoOf } from "./wording.ts";

export type Markup = ReturnType<typeof html>;

/** Text that came from an upstream: no markup, no controls, and kept from turning the line's direction around. */
export function foreign(text: string): Markup {
  return html`<bdi>${escapeText(text)}</bdi>`;
}

/** `12:04:30 UTC`, with the whole date on hovering. */
export function moment(atMs: number, nowMs: number): Markup {
  return time(atMs, clockTime(atMs, nowMs));
}

/** `12 s ago`, with the moment itself on hovering. */
export function ago(atMs: number, nowMs: number): Markup {
  return time(atMs, nowMs - atMs < 1000 ? "just now" : `${spokenDuration(nowMs - atMs)} ago`);
}

/** `in 12 s`, with the moment itself on hovering. */
export function ahead(atMs: number, nowMs: number): Markup {
  const seconds = Math.ceil((atMs - nowMs) / 1000);
  return time(atMs, seconds <= 0 ? "now" : `in ${spokenDuration(seconds * 1000)}`);
}

function time(atMs: number, words: string): Markup {
  return html`<time datetime="${isoOf(atMs)}" title="${dateTime(atMs)}">${words}</time>`;
}
