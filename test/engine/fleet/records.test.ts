import { expect, test } from "vitest";
import { JournaledLedger } from "../../../src/core/budget/journaled-ledger.ts";
import { readNote } from "../../../src/core/fleet/budget-note.ts";
import type { FleetLedger } from "../../../src/engine/fleet/fleet-ledger.ts";
import { holderOf } from "../../support/ledger-worlds.ts";
import { sampleAdvice, sampleBudget, sampleConfig, sampleUpstream } from "../../support/samples.ts";
import { settle } from "../../support/virtual/clock.ts";

const BUDGETS = ["email", "router", "search"];
const PAUSE = sampleAdvice({
  throttled: true,
  pause: { scope: "budget", forMs: 60_000, source: "retry_after" },
});

function opened(): ReturnType<typeof holderOf> {
  return holderOf(
    sampleConfig({
      budgets: BUDGETS.map((name) => sampleBudget({ name })),
      upstreams: BUDGETS.map((name) => sampleUpstream({ name, budgets: [name] })),
    }),
  );
}

/** By budget on the board: when its pause ends, as its next holder is told. */
function toldOf(ledger: FleetLedger, isWhole: boolean): ReadonlyMap<string, number | undefined> {
  return new Map(
    [...ledger.records(isWhole)].map(([name, text]) => [name, readNote(text)?.record.pausedUntilMs]),
  );
}

test("of a budget only what has changed is told, and all that is held back when all is asked for", () => {
  const { clock, ledger } = opened();
  expect(toldOf(ledger, true)).toEqual(new Map());
  ledger.applyAdvice(["email"], PAUSE);
  const untilMs = clock.wallNow() + 60_000;
  expect(toldOf(ledger, false)).toEqual(new Map([["b:email", untilMs]]));
  ledger.applyAdvice(["router"], sampleAdvice({}));
  expect(toldOf(ledger, false)).toEqual(new Map());
  expect(toldOf(ledger, true)).toEqual(new Map([["b:email", untilMs]]));
});

test("a pause that another replica told, and that the operator ended here, is not handed over again", () => {
  const { clock, ledger } = opened();
  const { ledger: former } = opened();
  former.applyAdvice(["email"], PAUSE);
  const [[, text] = ["", ""]] = former.records(true);
  ledger.begin("email", 0, { text, agoMs: 1_000 });
  expect(ledger.restraint(["email"]).pausedUntilMs).toBeGreaterThan(clock.now() + 50_000);
  ledger.resume("email");
  expect(toldOf(ledger, false)).toEqual(new Map([["b:email", 0]]));
  ledger.resume("email");
  expect(toldOf(ledger, false)).toEqual(new Map());
});

test("a pause that an answer asks for is told at once, and so is its end; what is asked for again is not", () => {
  const { clock, ledger } = opened();
  const told: unknown[] = [];
  ledger.tellBy({
    pause: (name, forMs) => void told.push([name, forMs]),
    resumed: (name) => void told.push([name]),
  });
  ledger.applyAdvice(["email", "of another config"], PAUSE);
  ledger.applyAdvice(["email"], PAUSE);
  ledger.applyAdvice(["router"], sampleAdvice({}));
  ledger.resume("email");
  ledger.resume("of another config");
  expect(told).toEqual([["b:email", 60_000], ["b:email"]]);
  expect(ledger.restraint(["email"]).pausedUntilMs).toBeLessThanOrEqual(clock.now());
});

test("a budget that a reload adds can be claimed, by its own terms", () => {
  const { ledger } = opened();
  expect(() => ledger.claimOf("added")).toThrow("must be in the config");
  const added = sampleBudget({ name: "added", rates: [{ requests: 7, perMs: 1_000, label: "1s" }] });
  ledger.change(
    sampleConfig({ budgets: [added], upstreams: [sampleUpstream({ name: "x", budgets: ["added"] })] }),
  );
  expect(ledger.claimOf("added").terms).toContain("[7,1000]");
});

test("a budget that still waits says with its claim how long, so that a board without data goes on with that", async () => {
  const { clock, ledger } = opened();
  await clock.advance(100_000);
  ledger.begin("email", 40_000, undefined);
  await clock.advance(10_000);
  expect(ledger.claimOf("email").waitMs).toBeGreaterThanOrEqual(30_000);
  expect(ledger.claimOf("email").waitMs).toBeLessThan(30_100);
  await clock.advance(40_000);
  expect(ledger.claimOf("email").waitMs).toBe(0);
});

test("when the last lease of a budget ends is told to its next holder, but not while a request is in flight", async () => {
  const { clock, ledger } = opened();
  await clock.advance(100_000);
  const decision = ledger.take(["email"]);
  if (decision.kind === "wait") throw new Error("nothing holds it back");
  expect(ledger.leasesEndInMs("email")).toBeUndefined();
  decision.lease.settle("answered");
  expect(ledger.leasesEndInMs("email")).toBeGreaterThan(50_000);
  await clock.advance(200_000);
  expect(ledger.leasesEndInMs("email")).toBe(0);
});

test("a pause that another replica told holds here, until the latest moment that was told", async () => {
  const { clock, ledger } = opened();
  await clock.advance(100_000);
  const pausedForMs = (): number => ledger.restraint(["email"]).pausedUntilMs - clock.now();
  for (const [toldMs, heldMs] of [
    [10_000, 10_000],
    [60_000, 60_000],
    [20_000, 60_000],
  ] as const) {
    ledger.pause("email", toldMs);
    expect(pausedForMs()).toBe(heldMs);
  }
  ledger.pause("of another config", 60_000);
  expect(ledger.restraint(["router"]).pausedUntilMs).toBeLessThanOrEqual(clock.now());
});

test("of a budget with a quota, or that may spend so much, nothing is sent before that is on the board", async () => {
  const quota = { most: 1_000, perMs: 86_400_000, onExhaust: "stop" } as const;
  const price = { currency: "EUR", parts: [{ kind: "request", units: 1 }] } as const;
  const { clock, ledger: inner } = holderOf(
    sampleConfig({
      budgets: [
        sampleBudget({ name: "free" }),
        sampleBudget({ name: "counted", quota }),
        sampleBudget({ name: "paid", spend: quota }),
      ],
      upstreams: ["free", "counted", "paid"].map((name) => sampleUpstream({ name, budgets: [name], price })),
    }),
  );
  const ledger = new JournaledLedger(inner, [inner.counts], clock);
  const granted: string[] = [];
  for (const name of ["free", "counted", "paid"])
    void Promise.resolve(ledger.take([name], name === "paid" ? 1 : 0)).then(
      ({ kind }) => void granted.push(`${name} ${kind}`),
    );
  await settle();
  expect(granted).toEqual(["free granted"]);
  await clock.advance(1_000);
  expect(granted).toEqual(["free granted", "counted granted", "paid granted"]);
});
