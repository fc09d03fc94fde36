import { Holdings } from "../../src/core/fleet/holdings.ts";
import { SessionValidity } from "../../src/core/fleet/session-validity.ts";
import type { Claimed, FleetBoard } from "../../src/core/fleet/board.ts";
import { BoardModel } from "../models/board.ts";
import { FleetMembership } from "../../src/engine/fleet/membership.ts";
import type { MembershipParts } from "../../src/engine/fleet/parts.ts";
import type { VirtualClock } from "./virtual/clock.ts";

const CALL_TAKES_MS = 1;
const DEADLINE_MS = 500;

/** A board that several replicas share in virtual time; it can go away, be emptied, and have its clock stepped. */
export class TableServer {
  readonly #clock: VirtualClock;
  #table = new BoardModel();
  #runs = 1;
  #offsetMs = 1_700_000_000_000;
  isAway = false;
  calls = 0;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  get table(): BoardModel {
    return this.#table;
  }

  empty(): void {
    this.#table = new BoardModel();
  }

  restart(): void {
    this.#runs += 1;
  }

  step(byMs: number): void {
    this.#offsetMs += byMs;
  }

  boardFor(isCutOff: () => boolean): FleetBoard {
    const published = new Map<string, string>();
    const ask = async <Answer>(
      call: (time: { nowMs: number; runId: string }) => Answer,
    ): Promise<Answer | { kind: "away" }> => {
      const never = new AbortController().signal;
      this.calls += 1;
      if (this.isAway || isCutOff()) {
        await this.#clock.sleep(DEADLINE_MS, never);
        return { kind: "away" };
      }
      await this.#clock.sleep(CALL_TAKES_MS / 2, never);
      const answer = call({ nowMs: this.#offsetMs + this.#clock.now(), runId: `run${this.#runs}` });
      await this.#clock.sleep(CALL_TAKES_MS / 2, never);
      return answer;
    };
    return {
      beat: (request) => ask((time) => this.#table.beat(time, request)),
      claim: (request) => ask((time) => this.#table.claim(time, request)),
      release: (request) => ask((time) => this.#table.release(time, request)),
      publish: async (entries) => {
        if (this.isAway || isCutOff()) return false;
        for (const [key, text] of entries) published.set(key, text);
        return true;
      },
      published: async () => (this.isAway || isCutOff() ? undefined : published),
    };
  }
}

/** One replica that only remembers what it was told to poll. */
export class SmallReplica {
  readonly name: string;
  readonly holdings: Holdings;
  readonly membership: FleetMembership;
  readonly polled: Set<string> = new Set();
  readonly gains: Claimed[] = [];
  /** At the level of info. */
  readonly logged: string[] = [];
  isCutOff = false;
  drainTakesMs = 0;

  constructor(
    clock: MembershipParts["clock"],
    board: (isCutOff: () => boolean) => FleetBoard,
    options: Partial<MembershipParts> & {
      readonly name: string;
      readonly boot?: string;
      readonly statuses?: MembershipParts["events"]["statuses"];
    },
  ) {
    const { name, boot = "b", ttlMs = 10_000 } = options;
    this.name = name;
    this.holdings = new Holdings(new SessionValidity(name, boot, ttlMs), clock);
    this.membership = new FleetMembership({
      clock,
      board: board(() => this.isCutOff),
      log: { debug() {}, info: (_fields, text) => void this.logged.push(text), warn() {}, error() {} },
      url: () => `http://${options.name}:10429`,
      ttlMs,
      holdings: this.holdings,
      isSharded: true,
      onBug: (error) => {
        throw error;
      },
      events: {
        onGained: (gained) => {
          this.gains.push(...gained);
          for (const { upstream } of gained) this.polled.add(upstream);
        },
        onLost: (upstreams) => {
          for (const upstream of upstreams) this.polled.delete(upstream);
        },
        drain: async (upstreams) => {
          if (this.drainTakesMs > 0) await clock.sleep(this.drainTakesMs, new AbortController().signal);
          for (const upstream of upstreams) this.polled.delete(upstream);
        },
        statuses: options.statuses ?? (() => new Map()),
      },
      ...options,
    });
  }
}

export function upstreamNames(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `upstream-${index}`);
}
