import { expect, test } from "vitest";
import { AppReload, type ReloadParts } from "../../src/app/reload.ts";
import { createLogger } from "../../src/features/log/logger.ts";
import { ConfigDirectory, loaded, withUpstream } from "../config/config-file.ts";
import type { Environment } from "../../src/config/read/interpolate.ts";
import { load } from "../../src/app/features/sections.ts";
import { eventually } from "../support/eventually.ts";
import { VirtualClock } from "../support/virtual/clock.ts";

function partsOf(
  configPath: string,
  exclusively: () => Promise<readonly []>,
  write: (line: string) => void = () => {},
): ReloadParts {
  return {
    configPath,
    load: (path: string, environment: Environment) => load(path, { environment }),
    environment: {},
    withdraw: () => {},
    clock: new VirtualClock(),
    stopping: new AbortController().signal,
    onChanged: () => {},
    log: createLogger({ level: "info", out: { write } }),
    life: () => ({ polling: { exclusively }, ledger: { change: () => {} } }),
  } as unknown as ReloadParts;
}

test("a reload that fails by a bug is told as not successful, until one succeeds", async () => {
  await using directory = await ConfigDirectory.create();
  const text = withUpstream("auth: { none: true }");
  let hasBug = true;
  const parts = partsOf(await directory.write(text), async () => {
    if (hasBug) throw new Error("a bug");
    return [];
  });
  await using reload = new AppReload(await loaded(text), parts);
  const { lastSuccessAtMs } = reload.status;
  await expect(reload.run("asked")).rejects.toThrow("a bug");
  expect(reload.status).toEqual({ successful: false, lastSuccessAtMs });
  hasBug = false;
  expect(await reload.run("asked")).toEqual({ kind: "reloaded" });
  expect(reload.status.successful).toBe(true);
});

test("the first fault of a refused config is known until a config is taken", async () => {
  await using directory = await ConfigDirectory.create();
  const text = withUpstream("auth: { none: true }");
  const path = await directory.write(`${text}\nfirst: 1\nsecond: 2\n`);
  await using reload = new AppReload(
    await loaded(text),
    partsOf(path, async () => []),
  );
  const refused = await reload.run("asked");
  expect(refused).toMatchObject({ kind: "refused" });
  expect(reload.status.fault).toMatch(/:\d+:1: .*first/);
  expect(reload.status.fault).toBe(refused.kind === "refused" && refused.faults[0]);
  await directory.write(text);
  expect(await reload.run("asked")).toEqual({ kind: "reloaded" });
  expect(reload.status).not.toHaveProperty("fault");
});

test("however many ask at once, one reload runs and one waits, and all are told of the newest file", async () => {
  await using directory = await ConfigDirectory.create();
  const text = withUpstream("auth: { none: true }");
  let reloads = 0;
  const { promise: first, resolve: goOn } = Promise.withResolvers<void>();
  const parts = partsOf(await directory.write(text), async () => {
    reloads += 1;
    if (reloads === 1) await first;
    return [];
  });
  await using reload = new AppReload(await loaded(text), parts);
  const running = reload.run("asked");
  await eventually("the first reload has read the file", () => reloads === 1);
  const waiting = Array.from({ length: 300 }, () => reload.run("asked"));
  await directory.write("upstreams: nothing");
  goOn();
  expect(await running).toEqual({ kind: "reloaded" });
  const results = await Promise.all(waiting);
  expect(new Set(results.map(({ kind }) => kind))).toEqual(new Set(["refused"]));
  expect(new Set(results).size).toBe(1);
  expect(reloads).toBe(1);
});

test("what is wrong with a config is told once where nobody asks, and again to whoever asks", async () => {
  await using directory = await ConfigDirectory.create();
  const text = withUpstream("auth: { none: true }");
  const lines: string[] = [];
  const nothing = (): Promise<readonly []> => Promise.resolve([]);
  const path = await directory.write("upstreams: nothing");
  await using reload = new AppReload(
    await loaded(text),
    partsOf(path, nothing, (line) => lines.push(line)),
  );
  const refusals = (): number => lines.filter((line) => line.includes("config reload refused")).length;
  for (const _ of [1, 2]) expect(await reload.run("again")).toMatchObject({ kind: "refused" });
  expect(refusals()).toBe(1);
  expect(await reload.run("asked")).toMatchObject({ kind: "refused" });
  expect(refusals()).toBe(2);
});

test("the log says what a reload changed, by name and with no value of it", async () => {
  await using directory = await ConfigDirectory.create();
  const written = (text: string): Record<string, unknown> => JSON.parse(text);
  const lines: string[] = [];
  const budget = (requests: number): object => ({ rate: { requests, per: "1s" } });
  const upstream = (name: string, host = name): object => ({
    name,
    base_url: `https://${host}.example.com`,
    auth: { none: true },
    budget: "api",
    every: "1m",
  });
  const hook = (variable: string): object => ({ kind: "webhook", url: { env: variable } });
  const names = Array.from({ length: 12 }, (_, place) => `new-${place}`);
  const before = JSON.stringify({
    budgets: { api: budget(500), old: budget(50) },
    upstreams: [upstream("email"), upstream("sms"), upstream("gone")],
    notify: [{ name: "ops", ...hook("OPS_URL") }],
  });
  const after = JSON.stringify({
    log: { level: "debug" },
    budgets: { api: budget(600) },
    upstreams: [upstream("email"), upstream("sms", "elsewhere"), ...names.map((name) => upstream(name))],
    notify: [
      { name: "ops", ...hook("OTHER_URL") },
      { name: "pager", ...hook("OPS_URL") },
    ],
  });
  const environment = { OPS_URL: "https://a.example/test-key-1", OTHER_URL: "https://b.example/test-key-2" };
  const parts = partsOf(
    await directory.write(after),
    async () => [],
    (line) => void lines.push(line),
  );
  const polling = {
    exclusively: (change: () => Promise<readonly string[]>) => change(),
    open: async () => ({ kind: "opened", what: new Map() }),
    apply: () => {},
  };
  const life = () => ({ polling, ledger: { change: () => {} } });
  const changing = { ...parts, environment, life } as unknown as ReloadParts;
  await using reload = new AppReload(await loaded(before, environment), changing);
  expect(await reload.run("asked")).toEqual({ kind: "reloaded" });
  expect(await reload.run("asked")).toEqual({ kind: "reloaded" });
  const told = lines.map(written).filter(({ msg }) => msg === "config reloaded");
  expect(told).toMatchObject([
    {
      upstreams: 14,
      changes: [
        "upstreams added: new-0, new-1, new-2, new-3, new-4, new-5, new-6, new-7, new-8, new-9 and 2 more",
        "upstreams removed: gone",
        "upstreams changed: sms",
        "budgets removed: old",
        "budgets changed: api",
        "receivers added: pager",
        "receivers changed: ops",
        "settings changed: log",
      ],
    },
    { upstreams: 14, changes: [] },
  ]);
  expect(lines.join("")).not.toMatch(/elsewhere|OTHER_URL|test-key/);
});
