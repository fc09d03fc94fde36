import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "./duration.ts";

/** From then until then, local time is UTC and so much. */
export type ZoneSpan = { readonly fromMs: number; readonly toMs: number; readonly offsetMs: number };

/** 2024 to 2056: each date falls on each weekday in it. Before and after it, a zone stays as it is at that end. */
const KNOWN_FROM_MS = 1_704_067_200_000;
const KNOWN_TO_MS = 2_713_910_400_000;
/** No zone changes back sooner: Morocco does after a month. */
const LOOK_EVERY_MS = 7 * DAY_MS;

/**
 * The offsets of a zone such as `Europe/Berlin`, by the time zone data of Node.js; undefined for an unknown name. They
 * are found once, in 5 ms: asking for the offset at every slot would cost a microsecond each time.
 */
export function zoneSpans(name: string): readonly ZoneSpan[] | undefined {
  const known = spansByZone.get(name) ?? findSpans(name);
  if (known !== undefined) spansByZone.set(name, known);
  return known;
}

const spansByZone = new Map<string, readonly ZoneSpan[]>();

function findSpans(name: string): readonly ZoneSpan[] | undefined {
  if (name === "UTC")
    return [{ fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY, offsetMs: 0 }];
  const offsetAt = offsetsOf(name);
  if (offsetAt === undefined) return undefined;
  const spans: ZoneSpan[] = [];
  let fromMs = Number.NEGATIVE_INFINITY;
  let offsetMs = offsetAt(KNOWN_FROM_MS);
  for (let atMs = KNOWN_FROM_MS; atMs < KNOWN_TO_MS; atMs += LOOK_EVERY_MS) {
    if (offsetAt(atMs + LOOK_EVERY_MS) === offsetMs) continue;
    let [before, after] = [atMs, atMs + LOOK_EVERY_MS];
    while (after - before > SECOND_MS) {
      const middle = before + Math.floor((after - before) / 2 / SECOND_MS) * SECOND_MS;
      if (offsetAt(middle) === offsetMs) before = middle;
      else after = middle;
    }
    spans.push({ fromMs, toMs: after, offsetMs });
    fromMs = after;
    offsetMs = offsetAt(after);
  }
  return [...spans, { fromMs, toMs: Number.POSITIVE_INFINITY, offsetMs }];
}

function offsetsOf(timeZone: string): ((atMs: number) => number) | undefined {
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat("en", { timeZone, timeZoneName: "longOffset" });
  } catch {
    return undefined;
  }
  return (atMs) => {
    const [, sign, hours = 0, minutes = 0, seconds = 0] =
      /([+-])(\d+):(\d+)(?::(\d+))?$/.exec(format.format(atMs)) ?? [];
    const ms = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS + Number(seconds) * SECOND_MS;
    return sign === "-" ? -ms : ms;
  };
}
