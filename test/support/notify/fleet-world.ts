import type { Receiver } from "../../../src/core/config/config.ts";
import {
  bulletinText,
  notifiedRecords,
  readBulletin,
  rememberedIn,
} from "../../../src/core/notify/bulletin.ts";
import type { Remembered } from "../../../src/core/notify/transitions.ts";
import type { HealthState } from "../../../src/core/poll/health.ts";
import type { Recorder } from "../../../src/core/poll/ports.ts";
import type { Incident } from "../../../src/core/status/status.ts";
import { Notifier } from "../../../src/engine/notify/notifier.ts";
import { VirtualClock } from "../virtual/clock.ts";
import { type Heard, TAKEN, type Taking } from "./world.ts";
import type { Message } from "../../../src/core/notify/message.ts";

export const TTL_MS = 10_000;
const BEAT_MS = TTL_MS / 5;

/** Among the news: somebody was told. */
const TOLD = "";

type Seen = { state: HealthState; incidents: Incident[] };

type Replica = {
  readonly name: string;
  readonly session: string;
  readonly notifier: Notifier;
  readonly recorders: ReadonlyMap<string, Recorder>;
  /** Of the upstreams that it polls. */
  readonly seen: Map<string, Seen>;
  /** What it knows of these is not on the board yet. */
  readonly news: Set<string>;
  isAlive: boolean;
};

/**
 * Replicas in virtual time, as their receivers, their board and their upstreams know them. Each beats by itself; one
 * that is killed is missed after one TTL. In `shard` each upstream is polled by one of them, else by all.
 */
