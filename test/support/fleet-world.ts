import type { FleetBoard } from "../../src/core/fleet/board.ts";
import { groupsOf, namesNeededBy } from "../../src/core/fleet/groups.ts";
import { Holdings } from "../../src/core/fleet/holdings.ts";
import type { Clock } from "../../src/core/time/clock.ts";
import { FleetMembership } from "../../src/engine/fleet/membership.ts";
import type { FleetBudgets, FleetConfig, Gained } from "../../src/engine/fleet/parts.ts";
import { BoardModel, type BoardTime } from "../models/board.ts";
import { sampleSchedule, sampleUpstream } from "./samples.ts";
import type { VirtualClock } from "./virtual/clock.ts";

const CALL_TAKES_MS = 1;
const DEADLINE_MS = 500;
const RECONNECTED_AFTER_MS = 60;

/** How a replica's messages fare. */
export type Line = "well" | "cut" | "answers lost";

/** A board that several replicas share in virtual time; it can go away, be emptied, and have its clock stepped. */
export class VirtualBoards {
  readonly #clock: VirtualClock;
  #board = new BoardModel();
  #runs = 1;
  #offsetMs = 1_700_000_000_000;
  isAway = false;
  calls = 0;
  #lastCallMs = 0;
  #resets = { everyMs: Infinity, phaseMs: 0 };

  constructor(clock: VirtualClock) {
    this.#clock = clock;
  }

  get board(): BoardModel {
    return this.#board;
  }

  /** What is written there, by whomever. */
  records(): ReadonlyMap<string, string> {
    return this.#board.records();
  }

  get serverMs(): number {
    return this.#offsetMs + this.#clock.now();
  }

  empty(): void {
    this.#board = new BoardModel();
  }

  restart(): void {
    this.#runs += 1;
  }

  step(byMs: number): void {
    this.#offsetMs += byMs;
  }

  /** From now on all connections are reset so often, in step with the last call: what is asked before there is another one fails at once. */
  resetEvery(everyMs: number): void {
    this.#resets = { everyMs, phaseMs: this.#lastCallMs % everyMs };
  }

  boardFor(isCutOff: () => boolean, line: () => Line = () => "well"): FleetBoard {
    const ask = async <Answer>(
      call: (board: BoardModel, time: BoardTime) => Answer,
    ): Promise<Answer | undefined> => {
      const never = new AbortController().signal;
      this.calls += 1;
      this.#lastCallMs = this.#clock.now();
      const { everyMs, phaseMs } = this.#resets;
      if ((this.#lastCallMs - phaseMs) % everyMs < RECONNECTED_AFTER_MS && everyMs < Infinity) {
        await this.#clock.sleep(CALL_TAKES_MS, never);
        return undefined;
      }
      if (!this.isAway && !isCutOff() && line() !== "cut") {
        await this.#clock.sleep(CALL_TAKES_MS / 2, never);
        const answer = call(this.#board, { nowMs: this.serverMs, runId: `run${this.#runs}` });
        await this.#clock.sleep(CALL_TAKES_MS / 2, never);
        if (line() === "well") return answer;
      }
      await this.#clock.sleep(DEADLINE_MS, never);
      return undefined;
    };
    return {
      beat: (request) => ask((board, time) => board.beat(time, request)),
      claim: (request) => ask((board, time) => board.claim(time, request)),
      release: async (request) => (await ask((board, time) => board.release(time, request))) === true,
      count: (request) => ask((board) => board.count(request)),
      tell: async (news) => (await ask((board, time) => board.tell(time, news))) === true,
      records: () => ask((board) => board.records()),
    };
  }
}

export type SmallOptions = {
  readonly name: string;
  readonly boot?: string;
  readonly ttlMs?: number;
  readonly upstreams: number;
  /** By upstream; without it each has a budget of its own. */
  readonly budgetOf?: (upstream: string) => string;
  /** Told with each claim. */
  readonly coldMs?: number;
  readonly digest?: string;
  readonly wallAheadMs?: number;
};

/** One replica that only remembers what it was told to poll, and from when on. */
export class SmallReplica {
  readonly name: string;
  readonly holdings: Holdings;
  readonly membership: FleetMembership;
  readonly polled: Set<string> = new Set();
  readonly gains: Gained[] = [];
  /** By budget: how long it had to wait when it was gained last. */
  readonly waitsMs: Map<string, number> = new Map();
  /** Budgets whose quotas were told when it gave them up. */
  readonly ended: Set<string> = new Set();
  readonly #records = new Map<string, string>();
  readonly #untold = new Set<string>();
  readonly pausesHeard: Map<string, number> = new Map();
  readonly logged: string[] = [];
  leasesEndInMs = 0;
  /** Told with each claim, as its config says. */
  terms = "same";
  coldMs: number;
  line: Line = "well";
  drainTakesMs = 0;

  constructor(clock: VirtualClock, boards: VirtualBoards, options: SmallOptions) {
    const { name, boot = "b", ttlMs = 10_000, coldMs = 0, wallAheadMs = 0 } = options;
    this.name = name;
    this.coldMs = coldMs;
    const own: Clock = {
      now: () => clock.now(),
      wallNow: () => clock.wallNow() + wallAheadMs,
      sleep: (ms, signal) => clock.sleep(ms, signal),
    };
    this.holdings = new Holdings({ name, boot, ttlMs }, own);
    const log = (_fields: object, text: string): void => void this.logged.push(text);
    this.membership = new FleetMembership({
      clock: own,
      board: boards.boardFor(
        () => false,
        () => this.line,
      ),
      log: { debug() {}, info: log, warn: log, error: log },
      name,
      url: () => `http://${name}:10429`,
      ttlMs,
      holdings: this.holdings,
      budgets: this.#budgets(),
      isSharded: true,
      random: () => 0.5,
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
        onPaused: (upstream, forMs) => void this.pausesHeard.set(upstream, forMs),
        records: (isWhole) => this.#toTell(isWhole),
      },
    });
    this.membership.setConfig(smallConfig(options));
    this.membership.start();
  }

  /** It has something to tell, by name on the board. */
  sees(name: string, text: string): void {
    this.#records.set(name, text);
    this.#untold.add(name);
  }

  #toTell(isWhole: boolean): readonly (readonly [string, string])[] {
    const some = [...this.#records].filter(([name]) => isWhole || this.#untold.has(name));
    this.#untold.clear();
    return some;
  }

  #budgets(): FleetBudgets {
    return {
      claimOf: (budget) => ({
        budget,
        coldMs: this.coldMs,
        terms: this.terms,
        waitMs: 0,
      }),
      begin: (budget, waitMs) => void this.waitsMs.set(budget, waitMs),
      end: (budget) => {
        this.ended.add(budget);
        return Promise.resolve();
      },
      leasesEndInMs: () => this.leasesEndInMs,
      pause: () => {},
      wants: () => undefined,
      granted: () => {},
      hearCounts: () => Promise.resolve(),
      records: function* () {},
    };
  }
}

export function smallConfig({
  upstreams,
  budgetOf = (name) => name,
  digest = "same",
}: SmallOptions): FleetConfig {
  const all = Array.from({ length: upstreams }, (_, index) => `upstream-${index}`).map((name) =>
    sampleUpstream({ name, budgets: [budgetOf(name)], schedule: sampleSchedule(60_000, name) }),
  );
  return {
    groups: groupsOf(all),
    namesOf: namesNeededBy(all),
    digest,
  };
}
