import { Every } from "./every.ts";
import { parseCron } from "./parse-cron.ts";
import { formatDuration, SECOND_MS } from "../time/duration.ts";
import { hash32 } from "./hash.ts";
import type { Slots } from "./slots.ts";

/** When an upstream is polled. */
export type Schedule = {
  /**
   * Period and phase, or six fields of cron and the time zone where it is not UTC. Upstreams with the same expression
   * share one trigger.
   */
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

/** `periodMs`: whole seconds, up to a day. Its phase comes from the name. */
export function scheduleEvery(periodMs: number, name: string): Schedule {
  const periodSeconds = periodMs / SECOND_MS;
  const { text } = kept(new Every(periodSeconds, hash32(name) % periodSeconds));
  const source = `every ${formatDuration(periodMs)}`;
  return { kind: "every", expression: text, source, longestGapMs: periodMs };
}

export function scheduleCron(text: string, timeZone?: string): ScheduleReading {
  const reading = parseCron(text, timeZone);
  if (reading.kind === "refused") return reading;
  const { text: expression, longestGapMs } = kept(reading.cron);
  const zone = timeZone === undefined ? "" : ` ${timeZone}`;
  const source = `cron ${text.trim().replaceAll(/\s+/g, " ")}${zone}`;
  return {
    kind: "schedule",
    schedule: { kind: "cron", expression, source, longestGapMs },
  };
}

/** The offset of each name within the second, in milliseconds: evenly spaced, in order of the hashes. */
export function spreadWithinSecond(names: readonly string[]): Map<string, number> {
  const ranked = [...new Set(names)]
    .map((name) => ({ name, hash: hash32(name) }))
    .sort((a, b) => a.hash - b.hash || (a.name < b.name ? -1 : 1));
  return new Map(ranked.map(({ name }, rank) => [name, Math.floor((rank * 1000) / ranked.length)]));
}

/**
 * A schedule stays plain data, as it is compared, copied and passed to threads. What its expression means is kept once
 * for all who have the same, with what it costs to find out: how its slots lie over 400 years.
 */
const known = new Map<string, Slots>();
/** As many as a config may have upstreams: none of those that run is forgotten. */
const MOST_KNOWN = 10_000;

export function slotsOf({ expression }: Schedule): Slots {
  return known.get(expression) ?? kept(parse(expression));
}

function kept(slots: Slots): Slots {
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(slots.text, slots);
  return slots;
}

function parse(expression: string): Slots {
  const every = Every.read(expression);
  if (every !== undefined) return every;
  const [, fields = "", timeZone] = /^((?:\S+ ){5}\S+)(?: (\S+))?$/.exec(expression) ?? [];
  const reading = parseCron(fields, timeZone);
  if (reading.kind === "cron") return reading.cron;
  throw new Error(`cannot read schedule: "expression" must be a schedule: ${reading.message}`);
}
