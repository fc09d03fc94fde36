import { readEvery, slotsEvery } from "./every.ts";
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
  const { text } = kept(slotsEvery(periodSeconds, hash32(name) % periodSeconds));
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

/** The slot that is so many after this moment. Wall clock. */
export function slotAfter(schedule: Schedule, wallMs: number, count: number): number {
  const slots = slotsOf(schedule);
  let slotMs = wallMs;
  for (let slot = 0; slot < count; slot += 1) slotMs = slots.next(slotMs);
  return slotMs;
}

function kept(slots: Slots): Slots {
  if (known.size >= MOST_KNOWN) known.clear();
  known.set(slots.text, slots);
  return slots;
}

function parse(expression: string): Slots {
  const every = readEvery(expression);
  if (every !== undefined) return every;
  const [, fields = "", timeZone] = /^((?:\S+ ){5}\S+)(?: (\S+))?$/.exec(expression) ?? [];
  const reading = parseCron(fields, timeZone);
  if (reading.kind === "cron") return reading.cron;
  throw new Error(`cannot read schedule: "expression" must be a schedule: ${reading.message}`);
}
