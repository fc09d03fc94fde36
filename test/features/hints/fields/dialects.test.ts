import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";

import type { AnswerHints } from "../../../../src/features/hints/fields/answer-hints.ts";
import type { LimitFamily } from "../../../../src/features/hints/fields/limits.ts";
import { readAnswerHints } from "../../../../src/features/hints/fields/answer-hints.ts";
import { limitsOf } from "../../../../src/features/hints/fields/limits.ts";

/** What a provider means by the headers of one answer. `null` is what it does not say. */
type Meant = {
  readonly limit: number | null;
  readonly remaining: number | null;
  readonly window_s: number | null;
  readonly reset_in_s?: number | null;
  readonly unit: string;
};

type Sample = Meant & {
  readonly id: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly at: number | null;
  readonly told_window: boolean;
  readonly families?: readonly Meant[];
  /** Why another reading is as good. Then only what it does is judged. */
  readonly contested?: string;
};

const SOME_MOMENT_S = 1_782_900_000;

function samplesIn(file: string): readonly Sample[] {
  const text = readFileSync(new URL(`../../../fixtures/limits/${file}.jsonl`, import.meta.url), "utf8");
  return text
    .trim()
    .split("\n")
    .map((line): Sample => JSON.parse(line));
}

function answerHintsIn({ headers, at }: Sample, status = 200): AnswerHints {
  const lines = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const);
  return readAnswerHints({ status, reasonPhrase: "", headers: lines }, (at ?? SOME_MOMENT_S) * 1000, String)
    .hints;
}

function meantRequests(sample: Sample): readonly Meant[] {
  const says = sample.limit !== null || sample.remaining !== null;
  return (sample.families ?? (says ? [sample] : [])).filter(({ unit }) => unit === "requests");
}

function isSame(read: number | undefined, meant: number | null, tolerance = 0): boolean {
  return meant === null ? read === undefined : read !== undefined && Math.abs(read - meant) <= tolerance;
}

function isCount(read: LimitFamily, meant: Meant): boolean {
  return isSame(read.limit, meant.limit) && isSame(read.remaining, meant.remaining);
}

/** Resets are rounded by some: a second is near enough. */
function isFamily(read: LimitFamily, meant: Meant, toldWindow: boolean): boolean {
  const windowMs = meant.window_s === null ? null : meant.window_s * 1000;
  const isWindow = isSame(read.perMs, windowMs) || (!toldWindow && read.perMs === undefined);
  const reset = meant.reset_in_s;
  const isReset = reset === undefined || isSame(read.resetMs, reset === null ? null : reset * 1000, 1010);
  return isCount(read, meant) && isWindow && isReset;
}

const SAMPLES = ["corpus", "unseen", "round-2", "round-3", "round-4", "round-5"].flatMap(samplesIn);
const CLEAR = SAMPLES.filter(({ contested }) => contested === undefined).map(
  (sample) => [sample.id, sample] as const,
);
const CONTESTED = SAMPLES.flatMap((sample) =>
  sample.contested === undefined ? [] : [[sample.id, sample] as const],
);

describe("the headers of real providers", () => {
  test.each(CLEAR)("each limit of requests is read: %s", (_, sample) => {
    const read = answerHintsIn(sample).families.filter(({ unit }) => unit === "requests");
    for (const meant of meantRequests(sample)) {
      expect(read).toSatisfy(() => read.some((family) => isFamily(family, meant, sample.told_window)));
    }
  });

  test.each(CLEAR)("nothing else is taken for a limit of requests: %s", (_, sample) => {
    const { families, malformed } = answerHintsIn(sample);
    const meant = meantRequests(sample);
    const invented = families
      .filter(({ unit }) => unit === "requests")
      .filter((family) => !meant.some((one) => isCount(family, one)));
    expect(invented).toEqual([]);
    expect(
      limitsOf(families).filter(({ requests }) => !meant.some(({ limit }) => limit === requests)),
    ).toEqual([]);
    expect(malformed).toBe(0);
  });

  test.each(CLEAR)("the order of its headers changes nothing that follows: %s", (_, sample) => {
    const followsFrom = ({ families, pause, remaining }: AnswerHints): unknown => [
      limitsOf(families),
      pause,
      remaining,
    ];
    const turned = { ...sample, headers: Object.fromEntries(Object.entries(sample.headers).toReversed()) };
    for (const status of [200, 429])
      expect(followsFrom(answerHintsIn(turned, status))).toEqual(followsFrom(answerHintsIn(sample, status)));
  });

  test.each(CLEAR)("a good answer pauses only where no request is left: %s", (_, sample) => {
    const spent = meantRequests(sample).filter(({ remaining }) => remaining === 0);
    const longest = Math.max(0, ...spent.map(({ reset_in_s }) => reset_in_s ?? 0));
    const pausedMs = answerHintsIn(sample).pause?.forMs ?? 0;
    expect(Math.abs(pausedMs - longest * 1000)).toBeLessThanOrEqual(1010);
  });

  test.each(CONTESTED)(
    "what nothing in the answer tells lowers nothing, and pauses nothing: %s",
    (_, sample) => {
      const { families, pause } = answerHintsIn(sample);
      expect(limitsOf(families).filter(({ perMs }) => perMs !== undefined)).toEqual([]);
      expect(pause).toBeUndefined();
    },
  );
});
