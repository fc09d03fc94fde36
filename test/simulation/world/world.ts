import { VirtualClock } from "../../support/virtual/clock.ts";
import { Dice } from "../generate/dice.ts";
import { accountsFault, idleUpstream, lostUpstream, pollsSoFar } from "../judge/expectations.ts";
import { Disk } from "./disk.ts";
import { Life } from "./life.ts";
import { LifeClock } from "./life-clock.ts";
import { Network } from "./network.ts";
import { recoveryOf, setupsOf, type Recovery } from "../judge/recovery.ts";
import type { Happening, Scenario, Setup } from "./scenario.ts";
import { Story, type StoryListener } from "../story/story.ts";
import { Traffic } from "./traffic.ts";
import type { Violation, ViolationKind } from "../judge/violation.ts";
import { describeHappening } from "../story/wording.ts";

const SAMPLE_EVERY_MS = 20_000;

/** One life of the process after another, in the world that a scenario decides. */
export class World {
  readonly clock: VirtualClock = new VirtualClock();
  readonly traffic: Traffic;
  readonly #scenario: Scenario;
  readonly #setups: readonly Setup[];
  readonly #recovery: Recovery;
  readonly #story: Story;
  readonly #network: Network;
  readonly #dice: Dice;
  readonly #disk = new Disk();
  #reloads = 0;
  #life: Life | undefined;
  #lives = 0;
  #violation: Violation | undefined;

  constructor(scenario: Scenario, listener: StoryListener | undefined) {
    this.#scenario = scenario;
    this.#setups = setupsOf(scenario);
    this.#recovery = recoveryOf(scenario, this.#setups);
    this.#story = new Story(() => this.clock.now(), listener);
    this.#dice = new Dice(scenario.seed);
    this.traffic = new Traffic({
      clock: this.clock,
      scenario,
      setups: this.#setups,
      calmFromMs: this.#recovery.calmFromMs,
      dice: this.#dice,
      story: this.#story,
      lifeOf: (number) => (this.#life?.number === number ? this.#life : undefined),
      currentSetup: () => this.#life?.setup,
      disk: this.#disk,
      violate: (kind, text) => this.#violate(kind, text),
    });
    this.#network = new Network(this.traffic);
  }

  get violation(): Violation | undefined {
    return this.#violation;
  }

  get lives(): number {
    return this.#lives;
  }

  async run(): Promise<void> {
    const { recoveredAtMs, endMs } = this.#recovery;
    for (const happening of this.#scenario.happenings) {
      this.clock.after(happening.atMs, () => this.#happen(happening));
    }
    this.#sampleEvery();
    this.clock.after(recoveredAtMs, () => this.#expectRecovered());
    this.#beginLife();
    await this.clock.advance(endMs);
    this.#sample();
    this.#life?.clock.die();
  }

  /** What the config file says now. */
  get #setup(): Setup {
    return this.#setups[this.#reloads] ?? this.#scenario.setup;
  }

  #violate(kind: ViolationKind, text: string | undefined): void {
    if (text === undefined || this.#violation !== undefined) return;
    this.#violation = { kind, atMs: this.clock.now(), text };
    this.#story.tell("event", () => `VIOLATION (${kind}): ${text}`);
    this.clock.halt();
  }

  #beginLife(): void {
    if (this.#life !== undefined) return;
    const number = (this.#lives += 1);
    const dice = this.#dice.fork(`life ${number}`);
    const { lagMs } = this.#scenario;
    const isCalm = (): boolean => this.clock.now() >= this.#recovery.calmFromMs;
    const lag = (): number => (lagMs === 0 || isCalm() ? 0 : dice.between(0, lagMs));
    const clock = new LifeClock(this.clock, dice.whole(0, 10_000_000), lag);
    this.#story.tell("event", () => `life ${number} begins`);
    const life = new Life(this.#setup, {
      number,
      clock,
      home: this.#disk.homeOf(clock, this.#dice.fork(`disk of life ${number}`), () => !isCalm()),
      rows: this.#disk.rows,
      worldNowMs: () => this.clock.now(),
      network: this.#network,
      connectMsOf: (upstream) => this.traffic.connectMsOf(upstream),
      onViolation: (kind, text) => this.#violate(kind, text),
    });
    this.#life = life;
    life.begin();
  }

  #endLife(life: Life, downMs: number): void {
    if (this.#life !== life) return;
    this.#sample();
    life.clock.die();
    this.#life = undefined;
    this.clock.after(downMs, () => this.#beginLife());
  }

  #happen(happening: Happening): void {
    const life = this.#life;
    this.#story.tell("event", () => describeHappening(happening));
    switch (happening.kind) {
      case "weather":
        return this.traffic.begin(happening);
      case "crash":
        if (life === undefined) return;
        this.#endLife(life, happening.downMs);
        return this.#network.crash(life.number, happening.takesTheMachine);
      case "restart":
        life?.clock.after(0, () => void life.drain().then(() => this.#endLife(life, happening.downMs)));
        return;
      case "stall":
        return life?.clock.stall(happening.forMs);
      case "suspend":
        return life?.clock.suspend(happening.forMs);
      case "step":
        return this.clock.stepWall(happening.byMs);
      case "reload":
        this.#reloads += 1;
        life?.clock.after(0, () => {
          if (life.setup !== this.#setup) life.reload(this.#setup);
        });
        return;
      default:
        return happening satisfies never;
    }
  }

  #sampleEvery(): void {
    this.clock.after(SAMPLE_EVERY_MS, () => {
      this.#sample();
      this.#sampleEvery();
    });
  }

  #sample(): void {
    this.#violate("accounts", accountsFault(this.#life));
  }

  #expectRecovered(): void {
    const { recoveredAtMs, endMs } = this.#recovery;
    this.#violate("lost", lostUpstream(this.#life, this.#recovery));
    const before = pollsSoFar(this.#life);
    const withinMs = endMs - recoveredAtMs - 1;
    this.clock.after(withinMs, () => this.#violate("idle", idleUpstream(this.#life, before, withinMs)));
  }
}
