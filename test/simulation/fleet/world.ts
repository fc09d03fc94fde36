import { VirtualClock } from "../../support/virtual/clock.ts";
import { Dice } from "../generate/dice.ts";
import { LifeClock } from "../world/life-clock.ts";
import { Network } from "../world/network.ts";
import { Story, type StoryListener } from "../story/story.ts";
import { Traffic } from "../world/traffic.ts";
import type { Violation, ViolationKind } from "../judge/violation.ts";
import { fleetConfigOf } from "./config.ts";
import { accountsFault, idleUpstream, lostUpstream, pollsSoFar } from "./judge/expectations.ts";
import { fleetRecoveryOf, type FleetRecovery } from "./judge/recovery.ts";
import { drawRate } from "./generate/setup.ts";
import { FleetTraffic } from "./judge/traffic.ts";
import { Holdings } from "./judge/holdings.ts";
import type { FleetBoard } from "../../../src/core/fleet/board.ts";
import { Replica } from "./replica/replica.ts";
import type { FleetHappening, FleetScenario } from "./scenario.ts";
import { openMemory, type StoreMemory } from "./store/memory.ts";
import { StoreServer } from "./store/server.ts";
import { StoreRoute } from "./store/route.ts";
import { StoreWeather } from "./store/weather.ts";
import { describeFleetHappening } from "./wording.ts";

const SAMPLE_EVERY_MS = 20_000;

type Listeners = {
  readonly listener?: StoryListener | undefined;
  /** Of each replica, to count what it asks. */
  readonly watchBoard?: (board: FleetBoard) => FleetBoard;
};

