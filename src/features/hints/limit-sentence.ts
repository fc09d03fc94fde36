import type { KnownLimit, LearnedWindow, Lesson } from "./learned-windows.ts";
import { floorOver } from "./signals.ts";
import type { Needs } from "../../kernel/budget/needs.ts";
import type { Budget } from "../../kernel/config/config.ts";
import { oneLine } from "../../kernel/text/escape.ts";
import { DAY_MS, formatDuration } from "../../kernel/time/duration.ts";

const LEARNED: Readonly<Record<Lesson | "refusals", string>> = {
  policy: "learned from what it said before",
  resets: "learned from its resets",
  refills: "learned from when it is full again",
  refusals: "learned from its refusals",
};

const MOST_CHARACTERS = 60;

function plain(text: string): string {
  return oneLine(text, MOST_CHARACTERS);
}

/** An upstream said this of one limit: "5 requests per 1s, learned from its resets". */
export function limitSentence({ unit, limit, remaining, perMs, resource, windowFrom }: KnownLimit): string {
  const counted = plain(unit);
  const amount =
    limit === undefined
      ? `${remaining ?? "?"} ${counted} left of a limit that it does not tell`
      : `${limit} ${counted}`;
  const per = perMs === undefined ? " (window not told)" : ` per ${formatDuration(perMs)}`;
  const about = resource === undefined ? "" : ` for "${plain(resource)}"`;
  const learned = windowFrom === undefined || windowFrom === "told" ? "" : `, ${LEARNED[windowFrom]}`;
  return `${amount}${per}${about}${learned}`;
}

/** "5 requests per 1s, learned from its resets". */
export function learnedSentence({ limit, perMs, from }: LearnedWindow): string {
  const amount = limit === undefined ? "a limit that it does not tell" : `${limit} requests`;
  return `${amount} per ${formatDuration(perMs)}, ${LEARNED[from]}`;
}

/** How an advertised limit compares with the config, and what to do about it. */
export function limitComparison(known: KnownLimit, budget: Budget, needs: Needs): string {
  const { unit, limit, perMs } = known;
  const { rates } = budget;
  if (unit !== "requests") return `it counts ${plain(unit)}, not requests: it lowers nothing`;
  if (limit === undefined) return "it tells no limit: there is nothing to compare";
  if (perMs === undefined) return "shown, and lowers nothing until its window is learned";
  const per = formatDuration(perMs);
  const configured = rates.map((rate) => `${rate.requests}/${rate.label}`).join(" and ");
  const says = `you configured ${configured}, it says ${limit} per ${per}`;
  const same = rates.find((rate) => rate.perMs === perMs);
  if (same !== undefined && same.requests === limit) return `as configured: ${same.requests}/${same.label}`;
  if (same !== undefined && same.requests > limit)
    return `${says}: lower this rate to ${Math.max(1, Math.floor(limit))}${floorSentence(limit, perMs, budget, needs)}`;
  if (perMs >= DAY_MS) return `${says}: a rate ends at 1h; a quota can keep it`;
  const most = Math.min(...rates.map((rate) => rate.requests * Math.ceil(perMs / rate.perMs)));
  if (most <= limit) return `${says}: your config keeps it already`;
  const [requests, wholeMs] = limit < 1 ? [1, Math.ceil(perMs / limit)] : [Math.floor(limit), perMs];
  return `${says}: add a second rate, { requests: ${requests}, per: ${formatDuration(wholeMs)} }${floorSentence(limit, perMs, budget, needs)}`;
}

function floorSentence(limit: number, perMs: number, budget: Budget, needs: Needs): string {
  const floor = floorOver(limit, perMs, budget, needs);
  return floor === undefined
    ? ""
    : `. Its word alone does not end one poll a period (${floor.polls} in ${floor.rate.label}); a refusal does`;
}
