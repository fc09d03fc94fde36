import { spawnSync } from "node:child_process";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { UpstreamAccounts } from "../../src/kernel/metrics/accounts.ts";
import { CATALOGUE, CLOSED_LABELS } from "../../tools/docs-metrics.ts";
import { expose } from "../../src/exposition/exposition.ts";
import { TextFormat } from "../../src/exposition/text.ts";
import { renderProtobuf, renderText } from "../support/metrics/render.ts";
import type { Poll } from "../../src/kernel/poll/poll.ts";
import { PHASES } from "../../src/kernel/exchange/exchange.ts";
import { HEALTH_STATES } from "../../src/kernel/poll/health.ts";
import { OK, outcomeOf, type PollOutcome, SKIP_CAUSES } from "../../src/kernel/exchange/outcome.ts";
import { OUTCOMES, REASON_NAMES } from "../../src/kernel/exchange/reasons.ts";
import type { UpstreamSnapshot } from "../../src/kernel/metrics/snapshot.ts";
import { SLOT_STARTED, SLOT_WAITING } from "../../src/kernel/poll/ports.ts";
import { requireBinary } from "../support/processes/binaries.ts";
import {
  parseExposition,
  sampleValue,
  sumOfSamples,
  type Families,
} from "../support/metrics/exposition-parser.ts";
import { POLL_ENDED_AT_MS, recordPoll, samplePoll, sampleUpstream } from "../support/kernel-samples.ts";
import {
  accountsOf,
  sampleAccounts,
  fullMetricsSnapshot,
  sampleBudgetSnapshot,
  sampleMetricsSnapshot,
  SAMPLE_STREAM,
  sampleUpstreamSnapshot,
} from "../support/samples.ts";
import { SERIES } from "../../tools/docs-metrics.ts";
import { accountsClose } from "../support/accounts-close.ts";
import { METRICS } from "../../src/app/features/shown.ts";

const promtool = requireBinary("promtool");

function renderUpstream(changes: Partial<UpstreamSnapshot>): Families {
  return parseExposition(renderText(sampleMetricsSnapshot({ upstreams: [sampleUpstreamSnapshot(changes)] })));
}

function seriesOfUpstream(families: Families): number {
  const samples = [...families.values()].flatMap((family) => family.samples);
  return samples.filter((sample) => sample.labels["upstream"] !== undefined).length;
}

test("every metric of the catalogue is shown, with its type, help and labels", () => {
  const families = parseExposition(renderText(fullMetricsSnapshot()));
  expect([...families.keys()].toSorted()).toEqual(CATALOGUE.map(({ name }) => name).toSorted());
  for (const { name, type, help, labels } of CATALOGUE) {
    expect(families.get(name)).toMatchObject({ type, help });
    for (const sample of families.get(name)?.samples ?? []) {
      const shown = Object.keys(sample.labels).filter((label) => label !== "le" && label !== "team");
      expect(shown, `labels of ${sample.name}`).toEqual(labels);
    }
  }
});

test("where others watch too, every sample of every format has the name of its vantage", () => {
  const full = fullMetricsSnapshot();
  const snapshot = { ...full, config: { ...full.config, vantage: { name: "eu", of: 2 } } };
  const text = parseExposition(renderText(snapshot));
  const samples = [...text.values()].flatMap((family) => family.samples);
  expect(samples.length).toBeGreaterThan(100);
  for (const { labels } of samples) expect(labels).toMatchObject({ vantage: "eu" });
  for (const { metrics } of renderProtobuf(snapshot).values())
    for (const { labels } of metrics) expect(labels).toMatchObject({ vantage: "eu" });
});

test("labels with a closed set of values show no other value", () => {
  for (const { samples } of parseExposition(renderText(fullMetricsSnapshot())).values()) {
    for (const [label, value] of samples.flatMap((sample) => Object.entries(sample.labels))) {
      expect(CLOSED_LABELS[label] ?? [value], `label ${label}`).toContain(value);
    }
  }
});

