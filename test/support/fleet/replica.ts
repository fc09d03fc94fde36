import { setTimeout as sleep } from "node:timers/promises";
import { type Daemon, startDaemon } from "../processes/daemon.ts";
import { type Families, sumOfSamples } from "../metrics/exposition-parser.ts";
import { accountsOf } from "../metrics/slot-accounts.ts";
import type { LoggedLife, Scrape } from "./account-judge.ts";
import { monotonicMs } from "./monotonic.ts";

const SCRAPE_EVERY_MS = 500;

export type ReplicaOptions = {
  readonly life: string;
  readonly configPath: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly isScraped: boolean;
};

/** One life of one replica. */
export class Replica implements AsyncDisposable {
  readonly life: string;
  readonly daemon: Daemon;
  readonly scrapes: Scrape[] = [];
  #families: Families = new Map();
  #isKilled = false;
  #hasEnded = false;
  readonly #scraping: Promise<void>;

  constructor(life: string, daemon: Daemon, isScraped: boolean) {
    this.life = life;
    this.daemon = daemon;
    this.#scraping = isScraped ? this.#scrapeUntilItEnds() : Promise.resolve();
  }

  get name(): string {
    return this.life.split(".", 1).join();
  }

  /** By its own word, at the last scrape. */
  get leads(): boolean {
    return sumOfSamples(this.#families, "pacewatch_leader") === 1;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  freeze(): void {
    this.daemon.kill("SIGSTOP");
  }

  thaw(): void {
    this.daemon.kill("SIGCONT");
  }

  async kill(): Promise<void> {
    this.#isKilled = true;
    this.daemon.kill("SIGKILL");
    await this.#ended();
  }

  /** Its exit code. */
  async stop(): Promise<number | null> {
    this.daemon.kill("SIGTERM");
    const { code } = await this.daemon.exited;
    await this.#ended();
    return code;
  }

  logged(): LoggedLife {
    const lines = this.daemon.logs.filter(({ msg }) => msg === "polled");
    const polls = [...Map.groupBy(lines, ({ upstream }) => String(upstream))].map(([upstream, some]) => {
      const ok = some.filter(({ outcome }) => outcome === "ok").length;
      return { upstream, ok, failed: some.length - ok };
    });
    return { life: this.life, isCutShort: this.#isKilled, polls };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.daemon[Symbol.asyncDispose]();
    await this.#scraping;
  }

  async #ended(): Promise<void> {
    this.#hasEnded = true;
    await this.daemon.exited;
    await this.#scraping;
  }

  async #scrapeUntilItEnds(): Promise<void> {
    const isOver = this.daemon.exited.then(() => true);
    do {
      const fromMs = monotonicMs();
      try {
        this.#families = await this.daemon.metrics();
      } catch (error) {
        if (await isOver) return;
        throw error;
      }
      const untilMs = monotonicMs();
      const accounts = accountsOf(this.#families).map((account) => ({
        ...account,
        failed: sumOfSamples(this.#families, "pacewatch_polls_total", {
          upstream: account.upstream,
          outcome: "failed",
        }),
      }));
      this.scrapes.push({ life: this.life, fromMs, untilMs, accounts });
    } while (!(await Promise.race([isOver, sleep(SCRAPE_EVERY_MS, false)])));
  }
}

/** Resolves once it listens. */
export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const { life, configPath, environment, isScraped } = options;
  const daemon = await startDaemon({ configPath, environment: { ...environment, LIFE: life } });
  return new Replica(life, daemon, isScraped);
}
