import { describe, expect, test } from "vitest";
import type { HealthState } from "../../../src/kernel/poll/health.ts";
import { REASON_NAMES, rowOf, type Verdict } from "../../../src/kernel/exchange/reasons.ts";
import type { UpstreamFacts } from "../../../src/features/status/status.ts";
import { verdictOn } from "../../../src/features/status/verdict.ts";
import { samplePollStatus, sampleStatus, sampleUpstreamStatus } from "../../support/samples.ts";
import type { PollStatus } from "../../../src/features/history/kept-poll.ts";

const SILENT = { outcome: "failed", reason: "timeout", status: undefined } as const;

function inState(
  state: HealthState,
  polls: Partial<PollStatus>,
  changes: Partial<UpstreamFacts> = {},
): UpstreamFacts {
  return sampleUpstreamStatus({
    health: { state, sinceMs: 5_000, up: state !== "down" },
    lastPolls: [samplePollStatus(polls)],
    ...changes,
  });
}

function failing(reason: string, changes: Partial<UpstreamFacts> = {}): UpstreamFacts {
  return inState("down", { outcome: rowOf(reason)?.outcome ?? "failed", reason, status: undefined }, changes);
}

function other(changes: Partial<UpstreamFacts> = {}): UpstreamFacts {
  return sampleUpstreamStatus({ name: "email", url: "https://email.example/v1/resources", ...changes });
}

function judged(upstream: UpstreamFacts, ...others: readonly UpstreamFacts[]): Verdict {
  return verdictOn(upstream, sampleStatus({ upstreams: [upstream, ...others] }));
}

describe("what fails on the way", () => {
  test.each(["dns", "connect", "timeout"])("by %s is theirs while another upstream answers", (reason) => {
    expect(judged(failing(reason), other())).toEqual({
      side: "them",
      because: '"email" still answers, so our network works.',
    });
  });

  test.each(["dns", "connect", "timeout"])("by %s is ours while no upstream can be reached", (reason) => {
    const upstreams = [failing(reason), failing("connect", { name: "email" })] as const;
    expect(verdictOn(upstreams[0], sampleStatus({ offline: true, upstreams }))).toEqual({
      side: "us",
      because: "No upstream can be reached: our own network is the likely cause.",
    });
  });

  test("was ours where it was last polled while we were offline, though others answer again", () => {
    const poll = { atMs: 99_000, outcome: "ours", reason: "offline", status: undefined } as const;
    const offline = failing("timeout", { lastPolls: [samplePollStatus(poll)] });
    const back = other({ lastPolls: [samplePollStatus({ atMs: 99_500 })] });
    expect(judged(offline, back)).toEqual({
      side: "us",
      because: "Our own network was down then, so this says nothing about the upstream.",
    });
  });

  test("is theirs where they answered with failures before, in the same outage", () => {
    const polls = [
      { outcome: "failed", reason: "invalid_body", status: 200 } as const,
      { outcome: "failed", reason: "timeout", status: undefined } as const,
    ];
    const lastPolls = polls.map((poll) => samplePollStatus(poll));
    expect(judged(failing("timeout", { lastPolls })).side).toBe("them");
    const anotherOutage = [lastPolls[0], samplePollStatus(), lastPolls[1]].filter(
      (poll) => poll !== undefined,
    );
    expect(judged(failing("timeout", { lastPolls: anotherOutage })).side).toBe("open");
  });

  test("is not clear where there is nobody else to ask", () => {
    expect(judged(failing("timeout")).side).toBe("open");
  });

  test("is more likely theirs where they accepted the connection", () => {
    const waited = samplePollStatus({
      ...SILENT,
      outcome: "failed",
      phasesMs: { connect: 0.6, wait: 10_000 },
    });
    const { side, because } = judged(failing("timeout", { lastPolls: [waited] }));
    expect(side).toBe("open");
    expect(because).toContain("It accepted our connection, so it is more likely them");
  });

  test("is not made clear by an answer from between its last one and its first failure", () => {
    const polls = [{ atMs: 80_000 }, { atMs: 95_000, ...SILENT }, { atMs: 96_000, ...SILENT }];
    const silent = failing("timeout", { lastPolls: polls.map((poll) => samplePollStatus(poll)) });
    const seldom = (atMs: number) => other({ lastPolls: [samplePollStatus({ atMs })] });
    expect(judged(silent, seldom(90_000)).side).toBe("open");
    expect(judged(silent, seldom(95_500)).side).toBe("them");
  });

  test("is not made clear by another path of the same host, or by an older answer", () => {
    const sameHost = other({ url: "https://ai.example/v2/resources" });
    expect(judged(failing("timeout"), sameHost).side).toBe("open");
    const wasOkLater = {
      lastPolls: [
        samplePollStatus({ atMs: 99_500 }),
        samplePollStatus({ atMs: 99_900, outcome: "failed", reason: "timeout" }),
      ],
    };
    expect(judged(failing("timeout", wasOkLater), other()).side).toBe("open");
  });

  test("is theirs even where the other upstream only refuses us", () => {
    const refusing = other({
      lastPolls: [samplePollStatus({ outcome: "rejected", reason: "unauthorized", status: 401 })],
    });
    expect(judged(failing("connect"), refusing).side).toBe("them");
  });
});

