import { html } from "hono/html";
import { type Markup, untrusted } from "../../http/markup/markup.ts";
import type { Fields } from "../../kernel/text/field.ts";
import { dateTime } from "../../kernel/time/civil-day.ts";
import { ANNOUNCED, type AnnouncedRelation, type Announcement } from "./announcement.ts";

/** The API announces its own end. A link is one only if it is https: anything else is shown as text. */
export function announcedEnd(upstream: Fields, nowMs: number): Markup | "" {
  const announcement = ANNOUNCED.of(upstream);
  if (announcement === undefined) return "";
  const { links, warning } = announcement;
  return html`<p class="reason">
    <strong>The API announces its end.</strong> ${endSentence(announcement, nowMs)}
    ${warning === undefined ? "" : html` &ldquo;${untrusted(warning)}&rdquo;`}
    ${links.map(({ rel, target }) => html` ${LINK_WORDS[rel]}: ${linked(target)}.`)}
  </p>`;
}

function endSentence(
  { isDeprecated, deprecatedAtMs, sunsetAtMs }: Announcement,
  nowMs: number,
): Markup | string {
  const deprecated =
    deprecatedAtMs === undefined
      ? "It is deprecated"
      : `${deprecatedAtMs > nowMs ? "It will be deprecated on" : "It is deprecated since"} ${dateTime(deprecatedAtMs)}`;
  const sunset = sunsetAtMs === undefined ? "" : `It is expected to stop on ${dateTime(sunsetAtMs)}`;
  const said = [isDeprecated ? deprecated : "", sunset].filter((sentence) => sentence !== "");
  return said.length === 0 ? "" : `${said.join(". ")}.`;
}

const LINK_WORDS: Readonly<Record<AnnouncedRelation, string>> = {
  deprecation: "About the deprecation",
  sunset: "About the end",
  "successor-version": "Its successor",
};

function linked(target: string): Markup {
  return target.startsWith("https://")
    ? html`<a href="${target}" rel="noopener noreferrer nofollow">${untrusted(target)}</a>`
    : html`<code>${untrusted(target)}</code>`;
}
