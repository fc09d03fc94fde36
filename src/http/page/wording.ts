import type { HealthState } from "../../core/poll/health.ts";
import { WE_WERE_OFFLINE } from "../../core/status/status.ts";
import type { Side } from "../../core/status/verdict.ts";
import { inThousands } from "../../core/text/thousands.ts";
import { DAY_MS } from "../../core/time/duration.ts";

/** After the upstream's name: `email is throttling us`. */
export const HEALTH_WORDS: Readonly<Record<HealthState, string>> = {
  unknown: "is in an unknown state",
  up: "is up",
  degraded: "is up, but slow",
  throttled: "is throttling us",
  unauthorized: "rejects our key",
  down: "is down",
};

/** On their own. */
export const HEALTH_TITLES: Readonly<Record<HealthState, string>> = {
  unknown: "Unknown",
  up: "Up",
  degraded: "Up, but slow",
  throttled: "Throttling us",
  unauthorized: "Rejects our key",
  down: "Down",
};

export const SIDE_WORDS: Readonly<Record<Side, string>> = {
  nobody: "",
  them: "It is them.",
  us: "It is us.",
  our_key: "It is our key.",
  limit: "It is a limit.",
  open: "Them or us: unclear.",
};

const REASON_WORDS: ReadonlyMap<string, string> = new Map([
  ["dns", "DNS lookup failed"],
  ["connect", "could not connect"],
  ["tls", "TLS failed"],
  ["timeout", "timed out"],
  ["reset", "connection lost"],
  ["protocol", "not valid HTTP"],
  ["body_too_large", "answer too large"],
  ["redirect", "redirected"],
  ["unauthorized", "key not accepted"],
  ["forbidden", "key does not allow it"],
  ["blocked", "blocked by a wall"],
  ["client_error", "request refused"],
  ["server_error", "server error"],
  ["unexpected_status", "unexpected status"],
  ["invalid_body", "not valid JSON"],
  ["assertion", "answer not as asserted"],
  ["auth", "no access token"],
  ["internal", "bug in Pacewatch"],
  ["rate", "too many requests"],
  ["quota", "quota or credit used up"],
  [WE_WERE_OFFLINE, "we were offline"],
]);

/** In two or three words. An unknown reason is shown as it is. */
export function reasonWords(reason: string): string {
  return REASON_WORDS.get(reason) ?? reason;
}

export function percent(ratio: number): string {
  // Rounded down: 99.996 % is not 100 %. But 0.29 · 10 000 is 2899.9999999999995, and that must be 29 %.
  return `${Math.floor(ratio * 10_000 + 1e-6) / 100} %`;
}

/** For widths and places in a drawing: 0 to 100, with two decimals. */
export function percentOf(part: number, whole: number): number {
  return whole <= 0 ? 0 : Math.round(Math.min(1, Math.max(0, part / whole)) * 10_000) / 100;
}

const THIN_SPACE = "\u202f";

/** `1 200`: a whole number. */
export function grouped(amount: number): string {
  return inThousands(Math.round(amount), THIN_SPACE);
}

/** `-12 345.5`: any number, with at most six decimals. */
export function amount(value: number): string {
  return inThousands(Number(value.toFixed(6)), THIN_SPACE);
}

export function dateTime(atMs: number): string {
  return `${isoOf(atMs).slice(0, 19).replace("T", " ")} UTC`;
}

/** `12:04:30 UTC`, after the date if that is not today. A page has thousands of them, so no Date is created here. */
export function clockTime(atMs: number, nowMs: number): string {
  const day = Math.floor(atMs / DAY_MS);
  const seconds = Math.floor((atMs - day * DAY_MS) / 1000);
  const time = `${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)} UTC`;
  return day === Math.floor(nowMs / DAY_MS) ? time : `${isoOf(atMs).slice(0, 10)} ${time}`;
}

function two(amount: number): string {
  const whole = Math.floor(amount);
  return whole < 10 ? `0${whole}` : String(whole);
}

/** A time outside the calendar must not break the page. */
export function isoOf(atMs: number): string {
  const date = new Date(atMs);
  return Number.isNaN(date.getTime()) ? "unknown time" : date.toISOString();
}
