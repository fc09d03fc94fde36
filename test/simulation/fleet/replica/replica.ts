import { Holdings } from "../../../../src/core/fleet/holdings.ts";
import type { FleetBoard } from "../../../../src/core/fleet/board.ts";
import type { Config, Upstream } from "../../../../src/core/config/config.ts";
import type { Probe } from "../../../../src/core/poll/ports.ts";
import { UpstreamPauses } from "../../../../src/core/budget/pauses.ts";
import { Quotas } from "../../../../src/core/budget/quotas.ts";
import { groupsOf, namesNeededBy } from "../../../../src/core/fleet/groups.ts";
import { FleetLedger } from "../../../../src/engine/fleet/fleet-ledger.ts";
import { FleetMembership } from "../../../../src/engine/fleet/membership.ts";
import { Supervisor } from "../../../../src/engine/poll/supervisor.ts";
import { virtualTriggers } from "../../../support/virtual/triggers.ts";
import type { Dice } from "../../generate/dice.ts";
import { Heard } from "../../judge/heard.ts";
import type { LifeClock } from "../../world/life-clock.ts";
import { WeatherBug, type Network } from "../../world/network.ts";
import type { Setup } from "../../world/scenario.ts";
import { credentialsOf } from "../../world/setup.ts";
import { Tally } from "../../judge/tally.ts";
import type { Inhabitant } from "../../world/traffic.ts";
import { FleetProbe } from "./probe.ts";
import { ReplicaPolling } from "./polling.ts";
import { boardOver } from "../store/ports.ts";
import type { StoreMemory } from "../store/memory.ts";
import type { StoreRoute } from "../store/route.ts";

export type ReplicaParts = {
  readonly life: number;
  /** Where it runs. */
  readonly place: number;
  readonly name: string;
  readonly clock: LifeClock;
  readonly worldNowMs: () => number;
  readonly isCalm: () => boolean;
  readonly setup: Setup;
  readonly config: Config;
  readonly way: StoreRoute<StoreMemory>;
  readonly network: Network;
  readonly dice: Dice;
  readonly watchBoard: ((board: FleetBoard) => FleetBoard) | undefined;
  readonly onClaimed: (upstreams: readonly string[]) => void;
  readonly onBug: (text: string) => void;
};

const SILENT = { debug() {}, info() {}, warn() {}, error() {} };

/** One life of one replica: the real supervisor, ledger and membership, put together as the app does it. */
export class Replica implements Inhabitant {
  readonly life: number;
  readonly place: number;
  readonly name: string;
  readonly clock: LifeClock;
  readonly setup: Setup;
  readonly heard: Inhabitant["heard"];
  readonly tallies: Map<string, Tally> = new Map();
  readonly membership: FleetMembership;
  readonly ledger: FleetLedger;
  readonly polling: ReplicaPolling;
  readonly #parts: ReplicaParts;
  readonly #supervisor: Supervisor;
  readonly #heard: Heard;
  #polls = 0;
  /** It is to stand still once it connects, if it does so soon. */
  #stall: { readonly forMs: number; readonly untilMs: number } | undefined;

