import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  BURN_PAIRS,
  densityOf,
  densityWarnings,
  failuresThatBurn,
  guardFailures,
  type BurnPair,
  type Density,
} from "../../src/proof/objective-density.ts";
import { parseDuration } from "../../src/kernel/time/duration.ts";
import { ROUND_PERIODS_MS } from "../../src/proof/findings.ts";
import { sampleCron, sampleSchedule, sampleUpstream } from "../support/kernel-samples.ts";

function pair(longHours: number): BurnPair {
  const found = BURN_PAIRS.find(({ longMs }) => longMs === longHours * 3_600_000);
  if (found === undefined) throw new Error(`no pair for ${longHours} h`);
  return found;
}

function every(periodMs: number, availability: number): Density {
  return { periodMs, availability };
}

function warningsFor(periodMs: number, availability: number): readonly string[] {
  const objective = { availability, latencyMs: 1000 };
  return densityWarnings([sampleUpstream({ schedule: sampleSchedule(periodMs), objective })]).map(
    ({ message }) => message,
  );
}

describe("the failures that an alert waits for", () => {
  test("at one poll a minute and 99.9 %, one failure burns fast enough to page, and the guard waits for three", () => {
    const density = every(60_000, 0.999);
    expect(failuresThatBurn(density, pair(1))).toBe(1);
    expect(guardFailures(density, pair(1))).toBe(3);
  });

  test("at one poll every 15 s and 99.9 %, an outage of 60 s has enough failures", () => {
    const slotsInTheOutage = 4;
    expect(guardFailures(every(15_000, 0.999), pair(1))).toBeLessThanOrEqual(slotsInTheOutage);
  });

  test("what one slot sees is never enough", () => {
    for (const availability of [0.9, 0.999, 0.99999])
      for (const each of BURN_PAIRS)
        expect(guardFailures(every(60_000, availability), each)).toBeGreaterThanOrEqual(2);
  });

  test("where polls are dense, the burn rate alone decides", () => {
    const density = every(5000, 0.995);
    expect(guardFailures(density, pair(1))).toBe(failuresThatBurn(density, pair(1)));
    expect(failuresThatBurn(density, pair(1))).toBe(52);
  });

  test("a window that may hold no poll is left out", () => {
    expect(guardFailures(every(300_000, 0.99), pair(1))).toBe(Infinity);
    expect(guardFailures(every(300_000, 0.99), pair(6))).toBeLessThan(Infinity);
  });

  test("an upstream that just meets its objective is paged for by chance in fewer than one window of a thousand", () => {
    const pages = BURN_PAIRS.filter(({ severity }) => severity === "page");
    fc.assert(
      fc.property(
        fc.constantFrom(...ROUND_PERIODS_MS),
        fc.double({ min: 0.9, max: 0.99999, noNaN: true }),
        fc.constantFrom(...pages),
        (periodMs, availability, page) => {
          const density = every(periodMs, availability);
          const guard = guardFailures(density, page);
          if (guard === Infinity) return;
          const mean = (page.longMs / periodMs) * (1 - availability);
          expect(chanceOfAtLeast(guard, mean)).toBeLessThanOrEqual(0.001);
        },
      ),
      { seed: 4 },
    );
  });

  test("an uneven schedule counts by its usual gap: what nobody watches burns nothing", () => {
    const guardOf = (...cron: Parameters<typeof sampleCron>): number =>
      guardFailures(densityOf(sampleUpstream({ schedule: sampleCron(...cron) })), pair(1));
    const { availability } = sampleUpstream().objective;
    expect(guardOf("*/15 * 8-17 * * MON-FRI", "Europe/Berlin")).toBe(
      guardFailures(every(15_000, availability), pair(1)),
    );
    expect(guardOf("0 9 * * 1")).toBe(Infinity);
  });
});

describe("the warning", () => {
  test("says why an objective cannot be judged, and what would do", () => {
    expect(warningsFor(60_000, 0.999)).toEqual([
      'upstream "email" cannot be judged well: 99.9% at one poll every 1m: 1 failure in 1h would already page, so the rules wait for 3; poll at least every 20s or aim at 99.5%',
    ]);
  });

  test("says that a slow schedule leaves the fast page out", () => {
    expect(warningsFor(600_000, 0.99)).toEqual([
      'upstream "email" is polled too rarely for its 1h error-budget page (99% at one poll every 10m), which the rules leave out; poll at least every 2m',
    ]);
  });

  test("is silent where polls are dense enough", () => {
    const officeHours = sampleUpstream({ schedule: sampleCron("*/15 * 8-17 * * MON-FRI", "Europe/Berlin") });
    expect(densityWarnings([officeHours])).toEqual([]);
    expect(warningsFor(15_000, 0.995)).toEqual([]);
    expect(warningsFor(10_000, 0.999)).toEqual([]);
  });

  test("proposes only what it would not warn about itself", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...ROUND_PERIODS_MS),
        fc.constantFrom(0.9, 0.95, 0.99, 0.995, 0.999, 0.9999),
        (periodMs, availability) => {
          const proposals = proposalsOf(warningsFor(periodMs, availability), periodMs, availability);
          for (const [otherPeriodMs, otherAim] of proposals) {
            expect(warningsFor(otherPeriodMs, otherAim)).toEqual([]);
          }
        },
      ),
      { seed: 4 },
    );
  });
});

/** Of the warnings' own words: with which period, or which aim, all would be well. */
function proposalsOf(
  warnings: readonly string[],
  periodMs: number,
  availability: number,
): readonly (readonly [periodMs: number, availability: number])[] {
  return warnings.flatMap((warning) => {
    const proposal = warning.split(";")[1] ?? "";
    const period = parseDuration(/poll every (\w+)/.exec(proposal)?.[1] ?? "");
    const aim = /aim at ([\d.]+)%/.exec(proposal)?.[1];
    return [
      ...(period === undefined ? [] : [[period, availability] as const]),
      ...(aim === undefined ? [] : [[periodMs, Number(aim) / 100] as const]),
    ];
  });
}

/** From the definition of Poisson, with every term by itself. */
function chanceOfAtLeast(count: number, mean: number): number {
  let below = 0;
  let logFactorial = 0;
  for (let k = 0; k < count; k += 1) {
    if (k > 0) logFactorial += Math.log(k);
    below += Math.exp(k * Math.log(mean) - mean - logFactorial);
  }
  return 1 - below;
}
