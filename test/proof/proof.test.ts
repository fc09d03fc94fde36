import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Budget, Rate, Upstream } from "../../src/kernel/config/config.ts";
import type { Finding } from "../../src/proof/part.ts";
import { sharedKeys, ROUND_PERIODS_MS } from "../../src/proof/findings.ts";
import { prove } from "../../src/proof/proof.ts";
import { type BudgetProof, proveBudget } from "../../src/proof/numbers.ts";
import { type Schedule, scheduleCron, scheduleEvery, slotsOf } from "../../src/kernel/schedule/schedule.ts";
import { PROOF_PARTS } from "../../src/app/features/proof.ts";

const MINUTE: Rate = { requests: 60, perMs: 60_000, label: "1m" };

function budget(overrides: Partial<Budget> = {}): Budget {
  return {
    name: "api",
    rates: [MINUTE],
    share: 0.2,
    lingerMs: 0,
    maxPauseMs: 3_600_000,
    blindAfterMs: 300_000,
    yieldBelow: 0.1,
    quota: undefined,
    ...overrides,
  };
}

function every(periodMs: number, name: string): Schedule {
  return scheduleEvery(periodMs, name);
}

function cron(text: string): Schedule {
  const reading = scheduleCron(text);
  if (reading.kind === "refused") throw new Error(reading.message);
  return reading.schedule;
}

function upstream(overrides: Partial<Upstream> = {}): Upstream {
  const name = overrides.name ?? "a";
  return {
    name,
    url: "https://api.example.test/v1/resources",
    auth: { kind: "none" },
    headers: {},
    budgets: ["api"],
    schedule: every(15_000, name),
    timeoutMs: 10_000,
    confirm: 1,
    confirmOverMs: 0,
    expect: { status: [200], json: true, maxBodyBytes: 1024 },
    degradedAboveMs: 1_000,
    requestIdHeaders: [],
    objective: { availability: 0.995, latencyMs: 1000 },
    connection: "fresh",
    proxy: "env",
    tls: {
      caFile: undefined,
      certFile: undefined,
      keyFile: undefined,
      serverName: undefined,
      insecureSkipVerify: false,
    },
    labels: {},
    ...overrides,
  };
}

function faults(given: Budget, upstreams: readonly Upstream[]): readonly string[] {
  return prove({ budgets: [given], upstreams }, PROOF_PARTS).faults.map(({ message }) => message);
}

function warnings(given: Budget, upstreams: readonly Upstream[]): readonly string[] {
  return prove({ budgets: [given], upstreams }, PROOF_PARTS).warnings.map(({ message }) => message);
}

describe("a plan that fits", () => {
  test("is shown with all of its numbers", () => {
    const proof = prove({ budgets: [budget()], upstreams: [upstream()] }, PROOF_PARTS);
    expect(proof).toEqual({
      latenessMs: new Map([["a", 130_000]]),
      looksAgain: new Map(),
      faults: [],
      warnings: [],
      budgets: [
        {
          budget: "api",
          share: 0.2,
          fits: true,
          turns: undefined,
          rates: [
            {
              rate: MINUTE,
              cap: 12,
              demand: 8,
              headroom: 4,
              upstreams: [{ upstream: "a", schedule: "every 15s", confirm: 1, slots: 4, requests: 8 }],
            },
          ],
          paceGapMs: 5000,
          coldStart: { rule: "pace_gap", waitMs: 5000 },
          quota: undefined,
          requestsPer30d: 172_800,
          spend: undefined,
        },
      ],
    });
  });

  test("may use its cap to the last request", () => {
    expect(faults(budget(), [upstream({ schedule: every(10_000, "a") })])).toEqual([]);
    expect(faults(budget({ share: 0.19 }), [upstream({ schedule: every(10_000, "a") })])).toHaveLength(1);
  });

  test("an upstream of another budget is not counted", () => {
    expect(faults(budget(), [upstream(), upstream({ name: "b", budgets: ["other"] })])).toEqual([]);
  });
});

