import { quotaNotes } from "../../src/features/quota/quota.ts";
import { FOLLOWERS } from "../../src/app/features/shown.ts";
import { opened } from "../support/opened.ts";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { systemClock } from "../../src/platform/clock.ts";
import { openStateStore } from "../../src/features/state/store.ts";
import { History, recorderOf } from "../../src/features/history/history.ts";
import { UpstreamRecord } from "../../src/features/history/upstream-record.ts";
import { startSimulatedUpstream, type SimulatedUpstream } from "../../src/simulator/upstream.ts";
import { eventually } from "../support/eventually.ts";
import { samplePoll } from "../support/kernel-samples.ts";
import { sampleQuotaRow } from "../support/samples.ts";
import { Daemon } from "../support/processes/daemon.ts";

const EXAMPLES = new URL("../../docs/examples/", import.meta.url);
const PATIENCE_MS = 60_000;
/** Beside the example that names it. */
const SCHEMA = "email-domains.schema.json";
/** In no other number of a log. */
const BALANCE = 73_519.46;

const world = new AsyncDisposableStack();
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pacewatch-values-"));
  world.defer(() => rm(folder, { recursive: true, force: true }));
});

afterAll(() => world.disposeAsync(), PATIENCE_MS);

/** An example that ships, polled each second. */
async function start(example: string, environment: Readonly<Record<string, string>>): Promise<Daemon> {
  const config = parse(await readFile(new URL(example, EXAMPLES), "utf8"));
  config.log = { level: "trace" };
  config.state.path = join(folder, `${example}.db`);
  for (const budget of Object.values<{ rate: unknown }>(config.budgets))
    budget.rate = { requests: 100, per: "1s" };
  for (const upstream of config.upstreams) Object.assign(upstream, { every: "1s", path: "/v1/resources" });
  const path = join(folder, example);
  await writeFile(path, stringify(config));
  await copyFile(new URL(SCHEMA, EXAMPLES), join(folder, SCHEMA));
  const daemon = new Daemon(["run", "--config", path, "--listen", "127.0.0.1:0"], environment);
  await daemon.logged("listening");
  return daemon;
}

async function textAt(daemon: Daemon, path: string): Promise<string> {
  return (await fetch(new URL(path, daemon.url))).text();
}

/** Once it has been polled. */
async function metricsOf(daemon: Daemon, wanted: string): Promise<string> {
  return eventually(
    `the metrics have ${wanted}`,
    () => textAt(daemon, "/metrics"),
    (text) => text.includes(wanted),
  );
}

async function becomes(daemon: Daemon, state: string): Promise<void> {
  await eventually(`its health becomes ${state}`, () => daemon.logs.some(({ to }) => to === state));
}

function answers(upstream: SimulatedUpstream, code: number, body: unknown, headers = {}): void {
  upstream.setFault({ kind: "status", code, body: JSON.stringify(body), headers });
}