test("from its first second an upstream has every outcome at 0, and what seldom happens once it has", () => {
  const families = renderUpstream({});
  for (const outcome of OUTCOMES)
    expect(sampleValue(families, "pacewatch_polls_total", { outcome }), `polls_total of ${outcome}`).toBe(0);
  expect(sampleValue(families, "pacewatch_poll_duration_seconds_count", { outcome: "ok" })).toBe(0);
  expect(sumOfSamples(families, "pacewatch_poll_delay_seconds_count")).toBe(0);
  const accounts = accountsOf(samplePoll({ outcome: outcomeOf("timeout"), durationMs: 10_000 }));
  accounts.record({ kind: "slots_skipped", cause: "missed", count: 7 });
  const after = renderUpstream({ accounts });
  const failed = { outcome: "failed" };
  expect(after.get("pacewatch_poll_reasons_total")?.samples).toEqual([
    {
      name: "pacewatch_poll_reasons_total",
      labels: { upstream: "email", ...failed, reason: "timeout" },
      value: 1,
    },
  ]);
  expect(sampleValue(after, "pacewatch_polls_total", failed)).toBe(1);
  expect(sampleValue(after, "pacewatch_polls_skipped_total", { cause: "missed" })).toBe(7);
  const buckets = after
    .get("pacewatch_poll_duration_seconds")
    ?.samples.filter(({ name, labels }) => name.endsWith("_bucket") && labels["outcome"] === "failed");
  expect(buckets?.map(({ labels, value }) => [labels["le"], value])).toEqual([["+Inf", 1]]);
  expect(sampleValue(after, "pacewatch_poll_duration_seconds_sum", failed)).toBe(10);
});

test("what is not known yet is absent, not 0", () => {
  const families = parseExposition(renderText(sampleMetricsSnapshot()));
  const absent = CATALOGUE.map(({ name }) => name).filter((name) => !families.has(name));
  expect(absent).toEqual([
    "pacewatch_poll_reasons_total",
    "pacewatch_polls_skipped_total",
    "pacewatch_poll_phase_duration_seconds",
    "pacewatch_stream_first_event_seconds",
    "pacewatch_stream_longest_gap_seconds",
    "pacewatch_poll_delay_max_seconds",
    "pacewatch_upstream_up",
    "pacewatch_last_poll_timestamp_seconds",
    "pacewatch_last_success_timestamp_seconds",
    "pacewatch_schedule_watched_ratio",
    "pacewatch_tls_certificate_expiry_timestamp_seconds",
    "pacewatch_upstream_deprecation_timestamp_seconds",
    "pacewatch_upstream_sunset_timestamp_seconds",
    "pacewatch_upstream_value",
    "pacewatch_upstream_value_timestamp_seconds",
    "pacewatch_upstream_value_readable",
    "pacewatch_upstream_credit_burn_per_second",
    "pacewatch_upstream_credit_empty_timestamp_seconds",
    "pacewatch_spend_total",
    "pacewatch_signals_malformed_total",
    "pacewatch_budget_advertised_limit_requests",
    "pacewatch_budget_advertised_remaining_requests",
    "pacewatch_budget_quota_limit_requests",
    "pacewatch_budget_quota_used_requests",
    "pacewatch_budget_quota_unconfirmed_requests",
    "pacewatch_budget_quota_forecast_requests",
    "pacewatch_budget_spend_limit",
    "pacewatch_budget_spend_used",
    "pacewatch_budget_spend_forecast",
    "pacewatch_budget_quota_burn_per_second",
    "pacewatch_budget_quota_empty_timestamp_seconds",
    "pacewatch_state_store_up",
    "pacewatch_state_lost_timestamp_seconds",
    "pacewatch_leader",
    "pacewatch_lock_up",
    "pacewatch_config_info",
    "pacewatch_notifications_total",
    "pacewatch_notifications_oldest_pending_seconds",
  ]);
});

test("an upstream that streams has its histograms from the start, and only what its polls measured is in them", () => {
  const upstream = sampleUpstream({ stream: SAMPLE_STREAM });
  const counts = (accounts: UpstreamAccounts): readonly unknown[] => {
    const families = renderUpstream({ upstream, accounts });
    return ["first_event", "longest_gap"].map((what) =>
      sampleValue(families, `pacewatch_stream_${what}_seconds_count`),
    );
  };
  expect(counts(sampleAccounts())).toEqual([0, 0]);
  const stream = { events: 3, bytes: 9, firstEventMs: 400, longestGapMs: 100 };
  const none = { ...stream, firstEventMs: undefined, longestGapMs: undefined };
  const accounts = accountsOf(
    samplePoll({ said: { stream } }),
    samplePoll({ said: { stream: { ...stream, longestGapMs: undefined } } }),
    samplePoll({ outcome: outcomeOf("timeout"), said: { stream } }),
    samplePoll({ outcome: outcomeOf("stream"), said: { stream: none } }),
    samplePoll({ outcome: outcomeOf("suspended"), said: { stream } }),
  );
  expect(counts(accounts)).toEqual([3, 2]);
  const shown = renderUpstream({ upstream, accounts });
  expect(sampleValue(shown, "pacewatch_stream_first_event_seconds_sum")).toBeCloseTo(1.2);
  expect(sampleValue(shown, "pacewatch_stream_first_event_seconds_bucket", { le: "0.5" })).toBe(3);
});

