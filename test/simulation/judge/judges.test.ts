import { describe, expect, test } from "vitest";

import { sampleBudget, sampleSchedule, sampleUpstream } from "../../support/kernel-samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { Fairness } from "./fairness.ts";
import type { Flight } from "../world/flight.ts";
import { Heard } from "./heard.ts";
import { LifeClock } from "../world/life-clock.ts";
import type { Terms } from "../world/terms.ts";
import { WindowJudge } from "./window-judge.ts";

const WINDOW_MS = 10_000;

function terms(requests: number, changes: Partial<Terms> = {}): Terms {
  const rates = [{ requests, perMs: WINDOW_MS, label: "10s" }];
  return { rates, share: 1, gapMs: WINDOW_MS / requests, lingerMs: 0, afterlifeMs: 1_000, ...changes };
}

function flight(number: number, changes: Partial<Flight> = {}): Flight {
  return {
    number,
    life: 1,
    upstream: "a",
    credential: "K",
    budget: "api",
    sentAtMs: 0,
    terms: terms(2),
    loweredCaps: new Map(),
    also: [],
    ...changes,
  };
}

describe("whether a window holds too many", () => {
  test("the limit itself is allowed, one more is not, and a window is half open", () => {
    const judge = new WindowJudge(WINDOW_MS, 2);
    expect(judge.count(flight(1), 0)).toBeUndefined();
    expect(judge.count(flight(2), 1)).toBeUndefined();
    expect(judge.count(flight(3), 10_000)).toBeUndefined();
    expect(judge.count(flight(4), 10_000)?.text).toContain("counted 3 requests within 10000 ms");
  });

  test("who sends under a lowered limit answers for those that were sent under the old one", () => {
    const judge = new WindowJudge(WINDOW_MS, 1);
    expect(judge.count(flight(1), 0)).toBeUndefined();
    expect(judge.count(flight(2), 1)).toBeUndefined();
    expect(judge.count(flight(3, { terms: terms(1) }), 5_000)).toBeDefined();
  });

  test("a late request of the old terms is held to them, though it is counted last", () => {
    const judge = new WindowJudge(WINDOW_MS, 1);
    expect(judge.count(flight(2, { terms: terms(2) }), 0)).toBeUndefined();
    expect(judge.count(flight(1, { terms: terms(1) }), 1)).toBeUndefined();
  });

  test("a life answers for one before it that sent no faster, and not for one that was allowed to", () => {
    const slow = new WindowJudge(WINDOW_MS, 1);
    slow.count(flight(1), 0);
    slow.count(flight(2), 1);
    expect(slow.count(flight(3, { life: 2 }), 2)).toBeDefined();
    const fast = new WindowJudge(WINDOW_MS, 1);
    fast.count(flight(1, { terms: terms(20) }), 0);
    fast.count(flight(2, { terms: terms(20) }), 1);
    expect(fast.count(flight(3, { life: 2 }), 2)).toBeUndefined();
  });

  test("what the upstream asked for counts below the limit too", () => {
    const judge = new WindowJudge(WINDOW_MS, 5);
    judge.count(flight(1, { terms: terms(5) }), 0);
    const lowered = flight(2, { terms: terms(5), loweredCaps: new Map([[WINDOW_MS, 1]]) });
    expect(judge.count(lowered, 1)?.text).toContain("asked for 1 at most");
  });
});

describe("whether somebody starves", () => {
  const slow = sampleUpstream({ name: "slow", schedule: sampleSchedule(4_000) });
  const fast = sampleUpstream({ name: "fast", schedule: sampleSchedule(2_000), confirm: 0 });

  test("to be overtaken for one's own period is no starving, for longer it is", () => {
    const fairness = new Fairness();
    fairness.waits(slow);
    const verdicts = Array.from({ length: 7 }, () => fairness.served(fast));
    expect(verdicts.slice(0, 6)).toEqual(Array.from({ length: 6 }, () => undefined));
    expect(verdicts[6]).toBe("slow waits while fast is served 7 times");
  });

  test("who is served, or wants no more, starves no more", () => {
    const fairness = new Fairness();
    for (let round = 0; round < 20; round += 1) {
      fairness.waits(slow);
      expect(fairness.served(fast)).toBeUndefined();
      expect(round % 2 === 0 ? fairness.served(slow) : fairness.left(slow)).toBeUndefined();
    }
  });
});

describe("what was asked for", () => {
  const budget = sampleBudget({ maxPauseMs: 5_000, share: 0.5 });
  const upstream = sampleUpstream({ name: "a" });
  const setup = { accounts: [{ credential: "K", budget }], upstreams: [upstream] };
  const sender = { budget: "api", upstream: "a" };

  test("a pause is broken by whoever sends in it, and never longer than its cap", () => {
    const heard = new Heard(setup, 0);
    heard.hear(flight(1), { pause: { scope: "budget", forMs: 60_000 } }, budget, 100);
    expect(heard.pauseBroken(sender, 100)).toBeUndefined();
    expect(heard.pauseBroken({ budget: "api", upstream: "b" }, 101)).toBe(5_100);
    expect(heard.pauseBroken(sender, 5_100)).toBeUndefined();
  });

  test("an upstream's own pause is nobody else's, and is forgotten with it", () => {
    const heard = new Heard(setup, 0);
    heard.hear(flight(1), { pause: { scope: "upstream", forMs: 4_000 } }, budget, 100);
    expect(heard.pauseBroken({ budget: "api", upstream: "b" }, 200)).toBeUndefined();
    expect(heard.pauseBroken(sender, 200)).toBe(4_100);
    heard.reload({ ...setup, upstreams: [] }, 300);
    expect(heard.pauseBroken(sender, 400)).toBeUndefined();
  });

  test("a lower limit lowers the cap by its share for one window, a higher one does not", () => {
    const heard = new Heard(setup, 0);
    heard.hear(flight(1), { limit: { requests: 6_000, perMs: 60_000 } }, budget, 100);
    expect(heard.loweredCaps(budget, 101).size).toBe(0);
    heard.hear(flight(1), { limit: { requests: 10, perMs: 60_000 } }, budget, 100);
    expect(heard.loweredCaps(budget, 60_000).get(60_000)).toBe(5);
    expect(heard.loweredCaps(budget, 60_100).size).toBe(0);
  });
});

describe("the clocks of one life", () => {
  test("while the process stands still nothing of it fires, and the world goes on", async () => {
    const world = new VirtualClock();
    const life = new LifeClock(world, 500, () => 0);
    const story: string[] = [];
    life.after(1_000, () => void story.push(`process at ${world.now()}`));
    world.after(1_000, () => void story.push(`world at ${world.now()}`));
    life.stall(3_000);
    await world.advance(5_000);
    expect(story).toEqual(["world at 1000", "process at 3000"]);
    expect(life.now()).toBe(5_500);
  });

  test("a sleep ends at once when it is no longer wanted, and never after death", async () => {
    const world = new VirtualClock();
    const life = new LifeClock(world, 0, () => 0);
    const woken: string[] = [];
    const ended = new AbortController();
    void life.sleep(60_000, ended.signal).then(() => woken.push(`first at ${world.now()}`));
    void life.sleep(2_000, new AbortController().signal).then(() => woken.push("second"));
    world.after(1_000, () => ended.abort());
    world.after(1_500, () => life.die());
    await world.advance(5_000);
    expect(woken).toEqual(["first at 1000"]);
  });
});
