import type { Config, Fleet } from "../../../src/core/config/config.ts";
import { SharedLedger } from "../../../src/engine/fleet/shared-ledger.ts";
import type { VirtualClock } from "../../support/virtual/clock.ts";
import { type VirtualRedis, VirtualStore } from "../../support/virtual/redis.ts";

export type Upstream = {
  readonly timeoutMs: number;
  readonly lingerMs: number;
  /** Told of each request when it is counted. */
  readonly count: (atMs: number) => void;
};

/** From 0 to 1. */
export type Dice = () => number;

const FOREVER = new AbortController().signal;

/** A replica that wants to send all the time, in a world where everything takes its time or stands still. */
export class Replica {
  readonly line: VirtualStore;
  readonly ledger: SharedLedger;
  readonly #clock: VirtualClock;
  readonly #upstream: Upstream;
  readonly #dice: Dice;
  #isAlive = true;
  #frozen: PromiseWithResolvers<void> | undefined;

  constructor(
    config: Config,
    fleet: Fleet,
    life: string,
    world: {
      readonly clock: VirtualClock;
      readonly redis: VirtualRedis;
      readonly upstream: Upstream;
      readonly dice: Dice;
    },
  ) {
    const { clock, redis, upstream, dice } = world;
    this.#clock = clock;
    this.#upstream = upstream;
    this.#dice = dice;
    this.line = new VirtualStore(redis, clock, () => dice() ** 4 * 300);
    const onBug = (error: unknown): never => {
      throw error;
    };
    this.ledger = new SharedLedger(config, { fleet, store: this.line, clock, life, onBug });
    for (let worker = 0; worker < 4; worker += 1) void this.#work();
  }

  /** As by SIGKILL: its sockets close, and what it had sent may be counted for the linger. */
  kill(): void {
    this.#isAlive = false;
    this.line.cut();
  }

  /** As on SIGTERM, after its polls were cut off. */
  leave(): void {
    this.#isAlive = false;
    void this.ledger.close();
  }

  freeze(): void {
    this.#frozen ??= Promise.withResolvers();
  }

  thaw(): void {
    this.#frozen?.resolve();
    this.#frozen = undefined;
  }

  async #work(): Promise<void> {
    while (this.#isAlive) {
      const decision = await this.ledger.take(["api"]);
      await this.#frozen?.promise;
      if (!this.#isAlive) return;
      if (decision.kind === "wait") await this.#sleep(Math.min(2_000, decision.untilMs - this.#clock.now()));
      else await this.#poll(decision.lease);
    }
  }

  async #poll(lease: {
    isUsable(): boolean;
    settle(as: "unsent" | "answered" | "unanswered"): void;
  }): Promise<void> {
    const { timeoutMs, lingerMs, count } = this.#upstream;
    const startedMs = this.#clock.now();
    await this.#sleep(this.#dice() ** 3 * timeoutMs);
    if (!this.#isAlive) return;
    if (this.#dice() < 0.05 || !lease.isUsable()) return lease.settle("unsent");
    const sentMs = this.#clock.now();
    const isAnswered = this.#dice() < 0.7;
    const leftMs = Math.max(0, startedMs + timeoutMs - sentMs);
    const takesMs = isAnswered ? this.#dice() * leftMs : leftMs;
    // At the latest within its time and the linger, whatever becomes of us; an answer comes after its counting.
    const uncountedMs = isAnswered ? this.#dice() * takesMs : leftMs + this.#dice() * lingerMs;
    void this.#clock.sleep(uncountedMs, FOREVER).then(() => count(this.#clock.now()));
    await this.#sleep(takesMs);
    if (this.#isAlive) lease.settle(isAnswered ? "answered" : "unanswered");
  }

  async #sleep(ms: number): Promise<void> {
    await this.#clock.sleep(ms, FOREVER);
    await this.#frozen?.promise;
  }
}
