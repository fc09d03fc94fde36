import { describe, expect, test } from "vitest";
import type { HealthState } from "../../../src/kernel/poll/health.ts";
import { REASON_NAMES, rowOf, type Verdict } from "../../../src/kernel/exchange/reasons.ts";
import type { UpstreamFacts } from "../../../src/features/status/status.ts";
import { verdictOn } from "../../../src/features/status/verdict.ts";
import type { Incident } from "../../../src/features/history/incidents.ts";
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

/** Its open incident has its polls since the last ok. */
function incidentOf({ name, health, lastPolls }: UpstreamFacts, changes: Partial<Incident> = {}): Incident {
  const polls = lastPolls.slice(lastPolls.findLastIndex(({ outcome }) => outcome === "ok") + 1);
  const reasons: Record<string, number> = {};
  for (const { reason } of polls) reasons[reason] = (reasons[reason] ?? 0) + 1;
  const what = { upstream: name, state: health.state, reason: polls[0]?.reason ?? "", polls: polls.length };
  return { ...what, reasons, startedAtMs: 5_000, endedAtMs: undefined, ...changes };
}

function judged(upstream: UpstreamFacts, ...others: readonly UpstreamFacts[]): Verdict {
  return verdictOn(upstream, sampleStatus({ upstreams: [upstream, ...others] }), incidentOf(upstream));
}

function during(reasons: Readonly<Record<string, number>>, changes: Partial<Incident> = {}): Verdict {
  const newest = Object.keys(reasons).at(-1) ?? "";
  const polls = Object.values(reasons).reduce((sum, each) => sum + each, 0);
  const upstream = failing(newest);
  return verdictOn(upstream, sampleStatus(), incidentOf(upstream, { reasons, polls, ...changes }));
}

describe("what fails on the way", () => {
  test.each(["dns", "connect", "timeout"])("by %s is theirs once another upstream has answered", (reason) => {
    expect(during({ [reason]: 3 }, { answeredBy: "email" })).toEqual({
      side: "them",
      because: '"email" has answered since, so our network works.',
    });
    expect(during({ [reason]: 3 }).side).toBe("open");
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
    expect(judged(offline)).toEqual({
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
});

describe("the verdict is of the whole incident", () => {
  test("one other answer, or silence afterwards, changes nothing", () => {
    const broken = { side: "them", because: "We reach the upstream, but its answers are broken." };
    expect(during({ invalid_body: 7, client_error: 1 })).toEqual(broken);
    expect(during({ invalid_body: 12, timeout: 2 })).toEqual(broken);
    expect(during({ server_error: 2, timeout: 600 })).toEqual(broken);
    expect(during({ timeout: 3, invalid_body: 5 })).toEqual(broken);
    expect(during({ server_error: 3, offline: 9 })).toEqual(broken);
  });

  test("what most polls showed stands, and not what the newest one showed", () => {
    expect(during({ client_error: 40, server_error: 1 }).because).toContain("not as expected");
    expect(during({ client_error: 2, timeout: 60 }, { answeredBy: "email" }).side).toBe("them");
    expect(during({ client_error: 60, timeout: 2 }, { answeredBy: "email" }).side).toBe("open");
  });

  test("refusals before it was down say nothing of the outage", () => {
    expect(during({ rate: 90, server_error: 3 }).side).toBe("them");
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
  const degraded = { state: "degraded", sinceMs: 0, up: true } as const;
  const lately = (poll: Partial<PollStatus>): UpstreamFacts =>
    other({ health: degraded, lastPolls: [samplePollStatus(poll)] });
  const alsoSlow = lately({ degraded: true });
  expect(judged(slow({ connect: 2_000, wait: 10 }), alsoSlow).side).toBe("us");
  // It was slow before: since then it failed at once, or nobody has looked for long.
  const broken = { outcome: "failed", reason: "server_error", status: 500 } as const;
  expect(judged(slow({ connect: 2_000, wait: 10 }), lately(broken)).side).toBe("open");
  const longAgo = lately({ degraded: true, atMs: 99_000 - 6 * 60_000 });
  expect(judged(slow({ connect: 2_000, wait: 10 }), longAgo).side).toBe("open");
  // Both services of a demo may be slow at once: quick connections do not speak against our network.
  expect(judged(slow({ connect: 1, wait: 2_000 }), alsoSlow).side).toBe("open");
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