test("an upstream that is down is 0, not absent", () => {
  expect(
    sampleValue(renderUpstream({ health: { state: "down", isUp: false } }), "pacewatch_upstream_up"),
  ).toBe(0);
});

test("the present state is shown, and no other", () => {
  for (const state of HEALTH_STATES) {
    const shown = renderUpstream({ health: { state, isUp: undefined } }).get("pacewatch_upstream_state");
    expect(shown?.samples.map(({ labels, value }) => [labels["state"], value])).toEqual([[state, 1]]);
  }
});

test("times are shown in seconds", () => {
  const families = parseExposition(renderText(fullMetricsSnapshot()));
  const shown = Object.fromEntries(
    [...families.values()].flatMap(({ samples }) => samples).map(({ name, value }) => [name, value]),
  );
  expect(shown).toMatchObject({
    pacewatch_last_poll_timestamp_seconds: POLL_ENDED_AT_MS / 1000,
    pacewatch_last_success_timestamp_seconds: POLL_ENDED_AT_MS / 1000,
    pacewatch_schedule_period_seconds: 15,
    pacewatch_objective_ratio: 0.995,
    pacewatch_objective_latency_seconds: 1,
    pacewatch_poll_delay_seconds_sum: 0.05,
    pacewatch_poll_delay_max_seconds: 0.05,
  });
  expect(sampleValue(families, "pacewatch_poll_duration_seconds_sum", { outcome: "ok" })).toBe(0.2);
  expect(sampleValue(families, "pacewatch_poll_phase_duration_seconds_sum", { phase: "tls" })).toBe(0.01);
});

test("a code that is expected is there from the start, any other once it was seen", () => {
  const upstream = sampleUpstream({ expect: { status: [200, 304, 299], json: false, maxBodyBytes: 1 } });
  const before = renderUpstream({ upstream }).get("pacewatch_responses_total")?.samples;
  expect(before?.map(({ labels, value }) => [labels["code"], value])).toEqual([
    ["200", 0],
    ["304", 0],
    ["other", 0],
  ]);
  const accounts = accountsOf(samplePoll({ head: { status: 503, headers: [] } }));
  const after = renderUpstream({ upstream, accounts }).get("pacewatch_responses_total")?.samples;
  expect(after?.map(({ labels }) => labels["code"])).toEqual(["200", "304", "other", "503"]);
});

/** Of an upstream with HTTPS that answers as expected, and has nothing but what every config has. */
const HEALTHY = {
  upstream: sampleUpstream({ url: "https://email.example/v1/resources" }),
  accounts: accountsOf(
    samplePoll({
      phasesMs: { dns: 1, connect: 2, tls: 3, wait: 4, transfer: 5 },
      certificateExpiresAtMs: POLL_ENDED_AT_MS,
    }),
  ),
  health: { state: "up", isUp: true },
} as const;

test("a certificate that was seen ends with HTTPS: a reload may have led to plain HTTP", () => {
  const name = "pacewatch_tls_certificate_expiry_timestamp_seconds";
  const plain = sampleUpstream({ url: "http://email.example/v1" });
  expect(renderUpstream(HEALTHY).get(name)?.samples).toHaveLength(1);
  expect(renderUpstream({ ...HEALTHY, upstream: plain }).get(name)?.samples ?? []).toEqual([]);
});

test("an upstream has as many series as the page of metrics says", () => {
  expect(seriesOfUpstream(renderUpstream({}))).toBe(SERIES.atStart);
  expect(seriesOfUpstream(renderUpstream(HEALTHY))).toBe(SERIES.healthy);
  expect(SERIES.healthy).toBeLessThanOrEqual(49);
  expect(seriesOfUpstream(parseExposition(renderText(fullMetricsSnapshot())))).toBe(SERIES.allKnown);

  const accounts = sampleAccounts();
  const poll = (changes: Partial<Poll>): void => {
    accounts.record(SLOT_WAITING);
    accounts.record(SLOT_STARTED);
    const phasesMs = Object.fromEntries(
      PHASES.filter((phase) => phase !== "first_event" && phase !== "stream").map((phase) => [phase, 1]),
    );
    recordPoll(
      accounts,
      samplePoll({
        phasesMs,
        certificateExpiresAtMs: 1,
        said: { hints: { malformed: 1 } },
        ...changes,
      }),
    );
  };
  for (let status = 100; status < 600; status += 1) poll({ head: { status, headers: [] } });
  for (const reason of REASON_NAMES) poll({ outcome: outcomeOf(reason) });
  for (const cause of SKIP_CAUSES) accounts.record({ kind: "slots_skipped", cause, count: 1 });
  expect(seriesOfUpstream(renderUpstream({ ...HEALTHY, accounts }))).toBe(SERIES.most);
});

