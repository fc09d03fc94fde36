import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { cronTriggers } from "../../src/platform/node-cron.ts";
import { type Schedule, scheduleCron } from "../../src/kernel/schedule/schedule.ts";
import type { Trigger } from "../../src/kernel/schedule/triggers.ts";

const TrueDate = Date;
const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** The wall clock of this process alone; its timers go on as they are. */
function stepWallClock(byMs: number): void {
  globalThis.Date = class extends TrueDate {
    constructor(...parameters: [] | [number]) {
      super(parameters.length === 0 ? TrueDate.now() + byMs : parameters[0]);
    }

    static override now(): number {
      return TrueDate.now() + byMs;
    }
  } as DateConstructor;
}

type Listening = Disposable & { readonly trigger: Trigger; ticks(count: number): Promise<readonly number[]> };

function scheduleOf(text: string): Schedule {
  const reading = scheduleCron(text);
  if (reading.kind === "refused") throw new Error(reading.message);
  return reading.schedule;
}

function listen(expression: string): Listening {
  const ticks: number[] = [];
  let wake = (): void => {};
  const trigger = cronTriggers(quiet).start(scheduleOf(expression), (atMs) => {
    ticks.push(atMs);
    wake();
  });
  return {
    trigger,
    async ticks(count): Promise<readonly number[]> {
      const wanted = ticks.length + count;
      while (ticks.length < wanted) await new Promise<void>((resolve) => (wake = resolve));
      return ticks.slice(-count);
    },
    [Symbol.dispose]: () => trigger.stop(),
  };
}

afterEach(() => {
  globalThis.Date = TrueDate;
});

describe("a trigger", () => {
  it("ticks once at each of its seconds, and no more once it was stopped", async () => {
    using listening = listen("* * * * * *");
    const ticks = await listening.ticks(4);
    expect(ticks.filter((atMs) => atMs % 1_000 !== 0)).toEqual([]);
    const gaps = ticks.slice(1).map((atMs, index) => atMs - (ticks[index] ?? 0));
    // A machine that stands still makes one of them longer.
    expect(Math.min(...gaps)).toBe(1_000);
    listening.trigger.stop();
    let isTicking = false;
    void listening.ticks(1).then(() => (isTicking = true));
    // Its next second must pass.
    await sleep(1_200);
    expect(isTicking).toBe(false);
  });

  it("is not lost where its second comes while it is planned, and ticks only once it is there", async () => {
    const startedMs = TrueDate.now();
    let looks = 0;
    globalThis.Date = class extends TrueDate {
      constructor(...parameters: [] | [number]) {
        super(parameters.length === 0 ? Date.now() : parameters[0]);
      }

      static override now(): number {
        looks += 1;
        return looks === 1 ? startedMs : TrueDate.now() + 1_000;
      }
    } as DateConstructor;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    let isThere = false;
    const trigger = cronTriggers(quiet).start(scheduleOf("* * * * * *"), () => resolve(isThere));
    isThere = true;
    expect(await promise).toBe(true);
    trigger.stop();
  });

  it("makes the tick of the current second after the process stood still, and no older one", async () => {
    using listening = listen("* * * * * *");
    let isCurrent = false;
    // A machine that stands still once more makes the tick one of a later second.
    for (let attempt = 0; attempt < 5 && !isCurrent; attempt += 1) {
      const [before = 0] = await listening.ticks(1);
      const untilMs = before + 2_700;
      while (Date.now() < untilMs);
      const nowMs = Math.floor(Date.now() / 1_000) * 1_000;
      const [next = 0, following = 0] = await listening.ticks(2);
      expect(next).toBeGreaterThanOrEqual(nowMs);
      expect(following).toBeGreaterThan(next);
      isCurrent = next === nowMs;
    }
    expect(isCurrent).toBe(true);
  });

  it("ticks no more where the clock was set back, until it is replanned", async () => {
    using listening = listen("* * * * * *");
    await listening.ticks(1);
    stepWallClock(-3_600_000);
    let hasTicked = false;
    const next = listening.ticks(1).then(([atMs = 0]) => {
      hasTicked = true;
      return atMs;
    });
    await sleep(1_200);
    expect(hasTicked).toBe(false);
    listening.trigger.replan();
    expect(Math.abs((await next) - Date.now())).toBeLessThan(2_000);
  });

  it("reports what fails in a tick, and goes on", async () => {
    const errors: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    let ticks = 0;
    const trigger = cronTriggers({ ...quiet, error: (_facts, message) => errors.push(message) }).start(
      scheduleOf("* * * * * *"),
      () => {
        ticks += 1;
        if (ticks === 1) throw new Error("broken");
        resolve();
      },
    );
    await promise;
    trigger.stop();
    expect(errors).toEqual(["trigger failed: Error: broken"]);
  });

  it.each([
    { step: "a day ahead, whether or not anybody replans it", stepMs: 86_400_000, isReplanned: false },
    { step: "an hour back, once it is replanned", stepMs: -3_600_000, isReplanned: true },
  ])(
    "goes on within seconds after the wall clock was set $step, and holds up nobody meanwhile",
    async ({ stepMs, isReplanned }) => {
      using listening = listen("* * * * * *");
      await listening.ticks(1);
      stepWallClock(stepMs);
      if (isReplanned) listening.trigger.replan();
      let turns = 0;
      const watching = setInterval(() => (turns += 1), 10);
      const [next = 0] = await listening.ticks(1);
      await listening.ticks(1);
      clearInterval(watching);
      expect(Math.abs(next - Date.now())).toBeLessThan(5_000);
      // A day of missed ticks, one by one, takes ten seconds, in which nobody else has a turn.
      expect(turns).toBeGreaterThan(10);
    },
  );
});
