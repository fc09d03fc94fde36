import type { Reign } from "../../../src/features/fleet/lead/reign.ts";
import { type LeadClock, Leader } from "../../../src/features/fleet/lead/leader.ts";
import type { BudgetTerms } from "../../../src/features/fleet/lead/notes.ts";
import type { Reading, Register, Written } from "../../../src/features/fleet/lead/register.ts";
import { seededRandom } from "../../../src/simulator/randomness.ts";
import type { Note } from "../../../src/kernel/text/notes.ts";
import { LATE, within } from "../../../src/platform/within.ts";
import { VirtualClock } from "../virtual/clock.ts";

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** In which clocks run, by which nobody's are compared. */
const FASTEST = 1.1;
const SLOWEST = 0.9;

export type WorldOptions = {
  readonly seed: number;
  readonly ttlMs?: number;
  readonly isDrifting?: boolean;
  /** Each of these is one config: its budgets. */
  readonly configs?: readonly (readonly BudgetTerms[])[];
};

export type Faults = {
  /** Of messages, each way. */
  loss: number;
  repeats: number;
  /** Arrive after up to 5 ttl. */
  stragglers: number;
};

/** One budget that is paced through a restart, and one that waits for whole windows. */
export function budgets(version: string, windowMs: number): readonly BudgetTerms[] {
  return [
    { budget: "paced", digest: `p${version}`, coldMs: 60, wholeMs: windowMs },
    { budget: "whole", digest: `w${version}`, coldMs: windowMs, wholeMs: windowMs },
  ];
}

type Kept = { readonly text: string | undefined; readonly writtenIn: number };

/** One value of the server, and all that it ever was. */
class Value {
  now: Kept = { text: undefined, writtenIn: 0 };
  history: Kept[] = [this.now];

  set(kept: Kept): void {
    this.now = kept;
    this.history.push(kept);
    if (this.history.length > 400) this.history.shift();
  }

  setBack(states: number): void {
    this.history.length = Math.max(1, this.history.length - states);
    this.now = this.history.at(-1) ?? this.now;
  }
}

