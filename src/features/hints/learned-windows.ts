/**
 * Some limits do not say their window. It is learned from answers, and only where they agree: until then a limit is
 * shown, and lowers nothing. In doubt the shorter window is believed, which asks for less restraint than the longer.
 */

import { type LimitFamily, onlyRoundWindowMs, roundWindowMs } from "./fields/limits.ts";
import { keepNewest } from "../../platform/remembered.ts";

export const LESSONS = ["policy", "resets", "refills"] as const;
export type Lesson = (typeof LESSONS)[number];

export type LearnedWindow = {
  /** It is made of the limit's family and the resource that it is about. */
  readonly key: string;
  /** The answers may change it: this is what was said last. */
  readonly limit: number | undefined;
  readonly perMs: number;
  /** A window was told once, or its resets tell it, or how what is left refills does. */
  readonly from: Lesson;
};

/** A limit that is known from `refusals` was told by nobody: its number is learned too, and is what we may ask. */
export type KnownLimit = LimitFamily & { readonly windowFrom: Lesson | "refusals" | "told" | undefined };

/** Resets are rounded to seconds, and answers take a while. */
const TOLERANCE_MS = 1500;
/** So many resets in a row that are all the same are no chance. */
const SAME_RESETS = 4;
const SAME_BUCKETS = 3;
const REFILLS = 3;
const MOST_KEYS = 16;

type Sighting = {
  readonly atMs: number;
  readonly resetMs: number | undefined;
  readonly remaining: number | undefined;
  /** So many answers in a row spoke of this same moment of reset. */
  readonly sameMoment: number;
  /** So many answers in a row had the same time until the reset. */
  readonly sameReset: number;
  /**
   * What is missing and the time until all of it is back agreed on this window, `times` in a row, with these `rests`.
   */
  readonly bucket:
    | { readonly perMs: number; readonly rests: ReadonlySet<number>; readonly times: number }
    | undefined;
  readonly furthestMs: number;
  /** What is left had risen at these moments; nobody had looked for `gapMs` before. */
  readonly refills: readonly { readonly atMs: number; readonly gapMs: number }[];
};

export class LearnedWindows {
  readonly #known: Map<string, LearnedWindow>;
  readonly #seen = new Map<string, Sighting>();

  constructor(restored: readonly LearnedWindow[] = []) {
    this.#known = new Map(restored.slice(0, MOST_KEYS).map((learned) => [learned.key, learned]));
  }

  get all(): readonly LearnedWindow[] {
    return [...this.#known.values()];
  }

  /** Learns from the limits of requests of an answer, and adds the windows that are known by now. */
  read(families: readonly LimitFamily[], nowMs: number): readonly KnownLimit[] {
    return families.map((family) =>
      family.unit === "requests" ? this.#readOne(family, nowMs) : asTold(family),
    );
  }

  #readOne(family: LimitFamily, nowMs: number): KnownLimit {
    const key = `${family.key} ${family.resource ?? ""}`;
    if (family.perMs !== undefined) {
      this.#learn({ key, limit: family.limit, perMs: family.perMs, from: "policy" });
      return asTold(family);
    }
    this.#contradict(key, family.resetMs);
    const known = this.#known.get(key);
    const learned = known === undefined ? this.#watch(key, family, nowMs) : this.#renew(known, family.limit);
    return { ...family, perMs: learned?.perMs, windowFrom: learned?.from };
  }

  #learn(learned: LearnedWindow): LearnedWindow {
    const known = this.#known.get(learned.key);
    if (known?.perMs === learned.perMs) return this.#renew(known, learned.limit);
    keepNewest(this.#known, learned.key, learned, MOST_KEYS);
    this.#seen.delete(learned.key);
    return learned;
  }

  #renew(known: LearnedWindow, limit: number | undefined): LearnedWindow {
    if (known.limit === limit || limit === undefined) return known;
    const renewed = { ...known, limit };
    this.#known.set(known.key, renewed);
    return renewed;
  }

  /** A reset that is further away than the window is long proves the window wrong. */
  #contradict(key: string, resetMs: number | undefined): void {
    const known = this.#known.get(key);
    if (known !== undefined && (resetMs ?? 0) > known.perMs * 1.02 + TOLERANCE_MS) this.#known.delete(key);
  }

  #watch(key: string, family: LimitFamily, nowMs: number): LearnedWindow | undefined {
    const before = this.#seen.get(key);
    const seen = sightingOf(family, before, nowMs);
    keepNewest(this.#seen, key, seen, MOST_KEYS);
    const byResets = windowOfResets(seen, before);
    const perMs = byResets ?? (family.resetMs === undefined ? windowOfRefills(seen) : undefined);
    if (perMs === undefined) return undefined;
    return this.#learn({
      key,
      limit: family.limit,
      perMs,
      from: byResets === undefined ? "refills" : "resets",
    });
  }
}