describe("token requests", () => {
  const token = {
    url: "https://login.example.test/token",
    clientId: "pacewatch",
    clientAuth: "basic",
    scopes: [],
    parameters: {},
    budgets: ["api"],
    proxy: "env",
    caFile: undefined,
  } as const;
  const auth = { kind: "oauth2", secret: { env: "CLIENT_SECRET" }, token } as const;

  function demands(given: Parameters<typeof prove>[0]): readonly string[] {
    return prove(given, PROOF_PARTS).budgets.flatMap(({ rates }) =>
      (rates[0]?.upstreams ?? []).map(
        ({ upstream: name, schedule, requests }) => `${name}, ${schedule}: ${requests}`,
      ),
    );
  }

  test("count once a minute for all upstreams that share a token", () => {
    const upstreams = [upstream({ auth }), upstream({ name: "b", auth, schedule: every(60_000, "b") })];
    expect(demands({ budgets: [budget()], upstreams })).toEqual([
      "a, every 15s: 8",
      "b, every 1m: 2",
      "token of a and 1 more, at most every 1m: 1",
    ]);
  });

  test("count against the budget that they name, and are no more frequent than the slots that ask for them", () => {
    const own = { ...auth, token: { ...token, budgets: ["login"] } };
    const upstreams = [upstream({ auth: own, schedule: every(300_000, "a") })];
    expect(demands({ budgets: [budget(), budget({ name: "login" })], upstreams })).toEqual([
      "a, every 5m: 2",
      "token of a, at most every 5m: 1",
    ]);
  });
});

describe("a plan that does not fit is refused with what would", () => {
  test("one upstream", () => {
    expect(faults(budget(), [upstream({ schedule: every(5000, "a") })])).toEqual([
      'budget "api" does not fit: its upstreams may ask for 24 requests in 1m (a: 12 × (1 + 1 to confirm)), its cap is 12 (20% of 60): poll every 10s, or raise share to 40%, or lower confirm to 0',
    ]);
  });

  test("thousands of upstreams, of which nobody wants to read every name", () => {
    const many = Array.from({ length: 2_500 }, (_, index) =>
      upstream({ name: `u-${index}`, schedule: every(5000, `u-${index}`) }),
    );
    const [sentence = ""] = faults(budget(), many);
    expect(sentence).toContain("u-9: 12 × (1 + 1 to confirm) and 2490 more), its cap is 12");
    expect(sentence.length).toBeLessThan(600);
  });

  test("a rate of which the share leaves no request", () => {
    const second: Rate = { requests: 1, perMs: 1000, label: "1s" };
    expect(faults(budget({ rates: [second, MINUTE] }), [upstream()])).toEqual([
      'budget "api" allows nothing: 20% of 1 in 1s is less than one request: raise share to 100%',
    ]);
  });

  test("of several rates, only those that do not fit are named: one that is filled to the last request fits", () => {
    const hour: Rate = { requests: 5, perMs: 3_600_000, label: "1h" };
    const minute: Rate = { requests: 4, perMs: 60_000, label: "1m" };
    const hourly = upstream({ schedule: every(3_600_000, "a"), confirm: 0 });
    const { budgets, faults } = prove(
      { budgets: [budget({ rates: [hour, minute] })], upstreams: [hourly] },
      PROOF_PARTS,
    );
    expect(budgets[0]?.rates.map(({ cap, headroom }) => [cap, headroom])).toEqual([
      [1, 0],
      [0, -1],
    ]);
    expect(faults.map(({ subject }) => subject)).toEqual([{ kind: "rate", budget: "api", index: 1 }]);
  });

  test("where one change is not enough, two are named", () => {
    expect(faults(budget({ rates: [{ requests: 4, perMs: 60_000, label: "1m" }] }), [upstream()])).toEqual([
      'budget "api" allows nothing: 20% of 4 in 1m is less than one request: raise share to 25% and poll every 3m',
    ]);
  });

  test("a bunched cron counts its worst window, not its average", () => {
    const bunched = upstream({ schedule: cron("0,1,2,3,4,5,6 0 * * * *") });
    expect(faults(budget(), [bunched])).toEqual([
      'budget "api" does not fit: its upstreams may ask for 14 requests in 1m (a: 7 × (1 + 1 to confirm)), its cap is 12 (20% of 60): raise share to 24%, or lower confirm to 0',
    ]);
  });

  test("what is named really fits", () => {
    const plan = fc.array(
      fc.record({
        periodMs: fc.constantFrom(...ROUND_PERIODS_MS.slice(0, 14)),
        confirm: fc.integer({ min: 0, max: 3 }),
      }),
      { minLength: 1, maxLength: 4 },
    );
    let refused = 0;
    fc.assert(
      fc.property(plan, fc.integer({ min: 5, max: 200 }), (plan, requests) => {
        const given = budget({ rates: [{ ...MINUTE, requests }] });
        const upstreams = plan.map(({ periodMs, confirm }, index) =>
          upstream({ name: `u${index}`, schedule: every(periodMs, `u${index}`), confirm }),
        );
        const [message = ""] = faults(given, upstreams);
        if (message === "") return;
        refused += 1;
        const suggestion = message.slice(message.lastIndexOf(": ") + 2);
        const share = /^raise share to (\d+)%$|or raise share to (\d+)%/.exec(suggestion);
        if (share === null) return;
        const raised = { ...given, share: Number(share[1] ?? share[2]) / 100 };
        expect(faults(raised, upstreams)).toEqual([]);
        expect(faults({ ...raised, share: raised.share - 0.01 }, upstreams)).not.toEqual([]);
      }),
      { seed: 20261121, numRuns: 200 },
    );
    expect(refused).toBeGreaterThan(20);
  });
});

