import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { counted } from "../../../tools/rules/counted.ts";
import { type Monitoring, startMonitoring } from "../../../tools/stack/monitoring.ts";
import { sumOfSamples } from "../../support/metrics/exposition-parser.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { Daemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { valueOf } from "./watching.ts";

const prometheus = requireBinary("prometheus");
const alertmanager = requireBinary("prometheus-alertmanager");

const CONFIG = `
budgets:
  api: { rate: { requests: 6000, per: 1m }, share: 50% }
upstreams:
  - { name: email, base_url: "\${EMAIL_URL}", auth: { none: true }, budget: api, every: 1s, timeout: 500ms }
`;

const FAILED = "sum(pacewatch:slots_failed:increase1h)";
const BLOCKED = `sum(${counted('pacewatch_poll_reasons_total{reason="blocked"}', "1m")})`;

async function listen(server: Server): Promise<string> {
  await once(server.listen(0, "127.0.0.1"), "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function passOn(url: string, response: ServerResponse): Promise<void> {
  const answer = await fetch(url);
  response.writeHead(answer.status, { "Content-Type": answer.headers.get("content-type") ?? "" });
  response.end(await answer.text());
}

class World implements AsyncDisposable {
  readonly #owned = new AsyncDisposableStack();
  /** Scrapes are lost while it is false. */
  isScraped = true;
  #failures = 0;
  #daemon: Daemon | undefined;
  #monitoring: Monitoring | undefined;
  #configPath = "";
  #emailUrl = "";

  async begin(programs: { readonly prometheus: string; readonly alertmanager: string }): Promise<this> {
    const folder = await mkdtemp(join(tmpdir(), "pacewatch-first-failure-"));
    this.#owned.defer(() => rm(folder, { recursive: true, force: true }));
    this.#configPath = join(folder, "pacewatch.yaml");
    await writeFile(this.#configPath, CONFIG);
    this.#emailUrl = await listen(
      this.#served((_, response) => {
        const isWall = this.#failures > 0;
        if (isWall) this.#failures -= 1;
        response.writeHead(isWall ? 403 : 200, {
          "Content-Type": "application/json",
          ...(isWall ? { "cf-mitigated": "challenge" } : {}),
        });
        response.end("{}");
      }),
    );
    await this.#start();
    const door = await listen(
      this.#served((_, response) => {
        if (this.isScraped && this.#daemon !== undefined)
          void passOn(`${this.#daemon.url}/metrics`, response);
        else response.writeHead(503).end();
      }),
    );
    const target = new URL(door).host;
    this.#monitoring = this.#owned.use(await startMonitoring({ ...programs, target, intervalS: 1 }));
    await this.seen("min(count_over_time(pacewatch_polls_total[1m]))", (value = 0) => value >= 3);
    return this;
  }

  /** Until Prometheus says so. */
  async seen(query: string, isSeen: (value: number | undefined) => boolean): Promise<number | undefined> {
    const monitoring = this.#monitoring;
    if (monitoring === undefined) throw new Error("nobody watches yet");
    return eventually(`${query} is as it should be`, () => valueOf(monitoring, query), isSeen);
  }

  /** Exactly one poll fails, whether or not anybody scrapes meanwhile. */
  async failOnce(): Promise<void> {
    const failed = async (): Promise<number> =>
      sumOfSamples((await this.#daemon?.metrics()) ?? new Map(), "pacewatch_polls_total", {
        outcome: "failed",
      });
    const before = await failed();
    this.#failures = 1;
    await eventually("a poll has failed", failed, (now) => now === before + 1);
  }

  async restart(): Promise<void> {
    const before = this.#daemon;
    this.#daemon = undefined;
    before?.kill("SIGTERM");
    await before?.exited;
    await this.#start();
  }

  async #start(): Promise<void> {
    const args = ["run", "--config", this.#configPath, "--listen", "127.0.0.1:0"];
    const daemon = this.#owned.use(new Daemon(args, { EMAIL_URL: this.#emailUrl }));
    await daemon.logged("listening");
    this.#daemon = daemon;
  }

  #served(answer: Parameters<typeof createServer>[1] & {}): Server {
    const server = createServer(answer);
    this.#owned.defer(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    });
    return server;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#owned.disposeAsync();
  }
}

test.skipIf(prometheus === undefined || alertmanager === undefined)(
  "one failure is seen: the first ever, one that came while scrapes were lost, and the first after a restart",
  { timeout: 300_000 },
  async () => {
    const programs = { prometheus: prometheus ?? "", alertmanager: alertmanager ?? "" };
    await using world = await new World().begin(programs);
    await world.seen(FAILED, (value) => value === 0);
    await world.seen(BLOCKED, (value) => value === undefined);

    world.isScraped = false;
    await world.seen("sum(up)", (value) => value === 0);
    await world.failOnce();
    world.isScraped = true;
    await world.seen(FAILED, (value) => value === 1);
    await world.seen(BLOCKED, (value) => value !== undefined);
    await sleep(60_000);
    await world.seen(BLOCKED, (value) => value === undefined);

    await world.restart();
    await world.seen("sum(resets(pacewatch_polls_total[1m]))", (value = 0) => value > 0);
    await world.failOnce();
    await world.seen(FAILED, (value) => value === 2);
    expect(await world.seen(BLOCKED, (value) => value !== undefined)).toBeGreaterThan(0);
  },
);
