import { describe, expect, test } from "vitest";
import { latencyQuantiles } from "../../../src/features/history/timeline.ts";
import { availabilityOf } from "../../../src/features/history/availability.ts";
import { urlWithoutQuery } from "../../../src/transport/secrets/keys.ts";
import { pollStatusOf } from "../../../src/features/history/kept-poll.ts";

describe("latency quantiles", () => {
  test("are durations that really happened, whatever order they came in", () => {
    const durationsMs = Array.from({ length: 100 }, (_, index) => ((index * 37) % 100) + 1);
    expect(latencyQuantiles(durationsMs)).toEqual({ polls: 100, p50Ms: 50, p95Ms: 95, p99Ms: 99 });
  });

  test("of one poll are that poll, and of none are not known", () => {
    expect(latencyQuantiles([7])).toEqual({ polls: 1, p50Ms: 7, p95Ms: 7, p99Ms: 7 });
    expect(latencyQuantiles([])).toBeUndefined();
  });

  test("sort as numbers, not as text", () => {
    expect(latencyQuantiles([1000, 9, 80])?.p50Ms).toBe(80);
  });
});

test("availability is not known where nothing was watched, and else is of the watched time", () => {
  expect(availabilityOf(1000, { watchedMs: 0, failedMs: 0 }).ratio).toBeUndefined();
  expect(availabilityOf(1000, { watchedMs: 400, failedMs: 100 }).ratio).toBe(0.75);
});

test.each([
  ["https://a.example/v1/resources?api_key=test-key-1", "https://a.example/v1/resources"],
  ["https://a.example/v1#part?x", "https://a.example/v1"],
  ["https://a.example/?a=1\n?b", "https://a.example/"],
  ["https://a.example/v1", "https://a.example/v1"],
])("%s is shown without what may hold a key", (url, shown) => expect(urlWithoutQuery(url)).toBe(shown));

test("a poll is shown by what it met, without the answer's headers", () => {
  const shown = pollStatusOf({
    id: "poll-1",
    origin: "confirm",
    sentAtMs: 1000,
    endedAtMs: 1250,
    delayMs: 100,
    usualGapMs: 15_000,
    durationMs: 250,
    phasesMs: { wait: 200 },
    outcome: { kind: "throttled", reason: "quota" },
    degraded: false,
    withinObjective: false,
    detail: "402 Payment Required",
    head: { status: 402, headers: [{ name: "set-cookie", bytes: 10 }] },
    excerpt: undefined,
    certificateExpiresAtMs: undefined,
  });
  expect(shown).toMatchObject({
    atMs: 1000,
    outcome: "throttled",
    reason: "quota",
    status: 402,
    durationMs: 250,
  });
  expect(JSON.stringify(shown)).not.toContain("test-key-1");
});