test("no stretch of a plan with headroom asks for more than the cap, even if every slot must be confirmed", () => {
  const schedule = fc.oneof(
    fc.constantFrom(...ROUND_PERIODS_MS.slice(0, 20)).map((periodMs) => every(periodMs, `p${periodMs}`)),
    fc
      .constantFrom(
        "*/7 * * * * *",
        "0,1,2 */5 * * * *",
        "13 */20 * * * *",
        "30-40 59 * * * *",
        "*/45 * * * * *",
      )
      .map((text) => cron(text)),
  );
  const windowMs = fc.constantFrom(1000, 7000, 60_000, 90_000, 3_600_000);
  const plan = fc.array(fc.record({ schedule, confirm: fc.integer({ min: 0, max: 2 }) }), {
    minLength: 1,
    maxLength: 4,
  });
  let fitted = 0;
  fc.assert(
    fc.property(plan, windowMs, fc.integer({ min: 1, max: 2000 }), (plan, perMs, requests) => {
      const upstreams = plan.map((part, index) => upstream({ name: `u${index}`, ...part }));
      const given = budget({ rates: [{ requests, perMs, label: "w" }], share: 1 });
      const proof = proveBudget({ budget: given, upstreams });
      if ((proof.rates[0]?.headroom ?? -1) < 0) return;
      fitted += 1;
      expect(proof.fits).toBe(true);
      expect(busiest(upstreams, perMs)).toBeLessThanOrEqual(requests);
    }),
    { seed: 20261121, numRuns: 120 },
  );
  expect(fitted).toBeGreaterThan(20);
});

describe("a short window that slots exceed only when they come at once", () => {
  const rates: readonly Rate[] = [
    { requests: 1000, perMs: 60_000, label: "1m" },
    { requests: 5, perMs: 1000, label: "1s" },
  ];
  const hourly = (count: number): readonly Upstream[] =>
    Array.from({ length: count }, (_, index) =>
      upstream({ name: `u${index}`, schedule: every(3_600_000, `u${index}`) }),
    );

  test.each([2, 3, 100])("is no reason to refuse %i hourly polls", (count) => {
    const given = budget({ rates });
    expect(prove({ budgets: [given], upstreams: hourly(count) }, PROOF_PARTS)).toMatchObject({ faults: [] });
    expect(warnings(given, hourly(count)).filter((message) => message.startsWith("budget"))).toEqual([]);
  });

  test("still holds those back that the pace cannot serve before their next slots", () => {
    // One each second: 59 requests a minute, and a little less, as leases are held 0.1 % longer.
    const fast = (count: number): readonly Upstream[] =>
      Array.from({ length: count }, (_, index) =>
        upstream({ name: `u${index}`, schedule: every(60_000, `u${index}`), confirm: 0 }),
      );
    expect(faults(budget({ rates }), fast(59))).toEqual([]);
    expect(faults(budget({ rates }), fast(60))).toHaveLength(1);
  });

  test("is told as tight where slow polls would hold its leases until slots are skipped", () => {
    const upstreams = Array.from({ length: 6 }, (_, index) =>
      upstream({ name: `u${index}`, schedule: every(60_000, `u${index}`), confirm: 0 }),
    );
    expect(faults(budget({ rates }), upstreams)).toEqual([]);
    expect(warnings(budget({ rates }), upstreams)).toContainEqual(
      expect.stringMatching(
        /^budget "api" is tight: slow polls may hold 6 leases for 1s at once, its cap is 1/,
      ),
    );
  });
});