/** Processes, their clocks, the network and the server of both registers, with an adversary's hands. Time is virtual. */
export class LockWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly random: () => number;
  readonly ttlMs: number;
  readonly isDrifting: boolean;
  readonly configs: readonly (readonly BudgetTerms[])[];
  readonly faults: Faults = { loss: 0, repeats: 0, stragglers: 0 };
  readonly lock: Value = new Value();
  readonly notes: Value = new Value();
  readonly judge: LeadJudge;
  processes: Process[] = [];
  era = 1;
  isUp = true;
  config = 0;
  lives = 0;
  #ids = 0;

  constructor({ seed, ttlMs = 10_000, isDrifting = true, configs = [budgets("a", 15_000)] }: WorldOptions) {
    this.random = seededRandom(seed);
    this.ttlMs = ttlMs;
    this.isDrifting = isDrifting;
    this.configs = configs;
    this.judge = new LeadJudge(this);
    this.#look();
  }

  get nowMs(): number {
    return this.clock.now();
  }

  newId(): string {
    this.#ids += 1;
    return String(this.#ids);
  }

  between(lowest: number, highest: number): number {
    return lowest + (highest - lowest) * this.random();
  }

  get live(): readonly Process[] {
    return this.processes.filter(({ isAlive }) => isAlive);
  }

  get leader(): Process | undefined {
    return this.live.find(({ reign }) => reign?.maySend() === true);
  }

  spawn(name: string, ttlMs: number = this.ttlMs): Process {
    const process = new Process(this, name, ttlMs);
    this.lives += 1;
    this.processes = [...this.processes.filter((each) => each.isAlive), process];
    return process;
  }

  run(ms: number): Promise<void> {
    return this.clock.advance(ms);
  }

  emptied(): void {
    this.judge.isLossy = true;
    for (const value of [this.lock, this.notes]) value.set({ text: undefined, writtenIn: 0 });
  }

  /** To an older state, as another server or the same one restarted. */
  setBack(states: number, downMs: number): void {
    this.isUp = false;
    this.judge.isLossy = true;
    this.clock.after(downMs, () => {
      this.isUp = true;
      this.era += 1;
      this.lock.setBack(states);
      this.notes.setBack(Math.floor(this.random() * (states + 1)));
    });
  }

  outage(ms: number, isRestart: boolean): void {
    this.isUp = false;
    this.clock.after(ms, () => {
      this.isUp = true;
      if (isRestart) this.era += 1;
    });
  }

  /** Reloads wherever it runs, some time later: until then, configs differ. */
  reconfigure(): void {
    this.config = (this.config + 1) % this.configs.length;
    for (const process of this.live) {
      if (this.random() < 0.5) this.clock.after(this.between(0, 20_000), () => process.reload(this.config));
    }
  }

  /** The register as the server has it. */
  register(value: Value): Register {
    return {
      read: () => Promise.resolve(this.#read(value)),
      write: (text, version) => Promise.resolve(this.#write(value, text, version)),
    };
  }

  /** The register as one process reaches it, which gives a call up in time. */
  registerOf(process: Process, value: Value): Register {
    return {
      read: () => process.inTime(this.#call(process, () => this.#read(value))),
      write: (text, version) => process.inTime(this.#call(process, () => this.#write(value, text, version))),
    };
  }

  #read({ now: { text, writtenIn } }: Value): Reading {
    return {
      era: String(this.era),
      value: text,
      version: `${this.era} ${text ?? ""}`,
      isSure: writtenIn === this.era,
    };
  }

  #write(value: Value, text: string, version: string): Written {
    if (this.#read(value).version !== version) return { kind: "changed" };
    value.set({ text, writtenIn: this.era });
    return { kind: "written", version: this.#read(value).version };
  }

  #call<Result>(process: Process, apply: () => Result): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const { loss, repeats } = this.faults;
    const arrive = (): void => {
      if (!this.isUp) {
        if (this.random() < 0.5) this.#back(process, () => reject(new Error("away")));
        return;
      }
      const result = apply();
      this.#back(process, () => resolve(result));
    };
    if (process.isCut.up > 0 || this.random() < loss) return promise;
    this.clock.after(this.#delay(process), arrive);
    if (this.random() < repeats) this.clock.after(this.#delay(process), arrive);
    return promise;
  }

  #back(process: Process, answer: () => void): void {
    if (process.isCut.down > 0 || this.random() < this.faults.loss) return;
    this.clock.after(this.#delay(process), () => {
      process.act(answer);
      // After what it brought.
      this.clock.after(0, () => this.judge.look());
    });
  }

  #delay({ slowMs }: Process): number {
    const strayMs = this.random() < this.faults.stragglers ? this.random() ** 2 * 5 * this.ttlMs : 0;
    return this.between(1, 9) + strayMs + slowMs * this.between(0.5, 1);
  }

  #look(): void {
    this.judge.look();
    for (const process of this.live) if (this.random() < 0.02) process.learn();
    this.clock.after(100, () => this.#look());
  }
}

/** One process, with clocks of its own. */
export class Process {
  readonly name: string;
  readonly id: string;
  readonly #world: LockWorld;
  readonly #clock: ProcessClock;
  readonly #leader: Leader;
  readonly #ttlMs: number;
  readonly isCut: { up: number; down: number } = { up: 0, down: 0 };
  slowMs = 0;
  isAlive = true;
  isStopping = false;
  isPaused = false;
  reign: Reign | undefined;
  facts: readonly number[] = [];
  foreignTold = 0;
  /** By its monotonic clock. */
  readonly sentAtMs: Map<string, number> = new Map();
  #config: number;
  #inbox: (() => void)[] = [];

  constructor(world: LockWorld, name: string, ttlMs: number) {
    this.#world = world;
    this.name = name;
    this.id = world.newId();
    this.#config = world.config;
    this.#clock = new ProcessClock(world, this);
    this.#ttlMs = ttlMs;
    this.#leader = new Leader({
      lock: world.registerOf(this, world.lock),
      notes: world.registerOf(this, world.notes),
      clock: this.#clock,
      ttlMs,
      name,
      url: undefined,
      digest: () => String(this.#config),
      terms: () => this.terms,
      key: "lock",
      log: { ...SILENT, error: () => (this.foreignTold += 1) },
      random: world.random,
      newId: () => world.newId(),
      onLead: (reign) => this.#lead(reign),
      onLost: () => (this.reign = undefined),
    });
  }

  get terms(): readonly BudgetTerms[] {
    return this.#world.configs[this.#config] ?? [];
  }

  get state(): Leader["state"] {
    return this.#leader.state;
  }

  #lead(reign: Reign): void {
    const { judge, clock } = this.#world;
    this.reign = reign;
    this.facts = reign.left?.notes.map(({ json }) => Number(json)) ?? [];
    reign.home(() => this.facts.map((fact): Note => ({ kind: "fact", key: String(fact), json: fact })));
    this.sentAtMs.clear();
    judge.tookOver(this);
    for (const { budget } of this.terms) {
      const inMs = Math.max(0, reign.startsAtMs(budget) - this.#clock.now()) / this.#clock.rate;
      clock.after(inMs + 0.01, () => judge.look());
    }
  }

  async inTime<Answer>(asked: Promise<Answer>): Promise<Answer> {
    const answer = await within(this.#ttlMs / 4, asked, this.#clock);
    if (answer === LATE) throw new Error("no answer in time");
    return answer;
  }

  /** What it is to do now, or when it goes on. */
  act(what: () => void): void {
    if (this.isPaused) this.#inbox.push(what);
    else if (this.isAlive) what();
  }

  maySend(budget: string): boolean {
    return this.isAlive && !this.isPaused && this.reign?.maySend(budget) === true;
  }

  sent(budget: string): void {
    this.sentAtMs.set(budget, this.#clock.now());
  }

  learn(): void {
    const { reign } = this;
    if (this.isPaused || reign?.maySend() !== true) return;
    const fact = this.#world.judge.newFact();
    this.facts = [...this.facts, fact];
    void reign.write().then((isNoted) => {
      if (isNoted && this.isAlive) this.#world.judge.noted(fact);
    });
  }

  reload(config: number): void {
    this.act(() => {
      this.#config = config;
      this.reign?.termsChanged();
    });
  }

  kill(): void {
    this.isAlive = false;
  }

  stop(drainMs: number): void {
    this.act(() => {
      if (this.isStopping) return;
      this.isStopping = true;
      const drained = this.#clock.sleep(drainMs).then(() => this.#leases());
      void this.#leader.stop(drained).then(() => this.kill());
    });
  }

  #leases(): ReadonlyMap<string, number> {
    const nowMs = this.#clock.now();
    const leftMs = ({ budget, wholeMs }: BudgetTerms): number => {
      const sentAtMs = this.sentAtMs.get(budget);
      return sentAtMs === undefined ? 0 : Math.max(0, sentAtMs + wholeMs - nowMs);
    };
    return new Map(this.terms.map((terms) => [terms.budget, leftMs(terms)]));
  }

  /** The process, or with `isSuspended` the machine with its monotonic clock. */
  pause(ms: number, isSuspended: boolean): void {
    if (!this.isAlive || this.isPaused) return;
    this.isPaused = true;
    if (isSuspended) this.#clock.freeze();
    this.#world.clock.after(ms, () => {
      this.isPaused = false;
      this.#clock.thaw();
      const { judge, clock, random } = this.#world;
      judge.look();
      const waiting = this.#inbox.splice(0);
      // Timers and messages in whatever order the machine has them.
      if (random() < 0.5) waiting.reverse();
      for (const what of waiting) this.act(what);
      clock.after(0, () => judge.look());
    });
  }

  cut(ms: number, ways: { readonly up: boolean; readonly down: boolean }): void {
    const add = (by: number): void => {
      this.isCut.up += ways.up ? by : 0;
      this.isCut.down += ways.down ? by : 0;
    };
    add(1);
    this.#world.clock.after(ms, () => add(-1));
  }
}