test("in protobuf, where a histogram is one series, an upstream has fewer", () => {
  const families = renderProtobuf(sampleMetricsSnapshot({ upstreams: [sampleUpstreamSnapshot(HEALTHY)] }));
  const series = [...families.values()].flatMap(({ type, metrics }) =>
    metrics.filter(({ labels }) => labels["upstream"] !== undefined).map(() => (type === "summary" ? 2 : 1)),
  );
  expect(series.reduce((sum, each) => sum + each, 0)).toBe(SERIES.healthyInProtobuf);
  expect(SERIES.healthyInProtobuf).toBeLessThanOrEqual(35);
});

test("names and labels arrive as they were written, however strange", () => {
  const strange = 'a "quoted"\\back\nslash{}, le="1"';
  const families = parseExposition(
    renderText(
      sampleMetricsSnapshot({
        upstreams: [
          sampleUpstreamSnapshot({ upstream: sampleUpstream({ name: strange, labels: { team: strange } }) }),
        ],
        budgets: [sampleBudgetSnapshot({ name: strange })],
        build: { version: strange, node: "" },
      }),
    ),
  );
  expect(families.get("pacewatch_upstream_info")?.samples[0]?.labels).toEqual({
    upstream: strange,
    budget: "api",
    team: strange,
  });
  expect(families.get("pacewatch_budget_leases")?.samples[0]?.labels).toEqual({ budget: strange, per: "1m" });
  expect(families.get("pacewatch_build_info")?.samples[0]?.labels).toEqual({ version: strange, node: "" });
});

test("an upstream that draws on several budgets has one series for each of them", () => {
  const families = renderUpstream({ upstream: sampleUpstream({ budgets: ["model", "account"] }) });
  expect(families.get("pacewatch_upstream_info")?.samples.map(({ labels }) => labels)).toEqual([
    { upstream: "email", budget: "model" },
    { upstream: "email", budget: "account" },
  ]);
});

test("a number that is none is left out, and one without end is written as Prometheus writes it", () => {
  const rates = [{ label: "1m", limit: Infinity, cap: NaN, leases: 1e21 }];
  const text = renderText(sampleMetricsSnapshot({ budgets: [sampleBudgetSnapshot({ rates })] }));
  const families = parseExposition(text);
  expect(text).toContain('pacewatch_budget_limit_requests{budget="api",per="1m"} +Inf\n');
  expect(families.has("pacewatch_budget_cap_requests")).toBe(false);
  expect(sampleValue(families, "pacewatch_budget_leases")).toBe(1e21);
});

test("a budget with two rates shows each, and 0 while it is not paused", () => {
  const rates = [
    { label: "1s", limit: 10, cap: 2, leases: 1 },
    { label: "1m", limit: 60, cap: 12, leases: 3 },
  ];
  const families = parseExposition(
    renderText(sampleMetricsSnapshot({ budgets: [sampleBudgetSnapshot({ rates })] })),
  );
  expect(sampleValue(families, "pacewatch_budget_cap_requests", { per: "1s" })).toBe(2);
  expect(sampleValue(families, "pacewatch_budget_cap_requests", { per: "1m" })).toBe(12);
  expect(sampleValue(families, "pacewatch_budget_paused_until_timestamp_seconds")).toBe(0);
});

test.skipIf(promtool === undefined)("promtool has nothing to say about it", () => {
  for (const snapshot of [sampleMetricsSnapshot(), fullMetricsSnapshot()]) {
    const result = spawnSync(promtool ?? "", ["check", "metrics"], {
      input: renderText(snapshot),
      encoding: "utf8",
    });
    expect({ status: result.status, said: result.stdout + result.stderr }).toEqual({ status: 0, said: "" });
  }
});

const outcomes: fc.Arbitrary<PollOutcome> = fc.oneof(
  fc.constant(OK),
  fc.constantFrom(...REASON_NAMES).map(outcomeOf),
);

const polls = fc.record({
  outcome: outcomes,
  durationMs: fc.double({ min: 0, max: 70_000, noNaN: true }),
  delayMs: fc.double({ min: -10, max: 40_000, noNaN: true }),
  head: fc.option(
    fc.record({
      status: fc.integer({ min: 100, max: 599 }),
      headers: fc.constant([]),
    }),
    { nil: undefined },
  ),
  malformedSignals: fc.nat(3),
});