function asTold(family: LimitFamily): KnownLimit {
  return { ...family, windowFrom: family.perMs === undefined ? undefined : "told" };
}

function sightingOf(family: LimitFamily, before: Sighting | undefined, atMs: number): Sighting {
  const { resetMs, remaining } = family;
  const isSameReset = resetMs !== undefined && resetMs > 0 && before?.resetMs === resetMs;
  const movedMs =
    resetMs === undefined || before?.resetMs === undefined
      ? Infinity
      : atMs + resetMs - before.atMs - before.resetMs;
  const isSameMoment = Math.abs(movedMs) <= TOLERANCE_MS;
  const risenBy = (remaining ?? 0) - (before?.remaining ?? Infinity);
  const refill =
    risenBy > Math.max(1, (family.limit ?? 0) / 5) ? [{ atMs, gapMs: atMs - (before?.atMs ?? atMs) }] : [];
  // A smaller rise may be a refill of which little was used, or none at all: those around it are evidence no more.
  const refills = risenBy > 0 && refill.length === 0 ? [] : [...(before?.refills ?? []), ...refill];
  return {
    atMs,
    resetMs,
    remaining,
    sameMoment: isSameMoment ? (before?.sameMoment ?? 0) + 1 : 1,
    sameReset: isSameReset ? (before?.sameReset ?? 0) + 1 : 1,
    bucket: isSameMoment ? undefined : bucketOf(family, before),
    furthestMs: Math.max(before?.furthestMs ?? 0, resetMs ?? 0),
    refills: refills.slice(-REFILLS),
  };
}

/**
 * A bucket that fills steadily is reset when it is full: that tells the window, if the window is a round one. Each request
 * puts that moment off. Where it stays, a window counts down, and would look like a longer one as it is used up.
 */
function bucketOf(
  { limit, remaining, resetMs }: LimitFamily,
  before: Sighting | undefined,
): Sighting["bucket"] {
  if (limit === undefined || remaining === undefined || resetMs === undefined) return undefined;
  const missing = limit - remaining;
  if (missing < 1 || resetMs <= 0) return before?.bucket;
  const exactMs = (resetMs * limit) / missing;
  const perMs = onlyRoundWindowMs(exactMs * 0.97, exactMs * 1.03);
  if (perMs === undefined) return undefined;
  const known = before?.bucket?.perMs === perMs ? before.bucket : undefined;
  return {
    perMs,
    rests: new Set([...(known?.rests ?? []), missing].slice(0, SAME_BUCKETS)),
    times: (known?.times ?? 0) + 1,
  };
}

function windowOfResets(seen: Sighting, before: Sighting | undefined): number | undefined {
  const { bucket, resetMs } = seen;
  if (resetMs === undefined || resetMs <= 0) return undefined;
  if (bucket !== undefined && bucket.times >= SAME_BUCKETS && bucket.rests.size > 1) return bucket.perMs;
  if (seen.sameReset >= SAME_RESETS && seen.furthestMs <= resetMs) return roundWindowMs(resetMs);
  return before === undefined ? undefined : windowOfJump(seen, before);
}

/**
 * One window was seen twice, then the next: it began after the old one had ended and before this answer. How far its
 * reset is away, and how far it moved, must agree on one round window.
 */
function windowOfJump(seen: Sighting, before: Sighting): number | undefined {
  if (seen.resetMs === undefined || before.resetMs === undefined || before.sameMoment < 2) return undefined;
  const gapMs = seen.atMs - before.atMs;
  const movedMs = seen.atMs + seen.resetMs - before.atMs - before.resetMs;
  if (movedMs <= TOLERANCE_MS) return undefined;
  const leastMs = Math.max(seen.resetMs, movedMs - gapMs, seen.furthestMs) - TOLERANCE_MS;
  const mostMs = Math.min(movedMs, seen.resetMs + gapMs) + TOLERANCE_MS;
  return onlyRoundWindowMs(leastMs, mostMs);
}

/** Three refills tell the window if they are evenly spaced, and were looked at often enough not to have missed one. */
function windowOfRefills({ refills }: Sighting): number | undefined {
  if (refills.length < REFILLS) return undefined;
  let [leastMs, mostMs, gapMs] = [0, Infinity, 0];
  for (const [index, refill] of refills.entries()) {
    const earlier = refills[index - 1];
    gapMs = Math.max(gapMs, refill.gapMs);
    if (earlier === undefined) continue;
    leastMs = Math.max(leastMs, refill.atMs - refill.gapMs - earlier.atMs);
    mostMs = Math.min(mostMs, refill.atMs - (earlier.atMs - earlier.gapMs));
  }
  const perMs = onlyRoundWindowMs(leastMs, mostMs);
  return perMs !== undefined && gapMs * 3 <= perMs ? perMs : undefined;
}