class ProcessClock implements LeadClock {
  readonly #world: LockWorld;
  readonly #process: Process;
  readonly rate: number;
  readonly #bootRate: number;
  #trueMs: number;
  #monoMs: number;
  #bootMs: number;
  #isFrozen = false;

  constructor(world: LockWorld, process: Process) {
    this.#world = world;
    this.#process = process;
    const rate = (): number => (world.isDrifting ? world.between(SLOWEST, FASTEST) : 1);
    this.rate = rate();
    this.#bootRate = rate();
    this.#trueMs = world.nowMs;
    this.#monoMs = world.between(0, 1_000);
    this.#bootMs = world.between(0, 1e6);
  }

  now(): number {
    this.#pass();
    return this.#monoMs;
  }

  sinceBootMs(): number {
    this.#pass();
    return this.#bootMs;
  }

  /** Steps at will: nothing may hang on it. */
  wallNow(): number {
    return this.#world.between(0, 1e12);
  }

  sleep(delayMs: number, signal?: AbortSignal): Promise<void> {
    const untilMs = this.now() + delayMs;
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      const wake = (): void => {
        const leftMs = untilMs - this.now();
        if (leftMs > 1e-6) this.#after(leftMs, wake);
        else resolve();
      };
      signal?.addEventListener("abort", () => resolve(), { once: true });
      this.#after(delayMs, wake);
    });
  }

  freeze(): void {
    this.#pass();
    this.#isFrozen = true;
  }

  thaw(): void {
    this.#pass();
    this.#isFrozen = false;
  }

  #after(ms: number, fire: () => void): void {
    this.#world.clock.after(ms / this.rate, () => this.#process.act(fire));
  }

  #pass(): void {
    const passedMs = this.#world.nowMs - this.#trueMs;
    this.#trueMs += passedMs;
    if (!this.#isFrozen) this.#monoMs += passedMs * this.rate;
    this.#bootMs += passedMs * this.#bootRate;
  }
}