/** By going through two hours of slots, one after the other. */
function busiest(upstreams: readonly Upstream[], windowMs: number): number {
  const fromMs = Date.parse("2026-11-21T23:00:00Z");
  const asked = upstreams.flatMap(({ schedule, confirm }) => {
    const slots: { atMs: number; requests: number }[] = [];
    for (
      let atMs = slotsOf(schedule).next(fromMs);
      atMs < fromMs + 7_200_000;
      atMs = slotsOf(schedule).next(atMs)
    ) {
      slots.push({ atMs, requests: 1 + confirm });
    }
    return slots;
  });
  asked.sort((a, b) => a.atMs - b.atMs);
  let [most, sum, first] = [0, 0, 0];
  for (const { atMs, requests } of asked) {
    sum += requests;
    for (
      let oldest = asked[first];
      oldest !== undefined && atMs - oldest.atMs >= windowMs;
      oldest = asked[first]
    ) {
      sum -= oldest.requests;
      first += 1;
    }
    most = Math.max(most, sum);
  }
  return most;
}

function restartOf(each: Budget): BudgetProof["coldStart"] | undefined {
  return prove({ budgets: [each], upstreams: [upstream({ timeoutMs: 10_000 })] }, PROOF_PARTS).budgets[0]
    ?.coldStart;
}

describe("after a restart", () => {
  test("one pace gap is enough where requests a gap apart stay under the limit, with one to spare", () => {
    // 12 · (60.06 + 10) = 840.7 ≤ 59 · 60 = 3540.
    expect(restartOf(budget())).toEqual({ rule: "pace_gap", waitMs: 5000 });
    // 50 · 70.06 = 3503 ≤ 3540 < 51 · 70.06.
    expect(restartOf(budget({ share: 50 / 60 }))?.rule).toBe("pace_gap");
    expect(restartOf(budget({ share: 51 / 60 }))?.rule).toBe("whole_window");
  });

  test("else a whole window, the longest poll and its lingering", () => {
    const rates = [MINUTE, { requests: 10, perMs: 1000, label: "1s" }];
    expect(restartOf(budget({ rates, share: 1, lingerMs: 5000 }))).toEqual({
      rule: "whole_window",
      waitMs: 75_000,
    });
  });

  test("the longest timeout of the budget's own upstreams counts", () => {
    const upstreams = [upstream({ timeoutMs: 1000 }), upstream({ name: "b", timeoutMs: 60_000 })];
    const [proof] = prove({ budgets: [budget({ share: 0.9 })], upstreams }, PROOF_PARTS).budgets;
    expect(proof?.coldStart).toEqual({ rule: "whole_window", waitMs: 120_000 });
  });
});

describe("a quota", () => {
  const quota = {
    most: 100_000,
    perMs: 30 * 86_400_000,
    onExhaust: "refuse",
  } as const;

  test("that the schedule would spend early is refused with the period that would last", () => {
    expect(faults(budget({ quota }), [upstream()])).toEqual([
      'budget "api" would use up its quota early: its schedules ask for 172800 requests in 30d, the quota is 100000: poll every 30s, or set on_exhaust: stop',
    ]);
    expect(faults(budget({ quota }), [upstream({ schedule: every(30_000, "a") })])).toEqual([]);
  });

  test("that may run out only warns", () => {
    const given = budget({ quota: { ...quota, onExhaust: "stop" } });
    expect(faults(given, [upstream()])).toEqual([]);
    expect(warnings(given, [upstream()])).toEqual([
      'budget "api" will stop before its period ends: its schedules ask for 172800 requests in 30d, the quota is 100000',
    ]);
  });

  test("is not scaled by the share", () => {
    const given = budget({ quota: { ...quota, most: 172_800 } });
    const proof = prove({ budgets: [given], upstreams: [upstream()] }, PROOF_PARTS);
    expect(proof.faults).toEqual([]);
    expect(proof.budgets[0]?.quota).toMatchObject({ scheduled: 172_800, spentEarly: false });
  });
});