test(
  "an AI router's credit is in metrics, page and API, outlives a restart, and is in no log",
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const upstream = world.use(await startSimulatedUpstream({ name: "ai-router" }));
    answers(upstream, 200, { data: { limit_remaining: BALANCE, usage: "12.50" } });
    const environment = { AI_ROUTER_BASE_URL: upstream.url, AI_ROUTER_API_KEY: "test-key-router" };
    const example = "ai-router-credit.yaml";
    const shown = `pacewatch_upstream_value{upstream="ai-router",name="credit",unit="usd"} ${BALANCE}`;
    let log: string;
    {
      await using daemon = await start(example, environment);
      const metrics = await metricsOf(daemon, shown);
      expect(metrics).toContain(
        'pacewatch_upstream_value{upstream="ai-router",name="spent",unit="usd"} 12.5',
      );
      expect(metrics).toContain(
        'pacewatch_upstream_value_timestamp_seconds{upstream="ai-router",name="credit"} 1',
      );
      expect(await textAt(daemon, "/upstreams/ai-router")).toContain("73\u202f519.46");
      const api = JSON.parse(await textAt(daemon, "/api/v1/upstreams/ai-router"));
      expect(api.upstream.values).toMatchObject([
        { name: "credit", value: BALANCE },
        { name: "spent", value: 12.5 },
      ]);
      // It is broken, and then refuses for want of credit, with the balance in both answers.
      answers(upstream, 500, { data: { limit_remaining: BALANCE } });
      await becomes(daemon, "down");
      answers(upstream, 402, { data: { limit_remaining: BALANCE } });
      await becomes(daemon, "throttled");
      daemon.kill("SIGTERM");
      await daemon.exited;
      log = daemon.stdout + daemon.stderr;
    }
    expect(log).toContain('"msg":"polled"');
    expect(log).not.toContain("73519");

    // Nothing is answered any more: what is known comes from the state file.
    upstream.setFault({ kind: "hang", at: "before_head" });
    await using again = await start(example, environment);
    await metricsOf(again, shown);
    expect(again.stdout + again.stderr).not.toContain("73519");
  },
);

test("an email service's quotas are read from its headers", { timeout: PATIENCE_MS }, async () => {
  const upstream = world.use(await startSimulatedUpstream({ name: "email" }));
  answers(
    upstream,
    200,
    { data: [] },
    { "X-Monthly-Quota-Remaining": "2871", "X-Daily-Quota-Remaining": "none" },
  );
  await using daemon = await start("email-quota.yaml", {
    EMAIL_BASE_URL: upstream.url,
    EMAIL_API_KEY: "test-key-email",
  });
  const metrics = await metricsOf(
    daemon,
    'pacewatch_upstream_value{upstream="email",name="month",unit="messages"} 2871',
  );
  expect(metrics).not.toContain('pacewatch_upstream_value{upstream="email",name="day"');
  expect(metrics).toContain('pacewatch_upstream_value_readable{upstream="email",name="day"} 0');
  expect(await textAt(daemon, "/upstreams/email")).toContain(
    "the answers have <code><bdi>&quot;none&quot;</bdi></code> there, which is no number",
  );
});

test(
  "an email service whose answer breaks its schema is down, until the schema itself is changed",
  { timeout: PATIENCE_MS },
  async () => {
    const upstream = world.use(await startSimulatedUpstream({ name: "email" }));
    const domain = { id: "d1", name: "example.test", status: "verified", region: "eu" };
    answers(upstream, 200, { data: [domain] });
    await using daemon = await start("email-quota.yaml", {
      EMAIL_BASE_URL: upstream.url,
      EMAIL_API_KEY: "test-key-email",
    });
    // It may be so from the start: the state file of the test before is its own.
    await metricsOf(daemon, 'pacewatch_upstream_up{upstream="email"} 1');
    answers(upstream, 200, { data: [domain, { ...domain, status: "test-key-email" }] });
    await becomes(daemon, "down");
    const metrics = await textAt(daemon, "/metrics");
    expect(metrics).toMatch(/pacewatch_poll_reasons_total\{upstream="email",.*reason="assertion".*\} [1-9]/);
    const api = await textAt(daemon, "/api/v1/upstreams/email");
    const { lastPolls } = JSON.parse(api).upstream;
    expect(lastPolls.at(-1).detail).toBe(
      'answered 200, but "/data/1/status" is "<secret>", expected "pending" or "verified" or "failed"',
    );
    expect(api).not.toContain("test-key-email");

    const ups = daemon.logs.filter(({ to }) => to === "up").length;
    const schema = join(folder, SCHEMA);
    await writeFile(schema, "{ a schema that is being writ");
    await daemon.logged("config reload refused, keeping the old config");
    await writeFile(schema, '{ "required": ["data"] }');
    await daemon.logged("config reloaded");
    await eventually("it is up again", () => daemon.logs.filter(({ to }) => to === "up").length > ups);
  },
);

const HOUR_MS = 3_600_000;

