import { describe, expect, test } from "vitest";
import { routesToAsk } from "../../support/routes-to-ask.ts";
import { HOSTILE, pageOf, textOf } from "./reading.ts";
import {
  sampleAnnouncement,
  samplePollStatus,
  sampleStatus,
  sampleUpstreamStatus,
  sampleRoutesDeps,
} from "../../support/samples.ts";

const PATH = "/upstreams/ai-router";

const FAILURE = samplePollStatus({
  id: "poll-0",
  atMs: 40_000,
  outcome: "failed",
  reason: "server_error",
  status: 503,
  detail: "answered 503",
  headers: [
    { name: "content-type", bytes: 24 },
    { name: "retry-after", bytes: 2 },
  ],
  excerpt: '{"title":"busy"}',
});

describe("the page of an upstream", () => {
  test("keeps what a failure looked like after newer successes", async () => {
    const upstream = sampleUpstreamStatus({ lastFailures: [FAILURE] });
    const text = textOf(await pageOf(sampleStatus({ upstreams: [upstream] }), PATH));
    expect(text).toContain("server error, 503 00:00:40 UTC, 1 min ago Detail answered 503");
    expect(text).toContain(
      "Headers content-type 24 B retry-after 2 B Body {&quot;title&quot;:&quot;busy&quot;}",
    );
    expect(text).toContain("00:01:39 UTC ok 200 120 ms schedule");
  });

  test("shows failures that look alike once, the newest of them, and says how many there were", async () => {
    const timeout = samplePollStatus({
      ...FAILURE,
      reason: "timeout",
      status: undefined,
      headers: [],
      excerpt: undefined,
    });
    const lastFailures = [
      { ...FAILURE, atMs: 10_000 },
      { ...FAILURE, atMs: 20_000 },
      { ...FAILURE, atMs: 30_000 },
      { ...timeout, atMs: 50_000 },
      { ...FAILURE, atMs: 60_000, excerpt: "else" },
    ];
    const text = textOf(
      await pageOf(sampleStatus({ upstreams: [sampleUpstreamStatus({ lastFailures })] }), PATH),
    );
    expect(text.match(/server error, 503/g)).toHaveLength(2);
    expect(text).toContain("00:00:30 UTC, 1 min 10 s ago; 2 more like it before, the first at 00:00:10 UTC");
    expect(text).toContain("timed out 00:00:50 UTC, 50 s ago");
    expect(text).toContain("Headers no answer Body not kept");
  });

  test("tells of how many polls an incident has, and since when, where more failed than are kept", async () => {
    const lastFailures = Array.from({ length: 20 }, (_, turn) => ({
      ...FAILURE,
      atMs: 60_000 + turn * 1_000,
    }));
    const incident = {
      upstream: "ai-router",
      state: "down",
      reason: "server_error",
      startedAtMs: 10_000,
      endedAtMs: undefined,
      polls: 145,
    } as const;
    const upstreams = [sampleUpstreamStatus({ lastFailures })];
    expect(textOf(await pageOf(sampleStatus({ upstreams, incidents: [incident] }), PATH))).toContain(
      "the 19 before it are like it; the incident began at 00:00:10 UTC and has 145 polls",
    );
    expect(textOf(await pageOf(sampleStatus({ upstreams, incidents: [] }), PATH))).toContain(
      "the 19 before it are like it, and older ones are not kept",
    );
    const lastTwo = lastFailures.map((failure, place) => ({ ...failure, detail: place < 2 ? "a" : "b" }));
    const mixed = sampleStatus({ upstreams: [sampleUpstreamStatus({ lastFailures: lastTwo })] });
    expect(textOf(await pageOf(mixed, PATH))).toContain(
      "the one before it is like it, and older ones are not kept",
    );
  });

  test("says with which method it is asked", async () => {
    const upstream = sampleUpstreamStatus({ method: "POST" });
    const text = textOf(await pageOf(sampleStatus({ upstreams: [upstream] }), PATH));
    expect(text).toContain("POST https://ai.example/v1/resources");
  });

  test("shows hostile text as text: the body's beginning, header names, details, labels", async () => {
    const failure = samplePollStatus({
      outcome: "failed",
      reason: HOSTILE,
      detail: HOSTILE,
      excerpt: HOSTILE,
      headers: [{ name: HOSTILE, bytes: 1 }],
    });
    const upstream = sampleUpstreamStatus({
      url: `https://x.example/${HOSTILE}`,
      labels: { [HOSTILE]: HOSTILE },
      lastPolls: [failure],
      lastFailures: [failure],
    });
    const page = await pageOf(sampleStatus({ upstreams: [upstream] }), PATH);
    expect(page).not.toMatch(/<script|<img/);
    const foreign = [...page.matchAll(/<bdi>(.*?)<\/bdi>/g)].map(([, text]) => text);
    expect(foreign.length).toBeGreaterThanOrEqual(4);
    for (const text of foreign) expect(text).toMatch(/\\u0000\\u001b\[31m\\u202e$/);
  });

  test("links to where people look, and tells these places nothing", async () => {
    const links = { status_page: "https://status.example.test/?a=1&b=2#now" };
    const page = await pageOf(sampleStatus({ upstreams: [sampleUpstreamStatus({ links })] }), PATH);
    expect(page).toContain(
      '<a href="https://status.example.test/?a=1&amp;b=2#now" rel="noopener noreferrer">status page</a>',
    );
  });

  test("tells slots that close, its own incidents and its budget", async () => {
    const incident = {
      state: "down" as const,
      reason: "dns",
      startedAtMs: 1_000,
      endedAtMs: 9_000,
      polls: 2,
    };
    const incidents = [
      { ...incident, upstream: "ai-router" },
      { ...incident, upstream: "email", reason: "tls" },
    ];
    const text = textOf(await pageOf(sampleStatus({ incidents }), PATH));
    expect(text).toMatch(/10 slots: 8 polls, 1 in flight, 1 skipped \(1 no lease/);
    const counts = { slots: 1, polls: 1, inFlight: 0, waiting: 0, skipped: 0 };
    const first = sampleStatus({ upstreams: [sampleUpstreamStatus({ counts, skips: [] })] });
    expect(textOf(await pageOf(first, PATH))).toContain("Since the start 1 slot: 1 poll, 0 in flight");
    expect(text).toMatch(/Down: DNS .* 2 polls/);
    expect(text).not.toContain("TLS failed");
    expect(text).toContain("4 of our 12 leases");
  });

  test("has a place for each poll, to which a dashboard can lead", async () => {
    const lastPolls = ["life-a", "life-b"].map((id) => samplePollStatus({ id }));
    const page = await pageOf(sampleStatus({ upstreams: [sampleUpstreamStatus({ lastPolls })] }), PATH);
    for (const { id } of lastPolls) expect(page).toContain(`<tr id="${id}" `);
  });

  test("shows the request ids of a failure, and of other headers the size only", async () => {
    const headers = [
      { name: "x-request-id", bytes: 8, value: HOSTILE },
      { name: "set-cookie", bytes: 24 },
    ];
    const upstream = sampleUpstreamStatus({ lastFailures: [{ ...FAILURE, headers }] });
    const page = await pageOf(sampleStatus({ upstreams: [upstream] }), PATH);
    expect(textOf(page)).toContain("set-cookie 24 B");
    expect(page).not.toContain(HOSTILE);
  });

  test("says that the API announces its end, and links only to https", async () => {
    const announcement = sampleAnnouncement({
      sunsetAtMs: Date.UTC(2027, 4, 1),
      links: [
        { rel: "sunset", target: "https://api.example.com/end" },
        { rel: "deprecation", target: "javascript:alert(1)" },
        { rel: "successor-version", target: HOSTILE },
      ],
      warning: HOSTILE,
    });
    const page = await pageOf(sampleStatus({ upstreams: [sampleUpstreamStatus({ announcement })] }), PATH);
    expect(textOf(page)).toMatch(/announces its end\. .*deprecated.* stop on 2027-05-01 00:00:00 UTC/);
    expect(page).toContain('<a href="https://api.example.com/end"');
    expect(page).not.toMatch(/href="(?!https:\/\/api|\.\.\/|\?|[a-z0-9#])/);
    expect(page).not.toContain('href="javascript');
    expect(page).not.toContain(HOSTILE);
  });

  test("has empty places that say so", async () => {
    const upstream = sampleUpstreamStatus({ lastPolls: [], lastFailures: [], latency: undefined });
    const page = await pageOf(sampleStatus({ upstreams: [upstream], budgets: [] }), PATH);
    expect(textOf(page)).toContain(
      "Last failures None on record. Incidents None on record. Last polls None yet.",
    );
    expect(page).not.toMatch(/undefined|NaN|\[object/);
  });

  test("refreshes by itself, and links back by relative ways", async () => {
    const answer = await routesToAsk(sampleRoutesDeps()).request(PATH);
    expect(answer.headers.get("refresh")).toBe("10");
    const links = [...(await answer.text()).matchAll(/<a href="([^"]*)"/g)].map(([, link]) => link);
    expect(links.slice(0, 3)).toEqual(["../", "?refresh=off", "../"]);
    expect(links.every((link) => !link?.startsWith("/"))).toBe(true);
  });

  test.each(["nope", "__proto__", "%3Cscript%3Ealert(1)%3C%2Fscript%3E", "%E2%80%AE", "x".repeat(500)])(
    "of %s is not found, and says so without repeating anything harmful",
    async (name) => {
      const answer = await routesToAsk(sampleRoutesDeps()).request(`/upstreams/${name}`);
      const page = await answer.text();
      expect(answer.status).toBe(404);
      expect(answer.headers.has("refresh")).toBe(false);
      expect(textOf(page)).toContain("No upstream has this name");
      expect(page).not.toMatch(/<script|\u202e|x{100}/);
    },
  );
});

describe("values", () => {
  const CREDITS = {
    name: "credits_remaining",
    unit: "usd",
    value: 12_345.5,
    seenAtMs: 99_000,
    credit: {
      sentence: "It ends on Tuesday.",
      emptyAtMs: 100_000 + 86_400_000,
      burns: [],
    },
  };
  const JOBS = { name: "jobs", unit: "", value: undefined, seenAtMs: undefined };
  const points = [
    { atMs: 10_000, value: 20_000 },
    { atMs: 99_000, value: 12_345.5 },
  ];
  const upstream = sampleUpstreamStatus({ values: [CREDITS, JOBS] });
  const valueHistories = { credits_remaining: points, jobs: [{ atMs: 40_000, value: 7 }] };

  test("are shown as they came last, with their week and when the credit is empty", async () => {
    const page = await pageOf(sampleStatus({ upstreams: [upstream], valueHistories }), PATH);
    const text = textOf(page);
    expect(text).toContain(
      `Values credits_remaining 12\u202f345.5 usd 1 s ago ${CREDITS.credit.sentence} 12\u202f345.5 to 20\u202f000 within 1 min 29 s`,
    );
    expect(text).toContain("jobs not in the answers now last seen 1 min ago: 7");
    expect(page).toContain('aria-label="credits_remaining, from 20\u202f000 to 12\u202f345.5;');
  });

  test("of a credit that ends within three days are told on the page of all upstreams", async () => {
    const soon = `credits_remaining: ${CREDITS.credit.sentence}`;
    expect(textOf(await pageOf(sampleStatus({ upstreams: [upstream] }), "/"))).toContain(soon);
    const later = { ...CREDITS, credit: { ...CREDITS.credit, emptyAtMs: 100_000 + 3 * 86_400_000 } };
    const other = sampleUpstreamStatus({ values: [later] });
    expect(textOf(await pageOf(sampleStatus({ upstreams: [other] }), "/"))).not.toContain(
      "credits_remaining",
    );
  });

  test("have no place on the page of an upstream without any", async () => {
    expect(textOf(await pageOf(sampleStatus(), PATH))).not.toContain("Values");
  });
});
