import { FOLLOWERS } from "../../../src/app/features/shown.ts";
import { opened } from "../../support/opened.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../src/platform/clock.ts";
import { openStateStore } from "../../../src/features/state/store.ts";
import { History, recorderOf } from "../../../src/features/history/history.ts";
import { UpstreamRecord } from "../../../src/features/history/upstream-record.ts";
import { startSimulatedUpstream, type SimulatedUpstream } from "../../../src/simulator/upstream.ts";
import type { Monitoring } from "../../../tools/stack/monitoring.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { eventually } from "../../support/eventually.ts";
import { recordPoll, samplePoll } from "../../support/kernel-samples.ts";
import { rulesFor, startWatching, valueOf } from "./watching.ts";
import { Webhook } from "./webhook.ts";

const prometheus = requireBinary("prometheus");
const alertmanager = requireBinary("prometheus-alertmanager");

const HOUR_MS = 3_600_000;
const PATIENCE_MS = 60_000;
const LIVED_HOURS = 30;
const SPENT_AN_HOUR = 10;
const LEFT = 100;
const ALERT = "PacewatchCreditEnding";

const world = new AsyncDisposableStack();
const webhook = new Webhook();
let router: SimulatedUpstream;
let monitoring: Monitoring;

function answers(credit: number): void {
  router.setFault({ kind: "status", code: 200, body: JSON.stringify({ data: { credit } }) });
}

/** What a daemon has left that saw the credit go down for more than a day. */
async function leaveHistory(path: string): Promise<void> {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const store = opened(await openStateStore({ path, log, clock: systemClock }));
  const nowMs = Date.now();
  const history = new History("ai-router", nowMs);
  const record = new UpstreamRecord(history, [
    recorderOf(history, FOLLOWERS),
    store.recorderOf("ai-router", history),
  ]);
  for (let agoMs = LIVED_HOURS * HOUR_MS; agoMs > 0; agoMs -= HOUR_MS / 12) {
    const value = LEFT + (SPENT_AN_HOUR * agoMs) / HOUR_MS;
    const values = [{ name: "credit", value, isCredit: true }];
    recordPoll(
      record,
      samplePoll({ endedAtMs: nowMs - agoMs, said: { values: { values, unreadable: [] } } }),
    );
  }
  await store.close();
}

beforeAll(async () => {
  if (prometheus === undefined || alertmanager === undefined) return;
  world.use(webhook);
  router = world.use(await startSimulatedUpstream({ name: "ai-router" }));
  answers(LEFT);
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-credit-"));
  world.defer(() => rm(folder, { recursive: true, force: true }));
  const path = join(folder, "state.db");
  await leaveHistory(path);
  monitoring = await startWatching(world, {
    prometheus,
    alertmanager,
    config: `
state: { path: ${path} }
budgets:
  api: { rate: { requests: 6000, per: 1m }, share: 50% }
upstreams:
  - name: ai-router
    base_url: "\${AI_URL}"
    auth: { none: true }
    budget: api
    every: 1s
    timeout: 700ms
    values: [{ name: credit, path: /data/credit, unit: usd, credit: true }]
`,
    environment: { AI_URL: router.url },
    // Nobody here waits for an hour.
    rulesOf: async (config) => (await rulesFor(config)).replaceAll(/for: (?:15m|1h)/g, "for: 2s"),
    webhook,
    groupWait: "1s",
  });
}, 2 * PATIENCE_MS);

afterAll(() => world.disposeAsync(), PATIENCE_MS);

async function fires(severity: string, query: string): Promise<void> {
  await eventually(
    `a ${severity} fires`,
    () =>
      valueOf(monitoring, `count(ALERTS{alertname="${ALERT}",severity="${severity}",alertstate="firing"})`),
    (count) => count === 1,
  );
  expect(await valueOf(monitoring, query)).toBeGreaterThan(0);
}

async function told(status: "firing" | "resolved"): Promise<string> {
  const found = await eventually(`people are told that it is ${status}`, () =>
    webhook.find(status, ALERT, "ai-router"),
  );
  return found.description;
}

describe.skipIf(prometheus === undefined || alertmanager === undefined)("people are told of a credit", () => {
  test(
    "that ends within days, then within hours, and no longer once it is refilled",
    { timeout: 5 * PATIENCE_MS },
    async () => {
      // At ten an hour, a hundred last ten hours: a ticket, and no page.
      await fires("ticket", `pacewatch:credit_empty_in:seconds{name="credit"} > 8 * 3600 < 11 * 3600`);
      expect(await told("firing")).toContain("the credit credit of ai-router lasts for");
      expect(await valueOf(monitoring, `ALERTS{alertname="${ALERT}",severity="page"}`)).toBeUndefined();

      webhook.takeFired();
      answers(LEFT - 60);
      await fires("page", `pacewatch:credit_empty_in:seconds < 6 * 3600`);
      await told("firing");

      webhook.takeFired();
      answers(5_000);
      await told("resolved");
      await eventually(
        "nothing fires any more",
        () => valueOf(monitoring, `count(ALERTS{alertname="${ALERT}"})`),
        (count) => count === undefined,
      );
      expect(await valueOf(monitoring, "pacewatch:credit_empty_in:seconds_by_days")).toBeGreaterThan(
        10 * 86_400,
      );
    },
  );
});
