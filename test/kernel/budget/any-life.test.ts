import * as fc from "fast-check";
import { expect, test } from "vitest";

import { coldStartOf } from "../../../src/kernel/budget/cold-start.ts";
import { Leases, type LeaseTerms } from "../../../src/kernel/budget/leases.ts";
import { takeLease } from "../../support/take-lease.ts";
import { slidingLog } from "../../../src/simulator/meters.ts";
import { RequestLedger } from "../../../src/simulator/request-ledger.ts";

/** As slow as the margin of a lease forgives. */
const SLOWEST_CLOCK = 0.9991;

type Request = { readonly sentAtMs: number; readonly isLate: boolean };

type Step =
  /** Sends as soon as it may, so often; who is late is counted only when its socket is closed. */
  | { readonly kind: "send"; readonly count: number; readonly isLate: boolean }
  | { readonly kind: "answer" }
  | { readonly kind: "wait" | "stand still"; readonly part: number }
  | { readonly kind: "lower the cap"; readonly part: number }
  | { readonly kind: "die" };

type Case = {
  readonly terms: LeaseTerms;
  readonly limits: readonly number[];
  readonly timeoutMs: number;
  readonly steps: readonly Step[];
};

/** One process after another under the same terms, and every moment at which a request was counted. */
class Lives {
  readonly countedAtMs: number[] = [];
  readonly #case: Case;
  #nowMs = 0;
  #leases: Leases;
  #open: Request[] = [];
  #caps: readonly number[] = [];

  constructor(one: Case) {
    this.#case = one;
    this.#leases = this.#born();
  }

  run(): void {
    for (const step of this.#case.steps) this.#take(step);
    this.#close(() => true);
  }

  #take(step: Step): void {
    const { terms, timeoutMs } = this.#case;
    const longestMs = Math.max(...terms.rates.map(({ perMs }) => perMs)) + timeoutMs + terms.lingerMs;
    switch (step.kind) {
      case "send":
        for (let sent = 0; sent < step.count; sent += 1) this.#send(step.isLate);
        return;
      case "answer":
        for (const { isLate } of this.#open) {
          // An answer proves that it was counted: a late one then comes with its count.
          if (isLate) this.countedAtMs.push(this.#nowMs);
          this.#leases.settle("answered", this.#nowMs);
        }
        this.#open = [];
        return;
      case "wait":
        return this.#wait(this.#nowMs + step.part * longestMs);
      case "stand still":
        this.#nowMs += 2 * step.part * longestMs;
        return this.#wait(this.#nowMs);
      case "lower the cap":
        this.#caps = terms.rates.map(({ cap }) => Math.max(1, Math.floor(cap * step.part)));
        return;
      case "die":
        for (const { isLate, sentAtMs } of this.#open) {
          if (isLate) this.countedAtMs.push(Math.max(this.#nowMs, sentAtMs + timeoutMs) + terms.lingerMs);
        }
        this.#open = [];
        this.#leases = this.#born();
        return;
      default:
        return step satisfies never;
    }
  }

  #born(): Leases {
    const { terms, limits, timeoutMs } = this.#case;
    this.#caps = [];
    return new Leases(terms, this.#nowMs, coldStartOf(terms, limits, timeoutMs + terms.lingerMs).coldMs);
  }

  #send(isLate: boolean): void {
    for (let asked = 0; asked < 3; asked += 1) {
      const decision = takeLease(this.#leases, this.#nowMs, this.#caps);
      if (decision.kind === "granted") {
        this.#open.push({ sentAtMs: this.#nowMs, isLate });
        if (!isLate) this.countedAtMs.push(this.#nowMs);
        return;
      }
      this.#wait(decision.untilMs);
    }
  }

  /** Time passes, and what is open for too long is closed on the way. */
  #wait(untilMs: number): void {
    const { timeoutMs } = this.#case;
    for (const { sentAtMs } of this.#open) {
      if (sentAtMs + timeoutMs > untilMs) continue;
      this.#nowMs = Math.max(this.#nowMs, sentAtMs + timeoutMs);
      this.#close((request) => request.sentAtMs === sentAtMs);
    }
    this.#nowMs = Math.max(this.#nowMs, untilMs);
  }

  #close(which: (request: Request) => boolean): void {
    for (const request of this.#open.filter(which)) {
      if (request.isLate) this.countedAtMs.push(this.#nowMs + this.#case.terms.lingerMs);
      this.#leases.settle("unanswered", this.#nowMs);
    }
    this.#open = this.#open.filter((request) => !which(request));
  }
}

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("send" as const),
      count: fc.integer({ min: 1, max: 20 }),
      isLate: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: "answer" as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constantFrom("wait" as const, "stand still" as const),
      part: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("lower the cap" as const),
      part: fc.double({ min: 0.1, max: 1, noNaN: true }),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: "die" as const }) },
);

/** From the whole limit down to where the shortest cold start is allowed, and just beyond. */
const cases: fc.Arbitrary<Case> = fc
  .record({
    cap: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 40, max: 90 })),
    perMs: fc.constantFrom(50, 1_000),
    spare: fc.integer({ min: 0, max: 3 }),
    openForGaps: fc.constantFrom(0.25, 0.5, 1, 1.5, 2, 3, 8),
    lingerPart: fc.constantFrom(0, 0.25, 0.5),
    second: fc.option(fc.record({ part: fc.constantFrom(0.2, 0.5, 3), share: fc.constantFrom(0.5, 1) })),
    steps: fc.array(step, { minLength: 10, maxLength: 120 }),
  })
  .map(({ cap, perMs, spare, openForGaps, lingerPart, second, steps }) => {
    const afterlifeMs = (openForGaps * perMs) / cap;
    const rates: LeaseTerms["rates"][number][] = [{ perMs, cap }];
    const limits = [cap + Math.floor(openForGaps) * (spare > 0 ? 1 : 0) + spare];
    if (second !== null) {
      const secondCap = Math.max(1, Math.round(cap * second.part * 0.9));
      rates.push({ perMs: perMs * second.part, cap: secondCap });
      limits.push(Math.floor(secondCap / second.share));
    }
    const lingerMs = lingerPart * afterlifeMs;
    return { terms: { rates, lingerMs }, limits, timeoutMs: afterlifeMs - lingerMs, steps };
  });

test("through any number of lives, no window of any rate holds more than its limit, even by a slow clock", () => {
  fc.assert(
    fc.property(cases, (one) => {
      const lives = new Lives(one);
      lives.run();
      const countedAtMs = lives.countedAtMs.toSorted((a, b) => a - b);
      for (const [index, { perMs }] of one.terms.rates.entries()) {
        const requests = one.limits[index] ?? 0;
        const upstream = new RequestLedger([{ requests, perMs }], slidingLog);
        for (const atMs of countedAtMs) upstream.count(atMs * SLOWEST_CLOCK);
        expect(upstream.worstWindow()[0]?.requests).toBeLessThanOrEqual(requests);
      }
    }),
    { seed: 20261121, numRuns: 600 },
  );
});