  constructor(parts: ReplicaParts) {
    const { clock, config, way, watchBoard } = parts;
    this.#parts = parts;
    this.life = parts.life;
    this.place = parts.place;
    this.name = parts.name;
    this.clock = clock;
    this.setup = parts.setup;
    this.#heard = new Heard(parts.setup, parts.worldNowMs());
    this.heard = patient(this.#heard, config);
    const onBug = (error: unknown): void => {
      if (!(error instanceof WeatherBug))
        parts.onBug(error instanceof Error ? (error.stack ?? "") : String(error));
    };
    const ttlMs = config.fleet?.ttlMs ?? 0;
    const ofWay = boardOver(way, parts.onClaimed);
    const board = watchBoard?.(ofWay) ?? ofWay;
    const holdings = new Holdings({ name: parts.name, boot: `b${parts.life}`, ttlMs }, clock);
    this.ledger = openLedger(parts, board, holdings, onBug);
    const pauses = new UpstreamPauses(clock, new Map(), (upstream, { pausedUntilMs }) =>
      this.membership.tellings.pause(`u:${upstream}`, pausedUntilMs - clock.wallNow()),
    );
    this.#supervisor = new Supervisor({
      clock,
      ledger: this.ledger,
      pauses,
      triggers: virtualTriggers(clock),
      holds: config.fleet?.mode === "shard" ? (upstream) => holdings.has(upstream) : undefined,
      recorderOf: ({ name }) => this.#tallyFor(name),
      nextPollId: () => String((this.#polls += 1)),
      onBug,
    });
    this.polling = new ReplicaPolling({
      config,
      clock,
      supervisor: this.#supervisor,
      probeFor: (upstream) => this.#probeFor(upstream),
    });
    const { polling } = this;
    this.membership = new FleetMembership({
      clock,
      board,
      budgets: this.ledger,
      random: () => parts.dice.between(0, 1),
      log: SILENT,
      name: parts.name,
      url: () => `http://${parts.name}:10429`,
      ttlMs: ttlMs,
      holdings,
      isSharded: config.fleet?.mode === "shard",
      onBug,
      events: {
        onGained: (gained) => polling.gain(gained),
        onLost: (upstreams) => void this.#drop(upstreams, "cut off"),
        drain: (upstreams) => this.#drop(upstreams, "drain"),
        onPaused: (upstream, forMs) => {
          if (pauses.untilMs(upstream) < clock.now() + forMs - 1_000) pauses.pause(upstream, forMs);
        },
        records: () => new Map(),
      },
    });
    this.ledger.tellBy(this.membership.tellings);
    way.onBack(() => this.membership.beatSoon());
    this.membership.setConfig({
      groups: groupsOf(config.upstreams),
      namesOf: namesNeededBy(config.upstreams),
      digest: "one",
    });
    this.membership.start();
    if (config.fleet?.mode === "everywhere") polling.everything();
  }

  stall(forMs: number, whileConnecting: boolean): void {
    if (whileConnecting) this.#stall = { forMs, untilMs: this.#parts.worldNowMs() + forMs };
    else this.clock.stall(forMs);
  }

  #stallIfDue(): void {
    const due = this.#stall;
    this.#stall = undefined;
    if (due !== undefined && this.#parts.worldNowMs() < due.untilMs) this.clock.stall(due.forMs);
  }

  async drain(): Promise<void> {
    this.membership.leave();
    await this.#supervisor.drain();
    await this.membership.close();
  }

  /** What the world counts of it: its own tallies know what its probes were asked for. */
  tallyOf(_name: string): { sent: number; ended: number } {
    return { sent: 0, ended: 0 };
  }

  /** What an upstream asked for by itself is forgotten with it, as at a reload that takes it out of the config. */
  #drop(names: readonly string[], how: "drain" | "cut off"): Promise<void> {
    const { setup, worldNowMs } = this.#parts;
    const upstreams = setup.upstreams.filter(({ name }) => !names.includes(name));
    this.#heard.reload({ ...setup, upstreams }, worldNowMs());
    this.#heard.reload(setup, worldNowMs());
    return this.polling.drop(names, how);
  }

  #tallyFor(name: string): Tally {
    const known = this.tallies.get(name);
    if (known !== undefined) return known;
    const tally = new Tally(() => {}, this.#parts.worldNowMs);
    this.tallies.set(name, tally);
    return tally;
  }

  #probeFor(upstream: Upstream): Probe {
    const { network, clock, life, setup, dice } = this.#parts;
    const { name } = upstream;
    const credentials = credentialsOf(setup, upstream);
    return new FleetProbe(
      { life, clock, upstream, credentials },
      network,
      this.#tallyFor(name),
      dice.fork(`connections to ${name}`),
      this.#parts.isCalm,
      () => this.#stallIfDue(),
    );
  }
}

/**
 * A lease that was asked for before a pause was heard may still be used: on its way, and then while connecting. For how
 * long a pause without a hint lasts is decided by who heard of it first, in the whole fleet.
 */
function patient(heard: Heard, { upstreams }: Config): Inhabitant["heard"] {
  const graceMs = 1_500 + Math.max(...upstreams.map(({ timeoutMs }) => timeoutMs));
  const none: ReadonlyMap<number, number> = new Map();
  return {
    hear: (flight, words, budget, nowMs) => {
      if (words.pause?.forMs !== undefined) heard.hear(flight, words, budget, nowMs);
    },
    pauseBroken: (who, nowMs) =>
      heard.pauseBroken(who, nowMs - graceMs) === undefined ? undefined : heard.pauseBroken(who, nowMs),
    loweredCaps: () => none,
  };
}

/** The ledger of one life of one replica. */
function openLedger(
  { config, clock }: ReplicaParts,
  board: FleetBoard,
  holdings: Holdings,
  onBug: (error: unknown) => void,
): FleetLedger {
  if (config.fleet === undefined) throw new Error("cannot open a ledger: the config must have a fleet");
  const quotas = new Quotas(clock);
  return new FleetLedger(config, { fleet: config.fleet, board, holdings, clock, quotas, onBug });
}
