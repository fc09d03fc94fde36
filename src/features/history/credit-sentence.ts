import { type Burn, type BurnWindow, worstBurn } from "./credit.ts";
import { inThousands } from "./thousands.ts";
import { dateTime, dayText, weekdayOf, WEEKDAYS } from "../../kernel/time/civil-day.ts";
import { humanDuration } from "./humanize.ts";
import { MINUTE_MS, HOUR_MS, DAY_MS } from "../../kernel/time/duration.ts";

const PACE: Readonly<Record<BurnWindow, string>> = { "1h": "hour", "1d": "day", "7d": "week" };

/** From then on, hours and minutes matter. */
const SOON_MS = 6 * HOUR_MS;
/** The same weekday of two weeks must not be mixed up. */
const WEEKDAYS_MS = 6 * DAY_MS;

/** When a credit runs out: "At the pace of the last day, empty on Tuesday about 14:00 UTC." */
export function creditSentence(burns: readonly Burn[], nowMs: number): string {
  return sentenceOf(burns, nowMs, {
    empty: "It is empty.",
    lasts: "At the present pace it lasts for more than a year.",
    unknown: "Its pace is not known yet: that takes half an hour, or up to a day with polls hours apart.",
  });
}

/** The same of a quota, which refills by itself. Of our own, the amounts are known. */
export function quotaSentence(burns: readonly Burn[], nowMs: number, standing?: Standing): string {
  const sentence = sentenceOf(burns, nowMs, {
    empty: "Too little is left for another poll.",
    lasts: "At the present pace it refills before it is empty.",
    unknown: "Its pace is not known yet: that takes an hour or two, or up to a day with polls hours apart.",
  });
  if (standing === undefined || worstBurn(burns)?.emptyAtMs === undefined) return sentence;
  return `${sentence.slice(0, -1)}: ${usedUpWords(standing, nowMs) ?? usedWords(standing)}.`;
}

/** Of a quota. In whole currencies where it has one, else in requests. */
type Standing = {
  readonly limit: number;
  readonly used: number;
  readonly perMs: number;
  readonly currency?: string;
  /** Wall clock; absent while there is room. */
  readonly noRoomUntilMs?: number;
};

/** `4.99 of 5.00 EUR used in 30 d; there is room again on Tuesday about 14:00 UTC`; undefined while there is room. */
export function usedUpWords(standing: Standing | undefined, nowMs: number): string | undefined {
  if (standing?.noRoomUntilMs === undefined) return undefined;
  return `${usedWords(standing)}; there is room again ${moment(standing.noRoomUntilMs, nowMs)}`;
}

function usedWords({ limit, used, perMs, currency }: Standing): string {
  const [taken, most] = [used, limit].map((amount) => amountText(amount, currency));
  return `${taken} of ${most} ${currency ?? "requests"} used in ${humanDuration(perMs)}`;
}

/** Cents, and of less than one what matters of it; whole requests where it has no currency. */
export function amountText(amount: number, currency: string | undefined): string {
  if (currency === undefined) return inThousands(Math.round(amount));
  return amount === 0 || amount >= 1 ? amount.toFixed(2) : String(Number(amount.toPrecision(2)));
}

function sentenceOf(
  burns: readonly Burn[],
  nowMs: number,
  otherwise: Readonly<Record<"empty" | "lasts" | "unknown", string>>,
): string {
  const worst = worstBurn(burns);
  const { emptyAtMs } = worst ?? {};
  if (worst === undefined || emptyAtMs === undefined) {
    return burns.some(({ perSecond }) => perSecond !== undefined) ? otherwise.lasts : otherwise.unknown;
  }
  if (emptyAtMs <= nowMs) return otherwise.empty;
  return `At the pace of the last ${PACE[worst.window]}, empty ${moment(emptyAtMs, nowMs)}.`;
}

function moment(atMs: number, nowMs: number): string {
  const leftMs = atMs - nowMs;
  if (leftMs < SOON_MS) {
    const aboutMs = Math.round(atMs / (10 * MINUTE_MS)) * 10 * MINUTE_MS;
    return `in ${humanDuration(Math.ceil(leftMs / MINUTE_MS) * MINUTE_MS)}, about ${timeOf(aboutMs, nowMs)}`;
  }
  const aboutMs = Math.round(atMs / HOUR_MS) * HOUR_MS;
  const day = Math.floor(aboutMs / DAY_MS);
  if (leftMs < WEEKDAYS_MS) return `on ${WEEKDAYS[weekdayOf(day)] ?? ""} about ${timeOf(aboutMs, aboutMs)}`;
  return `on ${dayText(day)}`;
}

/** With its date where that is another day than the reader's. */
function timeOf(atMs: number, nowMs: number): string {
  const text = dateTime(atMs).replace(":00 UTC", " UTC");
  return text.startsWith(dayText(Math.floor(nowMs / DAY_MS))) ? text.slice("2026-10-25 ".length) : text;
}
