import { quotasInFile } from "../../support/kept-quotas.ts";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { silent } from "../../support/silent.ts";
import { stateFileOf, valueOf } from "./daemon.ts";

const QUOTA = 16;
const UPSTREAMS = ["email", "sms"];

function countedIn(path: string): { readonly requests: number; readonly unconfirmed: number } {
  const database = new DatabaseSync(path);
  try {
    const rows = quotasInFile(database);
    const sumOf = (what: "requests" | "unconfirmed"): number => rows.reduce((sum, row) => sum + row[what], 0);
    return { requests: sumOf("requests"), unconfirmed: sumOf("unconfirmed") };
  } finally {
    database.close();
  }
}

test("killed at every moment, by the upstream's own count: none is missing, and too many are only those in flight", async () => {
  await using upstream = await startSimulatedUpstream({
    name: "api",
    limits: [{ requests: 1_000, perMs: 1_000 }],
    dialect: silent,
    latency: { minMs: 0, maxMs: 300 },
  });
  await using folder = await openConfigFolder({
    state: { path: "data/pacewatch.db" },
    budgets: {
      api: {
        rate: { requests: 100, per: "1s" },
        share: "10%",
        quota: { requests: QUOTA, per: "30d", on_exhaust: "stop" },
      },
    },
    upstreams: UPSTREAMS.map((name) => rawUpstream(name, upstream.url)),
  });
  let mostTooMany = 0;
  let killsThatSent = 0;
  let lives = 0;
  for (; upstream.requests < QUOTA && lives < 40; lives += 1) {
    const before = upstream.requests;
    await using daemon = await startDaemon({ configPath: folder.path });
    // Also before anything is sent.
    await sleep((lives * 137) % 800);
    daemon.kill("SIGKILL");
    await daemon.exited;
    const sent = upstream.requests;
    if (sent > before) killsThatSent += 1;
    const counted = countedIn(stateFileOf(folder));
    expect(counted.requests).toBeGreaterThanOrEqual(sent);
    expect(counted.requests - counted.unconfirmed).toBeLessThanOrEqual(sent);
    expect(counted.requests).toBeLessThanOrEqual(QUOTA);
    const tooMany = counted.requests - sent;
    expect(tooMany - mostTooMany).toBeLessThanOrEqual(UPSTREAMS.length);
    mostTooMany = Math.max(mostTooMany, tooMany);
    if (counted.requests === QUOTA) break;
  }
  expect(killsThatSent).toBeGreaterThanOrEqual(3);
  await using last = await startDaemon({ configPath: folder.path });
  const used = await eventually(
    "the quota is spent",
    () => valueOf(last, "pacewatch_budget_quota_used_requests", { budget: "api" }),
    (requests = 0) => requests >= QUOTA,
  );
  expect(used).toBe(QUOTA);
  const unconfirmed = await valueOf(last, "pacewatch_budget_quota_unconfirmed_requests", { budget: "api" });
  last.kill("SIGKILL");
  await last.exited;
  expect(unconfirmed).toBe(countedIn(stateFileOf(folder)).unconfirmed);
}, 600_000);
