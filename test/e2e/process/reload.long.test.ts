import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type SimulatedUpstream, startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import { type Daemon, nextSlotAtMs, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { ask } from "../../support/http-ask.ts";
import { type Families, sampleValue } from "../../support/metrics/exposition-parser.ts";
import { answer, openRawUpstream } from "../../support/raw-upstream.ts";
import { accountOf, accountsOf, openAccounts } from "../../support/metrics/slot-accounts.ts";

const BUDGETS = { api: { rate: { requests: 600, per: "1m" } } };
const REFUSED = "config reload refused, keeping the old config";
const LIFECYCLE = { enable_lifecycle: true };

function configOf(upstream: SimulatedUpstream, names: readonly string[], changes: object = {}): RawConfig {
  return {
    web: LIFECYCLE,
    budgets: BUDGETS,
    upstreams: names.map((name) => rawUpstream(name, upstream.url)),
    ...changes,
  };
}

async function pollsOf(daemon: Daemon, upstream: string): Promise<number> {
  return accountOf(await daemon.metrics(), upstream).polls;
}

async function polledAfter(daemon: Daemon, upstream: string, polls: number): Promise<number> {
  return eventually(
    `"${upstream}" is polled more than ${polls} times`,
    () => pollsOf(daemon, upstream),
    (now) => now > polls,
  );
}

function isReloadGood(families: Families): number | undefined {
  return sampleValue(families, "pacewatch_config_last_reload_successful");
}

function namesIn(families: Families): readonly string[] {
  return accountsOf(families).map(({ upstream }) => upstream);
}

describe.concurrent("a reload", () => {
  it("of another schedule forecasts anew what is sent of a quota", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    const quota = { requests: 100_000, per: "1d", on_exhaust: "stop" };
    const every = (period: string): RawConfig =>
      configOf(upstream, [], {
        budgets: { api: { ...BUDGETS.api, quota } },
        upstreams: [rawUpstream("email", upstream.url, { every: period })],
      });
    const forecast = async (daemon: Daemon): Promise<number | undefined> =>
      sampleValue(await daemon.metrics(), "pacewatch_budget_quota_forecast_requests");
    await using folder = await openConfigFolder(every("15s"));
    await using daemon = await startDaemon({ configPath: folder.path });
    expect(await forecast(daemon)).toBe(5_760);
    await folder.write(every("30s"));
    expect((await daemon.post("/-/reload")).status).toBe(200);
    expect(await forecast(daemon)).toBe(2_880);
  });

  it("of a bad file changes nothing, says so in the metrics and the log, and the next good one mends it", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    await using folder = await openConfigFolder(configOf(upstream, ["email"]));
    await using daemon = await startDaemon({ configPath: folder.path });
    const before = await polledAfter(daemon, "email", 0);
    const started = await daemon.metrics();
    expect(isReloadGood(started)).toBe(1);

    await folder.write({ ...configOf(upstream, ["email", "email"]), sharks: {} } as RawConfig);
    const refused = await daemon.post("/-/reload");
    expect(refused.status).toBe(400);
    const places = refused.body.trim().split("\n");
    expect(places.length).toBe(2);
    for (const place of places) expect(place).toMatch(/pacewatch\.yaml:\d+:\d+: \S/);

    await polledAfter(daemon, "email", before);
    const failed = await daemon.metrics();
    expect(isReloadGood(failed)).toBe(0);
    const successAt = "pacewatch_config_last_reload_success_timestamp_seconds";
    expect(sampleValue(failed, successAt)).toBe(sampleValue(started, successAt));
    expect(namesIn(failed)).toEqual(["email"]);
    const told = daemon.logs.find(({ msg }) => msg === REFUSED);
    expect(told?.["faults"]).toHaveLength(2);

    await folder.write(configOf(upstream, ["email", "router"]));
    expect((await daemon.post("/-/reload")).status).toBe(200);
    const mended = await daemon.metrics();
    expect(isReloadGood(mended)).toBe(1);
    expect(sampleValue(mended, successAt)).toBeGreaterThan(sampleValue(started, successAt) ?? Infinity);
    expect(namesIn(mended)).toEqual(["email", "router"]);
  });

  it("changes what the alerts wait for, so that rules which were loaded before still fit", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    await using folder = await openConfigFolder(configOf(upstream, ["email"]));
    await using daemon = await startDaemon({ configPath: folder.path });
    const waitsOf = async (): Promise<{ stalledInS: number; periodS: number | undefined }> => {
      const families = await daemon.metrics();
      const labels = { upstream: "email" };
      const stalledAtS =
        sampleValue(families, "pacewatch_stalled_at_timestamp_seconds", labels) ?? Number.NaN;
      return {
        stalledInS: stalledAtS - Date.now() / 1_000,
        periodS: sampleValue(families, "pacewatch_schedule_period_seconds", labels),
      };
    };
    const before = await waitsOf();
    const slower = { ...rawUpstream("email", upstream.url), every: "1m" };
    await folder.write({ ...configOf(upstream, []), upstreams: [slower] });
    expect((await daemon.post("/-/reload")).status).toBe(200);
    const after = await waitsOf();
    expect(after.periodS).toBe(60);
    // Its third slot is two of its minutes away at least.
    expect(after.stalledInS).toBeGreaterThan(before.stalledInS + 100);
  });

  it("of who stands by is taken, shows nothing as polled, and is refused where it changes the fleet or a key is missing", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    // No lock is needed to reload.
    const fleet = { lock: { redis: { url: "redis://127.0.0.1:9" } }, name: "a" };
    const budgets = { api: { rate: { requests: 600, per: "1s" } } };
    await using folder = await openConfigFolder(configOf(upstream, ["email"], { budgets, fleet }));
    await using daemon = await startDaemon({ configPath: folder.path });
    const digestOf = async (): Promise<unknown> =>
      (await daemon.metrics()).get("pacewatch_config_info")?.samples[0]?.labels;
    const before = await digestOf();
    await folder.write(configOf(upstream, ["email", "router"], { budgets, fleet }));
    expect((await daemon.post("/-/reload")).status).toBe(200);
    expect(namesIn(await daemon.metrics())).toEqual([]);
    expect(await digestOf()).not.toEqual(before);

    await folder.write(configOf(upstream, ["email"], { budgets, fleet: { ...fleet, ttl: "20s" } }));
    const refused = await daemon.post("/-/reload");
    expect(refused.body).toBe("cannot reload: fleet must stay as it is until a restart\n");
    const keyless = configOf(upstream, ["email"], { budgets, fleet });
    const auth = { bearer: { env: "NOT_SET" } };
    await folder.write({ ...keyless, upstreams: keyless.upstreams.map((each) => ({ ...each, auth })) });
    expect((await daemon.post("/-/reload")).body).toContain("NOT_SET");
  });

  it("keeps the counters and the state of what stays, drops what leaves, and starts what comes at 0", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    // Whoever comes here has no finished poll until it is let.
    let mayAnswer = Promise.withResolvers<void>();
    await using stack = new AsyncDisposableStack();
    const slow = await openRawUpstream(async (connection) => {
      await connection.request();
      await mayAnswer.promise;
      connection.end(answer("{}"));
    });
    stack.defer(() => slow.close());
    const config = (name: string, url: string): RawConfig =>
      configOf(upstream, [], {
        upstreams: [rawUpstream("kept", upstream.url), rawUpstream(name, url, { timeout: "60s" })],
      });
    await using folder = await openConfigFolder(config("leaving", upstream.url));
    await using daemon = await startDaemon({ configPath: folder.path });
    await polledAfter(daemon, "kept", 0);
    await polledAfter(daemon, "leaving", 0);
    const before = await daemon.metrics();

    await folder.write(config("coming", slow.url));
    expect((await daemon.post("/-/reload")).status).toBe(200);
    const after = await daemon.metrics();
    expect(namesIn(after)).toEqual(["kept", "coming"]);
    const samples = [...after.values()].flatMap((family) => family.samples);
    expect(samples.filter(({ labels }) => labels["upstream"] === "leaving")).toEqual([]);
    expect(accountOf(after, "kept").slots).toBeGreaterThanOrEqual(accountOf(before, "kept").slots);
    expect(sampleValue(after, "pacewatch_upstream_state", { upstream: "kept", state: "up" })).toBe(1);
    expect(accountOf(after, "coming").polls).toBe(0);
    mayAnswer.resolve();
    await polledAfter(daemon, "coming", 0);

    mayAnswer = Promise.withResolvers();
    await folder.write(config("leaving", slow.url));
    expect((await daemon.post("/-/reload")).status).toBe(200);
    expect(accountOf(await daemon.metrics(), "leaving").polls).toBe(0);
    expect(openAccounts(await daemon.metrics())).toEqual([]);
  });

  it("of other defaults changes each upstream that has them, and no other", async () => {
    await using upstream = await startSimulatedUpstream({
      name: "api",
      key: "test-key-shared",
    });
    const auth = { bearer: { env: "TEST_KEY" } };
    const shared = { base_url: upstream.url, auth, budget: "api", every: "1s", confirm: 0, timeout: "900ms" };
    const withDefaults = (path: string): RawConfig =>
      configOf(upstream, [], {
        defaults: { ...shared, path },
        upstreams: [{ name: "has" }, { name: "own", path: "/own" }],
      });
    await using folder = await openConfigFolder(withDefaults("/one"));
    await using daemon = await startDaemon({
      configPath: folder.path,
      environment: { TEST_KEY: "test-key-shared" },
    });
    const before = await polledAfter(daemon, "has", 0);
    await folder.write(withDefaults("/two"));
    expect((await daemon.post("/-/reload")).status).toBe(200);
    await polledAfter(daemon, "has", before);
    const shown = (await daemon.get("/api/v1/config")).body;
    expect(JSON.parse(shown)).toMatchObject(withDefaults("/two"));
    expect(shown).not.toContain("test-key-shared");
    const asked = (path: string): boolean => upstream.seen.some((request) => request.target.startsWith(path));
    await eventually("the new path is asked for", () => asked("/two"), Boolean);
    expect(asked("/own")).toBe(true);
    expect(upstream.seen.every(({ keyAccepted }) => keyAccepted)).toBe(true);
  });

  it("leaves every upstream at its place in the period, and so does a restart", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    const names = ["email", "router", "search"];
    const withPeriod = (changed: readonly string[]): RawConfig =>
      configOf(upstream, [], {
        upstreams: changed.map((name) => rawUpstream(name, upstream.url, { every: "30s" })),
      });
    const phases = async (daemon: Daemon): Promise<readonly number[]> => {
      const slotsAtMs = await Promise.all(names.map((name) => nextSlotAtMs(daemon, name)));
      return slotsAtMs.map((atMs) => Math.floor(atMs / 1000) % 30);
    };
    await using folder = await openConfigFolder(withPeriod(names));
    await using first = await startDaemon({ configPath: folder.path });
    const atStart = await phases(first);
    expect(new Set(atStart).size).toBe(names.length);
    await folder.write(withPeriod(["another", ...names.toReversed()]));
    expect((await first.post("/-/reload")).status).toBe(200);
    expect(await phases(first)).toEqual(atStart);
    await using second = await startDaemon({ configPath: folder.path });
    expect(await phases(second)).toEqual(atStart);
  });

  it("does not move the door nor the memory: another listen or state is refused", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    const web = { ...LIFECYCLE, probe_listen: "127.0.0.1:0" };
    await using folder = await openConfigFolder(configOf(upstream, ["email"], { web }));
    await using daemon = await startDaemon({ configPath: folder.path });
    await folder.write(
      configOf(upstream, ["email", "router"], {
        web: { ...LIFECYCLE, listen: "127.0.0.1:1", probe_listen: "127.0.0.1:2" },
        state: { path: "new.db" },
      }),
    );
    const refused = await daemon.post("/-/reload");
    expect(refused.status).toBe(400);
    expect(refused.body).toContain("web.listen");
    expect(refused.body).toContain("web.probe_listen");
    expect(refused.body).toContain("state.path");
    expect(namesIn(await daemon.metrics())).toEqual(["email"]);
    // Probes are answered where they were, also where the address was to be taken away.
    await folder.write(configOf(upstream, ["email"]));
    expect((await daemon.post("/-/reload")).body).toBe(
      "cannot reload: web.probe_listen must stay as it is until a restart\n",
    );
    const probesUrl = String(daemon.logs.find(({ msg }) => msg === "listening")?.["probesUrl"]);
    expect((await ask(`${probesUrl}/-/healthy`)).status).toBe(200);
  });

  it("divides the limits by another number of vantages, and each budget waits then; its name stays", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    const budgets = { api: { rate: { requests: 6_000, per: "1m" } } };
    const config = (name: string, of: number): RawConfig =>
      configOf(upstream, ["email"], { budgets, vantage: { name, of } });
    await using folder = await openConfigFolder(config("eu", 2));
    await using daemon = await startDaemon({ configPath: folder.path });
    const capOf = async (): Promise<number | undefined> =>
      sampleValue(await daemon.metrics(), "pacewatch_budget_cap_requests", { budget: "api", vantage: "eu" });
    expect(await capOf()).toBe(600);
    await folder.write(config("eu", 3));
    expect((await daemon.post("/-/reload")).status).toBe(200);
    expect(await capOf()).toBe(400);
    expect((await daemon.get("/")).body).toContain("Seen from eu, one of 3 vantages");
    // It waits for a whole window at its start, and again.
    expect(upstream.requests).toBe(0);
    await folder.write(config("us", 3));
    expect((await daemon.post("/-/reload")).body).toBe(
      "cannot reload: vantage.name must stay as it is until a restart\n",
    );
  });

  it("of a file whose key is missing keeps the old keys and the old upstreams", async () => {
    await using upstream = await startSimulatedUpstream({
      name: "api",
      key: "test-key-old",
    });
    const withKey = (env: string, name: string): RawConfig =>
      configOf(upstream, [], { upstreams: [rawUpstream(name, upstream.url, { auth: { bearer: { env } } })] });
    await using folder = await openConfigFolder(withKey("OLD_KEY", "email"));
    await using daemon = await startDaemon({
      configPath: folder.path,
      environment: { OLD_KEY: "test-key-old" },
    });
    const before = await polledAfter(daemon, "email", 0);
    await folder.write(withKey("NEW_KEY", "router"));
    const refused = await daemon.post("/-/reload");
    expect(refused.status).toBe(400);
    expect(refused.body).toContain("NEW_KEY");
    await polledAfter(daemon, "email", before);
    expect(upstream.seen.every(({ keyAccepted }) => keyAccepted)).toBe(true);
  });

  it("of a file that comes a moment before its key's file succeeds by itself, and each fault is logged once", async () => {
    const key = "test-key-late";
    await using upstream = await startSimulatedUpstream({ name: "api", key });
    const early = configOf(upstream, ["early"]);
    await using folder = await openConfigFolder(early);
    const withKey = { auth: { bearer: { file: "late.key" } } };
    await using daemon = await startDaemon({ configPath: folder.path });
    await folder.write({ ...early, upstreams: [rawUpstream("router", upstream.url, withKey)] });
    await daemon.logged(REFUSED);
    expect(isReloadGood(await daemon.metrics())).toBe(0);
    const refusals = (): Daemon["logs"] => daemon.logs.filter(({ msg }) => msg === REFUSED);
    await writeFile(join(folder.folder, "late.key"), "");
    await daemon.until(() => refusals().length > 1);
    await writeFile(join(folder.folder, "late.key"), "test-key-late\n");
    await daemon.logged("config reloaded");
    await polledAfter(daemon, "router", 0);
    const families = await daemon.metrics();
    expect(isReloadGood(families)).toBe(1);
    expect(namesIn(families)).toEqual(["router"]);
    expect(daemon.logs.filter(({ msg }) => msg === "config reloaded")).toHaveLength(1);
    expect(refusals().map(({ faults }) => faults)).toEqual([
      [expect.stringContaining("there is no such file")],
      [expect.stringContaining("its file is empty")],
    ]);
  });
});