/** Several replicas and the one store that they share, in the world that a scenario decides. */
export class FleetWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly traffic: Traffic;
  readonly server: StoreServer<StoreMemory>;
  readonly holdings: Holdings = new Holdings();
  readonly #scenario: FleetScenario;
  readonly #watchBoard: ((board: FleetBoard) => FleetBoard) | undefined;
  readonly #recovery: FleetRecovery;
  readonly #story: Story;
  readonly #dice: Dice;
  readonly #weather: StoreWeather;
  readonly #fleetTraffic: FleetTraffic;
  readonly #network: Network;
  /** By place; nobody where one crashed and is not back. */
  readonly #living = new Map<number, Replica>();
  readonly #lives: Replica[] = [];
  readonly #renamings = new Map<number, number>();
  #violation: Violation | undefined;

  constructor(scenario: FleetScenario, { listener, watchBoard }: Listeners = {}) {
    this.#scenario = scenario;
    this.#watchBoard = watchBoard;
    this.#recovery = fleetRecoveryOf(scenario);
    this.#story = new Story(() => this.clock.now(), listener);
    this.#dice = new Dice(scenario.seed);
    const isReplicated = scenario.happenings.some(({ kind }) => kind === "promote");
    this.server = new StoreServer(this.clock, scenario.storeRate, isReplicated, openMemory);
    this.#weather = new StoreWeather(this.clock);
    this.traffic = new Traffic({
      clock: this.clock,
      scenario,
      setups: [scenario.setup],
      calmFromMs: this.#recovery.calmFromMs,
      dice: this.#dice,
      story: this.#story,
      lifeOf: (life) => this.#lives[life - 1],
      currentSetup: () => scenario.setup,
      violate: (kind, text) => this.#violate(kind, text),
    });
    this.#fleetTraffic = new FleetTraffic({
      traffic: this.traffic,
      setup: scenario.setup,
      holdings: scenario.fleet.mode === "shard" ? this.holdings : undefined,
      nameOf: (life) => this.#lives[life - 1]?.name ?? "nobody",
      violate: (text) => this.#violate("twice", text),
    });
    this.#network = new Network(this.#fleetTraffic);
  }

  get violation(): Violation | undefined {
    return this.#violation;
  }

  /** All that ever lived. */
  get lives(): readonly Replica[] {
    return this.#lives;
  }

  get living(): readonly Replica[] {
    return [...this.#living.values()];
  }

  async run(): Promise<void> {
    const { recoveredAtMs, endMs } = this.#recovery;
    for (const happening of this.#scenario.happenings) {
      this.clock.after(happening.atMs, () => this.#happen(happening));
    }
    this.#sampleEvery();
    this.clock.after(recoveredAtMs, () => this.#expectRecovered());
    for (let place = 0; place < this.#scenario.running; place += 1) this.#begin(place);
    await this.clock.advance(endMs);
    this.#sample();
    for (const replica of this.living) replica.clock.die();
  }

  #violate(kind: ViolationKind, text: string | undefined): void {
    if (text === undefined || this.#violation !== undefined) return;
    this.#violation = { kind, atMs: this.clock.now(), text };
    this.#story.tell("event", () => `VIOLATION (${kind}): ${text}`);
    this.clock.halt();
  }

  #begin(place: number): void {
    if (this.#living.has(place)) return;
    const life = this.#lives.length + 1;
    const renamings = this.#renamings.get(place) ?? 0;
    const name = `r${place}${"x".repeat(renamings)}`;
    const dice = this.#dice.fork(`life ${life}`);
    const { lagMs, wayMs, setup, fleet } = this.#scenario;
    const world = this.clock;
    const isCalm = (): boolean => world.now() >= this.#recovery.calmFromMs;
    const lag = (): number => (lagMs === 0 || isCalm() ? 0 : dice.between(0, lagMs));
    const rate = drawRate(dice.fork("rate"));
    const clock = new LifeClock(world, dice.whole(0, 10_000_000), lag, rate);
    const way = new StoreRoute({
      world,
      clock,
      server: this.server,
      weather: this.#weather,
      replica: place,
      dice: dice.fork("way"),
      wayMs,
    });
    this.#story.tell("event", () => `${name} begins (life ${life})`);
    const replica = new Replica({
      life,
      place,
      name,
      clock,
      worldNowMs: () => world.now(),
      isCalm,
      setup,
      config: fleetConfigOf(setup, fleet, name),
      way,
      network: this.#network,
      dice,
      watchBoard: this.#watchBoard,
      onClaimed: (names) =>
        this.holdings.claimed(
          life,
          names.filter((each) => each.startsWith("u:")).map((each) => each.slice(2)),
        ),
      onBug: (text) => this.#violate("bug", `${name}: ${text}`),
    });
    this.#lives.push(replica);
    this.#living.set(place, replica);
  }

  #end(replica: Replica, downMs: number): void {
    if (this.#living.get(replica.place) !== replica) return;
    this.#sample();
    replica.clock.die();
    this.#living.delete(replica.place);
    this.clock.after(downMs, () => this.#begin(replica.place));
  }

  #happen(happening: FleetHappening): void {
    this.#story.tell("event", () => describeFleetHappening(happening));
    switch (happening.kind) {
      case "weather":
        return this.traffic.begin(happening);
      case "crash":
        return this.#crash(happening);
      case "restart": {
        const replica = this.#living.get(happening.replica);
        const end = (): void => replica && this.#end(replica, happening.downMs);
        replica?.clock.after(0, () => void replica.drain().then(end));
        return;
      }
      case "stall":
        return this.#living
          .get(happening.replica)
          ?.stall(happening.forMs, happening.whileConnecting ?? false);
      case "cut":
        return this.#weather.cut(happening.replica, happening.forMs);
      case "away":
        return this.#weather.away(happening.forMs, happening.refuses);
      case "slow":
        return this.#weather.slow(happening.forMs);
      case "lossy":
        return this.#weather.lossy(happening.forMs);
      case "empty":
        return this.server.empty(happening.restarts);
      case "promote":
        return this.server.promote(happening.lostMs);
      case "step":
        return this.server.stepClock(happening.byMs);
      default:
        return happening satisfies never;
    }
  }

  #crash({ replica: place, ...how }: Extract<FleetHappening, { kind: "crash" }>): void {
    const replica = this.#living.get(place);
    if (replica === undefined) return;
    if (how.comesBackRenamed) this.#renamings.set(place, (this.#renamings.get(place) ?? 0) + 1);
    this.#end(replica, how.downMs);
    this.#network.crash(replica.life, how.takesTheMachine);
    this.#fleetTraffic.forget(replica.life);
  }

  #sampleEvery(): void {
    this.clock.after(SAMPLE_EVERY_MS, () => {
      this.#sample();
      this.#sampleEvery();
    });
  }

  #sample(): void {
    this.#violate("accounts", accountsFault(this.#living.values()));
  }

  #expectRecovered(): void {
    const { recoveredAtMs, endMs } = this.#recovery;
    const { style } = this.#scenario;
    // Where more is asked for than there is, somebody goes without.
    if (style === "greedy") return;
    this.#violate("lost", lostUpstream(this.#scenario, this.living, this.#recovery));
    if (style !== "roomy") return;
    const before = pollsSoFar(this.#scenario, this.#lives);
    const withinMs = endMs - recoveredAtMs - 1;
    this.clock.after(withinMs, () => {
      const after = pollsSoFar(this.#scenario, this.#lives);
      this.#violate("idle", idleUpstream(this.#scenario, this.living, before, after, withinMs));
    });
  }
}