export class FleetNotifyWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly heard: Heard[] = [];
  readonly board: Map<string, string> = new Map();
  readonly #names: readonly string[];
  readonly #receivers: readonly Receiver[];
  readonly #isSharded: boolean;
  readonly #down = new Set<string>();
  readonly #holders = new Map<string, Replica>();
  readonly replicas: Replica[] = [];
  /** By session: when the board forgets it. */
  readonly #ends = new Map<string, number>();
  /** Incidents that a replica knew of when it was killed, and nobody else. */
  readonly lost: Set<string> = new Set();
  take: (receiver: string, message: Message) => Taking = () => TAKEN;
  random: () => number = () => 0.5;
  #lives = 0;
  #publishedReign: string | undefined;

  constructor(receivers: readonly Receiver[], upstreams: readonly string[], isSharded: boolean) {
    this.#receivers = receivers;
    this.#names = upstreams;
    this.#isSharded = isSharded;
  }

  /** How often a replica has read what all of them told. */
  readings = 0;

  get nowMs(): number {
    return this.clock.wallNow();
  }

  get living(): readonly Replica[] {
    return this.replicas.filter(({ isAlive }) => isAlive);
  }

  start(name: string): void {
    const session = `${name}#${(this.#lives += 1)}`;
    const seen = new Map<string, Seen>();
    const notifier: Notifier = new Notifier(this.#receivers, {
      clock: this.clock,
      log: { debug() {}, info() {}, warn() {}, error() {} },
      random: this.random,
      send: (receiver, message) => this.#send(replica, receiver.name, message),
      keep: () => {
        replica.news.add(TOLD);
        this.#publish(replica);
      },
      keepSince() {},
      // Without a state file, all that one replica knows of another it has from the board.
      before: { since: new Map(), notified: [] },
      onBug: (error) => {
        throw error;
      },
      hear: async () => {
        await this.clock.sleep(1);
        if (this.#eldest() !== session) return undefined;
        const remembered = (): Remembered | undefined => {
          this.readings += 1;
          return rememberedIn(this.board);
        };
        return { reign: session, remembered };
      },
      view: () => ({
        upstream: (upstream) => ({
          labels: {},
          isUnsure: false,
          state: seen.get(upstream)?.state ?? this.#stateOnBoard(upstream),
        }),
        elsewhere: (known) =>
          new Set(
            [...this.#names.filter((each) => this.board.has(`u:${each}`)), ...known].filter(
              (each) => !seen.has(each),
            ),
          ),
        incidentsOf: (upstream) =>
          seen.get(upstream)?.incidents ??
          readBulletin(upstream, this.board.get(`u:${upstream}`) ?? "")?.incidents ??
          [],
        conditions: () => [],
        isWatched: () => true,
        words: () => undefined,
        of: this.#names.length,
        pageUrl: undefined,
      }),
    });
    const recorders = new Map(this.#names.map((each) => [each, notifier.recorderOf(each)]));
    const replica: Replica = { name, session, notifier, recorders, seen, news: new Set(), isAlive: true };
    this.replicas.push(replica);
    notifier.start();
    void this.#beat(replica);
  }

  /** In the middle of whatever it does. */
  kill(replica: Replica): void {
    replica.isAlive = false;
    void replica.notifier.close();
    for (const [upstream, { incidents }] of replica.seen) {
      const known = readBulletin(upstream, this.board.get(`u:${upstream}`) ?? "")?.incidents ?? [];
      const told = new Set(known.map(({ startedAtMs }) => startedAtMs));
      for (const { startedAtMs } of incidents)
        if (!told.has(startedAtMs) && this.#isSharded) this.lost.add(idOf(upstream, startedAtMs));
    }
  }

  /** It leaves in order: what it knows is on the board, and it is missed by nobody. */
  async stop(replica: Replica): Promise<void> {
    const closing = replica.notifier.close();
    await this.clock.advance(60_000);
    await closing;
    this.#publish(replica);
    replica.isAlive = false;
    this.#ends.delete(replica.session);
  }

  /** Whoever polls it sees it; where all do, some seconds one after the other. Returns the ids of what they see. */
  async fall(upstream: string): Promise<readonly string[]> {
    this.#down.add(upstream);
    return this.#see(upstream, (replica, seen) => {
      seen.incidents.unshift(incidentAt(upstream, this.nowMs - 1_000));
      this.#changed(replica, upstream, seen, "down");
      return idOf(upstream, this.nowMs - 1_000);
    });
  }

  async rise(upstream: string): Promise<void> {
    this.#down.delete(upstream);
    await this.#see(upstream, (replica, seen) => {
      this.#end(seen);
      this.#changed(replica, upstream, seen, "up");
      return "";
    });
  }

  isDown(upstream: string): boolean {
    return this.#down.has(upstream);
  }

  isWatched(upstream: string): boolean {
    return this.living.some(({ seen }) => seen.has(upstream));
  }

  async #see(upstream: string, see: (replica: Replica, seen: Seen) => string): Promise<readonly string[]> {
    const ids: string[] = [];
    for (const replica of this.living) {
      const seen = replica.seen.get(upstream);
      if (seen === undefined) continue;
      if (ids.length > 0) await this.clock.advance(1_500);
      ids.push(see(replica, seen));
    }
    return ids;
  }

  #end(seen: Seen): void {
    const [newest] = seen.incidents;
    if (newest !== undefined && newest.endedAtMs === undefined)
      seen.incidents[0] = { ...newest, endedAtMs: this.nowMs };
  }

  #changed({ recorders, news }: Replica, upstream: string, seen: Seen, to: HealthState): void {
    const from = seen.state;
    seen.state = to;
    news.add(upstream);
    recorders.get(upstream)?.record({ kind: "health_changed", from, to, atMs: this.nowMs });
  }

  async #beat(replica: Replica): Promise<void> {
    while (replica.isAlive) {
      this.#ends.set(replica.session, this.clock.now() + TTL_MS);
      this.#claim(replica);
      this.#publish(replica);
      await this.clock.sleep(BEAT_MS);
    }
  }

  #isLive({ session }: Replica): boolean {
    return (this.#ends.get(session) ?? 0) > this.clock.now();
  }

  #eldest(): string | undefined {
    return this.replicas.find((replica) => this.#isLive(replica))?.session;
  }

  /** It goes on with what the board has of it, and sees how it is now. */
  #claim(replica: Replica): void {
    for (const upstream of this.#names) {
      const holder = this.#holders.get(upstream);
      if (replica.seen.has(upstream) || (this.#isSharded && holder !== undefined && this.#isLive(holder)))
        continue;
      this.#holders.set(upstream, replica);
      const board = this.#isSharded
        ? readBulletin(upstream, this.board.get(`u:${upstream}`) ?? "")
        : undefined;
      const isOpen = board?.incidents[0] !== undefined && board.incidents[0].endedAtMs === undefined;
      const seen: Seen = { state: isOpen ? "down" : "up", incidents: [...(board?.incidents ?? [])] };
      replica.seen.set(upstream, seen);
      const isDown = this.#down.has(upstream);
      if (isDown && !isOpen) seen.incidents.unshift(incidentAt(upstream, this.nowMs));
      if (!isDown && isOpen) this.#end(seen);
      this.#changed(replica, upstream, seen, isDown ? "down" : "up");
    }
  }

  #publish(replica: Replica): void {
    if (!replica.isAlive) return;
    for (const upstream of this.#isSharded ? replica.news : []) {
      const incidents = replica.seen.get(upstream)?.incidents.slice(0, 16) ?? [];
      const text = bulletinText({ incidents, conditions: [], isUnsure: false, words: undefined });
      if (text !== undefined && this.#holders.get(upstream) === replica)
        this.board.set(`u:${upstream}`, text);
    }
    const hasTold = replica.news.has(TOLD) || this.#publishedReign !== replica.notifier.reign;
    replica.news.clear();
    if (this.#eldest() !== replica.session || replica.notifier.reign !== replica.session || !hasTold) return;
    this.#publishedReign = replica.session;
    for (const [name, text] of notifiedRecords(replica.notifier.remembered)) this.board.set(name, text);
  }

  #stateOnBoard(upstream: string): HealthState {
    const newest = readBulletin(upstream, this.board.get(`u:${upstream}`) ?? "")?.incidents[0];
    return newest !== undefined && newest.endedAtMs === undefined ? "down" : "up";
  }

  async #send(replica: Replica, receiver: string, message: Message): Promise<Taking["answers"]> {
    const { hears, answers, afterMs } = this.take(receiver, message);
    if (hears) this.heard.push({ receiver, message, atMs: this.nowMs });
    await this.clock.sleep(afterMs);
    return replica.isAlive ? answers : new Promise(() => {});
  }
}

function incidentAt(upstream: string, startedAtMs: number): Incident {
  return { upstream, state: "down", reason: "timeout", startedAtMs, endedAtMs: undefined, polls: 2 };
}

function idOf(upstream: string, startedAtMs: number): string {
  return `${upstream}/${Math.round(startedAtMs).toString(36)}`;
}
