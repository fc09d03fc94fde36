import { setImmediate as nextTurn } from "node:timers/promises";
import { MessageChannel } from "node:worker_threads";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { RequestInFlight } from "../../src/transport/request-in-flight.ts";
import { sampleUpstream } from "../support/kernel-samples.ts";

/** The timers that are stopped and this clock go together. */
const clock = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  sleep: () => Promise.reject(new Error("nobody sleeps")),
};

function requestOf(timeoutMs: number): RequestInFlight {
  const upstream = sampleUpstream({ timeoutMs });
  const route = { upstream: "api.test", peer: "api.test", tls: undefined };
  return new RequestInFlight({ clock, upstream }, route, () => true);
}

describe("in a stopped time", () => {
  test.each([0, 1, 49, 50, 51, 99, 100, 101, 1_234])(
    "a request that may take %i ms is timed out then, not at the next look",
    async (timeoutMs) => {
      stopTime();
      const request = requestOf(timeoutMs);
      const beganAtMs = performance.now();
      // The timer has whole milliseconds, and the answers that wait are read first.
      vi.advanceTimersByTime(timeoutMs + 2);
      expect(await request.ended).toMatchObject({ kind: "broken" });
      expect(performance.now() - beganAtMs).toBe(timeoutMs + 2);
      expect(vi.getTimerCount()).toBe(0);
    },
  );

  test("a request that may take 1,234 ms is not timed out before", () => {
    stopTime();
    const request = requestOf(1_234);
    vi.advanceTimersByTime(1_233);
    expect(request.hasEnded).toBe(false);
  });

  test("each has a deadline of its own, whoever came first", () => {
    stopTime();
    const requests = [requestOf(300), requestOf(120), requestOf(10_000)];
    vi.advanceTimersByTime(130);
    expect(requests.map(({ hasEnded }) => hasEnded)).toEqual([false, true, false]);
  });

  test("a request that is over in time is not timed out, and leaves no timer", async () => {
    stopTime();
    const request = requestOf(500);
    vi.advanceTimersByTime(100);
    request.fail("reset", "closed");
    // Its end is told after all that came with it.
    vi.advanceTimersByTime(0);
    expect(vi.getTimerCount()).toBe(0);
    vi.advanceTimersByTime(10_000);
    expect(await request.ended).toMatchObject({ detail: "closed" });
  });
});

test("an answer that arrived while this process was paused is read before its request is timed out", async () => {
  const happened: string[] = [];
  const { port1: upstream, port2: connection } = new MessageChannel();
  onTestFinished(() => upstream.close());
  connection.on("message", () => happened.push("answered"));
  await nextTurn();
  // All in one turn of the loop: then its time is over, and the answer is there.
  const request = requestOf(20);
  upstream.postMessage("the answer");
  pauseFor(40);
  await request.ended;
  happened.push("timed out");
  expect(happened).toEqual(["answered", "timed out"]);
});

function stopTime(): void {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
}

/** Timers are late after it, and come before what was received meanwhile. */
function pauseFor(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}