/** What a daemon has left that saw a third of a monthly quota go within thirty hours, and sent sixty requests an hour. */
async function leaveQuotas(path: string, nowMs: number): Promise<void> {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const store = opened(await openStateStore({ path, log, clock: systemClock }));
  const history = new History("email", nowMs);
  const record = new UpstreamRecord(history, [
    recorderOf(history, FOLLOWERS),
    store.recorderOf("email", history),
  ]);
  for (let agoMs = 30 * HOUR_MS; agoMs > 0; agoMs -= HOUR_MS / 12) {
    const quotas = [
      { quota: "30d" as const, left: 0.4 + agoMs / HOUR_MS / 100, refillsInMs: 20 * 24 * HOUR_MS },
    ];
    record.record({ kind: "polled", poll: samplePoll({ endedAtMs: nowMs - agoMs, said: { quotas } }) });
  }
  const hour = Math.floor(nowMs / HOUR_MS);
  const hours = Array.from({ length: 30 }, (_, ago) => hour - 1 - ago);
  const rows = hours.map((each) => sampleQuotaRow({ budget: "email", hour: each, requests: 60 }));
  void store.write(quotaNotes({ rows, lostHours: [] }));
  await store.close();
}

test(
  "quotas have their forecast without a value, theirs and our own, in metrics, page and API, and over a restart",
  { timeout: PATIENCE_MS },
  async () => {
    const upstream = world.use(await startSimulatedUpstream({ name: "email" }));
    const headers = {
      "RateLimit-Policy": '"month";q=1000;w=2592000',
      RateLimit: `"month";r=400;t=${20 * 86_400}`,
    };
    answers(upstream, 200, {}, headers);
    const path = join(folder, "quotas.db");
    const nowMs = Date.now();
    await leaveQuotas(path, nowMs);
    const config = join(folder, "quotas.yaml");
    await writeFile(
      config,
      stringify({
        state: { path },
        budgets: {
          email: {
            rate: { requests: 100, per: "1s" },
            quota: { requests: 2_000_000, per: "30d", on_exhaust: "stop" },
          },
        },
        upstreams: [
          { name: "email", base_url: upstream.url, auth: { none: true }, budget: "email", every: "1s" },
        ],
      }),
    );
    await using daemon = new Daemon(["run", "--config", config, "--listen", "127.0.0.1:0"], {});
    await daemon.logged("listening");
    const name = "pacewatch_budget_quota_empty_timestamp_seconds";
    const metrics = await metricsOf(daemon, `${name}{budget="email",quota="30d",window="1d"}`);
    const emptyAt = Number(
      /quota_empty_timestamp_seconds\{budget="email",quota="30d",window="1d"\} (\S+)/.exec(metrics)?.[1],
    );
    // A hundredth an hour, of which forty are left.
    expect((emptyAt - nowMs / 1000) / 3600).toBeGreaterThan(39);
    expect((emptyAt - nowMs / 1000) / 3600).toBeLessThan(41);
    const burn = /quota_burn_per_second\{budget="email",quota="own",window="1d"\} (\S+)/.exec(metrics)?.[1];
    expect(Number(burn) * 3600 * 2_000_000).toBeGreaterThan(50);
    expect(Number(burn) * 3600 * 2_000_000).toBeLessThan(70);
    expect(metrics).not.toContain(`${name}{budget="email",quota="own"`);
    const page = await textAt(daemon, "/");
    expect(page).toMatch(
      /Its monthly quota<\/b>: At the pace of the last (?:hour|day|week), empty on \w+ about/,
    );
    expect(page).toMatch(/Our own quota<\/b>: At the present pace it refills before it is empty\./);
    const api = JSON.parse(await textAt(daemon, "/api/v1/upstreams"));
    expect(api.budgets[0].quotas).toMatchObject([
      { quota: "own" },
      { quota: "30d", emptyAtMs: expect.any(Number) },
    ]);
  },
);
