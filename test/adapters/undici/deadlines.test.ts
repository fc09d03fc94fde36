import { setImmediate as nextTurn } from "node:timers/promises";
import { MessageChannel } from "node:worker_threads";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Deadlines, type Watched } from "../../../src/adapters/undici/deadlines.ts";

class Request implements Watched {
  readonly #endsAtMs: number;
  readonly timedOutAtMs: number[] = [];
  lengthsChecked = 0;

  constructor(timeoutMs: number) {
    this.#endsAtMs = performance.now() + timeoutMs;
  }

  get leftMs(): number {
    return this.#endsAtMs - performance.now();
  }

  timeOut(): void {
    this.timedOutAtMs.push(performance.now());
  }

  checkLength(): void {
    this.lengthsChecked += 1;
  }
}

describe("in a stopped time", () => {
  test.each([0, 1, 49, 50, 51, 99, 100, 101, 1_234])(
    "a request that may take %i ms is timed out then, not at the next look",
    (timeoutMs) => {
      stopTime();
      const [deadlines, request] = [new Deadlines(), new Request(timeoutMs)];
      const beganAtMs = performance.now();
      deadlines.add(request);
      vi.advanceTimersByTime(timeoutMs + 2);
      const [first = Number.NaN] = request.timedOutAtMs;
      expect(first - beganAtMs).toBeGreaterThanOrEqual(timeoutMs);
      // The timer has whole milliseconds, and the answers that wait are read first.
      expect(first - beganAtMs).toBeLessThanOrEqual(timeoutMs + 2);
    },
  );

  test("each has a deadline of its own, whoever came first", () => {
    stopTime();
    const deadlines = new Deadlines();
    const [long, short, later] = [new Request(300), new Request(120), new Request(10_000)];
    for (const request of [long, short, later]) deadlines.add(request);
    vi.advanceTimersByTime(130);
    expect([long, short, later].map(({ timedOutAtMs }) => timedOutAtMs.length > 0)).toEqual([
      false,
      true,
      false,
    ]);
  });

  test("the length of an answer is looked at 20 times a second, until its request is over", () => {
    stopTime();
    const [deadlines, request, other] = [new Deadlines(), new Request(10_000), new Request(10_000)];
    deadlines.add(request);
    deadlines.add(other);
    vi.advanceTimersByTime(1_000);
    expect(request.lengthsChecked).toBe(20);
    deadlines.delete(request);
    vi.advanceTimersByTime(1_000);
    expect(request.lengthsChecked).toBe(20);
    expect(other.lengthsChecked).toBe(40);
  });

  test("a request that is over in time is not timed out", () => {
    stopTime();
    const [deadlines, request] = [new Deadlines(), new Request(500)];
    deadlines.add(request);
    vi.advanceTimersByTime(100);
    deadlines.delete(request);
    vi.advanceTimersByTime(10_000);
    expect(request.timedOutAtMs).toEqual([]);
  });

  test("many share one timer, which rests while there are none and starts again", () => {
    stopTime();
    const deadlines = new Deadlines();
    const requests = Array.from({ length: 100 }, () => new Request(10_000));
    for (const request of requests) deadlines.add(request);
    expect(vi.getTimerCount()).toBe(1);
    for (const request of requests) deadlines.delete(request);
    vi.advanceTimersByTime(50);
    expect(vi.getTimerCount()).toBe(0);
    const last = new Request(70);
    deadlines.add(last);
    vi.advanceTimersByTime(72);
    expect(last.timedOutAtMs).not.toEqual([]);
  });
});

test("an answer that arrived while this process was paused is read before its request is timed out", async () => {
  const happened: string[] = [];
  const { port1: upstream, port2: connection } = new MessageChannel();
  onTestFinished(() => upstream.close());
  connection.on("message", () => happened.push("answered"));
  const timedOut = Promise.withResolvers<void>();
  await nextTurn();
  const deadlines = new Deadlines();
  const request = {
    leftMs: 20,
    checkLength: () => {},
    timeOut: () => {
      happened.push("timed out");
      timedOut.resolve();
    },
  };
  // All in one turn of the loop: then its time is over, and the answer is there.
  deadlines.add(request);
  upstream.postMessage("the answer");
  pauseFor(40);
  await timedOut.promise;
  deadlines.delete(request);
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