test.each([
  ["server_error", "them"],
  ["reset", "them"],
  ["protocol", "them"],
  ["invalid_body", "them"],
  ["body_too_large", "them"],
  ["tls", "open"],
  ["redirect", "open"],
  ["client_error", "open"],
  ["unexpected_status", "open"],
  ["assertion", "open"],
  ["unauthorized", "our_key"],
  ["forbidden", "us"],
  ["bug", "us"],
])("down by %s: %s", (reason, side) => expect(judged(failing(reason), other()).side).toBe(side));

test("every reason leads to a verdict that says why", () => {
  for (const reason of REASON_NAMES) expect(judged(failing(reason), other()).because).not.toBe("");
});

test("where the key is fine, but may not do this or is used from a country that is not served, it is us", () => {
  const { side, because } = judged(inState("unauthorized", { outcome: "rejected", reason: "forbidden" }));
  expect(side).toBe("us");
  expect(because).toContain("does not allow this");
});

test("a refused key is our key, and throttling is a limit: neither is an outage", () => {
  expect(judged(inState("unauthorized", { outcome: "rejected", reason: "unauthorized" })).side).toBe(
    "our_key",
  );
  expect(judged(inState("throttled", { outcome: "throttled", reason: "rate" }))).toMatchObject({
    side: "limit",
    because: "The upstream answers, but asks us to slow down. This is not an outage.",
  });
  expect(judged(inState("throttled", { outcome: "throttled", reason: "quota" })).because).toContain("credit");
});

test.each(["throttled", "rejected"] as const)("%s after it was down is no proof that it works", (outcome) => {
  const state = outcome === "throttled" ? "throttled" : "unauthorized";
  const reason = outcome === "throttled" ? "rate" : "unauthorized";
  const wasDown = { health: { state, sinceMs: 5_000, up: false } } as const;
  expect(judged(inState(state, { outcome, reason }, wasDown)).because).toBe(
    "It was down before, and no poll was ok since.",
  );
});

test("what throttled us and then fails is judged by its failure", () => {
  const polls = [
    samplePollStatus({ outcome: "throttled", reason: "rate", status: 429 }),
    samplePollStatus({ outcome: "failed", reason: "server_error", status: 500 }),
  ];
  expect(judged(inState("throttled", {}, { lastPolls: polls }))).toEqual({
    side: "them",
    because: "We reach the upstream, but its answers are broken.",
  });
});

test("slowness is theirs by where the time goes, and ours where every upstream is slow", () => {
  const slow = (phasesMs: PollStatus["phasesMs"]): UpstreamFacts =>
    inState("degraded", { degraded: true, phasesMs });
  expect(judged(slow({ connect: 10, wait: 2_000 }), other()).side).toBe("them");
  expect(judged(slow({ connect: 2_000, wait: 10 }), other()).side).toBe("open");
  const alsoSlow = other({ health: { state: "degraded", sinceMs: 0, up: true } });
  expect(judged(slow({ connect: 10, wait: 2_000 }), alsoSlow).side).toBe("us");
});

test.each([
  ["budget", "us"],
  ["ledger", "us"],
  ["missed", "us"],
  ["overlap", "us"],
  ["backoff", "limit"],
  ["quota", "limit"],
] as const)("not looking because of %s: %s", (cause, side) => {
  expect(judged(inState("unknown", {}, { skippedSincePoll: [{ cause, count: 3 }] })).side).toBe(side);
});

test("nobody is at fault for what is up, or was not looked at yet", () => {
  expect(judged(sampleUpstreamStatus())).toEqual({ side: "nobody", because: "" });
  const counts = { slots: 0, polls: 0, inFlight: 0, waiting: 1, skipped: 0 };
  expect(judged(inState("unknown", {}, { counts, lastPolls: [] })).side).toBe("nobody");
});

test("a thousand that are down are judged without looking at all the others for each", () => {
  let looks = 0;
  const upstreams = Array.from({ length: 1_000 }, (_, index) => {
    const state = index % 2 === 0 ? "down" : "degraded";
    const failed = { outcome: "failed", reason: "timeout", status: undefined } as const;
    const polls = [samplePollStatus(failed)];
    const upstream = sampleUpstreamStatus({
      url: `https://host-${index}.example/`,
      health: { state, sinceMs: 1, up: false },
    });
    return Object.defineProperties(upstream, {
      lastPolls: { get: () => ((looks += 1), polls) },
      lastPoll: { get: () => ((looks += 1), polls[0]) },
    });
  });
  const snapshot = sampleStatus({ upstreams });
  const sides = new Set(upstreams.map((upstream) => verdictOn(upstream, snapshot).side));
  expect(sides).toEqual(new Set(["open"]));
  expect(looks).toBeLessThan(10_000);
});
