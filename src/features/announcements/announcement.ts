/** An API announces its own end by `Deprecation` (RFC 9745), `Sunset` (RFC 8594), their links, and `Warning: 299`. */

import type { Headers, WithoutKeys } from "../../kernel/exchange/exchange.ts";
import { type Field, field, type Fields } from "../../kernel/text/field.ts";
import { ownCopy } from "../../kernel/text/own-copy.ts";
import { oneLine } from "../../kernel/text/escape.ts";
import { dateTime } from "../../kernel/time/civil-day.ts";
import { parseHttpDate } from "../../kernel/time/http-date.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import { type Reader, reader } from "../../kernel/poll/reader.ts";

/** So much of a `Link` or a `Warning` is read, and so much is kept. */
const ANNOUNCING_CHARS = 4_000;
const MOST_LINKS = 3;
const LINK_CHARS = 500;
const WARNING_CHARS = 300;

const ANNOUNCED_RELATIONS = ["deprecation", "sunset", "successor-version"] as const;
export type AnnouncedRelation = (typeof ANNOUNCED_RELATIONS)[number];

export type AnnouncedLink = { readonly rel: AnnouncedRelation; readonly target: string };

export type Announcement = {
  /** The API is deprecated, or will be. */
  readonly isDeprecated: boolean;
  /** It is deprecated from here on, which may be past or to come; undefined where no date is said. */
  readonly deprecatedAtMs: number | undefined;
  /** It is expected to stop answering then. */
  readonly sunsetAtMs: number | undefined;
  readonly links: readonly AnnouncedLink[];
  /** `Warning: 299` brings a text for people. */
  readonly warning: string | undefined;
};

export const ANNOUNCEMENT: Reader<Announcement> = reader("announcement", ({ answer }) =>
  readAnnouncement(answer.head.headers, answer.endedAtMs, answer.withoutKeys),
);

/** Its newest answers announce this. */
export const ANNOUNCED: Field<Announcement> = field("announcement");

type Memory = { readonly remembered: Fields };

/** A refusal may leave it out: only an ok answer without it takes it back. */
export function followAnnouncement(
  { said, outcome }: Poll,
  memory: { remember(field: Field<Announcement>, content: Announcement | undefined): void },
): void {
  const announcement = ANNOUNCEMENT.of(said);
  if (announcement !== undefined || outcome.kind === "ok") memory.remember(ANNOUNCED, announcement);
}

export function announcementFacts(_: unknown, { remembered }: Memory): Fields {
  return { [ANNOUNCED.name]: ANNOUNCED.of(remembered) };
}

export function announcedWarning(upstream: Fields): string | undefined {
  const { warning } = ANNOUNCED.of(upstream) ?? {};
  return warning && `They warn: ${warning}`;
}

export function apiEnding({
  remembered,
}: Memory): { readonly kind: "api_ending"; readonly of: string; readonly says: string } | undefined {
  const announcement = ANNOUNCED.of(remembered);
  if (announcement === undefined) return undefined;
  const { sunsetAtMs, warning } = announcement;
  const when = sunsetAtMs === undefined ? "at no date that it tells" : `on ${dateTime(sunsetAtMs)}`;
  const says = warning === undefined ? `It ends ${when}.` : `It ends ${when}. They say: ${warning}`;
  return { kind: "api_ending", of: String(sunsetAtMs ?? "undated"), says };
}

/** Undefined where the answer announces nothing, as nearly all do. */
export function readAnnouncement(
  headers: Headers,
  nowMs: number,
  withoutKeys: WithoutKeys,
): Announcement | undefined {
  let isDeprecated = false;
  let deprecatedAtMs: number | undefined;
  let sunsetAtMs: number | undefined;
  let warning: string | undefined;
  const links: AnnouncedLink[] = [];
  for (const header of headers) {
    const value = header[1];
    switch (header[0]) {
      case "deprecation":
        deprecatedAtMs = earlier(deprecatedAtMs, dateIn(value, nowMs));
        isDeprecated ||= deprecatedAtMs !== undefined || IS_TRUE.test(value.trim());
        break;
      case "sunset":
        sunsetAtMs = earlier(sunsetAtMs, dateIn(value, nowMs));
        break;
      case "link":
        links.push(...linksIn(value.slice(0, ANNOUNCING_CHARS)));
        break;
      case "warning":
        warning ??= warningIn(value.slice(0, ANNOUNCING_CHARS));
        break;
      default:
    }
  }
  const isAnnounced = isDeprecated || sunsetAtMs !== undefined || warning !== undefined;
  // A link to a newer version alone announces no end.
  if (!isAnnounced && !links.some(({ rel }) => rel !== "successor-version")) return undefined;
  return {
    isDeprecated,
    deprecatedAtMs,
    sunsetAtMs,
    links: ownCopy(
      mostTelling(links).map(({ rel, target }) => ({
        rel,
        target: withoutKeys(oneLine(target.trim(), LINK_CHARS)),
      })),
    ),
    warning: warning === undefined ? undefined : withoutKeys(warning),
  };
}

const LATEST_MS = 253_402_300_799_000;
/** Earlier drafts of RFC 9745 had no date. */
const IS_TRUE = /^(?:true|\?1)$/i;

/** `@1688169599` (RFC 9745), or a date as in `Date`. */
function dateIn(value: string, nowMs: number): number | undefined {
  const text = value.trim();
  const seconds = /^@(\d{1,12})(?:\s*;.*)?$/s.exec(text)?.[1];
  const atMs = seconds === undefined ? parseHttpDate(text, nowMs) : Number(seconds) * 1000;
  return atMs !== undefined && atMs > 0 && atMs <= LATEST_MS ? atMs : undefined;
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}

/** The first of each kind is kept before a second of any: five newer versions hide no deprecation behind them. */
function mostTelling(links: readonly AnnouncedLink[]): readonly AnnouncedLink[] {
  const firsts = ANNOUNCED_RELATIONS.flatMap((rel) => links.find((link) => link.rel === rel) ?? []);
  const kept = new Set([...new Set([...firsts, ...links])].slice(0, MOST_LINKS));
  return links.filter((link) => kept.has(link));
}

/** `<target>; rel="sunset"; type="text/html", <…>` (RFC 8288), from left to right. What is not of that form ends it. */
function linksIn(text: string): readonly AnnouncedLink[] {
  const links: AnnouncedLink[] = [];
  const next = /[\s,]*<([^<>]*)>((?:[^",<]|"(?:[^"\\]|\\.)*")*)/y;
  for (let found = next.exec(text); found !== null; found = next.exec(text)) {
    const [, target = "", parameters = ""] = found;
    const relations = relationsIn(parameters);
    const announced = ANNOUNCED_RELATIONS.filter((rel) => relations.includes(rel));
    links.push(...announced.map((rel) => ({ rel, target })));
  }
  return links;
}

/** One parameter may name several relations, apart by spaces. The first `rel` counts. */
function relationsIn(parameters: string): readonly string[] {
  const [, quoted, bare] = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;",]+))/i.exec(parameters) ?? [];
  return (quoted ?? bare ?? "").toLowerCase().split(/\s+/);
}

/** `299 example.com "this version ends in May"`; other codes are about caches. */
function warningIn(value: string): string | undefined {
  const text = /(?:^|,)\s*299\s+[^\s"]+\s+"((?:[^"\\]|\\.)*)"/.exec(value)?.[1];
  if (text === undefined || text.trim() === "") return undefined;
  return oneLine(text.replaceAll(/\\(.)/gs, "$1"), WARNING_CHARS);
}
