import { expect, test } from "vitest";

import type { LimitFamily } from "../../../src/features/hints/fields/limits.ts";
import { LearnedWindows } from "../../../src/features/hints/learned-windows.ts";

const HOUR_MS = 3_600_000;

function family(changes: Partial<LimitFamily>): LimitFamily {
  return {
    key: "x-ratelimit",
    unit: "requests",
    limit: 60,
    remaining: 59,
    perMs: undefined,
    resetMs: undefined,
    resource: undefined,
    ...changes,
  };
}

/** The window that is known after the last of these answers. */
function learnedFrom(
  answers: readonly (readonly [atMs: number, said: Partial<LimitFamily>])[],
  windows = new LearnedWindows(),
) {
  return answers.map(([atMs, said]) => windows.read([family(said)], atMs)[0]).at(-1);
}

const everyMs = (periodMs: number, count: number): readonly number[] =>
  Array.from({ length: count }, (_, index) => index * periodMs);

test("a reset that is always a second away, however late the next answer: per second", () => {
  const answers = everyMs(15_000, 4).map(
    (atMs) => [atMs, { limit: 5, remaining: 4, resetMs: 1000 }] as const,
  );
  expect(learnedFrom(answers.slice(0, 3))?.perMs).toBeUndefined();
  expect(learnedFrom(answers)).toMatchObject({ perMs: 1000, windowFrom: "resets" });
});

test.each([60_000, 900_000, HOUR_MS])("a reset that counts down and begins anew every %i ms", (perMs) => {
  const answers = everyMs(15_000, perMs / 15_000 + 8).map((atMs) => {
    const resetMs = Math.ceil((perMs - ((atMs + 7_300) % perMs)) / 1000) * 1000;
    return [atMs, { resetMs }] as const;
  });
  expect(learnedFrom(answers)).toMatchObject({ perMs, windowFrom: "resets" });
});

test("a window that begins with its first request is learned too", () => {
  let startMs = 0;
  const answers = everyMs(50_000, 80).map((atMs) => {
    if (atMs >= startMs + HOUR_MS) startMs = atMs;
    return [atMs, { limit: 5000, resetMs: startMs + HOUR_MS - atMs }] as const;
  });
  expect(learnedFrom(answers)?.perMs).toBe(HOUR_MS);
});

test("of a bucket that fills steadily, what is missing and when it is full tell the window", () => {
  const answers = [1, 2, 4].map(
    (missing, index) =>
      [index * 15_000, { limit: 500, remaining: 500 - missing, resetMs: missing * 120 }] as const,
  );
  expect(learnedFrom(answers)?.perMs).toBe(60_000);
});

test("one request that is always missing may be a bucket or a window: nothing is learned", () => {
  const answers = everyMs(15_000, 20).map(
    (atMs) => [atMs, { limit: 500, remaining: 499, resetMs: 120 }] as const,
  );
  expect(learnedFrom(answers)?.perMs).toBeUndefined();
});

test("a day that is used up steadily is no bucket of a week, nor an hour one of half a day", () => {
  for (const [perMs, periodMs, limit] of [
    [86_400_000, 300_000, 600],
    [HOUR_MS, 10_000, 600],
  ] as const) {
    const answers = everyMs(periodMs, perMs / periodMs).map((atMs, index) => {
      return [atMs, { limit, remaining: limit - 1 - index, resetMs: perMs - atMs }] as const;
    });
    expect(answers.flatMap((_, index) => learnedFrom(answers.slice(0, index + 1))?.perMs ?? [])).toEqual([]);
  }
});

test("where others use much of every second window only, two windows are not taken for one", () => {
  const answers = everyMs(100_000, 90).map((atMs) => {
    const isBusy = Math.floor(atMs / 900_000) % 2 === 1;
    const used = (1 + (atMs % 900_000) / 100_000) * (isBusy ? 3 : 1);
    return [atMs, { limit: 60, remaining: 60 - used }] as const;
  });
  expect(learnedFrom(answers)?.perMs).toBeUndefined();
});

test("without any reset, what is left tells by how it refills", () => {
  const answers = everyMs(15_000, 260).map(
    (atMs) => [atMs, { remaining: 60 - 1 - Math.floor((atMs % 900_000) / 15_000) }] as const,
  );
  expect(learnedFrom(answers)).toMatchObject({ perMs: 900_000, windowFrom: "refills" });
});

test("that one request more is left is no refill, however few a window has", () => {
  const answers = everyMs(15_000, 260).map(
    (atMs) => [atMs, { limit: 3, remaining: atMs % 900_000 < 450_000 ? 2 : 1 }] as const,
  );
  expect(learnedFrom(answers)?.perMs).toBeUndefined();
});

test("who looks too rarely learns nothing", () => {
  const answers = everyMs(60_000, 50).map(
    (atMs) => [atMs, { resetMs: 10_000 - ((atMs + 3_700) % 10_000) }] as const,
  );
  expect(learnedFrom(answers)?.perMs).toBeUndefined();
});

test("resets that agree on nothing teach nothing", () => {
  const answers = everyMs(15_000, 100).map(
    (atMs) => [atMs, { resetMs: ((atMs * 7919) % 50_021) + 1 }] as const,
  );
  expect(learnedFrom(answers)?.perMs).toBeUndefined();
});

test("a window that was told once is remembered, by limit and resource", () => {
  const windows = new LearnedWindows();
  learnedFrom([[0, { resource: "search", perMs: 60_000 }]], windows);
  expect(learnedFrom([[1, { resource: "search" }]], windows)).toMatchObject({
    perMs: 60_000,
    windowFrom: "policy",
  });
  expect(learnedFrom([[2, { resource: "core" }]], windows)?.perMs).toBeUndefined();
});

test("a reset beyond the window unlearns it", () => {
  const windows = new LearnedWindows([{ key: "x-ratelimit ", limit: 60, perMs: 60_000, from: "resets" }]);
  expect(learnedFrom([[0, { resetMs: 59_000 }]], windows)?.perMs).toBe(60_000);
  expect(learnedFrom([[1, { resetMs: 900_000 }]], windows)?.perMs).toBeUndefined();
  expect(windows.all).toEqual([]);
});

test("tokens are not watched, and no number of keys fills the memory", () => {
  const windows = new LearnedWindows();
  const answers = everyMs(15_000, 9).map((atMs) => [atMs, { unit: "tokens", resetMs: 1000 }] as const);
  expect(learnedFrom(answers, windows)?.perMs).toBeUndefined();
  for (let key = 0; key < 1000; key += 1) windows.read([family({ key: String(key), perMs: 1000 })], key);
  expect(windows.all.length).toBeLessThanOrEqual(32);
});
