import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, test } from "vitest";
import { formatDuration, parseDuration } from "../../../src/kernel/time/duration.ts";
import type { Monitoring } from "../../../tools/stack/monitoring.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { eventually } from "../../support/eventually.ts";
import { rulesFor, startWatching, valueOf } from "./watching.ts";
import { Webhook } from "./webhook.ts";

const prometheus = requireBinary("prometheus");
const alertmanager = requireBinary("prometheus-alertmanager");

/** A second of the test stands for so many: all windows of the rules are as much shorter. */
const TIMES_FASTER = 20;
const PATIENCE_MS = 60_000;
const OUTAGE_MS = 45_000;
/** Half an hour, the short window of the slower page, and more. */
const AFTERWARDS_MS = 100_000;

const CONFIG = `
budgets:
  api: { rate: { requests: 6000, per: 1m }, share: 50% }
defaults: { auth: { none: true }, budget: api, every: 1s, timeout: 700ms }
upstreams:
  - { name: email, base_url: "\${EMAIL_URL}" }
  - { name: ai-router, base_url: "\${AI_URL}" }
`;

/** Ranges, offsets, intervals and waits are shorter; names such as burn:1h stay. The polls are as dense as they look. */
function compressed(rules: string): string {
  const denser = rules
    .replaceAll(
      /max_over_time\(pacewatch_schedule_period_seconds\[\w+\]\)|pacewatch_schedule_period_seconds(?![{[])/g,
      (periodS) => `(${TIMES_FASTER} * ${periodS})`,
    )
    .replaceAll(
      /increase\(pacewatch_upstream_watched_seconds_total/g,
      (watched) => `${TIMES_FASTER} * ${watched}`,
    );
  return denser.replaceAll(/\[\d+[mhd](?::\d+[smhd])?\]|(?:offset|interval:|for:) \d+[mhd]/g, (found) =>
    found.replaceAll(/\d+[smhd]/g, (window) => {
      const windowMs = parseDuration(window) ?? 0;
      return formatDuration(windowMs / TIMES_FASTER);
    }),
  );
}

type Mood = "well" | "down" | "silent" | "every second request fails";

class Api implements AsyncDisposable {
  mood: Mood = "well";
  #requests = 0;
  readonly #server = createServer((_, response) => {
    this.#requests += 1;
    if (this.mood === "silent") return;
    const isBad = this.mood === "down" || (this.mood !== "well" && this.#requests % 2 === 0);
    response.writeHead(isBad ? 500 : 200, { "Content-Type": "application/json" });
    response.end("{}");
  });

  async listen(): Promise<string> {
    await once(this.#server.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

const BURNING = "PacewatchErrorBudgetBurning";

/** Two upstreams that are watched, and somebody who is told: for each test its own, as all of them wait for minutes. */
class World implements AsyncDisposable {
  readonly #owned = new AsyncDisposableStack();
  readonly webhook = this.#owned.use(new Webhook());
  readonly email = this.#owned.use(new Api());
  readonly aiRouter = this.#owned.use(new Api());
  #monitoring: Monitoring | undefined;

  async begin(programs: { readonly prometheus: string; readonly alertmanager: string }): Promise<this> {
    this.#monitoring = await startWatching(this.#owned, {
      ...programs,
      config: CONFIG,
      environment: { EMAIL_URL: await this.email.listen(), AI_URL: await this.aiRouter.listen() },
      rulesOf: async (config) => compressed(await rulesFor(config)),
      webhook: this.webhook,
      groupWait: "2s",
    });
    return this;
  }

  async told(status: "firing" | "resolved", alert: string, upstream = ""): Promise<void> {
    await eventually(
      `people are told that ${alert} is ${status}`,
      () => ({ found: this.webhook.find(status, alert, upstream), told: this.webhook.told }),
      ({ found }) => found !== undefined,
    );
  }

  async valueOf(query: string): Promise<number | undefined> {
    if (this.#monitoring === undefined) throw new Error("nobody watches yet");
    return valueOf(this.#monitoring, query);
  }

  /** By how many slots, each a poll with this outcome, it would page for the budget, if they were failures of theirs. */
  async tooMany(upstream: string, outcome: "failed" | "ours" = "failed"): Promise<number> {
    const failed = `increase(pacewatch_polls_total{upstream="${upstream}",outcome="${outcome}"}[3m])`;
    const guard = `pacewatch:guard_slots:1h{upstream="${upstream}"}`;
    return (await this.valueOf(`sum(${failed}) - sum(${guard})`)) ?? Number.NaN;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

describe.skipIf(prometheus === undefined || alertmanager === undefined)("nobody is paged twice", () => {
  const programs = { prometheus: prometheus ?? "", alertmanager: alertmanager ?? "" };
  const options = { concurrent: true, timeout: 6 * PATIENCE_MS };

  test("when we were offline: neither for it, nor after it", options, async ({ expect }) => {
    await using world = await new World().begin(programs);
    const { email, aiRouter, webhook } = world;
    for (const upstream of [email, aiRouter]) upstream.mood = "silent";
    await world.told("firing", "PacewatchOffline");
    await sleep(OUTAGE_MS);
    expect(await world.tooMany("email", "ours")).toBeGreaterThan(0);
    for (const upstream of [email, aiRouter]) upstream.mood = "well";
    await world.told("resolved", "PacewatchOffline");
    await sleep(AFTERWARDS_MS);
    expect(webhook.takeFired()).toEqual(["PacewatchOffline"]);
    expect(await world.valueOf(`min(pacewatch:availability:ratio1h)`)).toBe(1);
  });

  test("when it was down and is up again", options, async ({ expect }) => {
    await using world = await new World().begin(programs);
    const { email, webhook } = world;
    email.mood = "down";
    await world.told("firing", "PacewatchUpstreamDown", "email");
    await sleep(OUTAGE_MS);
    expect(await world.tooMany("email")).toBeGreaterThan(0);
    email.mood = "well";
    await world.told("resolved", "PacewatchUpstreamDown", "email");
    await sleep(AFTERWARDS_MS);
    expect(webhook.takeFired()).toEqual(["PacewatchUpstreamDown email"]);
    const availability = `pacewatch:availability:ratio1h{upstream="email"}`;
    expect(await world.valueOf(availability)).toBeLessThan(0.995);
  });

  test("but a budget that burns without an outage does page", options, async ({ expect }) => {
    await using world = await new World().begin(programs);
    const { email, webhook } = world;
    email.mood = "every second request fails";
    await world.told("firing", BURNING, "email");
    expect(webhook.takeFired()).toEqual([`${BURNING} email`]);
  });
});
