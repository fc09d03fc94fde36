import { expect, test } from "vitest";
import type { InPieces } from "../../../src/core/status/in-pieces.ts";
import { Turns, Unwanted } from "../../../src/http/routes/turns.ts";

function* endless(onPiece: () => void): InPieces<never> {
  for (;;) {
    onPiece();
    yield;
  }
}

test("work that nobody wants any more is given up", async () => {
  const turns = new Turns({ rests: false, isWanted: () => pieces < 10_000 });
  let pieces = 0;
  await expect(turns.run(endless(() => (pieces += 1)))).rejects.toBeInstanceOf(Unwanted);
});

test("work rests as long as it takes", async () => {
  const turns = new Turns({ rests: true, isWanted: () => performance.now() - beganMs < 200 });
  const beganMs = performance.now();
  const before = performance.eventLoopUtilization();
  await expect(turns.run(endless(() => {}))).rejects.toBeInstanceOf(Unwanted);
  expect(performance.eventLoopUtilization(before).utilization).toBeLessThan(0.8);
});

test("work in which the process stood still does not rest for as long", async () => {
  const STOOD_STILL_MS = 1_000;
  const turns = new Turns({ rests: true, isWanted: () => true });
  const standStill = new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(standStill, 0, 0, STOOD_STILL_MS);
  const beganMs = performance.now();
  await turns.pauseIfLong();
  expect(performance.now() - beganMs).toBeLessThan(STOOD_STILL_MS / 2);
});
