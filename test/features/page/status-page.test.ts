import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { HEALTH_STATES } from "../../../src/kernel/poll/health.ts";
import { availabilityOf } from "../../../src/features/history/availability.ts";
import type { BudgetStatus } from "../../../src/features/status/status.ts";
import { columnsOfPolls } from "../../../src/features/history/timeline.ts";
import { DAY_MS, HOUR_MS } from "../../../src/kernel/time/duration.ts";
import { routesToAsk } from "../../support/routes-to-ask.ts";
import {
  sampleBudgetStatus,
  sampleFleetStatus,
  samplePollStatus,
  sampleRoutesDeps,
  sampleStatus,
  sampleUpstreamStatus,
  type StatusLists,
} from "../../support/samples.ts";
import { HOSTILE, pageOf, textOf } from "./reading.ts";

async function textOfPage(over: Partial<StatusLists>): Promise<string> {
  return textOf(await pageOf(sampleStatus(over)));
}

describe("the status page", () => {
  test("carries no script, and the one style that its policy lets through", async () => {
    const answer = await routesToAsk(sampleRoutesDeps()).request("/");
    const page = await answer.text();
    const style = /<style>([^]*?)<\/style>/.exec(page)?.[1] ?? "";
    const hash = createHash("sha256").update(style).digest("base64");
    expect(answer.headers.get("content-security-policy")).toContain(`style-src 'sha256-${hash}'`);
    expect(page).not.toMatch(/<script|\son\w+=|\sstyle=|javascript:/i);
    expect(page).toContain("prefers-color-scheme: dark");
  });

  test("of a process that stands by says who leads, and what that means for this one", async () => {
    const leader = { name: "b", sinceMs: 0, url: "https://b.example/" };
    const text = await textOfPage({ upstreams: [], fleet: sampleFleetStatus({ leader }) });
    expect(text).toMatch(/Standing by\. b has led since .*This process polls nothing, and takes over/);
    expect(text).toContain("Its page shows the upstreams.");
  });

  test("asks to be loaded again by a header, unless it is to be refresh paused", async () => {
    const app = routesToAsk(sampleRoutesDeps());
    expect((await app.request("/")).headers.get("refresh")).toBe("10");
    const held = await app.request("/?refresh=off");
    expect(held.headers.has("refresh")).toBe(false);
    expect(textOf(await held.text())).toContain("refresh paused");
  });

  test("comes in gzip where asked for", async () => {
    const headers = { "Accept-Encoding": "gzip" };
    const answer = await routesToAsk(sampleRoutesDeps()).request("/", { headers });
    expect([answer.headers.get("content-encoding"), answer.headers.get("vary")]).toEqual([
      "gzip",
      "Accept-Encoding",
    ]);
  });

  test("shows hostile text of an upstream as text, wherever it stands", async () => {
    const poll = samplePollStatus({ outcome: "failed", reason: HOSTILE, detail: HOSTILE });
    const upstream = sampleUpstreamStatus({
      name: HOSTILE,
      url: `https://x.example/${HOSTILE}`,
      budgets: [HOSTILE],
      schedule: { source: HOSTILE, longestGapMs: 1 },
      lastPolls: [poll],
      lastFailures: [{ ...poll, id: "poll-0" }],
    });
    const incident = {
      upstream: HOSTILE,
      state: "down" as const,
      reason: HOSTILE,
      startedAtMs: 1,
      endedAtMs: 2,
      polls: 1,
    };
    const budgets = [sampleBudgetStatus({ name: HOSTILE })];
    const page = await pageOf(
      sampleStatus({ version: HOSTILE, upstreams: [upstream], budgets, incidents: [incident] }),
    );
    expect(page).toContain("&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;");
    expect(page).not.toContain("<script");
    expect(page).not.toContain("<img");
    expect(/<bdi>(.*?)<\/bdi>/.exec(page)?.[1]).toMatch(/\\u202e$/);
  });

  test("says in words what the last poll met", async () => {
    const poll = samplePollStatus({
      outcome: "failed",
      reason: "server_error",
      durationMs: 1240,
      status: 503,
      detail: "busy",
    });
    const text = await textOfPage({ upstreams: [sampleUpstreamStatus({ lastPolls: [poll] })] });
    expect(text).toContain("Last poll failed: server error, 503, after 1.24 s 1 s ago busy");
    expect(text).toContain("dns 2 ms connect 10 ms tls 20 ms wait 80 ms transfer 8 ms");
    const long = { lastPolls: [poll], latency: undefined };
    expect(await textOfPage({ upstreams: [sampleUpstreamStatus(long)] })).toContain(
      "Latency none of the last polls was ok Next slot",
    );
    expect(text).toContain("Next slot in 5 s every 15s");
  });

  test("says whose trouble it is, and why, beside a state with its beginning", async () => {
    const lastPolls = [
      samplePollStatus(),
      samplePollStatus({ atMs: 99_500, outcome: "rejected", reason: "unauthorized", status: 401 }),
      samplePollStatus({ atMs: 99_900, outcome: "rejected", reason: "unauthorized", status: 401 }),
    ];
    const health = { state: "unauthorized" as const, sinceMs: 40_000, up: true };
    const began = { upstream: "ai-router", state: "unauthorized" as const, reason: "", polls: 3 };
    const text = await textOfPage({
      upstreams: [sampleUpstreamStatus({ health, lastPolls })],
      incidents: [{ ...began, startedAtMs: 30_000, endedAtMs: undefined }],
    });
    expect(text).toMatch(
      /Rejects our key .*since 00:00:40 UTC; incident since 00:00:30 UTC Our key is the cause\. .*2 polls got 401\b.* answers, but/,
    );
  });

  test("compares availability with the objective in words", async () => {
    const availability = [
      availabilityOf(HOUR_MS, { watchedMs: HOUR_MS, failedMs: HOUR_MS / 8 }),
      availabilityOf(DAY_MS, { watchedMs: 30_000_000, failedMs: 15_000 }),
      availabilityOf(30 * DAY_MS, { watchedMs: 0, failedMs: 0 }),
    ];
    const text = await textOfPage({ upstreams: [sampleUpstreamStatus({ availability })] });
    expect(text).toContain("Availability objective 99.5 %");
    expect(text).toContain("1 h 87.5 % missed: failed for 7 min 30 s");
    expect(text).toContain("24 h 99.95 % of 8 h 20 min, met: failed for 15 s");
    expect(text).toContain("30 d – not watched");
  });

  test("tells an objective and a share as they are written, and availability as exactly as its objective", async () => {
    const availability = [0.000_000_1, 0.000_03].map((part) =>
      availabilityOf(DAY_MS, { watchedMs: DAY_MS, failedMs: part * DAY_MS }),
    );
    const objective = { availability: 0.99995, latencyMs: 1_000 };
    const upstreams = [sampleUpstreamStatus({ availability, objective })];
    const text = await textOfPage({ upstreams, budgets: [sampleBudgetStatus({ share: 0.33333 })] });
    expect(text).toContain("Availability objective 99.995 %");
    expect(text).toContain("24 h 99.999 % met");
    expect(text).toContain("24 h 99.997 % met");
    expect(text).toContain("our share 33.333 %");
  });

  test.each([
    [{ watchedMs: 120_000, failedMs: 15_000 }, "30 d 87.5 % of 2 min: failed for 15 s"],
    [{ watchedMs: 300, failedMs: 0 }, "30 d 100 % of 300 ms: all of it ok"],
  ])(
    "of a month of which little was watched, %j, it tells the number, of how much, and no verdict: %s",
    async (watched, words) => {
      const availability = [availabilityOf(30 * DAY_MS, watched)];
      const page = await pageOf(sampleStatus({ upstreams: [sampleUpstreamStatus({ availability })] }));
      expect(textOf(page)).toContain(words);
      expect(page).toContain('<tr class="early">');
    },
  );

  test.each([
    [undefined, "https://a.example/", "not seen yet"],
    [undefined, "http://a.example/", "none: plain HTTP"],
    [100_000 + 82 * 86_400_000, "https://a.example/", "expires in 82 d 1970-03-24 00:01:40 UTC"],
    [100_000 + 3 * 86_400_000, "https://a.example/", "expires in 3 d, soon"],
    [40_000, "https://a.example/", "expired 1 min ago"],
    [Infinity, "https://a.example/", "expires in"],
  ])("a certificate that expires at %s of %s: %s", async (certificateExpiresAtMs, url, words) => {
    const text = await textOfPage({ upstreams: [sampleUpstreamStatus({ certificateExpiresAtMs, url })] });
    expect(text).toContain(`Certificate ${words}`);
  });

  test("draws what is not known yet without inventing it", async () => {
    const upstream = sampleUpstreamStatus({
      health: { state: "unknown", sinceMs: 100_000, up: undefined },
      latency: undefined,
      availability: [availabilityOf(HOUR_MS, { watchedMs: 0, failedMs: 0 })],
      nextSlotAtMs: undefined,
      lastPolls: [],
      counts: { slots: 0, polls: 0, inFlight: 0, waiting: 0, skipped: 0 },
    });
    const page = await pageOf(sampleStatus({ upstreams: [upstream] }));
    const text = textOf(page);
    expect(text).toMatch(
      /No slot was due since the start\..* Last poll none yet Latency none yet.* Next slot not scheduled/,
    );
    expect(page).toMatch(/aria-label="ai-router, [^"]*no polls"/);
    expect(text).toMatch(/not advertised.* None on record.* since 1970-01-01 00:00:01 UTC/);
    expect(page).not.toMatch(/undefined|NaN|Infinity|\[object/);
  });

  test("tells down, throttled, a refused key, slow and not known apart, the sickest first", async () => {
    const upstreams = HEALTH_STATES.map((state) =>
      sampleUpstreamStatus({ name: `is-${state}`, health: { state, sinceMs: 0, up: true } }),
    );
    const text = await textOfPage({ upstreams });
    expect(text).toContain(
      "Of 6 upstreams: 1 down, 1 rejecting our key, 1 unknown, 1 throttling us, 1 slow Last 1 h",
    );
    const words = [
      "is-down Down for",
      "is-unauthorized Rejects our key for",
      "is-unknown Unknown for",
      "is-throttled Throttling us for",
      "is-degraded Up, but slow for",
      "Healthy is-up Up for",
    ];
    const places = words.map((each) => text.indexOf(each));
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  test("what had no slot yet, as with office hours on a weekend, needs no attention", async () => {
    const counts = { slots: 0, polls: 0, inFlight: 0, waiting: 0, skipped: 0 };
    const health = { state: "unknown", sinceMs: 0, up: undefined } as const;
    const undue = sampleUpstreamStatus({ name: "office", health, counts, lastPolls: [] });
    const late = sampleUpstreamStatus({
      name: "late",
      health,
      counts: { ...counts, waiting: 1 },
      lastPolls: [],
    });
    const text = await textOfPage({ upstreams: [undue, late, sampleUpstreamStatus({ name: "well" })] });
    expect(text).toMatch(/Needs attention late .*Healthy well .*No slot was due yet office Unknown/);
    const spent = await textOfPage({ upstreams: [{ ...undue, creditEndsAtMs: 0 }] });
    expect(spent).toMatch(/Needs attention office Unknown/);
  });

  const both = [
    sampleUpstreamStatus(),
    sampleUpstreamStatus({ name: "email", url: "https://email.example/" }),
  ] as const;
  const down = { health: { state: "down" as const, sinceMs: 0, up: false } };
  const missed = { missedLastHour: ["availability", "latency"] as const };
  const unreached = {
    ...down,
    lastPolls: [samplePollStatus({ outcome: "ours", reason: "offline", status: undefined })],
  };

  test("draws no more than a hundred budgets, the paused ones first", async () => {
    const budgets = Array.from({ length: 120 }, (_, index) =>
      sampleBudgetStatus({ name: `budget-${index}`, pausedUntilMs: index === 119 ? 200_000 : 0 }),
    );
    const text = await textOfPage({ budgets });
    expect(text.match(/budget-\d+/g)).toHaveLength(100);
    expect(text.indexOf("budget-119")).toBeLessThan(text.indexOf("budget-0"));
    expect(text).toContain("20 more: as JSON");
  });

  test.each([
    [{}, "ai-router is up"],
    [{ upstreams: both }, "Both upstreams are up"],
    [
      {
        upstreams: [
          sampleUpstreamStatus({ name: "a", creditEndsAtMs: 0 }),
          sampleUpstreamStatus({ name: "b" }),
        ],
      },
      "The credit of a is empty",
    ],
    [{ upstreams: [...both, sampleUpstreamStatus({ name: "c" })] }, "All 3 upstreams are up"],
    [{ upstreams: [both[0], { ...both[1], ...down }] }, "email is down"],
    [
      { upstreams: [{ ...both[0], ...missed }] },
      "ai-router is up, but missed its objective in the last hour",
    ],
    [
      { upstreams: [both[0], { ...both[1], ...missed }] },
      "Both upstreams are up; email missed its objective in the last hour",
    ],
    [
      { upstreams: both.map((each) => ({ ...each, ...missed })) },
      "Both upstreams are up; ai-router and email missed their objective in the last hour",
    ],
    [
      { upstreams: ["a", "b", "c", "d"].map((name) => sampleUpstreamStatus({ name, ...missed })) },
      "All 4 upstreams are up; 4 missed their objective in the last hour",
    ],
    [
      {
        upstreams: [
          { ...both[0], ...missed, ...down },
          { ...both[1], ...missed },
        ],
      },
      "ai-router is down; email missed its objective in the last hour",
    ],
    [{ upstreams: both.map((each) => ({ ...each, ...down })) }, "ai-router is down, email is down"],
    [
      { offline: true, upstreams: both.map((each) => sampleUpstreamStatus({ ...each, ...unreached })) },
      "No upstream can be reached: probably our own network",
    ],
    [{ upstreams: [] }, "No upstreams are configured"],
    [{ ready: false }, "Pacewatch is not polling now"],
  ])("sums up %#: %s", async (over, headline) => {
    const page = await pageOf(sampleStatus(over));
    expect(page).toContain(`<h1>${headline}</h1>`);
    expect(page).toContain(`<title>${headline} · Pacewatch</title>`);
  });

  test("has those that missed their objective in a group of their own, with what they missed", async () => {
    const upstreams = [
      sampleUpstreamStatus({ name: "fine" }),
      sampleUpstreamStatus({ name: "flapping", ...missed }),
    ];
    const text = await textOfPage({ upstreams });
    expect(text).toMatch(/Missed their objective in the last hour flapping Up .* Healthy fine Up/);
    expect(text).toContain(
      "Missed its objective in the last hour: it was ok for less than 99.5 % of the watched time, and fewer than 95 % of its ok answers came within 1 s.",
    );
    const many = Array.from({ length: 31 }, (_, index) =>
      sampleUpstreamStatus({ name: `a-${index}`, missedLastHour: index < 2 ? ["availability"] : [] }),
    );
    expect(await textOfPage({ upstreams: many })).toContain(
      "Up, but missed their objective: 2 a-0 a-1 Up: 29 a-2",
    );
  });

  test("says what was open before a restart, until the first poll tells more", async () => {
    const counts = { slots: 0, polls: 0, inFlight: 0, waiting: 0, skipped: 0 };
    const health = { state: "unknown", sinceMs: 99_000, up: undefined } as const;
    const starting = (has: Partial<typeof counts>) =>
      both.map((each) => ({ ...each, counts: { ...counts, ...has }, health }));
    for (const [has, words] of [
      [{ slots: 1, inFlight: 1 }, "the first polls are running"],
      [{ waiting: 1 }, "the first polls are waiting for their budgets"],
      [{}, "no poll was due since the start"],
    ] as const)
      expect(await pageOf(sampleStatus({ upstreams: starting(has) }))).toContain(
        `<h1>No results yet: ${words}</h1>`,
      );
    const upstreams = starting({ waiting: 1 });
    const incidents = [
      {
        upstream: "email",
        state: "down",
        reason: "server_error",
        startedAtMs: 500,
        endedAtMs: undefined,
        polls: 2,
      } as const,
    ];
    expect(await pageOf(sampleStatus({ upstreams, incidents }))).toContain(
      "<h1>email was down, looking again</h1>",
    );
  });

  test("says that the next slot is skipped if the pause outlasts it", async () => {
    const skipped = /in 5 s every 15s;.* it is skipped if .*paused/;
    const until = (pausedUntilMs: number) => ({ upstreams: [sampleUpstreamStatus({ pausedUntilMs })] });
    expect(await textOfPage(until(120_000))).toMatch(skipped);
    expect(await textOfPage(until(104_000))).not.toContain("it is skipped");
    const budgets = [sampleBudgetStatus({ pausedUntilMs: 120_000 })];
    expect(await textOfPage({ budgets })).toMatch(skipped);
  });

  test("tells our own outage from theirs: in the bars, in the incidents and in sentences", async () => {
    const failed = { outcome: "failed", reason: "dns", status: undefined } as const;
    const upstream = sampleUpstreamStatus({
      health: { state: "down", sinceMs: 90_000, up: false },
      lastPolls: [
        samplePollStatus(failed),
        samplePollStatus({ ...failed, outcome: "ours", reason: "offline" }),
      ],
    });
    const incident = { upstream: "ai-router", state: "down", reason: "offline", polls: 2 } as const;
    const incidents = [{ ...incident, startedAtMs: 90_000, endedAtMs: undefined }];
    const polls = (["failed", "ours"] as const).map((outcome, index) => ({
      endedAtMs: index * 60_000,
      outcome,
      durationMs: 5,
      watchedMs: 0,
    }));
    const columns = { columnMs: 60_000, columns: columnsOfPolls(polls, 60_000), areQuantiles: true };
    const histories = { "ai-router": { columns: () => columns } };
    const page = await pageOf(sampleStatus({ upstreams: [upstream], incidents, histories }));
    expect(page).toContain("the last 1 h: 1 failed, 1 our own fault; 1 incident");
    expect(page).toContain('<path class="ours" ');
    const text = textOf(page);
    expect(text).toMatch(/It is us\. .*2 polls .*: 1 .* offline; 1 .* host name\./);
    expect(text).toContain("ai-router We were offline 00:01:30 UTC to now 10 s, 2 polls");
    expect(text).not.toContain("It is them.");
  });

  test("tells what is the matter with Pacewatch itself", async () => {
    const text = await textOfPage({
      stateStoreUp: false,
      lastReload: { successful: false, lastSuccessAtMs: 40_000, fault: "pacewatch.yaml:3:1: a fault" },
    });
    expect(text).toMatch(/config was refused.* 00:00:40 UTC.*: pacewatch\.yaml:3:1: a fault\./);
    expect(text).toContain("state file cannot be written");
    expect(await textOfPage({ stateStoreUp: true })).not.toContain("cannot");
    const lost = await textOfPage({ stateLostAtMs: 1_790_000_000_000 });
    expect(lost).toMatch(/damaged.* pacewatch quota BUDGET --used N/);
    expect(await textOfPage({})).not.toContain("damaged");
  });

  test("shows each rate of a budget, its pause, its quota and what the upstream says", async () => {
    const budget = {
      name: "email",
      share: 0.29,
      rates: [
        { label: "1s", limit: 20, cap: 4, leases: 1 },
        { label: "1m", limit: 1000, cap: 290, leases: 9 },
      ],
      advertised: { limit: 900, remaining: 3 },
      pausedUntilMs: 130_000,
      quota: { limit: 400, perMs: 2_592_000_000, used: 25, unconfirmed: 2, forecast: 44.4 },
    };
    const text = await textOfPage({ budgets: [budget] });
    expect(text).toMatch(/Paused: .* 30 s at 00:02:10 UTC/);
    expect(text).toMatch(/1 of our 4 .*20 per 1s; our share 29 %, lowered from 5 .*advertised/);
    expect(text).toMatch(/9 of our 290 .*1\u202f000 per 1m; our share 29 %(?!, lowered)/);
    expect(text).toMatch(/25 of our quota of 400 used in 30 d .* 44\b.* 23 were sent.* 2 more may have been/);
    expect(text).toMatch(/advertised: 3 left of 900/);
  });

  test("says from which vantage it was seen, and by how many a limit is divided", async () => {
    const vantage = { name: "eu", of: 3 };
    const rates = [
      { label: "1m", limit: 1000, cap: 66, leases: 1 },
      { label: "1s", limit: 60, cap: 3, leases: 1 },
    ];
    const budget = { ...sampleBudgetStatus(), share: 0.2, vantage, rates };
    const text = await textOfPage({ vantage, budgets: [budget] });
    expect(text).toContain("Seen from eu, one of 3 vantages");
    expect(text).toMatch(/our 66 .*1\u202f000 per 1m; our share 20 %, divided by 3(?!, lowered)/);
    expect(text).toMatch(/our 3 .*60 per 1s; our share 20 %, divided by 3, lowered from 4\b/);
    expect(await textOfPage({})).not.toContain("Seen from");
  });

  test("says of a lowered cap why it is", async () => {
    const budget: BudgetStatus = {
      name: "email",
      share: 0.2,
      rates: [{ label: "1m", limit: 60, cap: 9, leases: 1 }],
      pausedUntilMs: 0,
    };
    const text = await textOfPage({ budgets: [budget] });
    expect(text).toMatch(/our share 20 %, lowered from 12\b[^.]*the upstream/);
  });

  test("draws all upstreams on one axis, one below the other, and says whose time it is", async () => {
    const upstreams = ["one", "other"].map((name) => sampleUpstreamStatus({ name }));
    const text = await textOfPage({ upstreams });
    expect(text).toContain("Side by side times are UTC one other 23:10 23:20 23:30 23:40 23:50 Healthy");
    expect(await textOfPage({ upstreams: upstreams.slice(1) })).not.toContain("Side by side");
  });

  test("leads to other ranges without a script, and keeps what else was chosen", async () => {
    const linksOf = async (search: string): Promise<readonly (string | undefined)[]> =>
      [
        ...(await pageOf(sampleStatus(), `/${search}`)).matchAll(
          /<a href="(\?[^"]*|\.\/)"(?: aria-current="([a-z]+)")?/g,
        ),
      ].map(([, link, isShown]) => (isShown === "true" ? `${link} shown` : link));
    const toOthers = ["?range=24h", "?range=7d", "?range=30d"];
    expect(await linksOf("")).toEqual(["./", "?refresh=off", "./ shown", ...toOthers]);
    expect(await linksOf("?range=7d&refresh=off")).toEqual([
      "./",
      "?range=7d",
      "?refresh=off",
      "?range=24h&amp;refresh=off",
      "?range=7d&amp;refresh=off shown",
      "?range=30d&amp;refresh=off",
    ]);
    expect(await linksOf("?range=hostile")).toEqual(await linksOf(""));
  });

  test("lists incidents with start, end, reason and polls, and counts the older ones", async () => {
    const incident = {
      upstream: "ai-router",
      state: "down" as const,
      reason: "timeout",
      startedAtMs: 10_000,
      polls: 8,
    };
    const incidents = Array.from({ length: 25 }, (_, index) => ({
      ...incident,
      endedAtMs: index === 0 ? undefined : 70_000,
    }));
    const text = await textOfPage({ incidents });
    expect(text).toContain("ai-router Down: timed out 00:00:10 UTC to now 1 min 30 s, 8 polls");
    expect(text).toContain("ai-router Down: timed out 00:00:10 UTC to 00:01:10 UTC 1 min, 8 polls");
    expect(text).toContain("5 older ones: as JSON");
  });

  test("draws the sickest hundred of a thousand upstreams, and leads to all of them", async () => {
    const well = Array.from({ length: 999 }, (_, index) => sampleUpstreamStatus({ name: `well-${index}` }));
    const down = sampleUpstreamStatus({ name: "down", health: { state: "down", sinceMs: 0, up: false } });
    const page = await pageOf(sampleStatus({ upstreams: [...well, down] }));
    expect(page.match(/<li class="upstream /g)).toHaveLength(101);
    expect(page).toContain('<li class="upstream down">');
    expect(new Set([...page.matchAll(/<a href="upstreams\/([^"]*)"/g)].map(([, name]) => name)).size).toBe(
      1_000,
    );
    expect(textOf(page)).toContain("899 more are in the list above.");
  });

  test("lists many upstreams by name and state before their cards, and few only as cards", async () => {
    const upstreams = Array.from({ length: 31 }, (_, index) =>
      sampleUpstreamStatus({
        name: `api-${index}`,
        health: { state: index === 7 ? "down" : "up", sinceMs: 5000, up: index !== 7 },
      }),
    );
    const text = await textOfPage({ upstreams });
    expect(text).toMatch(/All 31 upstreams Down: 1 api-7 Up: 30 api-0 api-1 .* Needs attention/);
    expect(await textOfPage({ upstreams: upstreams.slice(0, 30) })).not.toContain("All 30 upstreams");
  });

  test("works under any path of a proxy, as its links are relative", async () => {
    const page = await pageOf(sampleStatus());
    const links = [...page.matchAll(/<a href="([^"]*)"/g)].map(([, link]) => link);
    expect(links).toEqual([
      "./",
      "?refresh=off",
      "./",
      "?range=24h",
      "?range=7d",
      "?range=30d",
      "upstreams/ai-router",
      "./api/v1/upstreams",
      "./api/v1/incidents",
      "./api/v1/config",
      "./metrics",
      "./runbooks/",
      "./runbooks/glossary",
    ]);
  });
});
