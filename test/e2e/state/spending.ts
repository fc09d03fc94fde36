import { quotasInFile } from "../../support/kept-quotas.ts";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { type SimulatedUpstream, startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import {
  type ConfigFolder,
  openConfigFolder,
  type RawConfig,
  rawUpstream,
} from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { silent } from "../../support/silent.ts";
import { stateFileOf } from "./daemon.ts";

const MODEL = { id: "small-chat-1", millionTokensCost: 10 };

/** Answers may come after a kill, or before it. */
export function startRouter(): Promise<SimulatedUpstream> {
  return startSimulatedUpstream({
    name: "ai-router",
    limits: [{ requests: 1_000, perMs: 1_000 }],
    dialect: silent,
    latency: { minMs: 0, maxMs: 300 },
    models: [MODEL],
  });
}

export const AT_MOST = 0.001;

export function configOf(url: string, spend: number, changes: Partial<RawConfig> = {}): RawConfig {
  const asked = { model: MODEL.id, messages: [{ role: "user", content: "Say ok." }], max_tokens: 1 };
  const completion = { path: "/v1/chat/completions", method: "POST" };
  return {
    state: { path: "data/pacewatch.db" },
    budgets: {
      api: {
        rate: { requests: 100, per: "1s" },
        share: "10%",
        price: { of: "/usage/total_tokens", per: 1_000_000, is: 10, at_most: AT_MOST, currency: "EUR" },
        spend: { at_most: spend, per: "30d", on_exhaust: "stop" },
      },
    },
    upstreams: [
      rawUpstream("first", url, { ...completion, body: { json: asked } }),
      rawUpstream("second", url, {
        ...completion,
        body: { json: { ...asked, stream: true } },
        stream: { format: "sse", ends: { data: "[DONE]" } },
      }),
    ],
    ...changes,
  };
}

export type Spent = { readonly counted: number; readonly unconfirmed: number };

/** In whole currencies. */
export function spentIn(folder: ConfigFolder): Spent {
  const database = new DatabaseSync(stateFileOf(folder));
  try {
    const rows = quotasInFile(database).filter(({ budget, of }) => budget === "api" && of === "money");
    const sumOf = (what: "requests" | "unconfirmed"): number =>
      rows.reduce((sum, row) => sum + row[what], 0) / 1e9;
    return { counted: sumOf("requests"), unconfirmed: sumOf("unconfirmed") };
  } finally {
    database.close();
  }
}

export type Lives = {
  readonly router: SimulatedUpstream;
  readonly folder: ConfigFolder;
  readonly spent: Spent;
};

/**
 * Kills the real program so often, while its first, second or third poll is under way, and judges each time by the
 * router's own bill.
 */
export async function killedSoOften(
  kills: number,
  spend: number,
  afterwards: (lives: Lives) => Promise<void>,
): Promise<void> {
  await using router = await startRouter();
  await using folder = await openConfigFolder(configOf(router.url, spend));
  let spent: Spent = { counted: 0, unconfirmed: 0 };
  for (let life = 0; life < kills; life += 1) {
    const asked = router.requests + (life % 3);
    await using daemon = await startDaemon({ configPath: folder.path });
    // As long as there surely is money for all of them.
    if (spent.counted + 4 * AT_MOST <= spend) await eventually("it asks", () => router.requests > asked);
    // From the request to its answer and beyond.
    await sleep((life * 137) % 400);
    daemon.kill("SIGKILL");
    await daemon.exited;
    const unconfirmedBefore = spent.unconfirmed;
    spent = spentIn(folder);
    expect(router.cost).toBeLessThanOrEqual(spend);
    expect(spent.counted).toBeGreaterThanOrEqual(router.cost - 1e-9);
    expect(spent.counted).toBeLessThanOrEqual(spend);
    // A kill wastes no more than what was in flight. The router's bill cannot tell how much that is: on a busy machine a
    // poll runs out of its second, and then its most is charged too, without any kill.
    expect(spent.unconfirmed - unconfirmedBefore).toBeLessThanOrEqual(2 * AT_MOST + 1e-9);
  }
  await afterwards({ router, folder, spent });
}
