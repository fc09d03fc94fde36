import type { Cron } from "./cron.ts";
import { parseCron } from "./parse-cron.ts";
import { formatDuration, HOUR_MS, MINUTE_MS, SECOND_MS } from "../time/duration.ts";
import { hash32 } from "./hash.ts";

/** When an upstream is polled. `every` becomes a cron expression that contains the phase of the upstream. */
export type Schedule = {
  /** Six fields, and the time zone where it is not UTC. Upstreams with the same expression share one trigger. */
  readonly expression: string;
  /** As the config says it: `every 15s`, `cron 0 9 * * 1`. */
  readonly source: string;
  /** A cron names the moments at which polls may come; `every` only how often. */
  readonly kind: "every" | "cron";
  /** The longest gap between two slots. */
  readonly longestGapMs: number;
};

export type ScheduleReading =
  | { readonly kind: "schedule"; readonly schedule: Schedule }
  | { readonly kind: "refused"; readonly message: string };

/** The periods that cron repeats evenly: divisors of a minute, an hour and a day. */
export const LEGAL_PERIODS_MS: readonly number[] = [
  ...[1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30].map((seconds) => seconds * SECOND_MS),
  ...[1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30].map((minutes) => minutes * MINUTE_MS),
  ...[1, 2, 3, 4, 6, 8, 12, 24].map((hours) => hours * HOUR_MS),
];

export function scheduleEvery(periodMs: number, name: string): ScheduleReading {
  if (!LEGAL_PERIODS_MS.includes(periodMs)) {
    return { kind: "refused", message: `the nearest that fit are ${nearestPeriods(periodMs)}` };
  }
  const expression = expressionOf(periodMs / 1000, hash32(name) % (periodMs / 1000));
  const source = `every ${formatDuration(periodMs)}`;
  return { kind: "schedule", schedule: { kind: "every", expression, source, longestGapMs: periodMs } };
}

export function scheduleCron(text: string, timeZone?: string): ScheduleReading {
  const reading = parseCron(text, timeZone);
  if (reading.kind === "refused") return reading;
  const cron = kept(reading.cron);
  const zone = timeZone === undefined ? "" : ` ${timeZone}`;
  const source = `cron ${text.trim().replaceAll(/\s+/g, " ")}${zone}`;
  return {
    kind: "schedule",
    schedule: { kind: "cron", expression: cron.text, source, longestGapMs: cron.longestGapMs },
  };
}

/** The offset of each name within the second, in milliseconds: evenly spaced, in order of the hashes. */
export function spreadWithinSecond(names: readonly string[]): Map<string, number> {
  const ranked = [...new Set(names)]
    .map((name) => ({ name, hash: hash32(name) }))
    .sort((a, b) => a.hash - b.hash || (a.name < b.name ? -1 : 1));
  return new Map(ranked.map(({ name }, rank) => [name, Math.floor((rank * 1000) / ranked.length)]));
}

/** Seconds and phase as a cron expression: `7-59/15 * * * * *`, `17 2-59/5 * * * *`, `17 2 5-23/6 * * *`. */
function expressionOf(periodSeconds: number, phase: number): string {
  const second = phase % 60;
  const minute = Math.floor(phase / 60) % 60;
  const hour = Math.floor(phase / 3600);
  if (periodSeconds <= 60) return `${repeat(second, periodSeconds, 60)} * * * * *`;
  if (periodSeconds <= 3600) return `${second} ${repeat(minute, periodSeconds / 60, 60)} * * * *`;
  return `${second} ${minute} ${repeat(hour, periodSeconds / 3600, 24)} * * *`;
}

function repeat(first: number, step: number, size: number): string {
  if (step === 1) return "*";
  return step === size ? `${first}` : `${first}-${size - 1}/${step}`;
}

function nearestPeriods(periodMs: number): string {
  const below = LEGAL_PERIODS_MS.findLast((legal) => legal < periodMs);
  const above = LEGAL_PERIODS_MS.find((legal) => legal > periodMs);
  return [below, above]
    .filter((legal) => legal !== undefined)
    .map((legal) => formatDuration(legal))
    .join(" and ");
}

/**
 * A schedule stays plain data, as it is compared, copied and passed to threads. What its expression means is kept once
 * for all who have the same, with what it costs to find out: how its slots lie over 400 years.
 */
const known = new Map<string, Cron>();
/** As many as a config may have upstreams: none of those that run is forgotten. */
const MOST_KNOWN = 10_000;

export function cronOf({ expression }: Schedule): Cron {
  return known.get(expression) ?? kept(parse(expression));
}

function kept(cron: Cron): Cron {
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(cron.text, cron);
  return cron;
}

function parse(expression: string): Cron {
  const [, fields = "", timeZone] = /^((?:\S+ ){5}\S+)(?: (\S+))?$/.exec(expression) ?? [];
  const reading = parseCron(fields, timeZone);
  if (reading.kind === "cron") return reading.cron;
  throw new Error(`cannot read schedule: "expression" is not a cron expression: ${reading.message}`);
}
