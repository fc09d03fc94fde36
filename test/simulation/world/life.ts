import { looksAgain } from "../../../src/proof/looking-again.ts";
import type { Upstream } from "../../../src/kernel/config/config.ts";
import { TestLedger } from "../../support/test-ledger.ts";
import type { Observation } from "../../../src/kernel/exchange/exchange.ts";
import type { Probe } from "../../../src/kernel/poll/ports.ts";
import type { QuotaRow } from "../../../src/features/quota/quota.ts";
import type { NoteHome } from "../../../src/kernel/text/notes.ts";
import { Supervisor } from "../../../src/kernel/polling/supervisor.ts";
import { virtualTriggers } from "../../support/virtual/triggers.ts";
import { Fairness } from "../judge/fairness.ts";
import { Heard } from "../judge/heard.ts";
import type { LifeClock } from "./life-clock.ts";
import { WeatherBug, type Network } from "./network.ts";
import type { Setup } from "./scenario.ts";
import { configOf, credentialsOf, servedInTime } from "./setup.ts";
import { Tally, type Turn } from "../judge/tally.ts";
import { PROOF_PARTS } from "../../../src/app/features/proof.ts";

export type LifeParts = {
  readonly number: number;
  readonly clock: LifeClock;
  readonly worldNowMs: () => number;
  readonly network: Network;
  readonly connectMsOf: (upstream: Upstream) => number;
  readonly home: NoteHome;
  /** Earlier lives left these. */
  readonly rows: readonly QuotaRow[];
  onViolation(kind: "starving" | "bug", text: string): void;
};

/** One life of the process: the real supervisor, pollers, queue, timetable and ledger, from start to end. */
export class Life {
  readonly number: number;
  readonly clock: LifeClock;
  readonly heard: Heard;
  readonly tallies: Map<string, Tally> = new Map();
  readonly #parts: LifeParts;
  readonly #ledger: TestLedger;
  #looks: ReadonlyMap<string, number>;
  readonly #supervisor: Supervisor;
  readonly #lines = new Map<string, Fairness>();
  #setup: Setup;
  #inTime: { readonly setup: Setup; readonly upstreams: ReadonlySet<Upstream> } | undefined;
  #polls = 0;
  #isDraining = false;

  constructor(setup: Setup, parts: LifeParts) {
    const { clock, home, rows } = parts;
    this.#parts = parts;
    this.#setup = setup;
    this.number = parts.number;
    this.clock = clock;
    this.heard = new Heard(setup, parts.worldNowMs());
    const config = configOf(setup);
    this.#looks = looksAgain(config, PROOF_PARTS);
    this.#ledger = new TestLedger(config, clock, { quotas: { rows, lostHours: [] }, homes: [home] });
    this.#supervisor = new Supervisor({
      clock,
      ...this.#ledger.polling,
      triggers: virtualTriggers(clock),
      recorderOf: ({ name }) => this.tallyOf(name),
      looksOf: (name) => this.#looks.get(name) ?? 0,
      nextPollId: () => String((this.#polls += 1)),
      onBug: (error) => {
        if (!(error instanceof WeatherBug)) parts.onViolation("bug", String(error));
      },
    });
  }

  /** A lease that is free is granted, and its request sent, at once. */
  begin(): void {
    this.#supervisor.apply(configOf(this.#setup), this.#probesFor(this.#setup.upstreams));
  }

  get setup(): Setup {
    return this.#setup;
  }

  /** As the app does it: in one step, with new probes for what changed. */
  reload(setup: Setup): void {
    if (this.#isDraining) return;
    const known = new Set(this.#setup.upstreams);
    this.#setup = setup;
    this.heard.reload(setup, this.#parts.worldNowMs());
    for (const line of this.#lines.values()) line.clear();
    const config = configOf(setup);
    this.#looks = looksAgain(config, PROOF_PARTS);
    this.#ledger.change(config);
    this.#supervisor.apply(
      config,
      this.#probesFor(setup.upstreams.filter((upstream) => !known.has(upstream))),
    );
  }

  drain(): Promise<void> {
    this.#isDraining = true;
    return this.#supervisor.drain();
  }

  tallyOf(name: string): Tally {
    const known = this.tallies.get(name);
    if (known !== undefined) return known;
    const tally = new Tally((turn) => this.#take(turn, name), this.#parts.worldNowMs);
    this.tallies.set(name, tally);
    return tally;
  }

  /** Where some budgets are too crowded for that, nobody there is promised a turn. */
  #isPromisedTurns(upstream: Upstream): boolean {
    if (this.#inTime?.setup !== this.#setup)
      this.#inTime = { setup: this.#setup, upstreams: new Set(servedInTime(this.#setup)) };
    return this.#inTime.upstreams.has(upstream);
  }

  #take(turn: Turn, name: string): void {
    const upstream = this.#setup.upstreams.find((each) => each.name === name);
    // One that a reload took away still ends what it began.
    if (upstream === undefined || !this.#isPromisedTurns(upstream)) return;
    for (const budget of upstream.budgets) {
      const line = this.#lines.get(budget) ?? new Fairness();
      this.#lines.set(budget, line);
      const starving = line[turn](upstream);
      if (starving !== undefined) this.#parts.onViolation("starving", starving);
    }
  }

  #probesFor(upstreams: readonly Upstream[]): Map<string, Probe> {
    return new Map(upstreams.map((upstream) => [upstream.name, this.#probeFor(upstream)]));
  }

  #probeFor(upstream: Upstream): Probe {
    const { network, clock, number } = this.#parts;
    const credentials = credentialsOf(this.#setup, upstream);
    const sender = { life: number, clock, upstream, credentials, setup: this.#setup };
    return {
      poll: async (signal, mayWrite = () => true) => {
        const tookMs = await this.#connected(upstream, signal, mayWrite);
        if (tookMs === undefined) return UNSENT;
        const timeoutMs = upstream.timeoutMs - tookMs;
        return network.send({ ...sender, upstream: { ...upstream, timeoutMs } }, signal);
      },
      close: () => Promise.resolve(),
    };
  }

  /** How long it took to connect; undefined where nothing may be sent any more. */
  async #connected(
    upstream: Upstream,
    signal: AbortSignal,
    mayWrite: () => boolean,
  ): Promise<number | undefined> {
    const { clock, connectMsOf } = this.#parts;
    const connectMs = connectMsOf(upstream);
    if (connectMs === 0) return 0;
    const tally = this.tallyOf(upstream.name);
    const beganMs = clock.now();
    tally.connecting += 1;
    await clock.sleep(connectMs, signal);
    tally.connecting -= 1;
    const tookMs = clock.now() - beganMs;
    if (!signal.aborted && tookMs < upstream.timeoutMs && mayWrite()) return tookMs;
    tally.sent += 1;
    tally.ended += 1;
    return undefined;
  }
}

const UNSENT: Observation = {
  exchange: { kind: "broken", fault: "timeout", detail: "", sent: false, head: undefined },
  durationMs: 0,
  phasesMs: {},
  certificateExpiresAtMs: undefined,
  withoutKeys: String,
};
