import { expect, test } from "vitest";
import { Turns, Unwanted } from "../../../src/http/routes/turns.ts";
import { stopTime, timersAtOnce } from "../../support/virtual/stopped-time.ts";

async function workForEver(turns: Turns, onPiece: () => void): Promise<never> {
  for (;;) {
    onPiece();
    await turns.pauseIfLong();
  }
}

test("work that nobody wants any more is given up", async () => {
  let pieces = 0;
  const turns = new Turns({ rests: false, isWanted: () => pieces < 10_000 });
  await expect(workForEver(turns, () => (pieces += 1))).rejects.toBeInstanceOf(Unwanted);
});

test("work that does not rest lets others in after each millisecond", async () => {
  const time = stopTime();
  const turns = new Turns({ rests: false, isWanted: () => true });
  for (let turn = 0; turn < 3; turn += 1) {
    time.pass(0.75);
    expect(turns.pauseIfLong()).toBeUndefined();
    time.pass(0.25);
    await expect(turns.pauseIfLong()).resolves.toBeUndefined();
  }
});

test.each([
  { othersMs: 1, turnMs: 1 },
  { othersMs: 1_000, turnMs: 100 },
  { othersMs: 2_000, turnMs: 400 },
  { othersMs: 30_000, turnMs: 500 },
])("after others took $othersMs ms, the second turn lasts $turnMs", async ({ othersMs, turnMs }) => {
  const time = stopTime();
  const turns = new Turns({ rests: false, isWanted: () => true });
  const rest = turns.rest();
  time.pass(othersMs);
  await rest;
  time.pass(turnMs - 0.5);
  expect(turns.pauseIfLong()).toBeUndefined();
  time.pass(0.5);
  await expect(turns.pauseIfLong()).resolves.toBeUndefined();
});

test.each([300, 1_000, 2_000])(
  "a second of work is done within 8 s where others take %d ms in each turn",
  async (othersMs) => {
    const time = stopTime();
    const turns = new Turns({ rests: false, isWanted: () => true });
    let passedMs = 0;
    const pass = (ms: number): void => {
      passedMs += ms;
      time.pass(ms);
    };
    for (let workMs = 0; workMs < 1_000; workMs += 1) {
      pass(1);
      const pause = turns.pauseIfLong();
      if (pause === undefined) continue;
      pass(othersMs);
      await pause;
    }
    expect(passedMs).toBeLessThan(8_000);
  },
);

test("work rests as long as it takes", async () => {
  const [time, restsMs] = [stopTime(), timersAtOnce()];
  let pieces = 0;
  const turns = new Turns({ rests: true, isWanted: () => pieces < 20 });
  const work = workForEver(turns, () => {
    pieces += 1;
    time.pass(2);
  });
  await expect(work).rejects.toBeInstanceOf(Unwanted);
  // A turn ends with the piece that makes it 5 ms or more: the third.
  expect(restsMs).toEqual([6, 6, 6, 6, 6, 6, 6]);
});

test("work in which the process stood still does not rest for as long", async () => {
  const [time, restsMs] = [stopTime(), timersAtOnce()];
  const turns = new Turns({ rests: true, isWanted: () => true });
  time.pass(1_000);
  await turns.pauseIfLong();
  expect(restsMs).toEqual([50]);
});