describe("what is allowed and probably not meant", () => {
  test("two upstreams with one key on two budgets", () => {
    const upstreams = [upstream(), upstream({ name: "b", budgets: ["other"] })];
    const ofEach = (first: string, second: string): readonly Finding[] =>
      sharedKeys(
        upstreams,
        new Map([
          ["a", first],
          ["b", second],
        ]),
      );
    expect(ofEach("test-key-1", "test-key-1")).toEqual([
      {
        subject: { kind: "upstream", about: "budget", upstream: "b" },
        message:
          'upstreams "a" and "b" use the same key but draw on the budgets "api" and "other": what one key may send should be one budget',
      },
    ]);
    expect(ofEach("test-key-1", "test-key-2")).toEqual([]);
    expect(sharedKeys(upstreams, new Map())).toEqual([]);
  });

  test("two upstreams with one key on one budget are as they should be", () => {
    const keys = new Map([
      ["a", "test-key-1"],
      ["b", "test-key-1"],
    ]);
    expect(sharedKeys([upstream(), upstream({ name: "b" })], keys)).toEqual([]);
  });

  test("a budget that nobody uses", () => {
    expect(warnings(budget(), [])).toEqual(['budget "api" has no upstream']);
  });

  test("slots that fill the cap while slow polls hold their leases for longer", () => {
    const full = upstream({ schedule: every(5000, "a"), confirm: 0, timeoutMs: 5000 });
    expect(faults(budget(), [full])).toEqual([]);
    expect(warnings(budget(), [full])).toEqual([
      'budget "api" is tight: slow polls may hold 14 leases for 1m at once, its cap is 12, so some slots will be late or skipped',
    ]);
  });
});

describe("an upstream that draws on several budgets", () => {
  const account = budget({ name: "account" });
  const model = budget({ name: "model", rates: [{ requests: 20, perMs: 60_000, label: "1m" }] });
  const each = (name: string, periodMs: number, ...budgets: readonly string[]): Upstream =>
    upstream({ name, budgets, schedule: every(periodMs, name) });

  test("is counted in each of them, and each must fit by itself", () => {
    const upstreams = [each("a", 60_000, "model", "account"), each("b", 30_000, "account")];
    const proof = prove({ budgets: [account, model], upstreams }, PROOF_PARTS);
    expect(proof.budgets.map(({ budget: name, rates }) => [name, rates[0]?.demand])).toEqual([
      ["account", 6],
      ["model", 2],
    ]);
    expect(proof).toMatchObject({ faults: [], warnings: [] });
    const tooOften = prove(
      { budgets: [account, model], upstreams: [each("a", 15_000, "account", "model")] },
      PROOF_PARTS,
    );
    expect(tooOften.faults.map(({ subject }) => subject)).toEqual([
      { kind: "rate", budget: "model", index: 0 },
    ]);
  });

  test("is warned of where waiting for one of them may cost slots of the other", () => {
    const upstreams = [each("a", 30_000, "model", "account"), each("b", 60_000, "account")];
    const message =
      'budget "model" is tight: some of its upstreams also draw on other budgets, and before each of their requests it may be idle for up to 15s, so some slots may be late or skipped; poll less often, or raise share';
    expect(prove({ budgets: [account, model], upstreams }, PROOF_PARTS).warnings).toEqual([
      { subject: { kind: "budget", budget: "model" }, message },
    ]);
  });

  test("waits for nobody in a budget of its own", () => {
    const upstreams = [each("a", 30_000, "model", "account")];
    expect(prove({ budgets: [account, model], upstreams }, PROOF_PARTS).warnings).toEqual([]);
  });
});
