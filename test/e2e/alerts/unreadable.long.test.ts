import { FOLLOWERS } from "../../../src/app/features/shown.ts";
import { opened } from "../../support/opened.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../../src/platform/clock.ts";
import { openStateStore } from "../../../src/features/state/store.ts";
import { History, recorderOf } from "../../../src/features/history/history.ts";
import { UpstreamRecord } from "../../../src/features/history/upstream-record.ts";
import { startSimulatedUpstream, type SimulatedUpstream } from "../../../src/simulator/upstream.ts";
import type { Monitoring } from "../../../tools/stack/monitoring.ts";
import { eventually } from "../../support/eventually.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { recordPoll, samplePoll } from "../../support/kernel-samples.ts";
import { giving, oauth2, openTokenService, type TokenService } from "../../support/token-endpoint.ts";
import { rulesFor, startWatching, valueOf } from "./watching.ts";
import { Webhook } from "./webhook.ts";

const prometheus = requireBinary("prometheus");
const alertmanager = requireBinary("prometheus-alertmanager");

const HOUR_MS = 3_600_000;
const PATIENCE_MS = 60_000;
const [ENDING, UNREADABLE] = ["PacewatchCreditEnding", "PacewatchValueUnreadable"];
const [NO_TOKEN, NO_KEY] = ["PacewatchTokenUnavailable", "PacewatchKeyRejected"];

const world = new AsyncDisposableStack();
const webhook = new Webhook();
let router: SimulatedUpstream;
let service: TokenService;
let isBroken = false;
let monitoring: Monitoring;

function answers(credit: number | string | null): void {
  router.setFault({ kind: "status", code: 200, body: JSON.stringify({ data: { credit } }) });
}

/** What a daemon has left that saw the credit go down to 20 at ten an hour, and no number since eleven minutes. */
async function leaveHistory(path: string): Promise<void> {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const store = opened(await openStateStore({ path, log, clock: systemClock }));
  const seenAtMs = Date.now() - 11 * 60_000;
  const history = new History("ai-router", seenAtMs);
  const record = new UpstreamRecord(history, [
    recorderOf(history, FOLLOWERS),
    store.recorderOf("ai-router", history),
  ]);
  for (let agoMs = 30 * HOUR_MS; agoMs >= 0; agoMs -= HOUR_MS / 12) {
    const values = [{ name: "credit", value: 20 + (10 * agoMs) / HOUR_MS, isCredit: true }];
    recordPoll(
      record,
      samplePoll({ endedAtMs: seenAtMs - agoMs, said: { values: { values, unreadable: [] } } }),
    );
  }
  await store.close();
}

beforeAll(async () => {
  if (prometheus === undefined || alertmanager === undefined) return;
  world.use(webhook);
  router = world.use(await startSimulatedUpstream({ name: "ai-router" }));
  answers(null);
  const token = giving((turn) => `test-key-token-${turn}`);
  service = world.use(
    await openTokenService(
      (turn, response, request) =>
        isBroken ? response.writeHead(503).end("<html>") : token(turn, response, request),
      undefined,
      () => !isBroken,
    ),
  );
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-unreadable-"));
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
defaults: { budget: api, every: 1s, timeout: 700ms }
upstreams:
  - name: ai-router
    base_url: "\${AI_URL}"
    auth: { none: true }
    values: [{ name: credit, path: /data/credit, unit: usd, credit: true }]
    labels: { team: growth }
    links: { support: "https://support.example.test/?a=1&b=2#now" }
  - name: email
    base_url: "\${EMAIL_URL}"
    auth: ${JSON.stringify(oauth2(service))}
    labels: { team: mail }
`,
    environment: { AI_URL: router.url, EMAIL_URL: service.url, CLIENT_SECRET: "test-key-client" },
    // Nobody here waits for an hour.
    rulesOf: async (config) => (await rulesFor(config)).replaceAll(/for: \d+[mh]/g, "for: 2s"),
    webhook,
    groupWait: "1s",
  });
}, 2 * PATIENCE_MS);

afterAll(() => world.disposeAsync(), PATIENCE_MS);

/** A token is asked for once a minute at most, so for two. */
async function patiently(what: string, look: () => unknown): Promise<void> {
  await eventually(what, look).catch(() => eventually(what, look));
}

function isTold(status: "firing" | "resolved", alert: string, upstream: string): Promise<void> {
  return patiently(`people are told that ${alert} of ${upstream} is ${status}`, () =>
    webhook.find(status, alert, upstream),
  );
}

async function fires(alert: string, more = ""): Promise<boolean> {
  const query = `count(ALERTS{alertname="${alert}",alertstate="firing"${more}})`;
  return ((await valueOf(monitoring, query)) ?? 0) > 0;
}

describe.skipIf(prometheus === undefined || alertmanager === undefined)(
  "with a real Prometheus and Alertmanager, and the rules as they are printed",
  () => {
    test(
      "a credit that cannot be read is told, and the page about its end goes on until a number comes back",
      { timeout: 6 * PATIENCE_MS },
      async () => {
        await isTold("firing", ENDING, "ai-router");
        await isTold("firing", UNREADABLE, "ai-router");
        // A typo is no number either.
        answers("$19.50");
        await sleep(5_000);
        expect(await fires(ENDING, ',severity="page",team="growth"')).toBe(true);
        expect(webhook.find("resolved", ENDING, "ai-router")).toBeUndefined();

        answers(19.5);
        await isTold("resolved", UNREADABLE, "ai-router");
        expect(await fires(ENDING, ',severity="page"')).toBe(true);
        expect(webhook.find("resolved", ENDING, "ai-router")).toBeUndefined();

        answers(50_000);
        await isTold("resolved", ENDING, "ai-router");
      },
    );

    test("it has the labels and links of the config, and links to a runbook that is there", async () => {
      const told = webhook.find("firing", ENDING, "ai-router");
      expect(told?.labels).toMatchObject({ team: "growth", severity: "page" });
      expect(told?.annotations["link_support"]).toBe("https://support.example.test/?a=1&b=2#now");
      const answer = await fetch(told?.annotations["runbook_url"] ?? "");
      expect(answer.status).toBe(200);
      expect((await answer.text()).replaceAll("<wbr>", "")).toContain(`<h1>${ENDING}</h1>`);
    });

    test(
      "a token endpoint that is down, while tokens are rejected, is no rejected key, and is over when it gives tokens",
      { timeout: 6 * PATIENCE_MS },
      async () => {
        await patiently("email is up", () => valueOf(monitoring, 'pacewatch_upstream_up{upstream="email"}'));
        isBroken = true;
        await isTold("firing", NO_TOKEN, "email");
        expect(webhook.find("firing", NO_TOKEN, "email")?.labels["team"]).toBe("mail");
        isBroken = false;
        await isTold("resolved", NO_TOKEN, "email");
        expect(webhook.find("firing", NO_KEY, "email")).toBeUndefined();
      },
    );
  },
);
