import { beforeAll, describe, expect, test } from "vitest";

import { requireBinary } from "../../support/processes/binaries.ts";
import type { Answers } from "../../support/limiters/limiter.ts";
import { NODE_LIMITERS } from "../../support/limiters/node-limiters.ts";
import { haproxyLimiter, nginxLimiter } from "../../support/limiters/proxy-limiters.ts";
import { type Row, runTrial } from "../../support/limiters/trial.ts";

/** The real limiters, each judged by what it answered itself. Sixty polls a minute are allowed, and 180 are asked for. */

const NGINX = requireBinary("nginx");
const HAPROXY = requireBinary("haproxy");

const LIMITERS = [
  ...NODE_LIMITERS,
  ...(NGINX === undefined ? [] : [nginxLimiter(NGINX)]),
  ...(HAPROXY === undefined ? [] : [haproxyLimiter(HAPROXY)]),
];

/** Of 45; a start waits a window first, and a busy machine polls later. */
const LEAST_ANSWERED = 24;

/**
 * Ten times too much takes three refusals to learn: the first may be another's doing, the second halves 30 in ten seconds,
 * the third halves 15. When one comes, the two other upstreams may have a poll on its way, and the next poll may come too
 * early, as limiters round the seconds of a `Retry-After` down. In the second minute, at most one is left to learn.
 */
const REFUSED_AT_ONCE = 4;
const TO_LEARN = 3;

const total = ({ ok, refused }: Answers): number => ok + refused;

describe("a limiter that people run", () => {
  let rows: readonly Row[] = [];
  beforeAll(async () => {
    rows = await runTrial(LIMITERS);
  });

  const rowOf = (index: number): Row => {
    const row = rows[index];
    if (row === undefined) throw new Error("the trial has no such row");
    return row;
  };

  const CASES = LIMITERS.map(({ name, tells }, index) => ({ name, tells, index }));
  const isTold = (tells: string): boolean => /-|draft/.test(tells) && !tells.startsWith("only");

  test.each(CASES)("$name ($tells) refuses nothing where the config is right", ({ index }) => {
    const { honest } = rowOf(index);
    expect(honest.refused).toBe(0);
    expect(honest.ok).toBeGreaterThan(2 * LEAST_ANSWERED);
  });

  test.each(CASES.filter(({ tells }) => isTold(tells)))(
    "$name ($tells) refuses nothing where ten times too much is configured, because it tells",
    ({ index }) => {
      const [first, second] = rowOf(index).mistaken;
      expect([first.refused, second.refused]).toEqual([0, 0]);
      expect(Math.min(first.ok, second.ok)).toBeGreaterThan(LEAST_ANSWERED);
    },
  );

  test.each(CASES.filter(({ tells }) => !isTold(tells)))(
    "$name ($tells) refuses until its limit is learned, and then no more",
    ({ index }) => {
      const { mistaken, known } = rowOf(index);
      const [first, second] = mistaken;
      expect(first.refused).toBeLessThanOrEqual(TO_LEARN * REFUSED_AT_ONCE);
      expect(second.refused).toBeLessThanOrEqual(REFUSED_AT_ONCE);
      expect(Math.min(first.ok, second.ok)).toBeGreaterThan(LEAST_ANSWERED);
      expect(known.join()).toMatch(/^\d+ requests per 10s, learned from its refusals$/);
    },
  );

  test.each(CASES)(
    "$name ($tells) refuses half and more of what a prober sends that knows of no limit",
    ({ index }) => {
      const { unaware } = rowOf(index);
      expect(unaware.refused / total(unaware)).toBeGreaterThan(0.5);
    },
  );
});