type Sent = { readonly process: Process; readonly terms: BudgetTerms; atMs: number };

/** By true time, and by what each process believes at that moment. */
export class LeadJudge {
  readonly #world: LockWorld;
  readonly #budgets: ReadonlySet<string>;
  readonly wrongs: string[] = [];
  /** The registers lost something: then notes may be missing. */
  isLossy = false;
  /** The longest time from then until now that nobody polled this budget. */
  readonly silentMs: Map<string, number> = new Map();
  readonly #lastAtMs: Map<string, number> = new Map();
  /** By budget, of each process and digest. */
  readonly #sent: Map<string, Sent[]> = new Map();
  readonly #noted: Set<number> = new Set();
  #facts = 0;

  constructor(world: LockWorld) {
    this.#world = world;
    this.#budgets = new Set(world.configs.flat().map(({ budget }) => budget));
  }

  newFact(): number {
    this.#facts += 1;
    return this.#facts;
  }

  noted(fact: number): void {
    this.#noted.add(fact);
  }

  tookOver({ id, facts }: Process): void {
    if (this.isLossy) return;
    const lost = [...this.#noted].filter((fact) => !facts.includes(fact));
    if (lost.length > 0) this.#wrong(`notes lost: ${id} does not know ${lost.join()}`);
  }

  /** From now on silence is measured anew. */
  mark(): void {
    this.silentMs.clear();
    for (const budget of this.#budgets) this.#lastAtMs.set(budget, this.#world.nowMs);
  }

  look(): void {
    const nowMs = this.#world.nowMs;
    const live = this.#world.processes.filter(({ isAlive, reign }) => isAlive && reign !== undefined);
    for (const budget of this.#budgets) {
      const able = live.filter((process) => process.maySend(budget));
      if (able.length > 1) this.#wrong(`two may send: ${able.map(({ id }) => id).join()}`);
      const silentMs = nowMs - (this.#lastAtMs.get(budget) ?? nowMs);
      this.silentMs.set(budget, Math.max(this.silentMs.get(budget) ?? 0, silentMs));
      if (able.length === 0) continue;
      this.#lastAtMs.set(budget, nowMs);
      for (const process of able) this.#sends(process, budget);
    }
  }

  #sends(process: Process, budget: string): void {
    const nowMs = this.#world.nowMs;
    const terms = process.terms.find((each) => each.budget === budget);
    if (terms === undefined) return;
    const all = this.#sent.get(budget) ?? [];
    for (const last of all) {
      if (last.process === process) continue;
      const isSame = last.terms.digest === terms.digest;
      // What only the registers knew is lost with them: then it is as after a restart.
      if (!isSame && this.isLossy) continue;
      const coldMs = isSame ? terms.coldMs : Math.max(terms.wholeMs, last.terms.wholeMs);
      const needMs = coldMs * (this.#world.isDrifting ? SLOWEST : 1) - 1;
      const gapMs = nowMs - last.atMs;
      if (gapMs < needMs)
        this.#wrong(
          `cold start cut short: ${budget} ${last.process.id} to ${process.id}, ${gapMs} of ${needMs}`,
        );
    }
    process.sent(budget);
    const own = all.find((last) => last.process === process && last.terms.digest === terms.digest);
    if (own !== undefined) own.atMs = nowMs;
    else this.#sent.set(budget, [...all.slice(-20), { process, terms, atMs: nowMs }]);
  }

  #wrong(what: string): void {
    if (this.wrongs.length < 20) this.wrongs.push(`${Math.round(this.#world.nowMs)}: ${what}`);
  }
}
