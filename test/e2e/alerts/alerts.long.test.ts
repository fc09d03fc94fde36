import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startSimulatedUpstream, type SimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { eventually } from "../../support/eventually.ts";
import { rulesFor, startWatching } from "./watching.ts";
import { Webhook, type Told } from "./webhook.ts";

const prometheus = requireBinary("prometheus");
const alertmanager = requireBinary("prometheus-alertmanager");

const PERIOD_MS = 1000;
const TIMEOUT_MS = 500;
const INTERVAL_S = 1;
const GROUP_WAIT_S = 4;
/** This machine has other things to do as well. */
const PATIENCE_MS = 30_000;

const CONFIG = `
budgets:
  email: { rate: { requests: 6000, per: 1m }, share: 50% }
  ai-router: { rate: { requests: 6000, per: 1m }, share: 50% }
upstreams:
  - { name: email, base_url: "\${EMAIL_URL}", auth: { none: true }, budget: email, every: 1s, timeout: 500ms }
  - { name: ai-router, base_url: "\${AI_URL}", auth: { none: true }, budget: ai-router, every: 1s, timeout: 500ms }
`;

const world = new AsyncDisposableStack();
const webhook = new Webhook();
let email: SimulatedUpstream;
let aiRouter: SimulatedUpstream;

beforeAll(async () => {
  if (prometheus === undefined || alertmanager === undefined) return;
  world.use(webhook);
  email = world.use(await startSimulatedUpstream({ name: "email" }));
  aiRouter = world.use(await startSimulatedUpstream({ name: "ai-router" }));
  await startWatching(world, {
    prometheus,
    alertmanager,
    config: CONFIG,
    environment: { EMAIL_URL: email.url, AI_URL: aiRouter.url },
    // Minutes of being offline after being offline are long to wait.
    rulesOf: async (config) =>
      (await rulesFor(config)).replaceAll(/keep_firing_for: (\d+)m/g, "keep_firing_for: $1s"),
    webhook,
    groupWait: `${GROUP_WAIT_S}s`,
  });
}, PATIENCE_MS);

afterAll(() => world.disposeAsync(), PATIENCE_MS);

async function told(status: Told["status"], alert: string, upstream = ""): Promise<Told> {
  const { found } = await eventually(
    `people are told that ${alert} is ${status}`,
    () => ({ found: webhook.find(status, alert, upstream), told: webhook.told }),
    (seen) => seen.found !== undefined,
  );
  if (found === undefined) throw new Error("it was found and is not there");
  return found;
}

/** How long it took, beside what it may take. Printed and not asserted, as this machine is not only ours. */
function delayOf({ startedAtMs, toldAtMs }: Told, brokeAtMs: number): string {
  const bound = Object.entries({
    period: PERIOD_MS,
    confirmation: TIMEOUT_MS,
    scrape: 1000 * INTERVAL_S,
    evaluation: 1000 * INTERVAL_S,
  });
  const boundMs = bound.reduce((sum, [, ms]) => sum + ms, 0);
  const parts = bound.map(([name, ms]) => `${name} ${ms}`).join(" + ");
  return `an outage was detected after ${startedAtMs - brokeAtMs} ms, the bound is ${boundMs} ms (${parts}), and told after ${toldAtMs - brokeAtMs} ms, with ${1000 * GROUP_WAIT_S} ms of Alertmanager's waiting`;
}

describe.skipIf(prometheus === undefined || alertmanager === undefined)("people are told", () => {
  test("that we are offline, once, where nothing can be reached", { timeout: 3 * PATIENCE_MS }, async () => {
    for (const upstream of [email, aiRouter]) upstream.setFault({ kind: "hang", at: "before_head" });
    const alert = await told("firing", "PacewatchOffline");
    expect(alert.description).toContain("2 upstreams");
    // Each has been confirmed to be down long since, and people would hear of it now.
    await sleep(2000 * GROUP_WAIT_S);
    for (const upstream of [email, aiRouter]) upstream.setFault(undefined);
    await told("resolved", "PacewatchOffline");
    expect(webhook.takeFired()).toEqual(["PacewatchOffline"]);
  });

  test(
    "which upstream is down, and nothing about one that throttles us",
    { timeout: 3 * PATIENCE_MS },
    async () => {
      aiRouter.setFault({ kind: "throttle", retryAfter: "1" });
      email.setFault({ kind: "status", code: 500 });
      const brokeAtMs = Date.now();
      const alert = await told("firing", "PacewatchUpstreamDown", "email");
      console.log(delayOf(alert, brokeAtMs));
      expect(alert.description).toContain("server_error");

      email.setFault(undefined);
      await told("resolved", "PacewatchUpstreamDown", "email");
      expect(webhook.takeFired()).toEqual(["PacewatchUpstreamDown email"]);
      expect(aiRouter.fault.kind).toBe("throttle");
      aiRouter.setFault(undefined);
    },
  );

  test("that our key is rejected, which is not an outage", { timeout: 3 * PATIENCE_MS }, async () => {
    email.setFault({ kind: "unauthorized" });
    const alert = await told("firing", "PacewatchKeyRejected", "email");
    expect(alert.description).toContain("unauthorized");

    email.setFault(undefined);
    await told("resolved", "PacewatchKeyRejected", "email");
    expect(webhook.takeFired()).toEqual(["PacewatchKeyRejected email"]);
  });
});