const stories = fc.array(
  fc.oneof(
    fc.constantFrom("waits" as const, "starts" as const),
    fc.record({ givesUp: fc.constantFrom(...SKIP_CAUSES) }),
    fc.record({ skips: fc.constantFrom(...SKIP_CAUSES), count: fc.integer({ min: 1, max: 500 }) }),
    polls.map((ends) => ({ ends })),
  ),
  { maxLength: 60 },
);

test("whatever happens, and whenever it is scraped, the accounts close in what is shown", () => {
  fc.assert(
    fc.property(stories, (story) => {
      const accounts = sampleAccounts();
      const entry = sampleUpstreamSnapshot({ accounts });
      const told = { waiting: 0, inFlight: 0, polls: 0, skipped: 0 };
      for (const event of story) {
        if (event === "waits") {
          accounts.record(SLOT_WAITING);
          told.waiting += 1;
        } else if (event === "starts") {
          if (told.waiting === 0) continue;
          accounts.record(SLOT_STARTED);
          told.waiting -= 1;
          told.inFlight += 1;
        } else if ("givesUp" in event) {
          if (told.waiting === 0) continue;
          accounts.record({ kind: "slots_skipped", cause: event.givesUp, count: 1, had: "waited" });
          told.waiting -= 1;
          told.skipped += 1;
        } else if ("skips" in event) {
          accounts.record({
            kind: "slots_skipped",
            cause: event.skips,
            count: event.count,
          });
          told.skipped += event.count;
        } else {
          if (told.inFlight === 0) {
            accounts.record(SLOT_WAITING);
            accounts.record(SLOT_STARTED);
            told.inFlight += 1;
          }
          recordPoll(accounts, samplePoll(event.ends));
          told.inFlight -= 1;
          told.polls += 1;
        }
        const shown = parseExposition(renderText(sampleMetricsSnapshot({ upstreams: [entry] })));
        const { waiting: _, ...shownOnes } = told;
        expect(accountsIn(shown)).toEqual({
          ...shownOnes,
          slots: told.polls + told.inFlight + told.skipped,
        });
        for (const outcome of OUTCOMES.slice(1)) {
          const ended = sampleValue(shown, "pacewatch_polls_total", { outcome });
          const reasons = sumOfSamples(shown, "pacewatch_poll_reasons_total", { outcome });
          expect(reasons, `reasons of ${outcome}`).toBe(ended);
        }
        expect(sumOfSamples(shown, "pacewatch_poll_duration_seconds_count")).toBe(told.polls);
        expect(sumOfSamples(shown, "pacewatch_poll_delay_seconds_count")).toBe(told.polls);
        expect(accountsClose(accounts)).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});

function accountsIn(
  shown: Families,
  of: Readonly<Record<string, string>> = {},
): Readonly<Record<"slots" | "inFlight" | "polls" | "skipped", number | undefined>> {
  return {
    slots: sampleValue(shown, "pacewatch_slots_total", of),
    inFlight: sampleValue(shown, "pacewatch_polls_in_flight", of),
    polls: sumOfSamples(shown, "pacewatch_polls_total", of),
    skipped: sumOfSamples(shown, "pacewatch_polls_skipped_total", of),
  };
}

test("other work can run after each upstream, and what happens then shows in those that follow", () => {
  const upstreams = Array.from({ length: 200 }, (_, index) =>
    sampleUpstreamSnapshot({
      upstream: sampleUpstream({ name: `upstream-${index}` }),
      accounts: sampleAccounts(),
    }),
  );
  let read = 0;
  const counted = Iterator.from(upstreams).map((upstream) => ((read += 1), upstream));
  const pieces: Uint8Array[] = [];
  let before = 0;
  for (const piece of expose(METRICS, sampleMetricsSnapshot({ upstreams: counted }), new TextFormat(false))) {
    expect(read - before).toBeLessThanOrEqual(1);
    before = read;
    if (piece !== undefined) pieces.push(piece.slice());
    for (const { accounts } of upstreams) {
      accounts.record(SLOT_WAITING);
      accounts.record(SLOT_STARTED);
      recordPoll(accounts, samplePoll());
    }
  }
  const shown = parseExposition(Buffer.concat(pieces).toString());
  for (const [index, { upstream }] of upstreams.entries()) {
    const of = { upstream: upstream.name };
    const { slots, polls, inFlight } = accountsIn(shown, of);
    expect([slots, polls, inFlight]).toEqual([index, index, 0]);
    expect(sumOfSamples(shown, "pacewatch_poll_duration_seconds_count", of)).toBe(index);
  }
});
