import { type Receiver, RECEIVER_EVENTS } from "../../../src/features/notify/receiver.ts";
import { type Message, wordsOf } from "../../../src/features/notify/plan/message.ts";
import type { FiringAlert } from "../../../src/features/notify/plan/alert.ts";
import { type Notified, rememberedIn } from "../../../src/features/notify/plan/transitions.ts";
import type { HealthState } from "../../../src/kernel/poll/health.ts";
import type { Recorder } from "../../../src/kernel/poll/ports.ts";
import type { ReceiverSnapshot } from "../../../src/features/notify/metrics.ts";
import { Notifier } from "../../../src/features/notify/notifier.ts";
import type { Delivery } from "../../../src/features/notify/receivers/answer.ts";
import { sampleStatus, sampleUpstreamStatus } from "../samples.ts";
import { VirtualClock } from "../virtual/clock.ts";
import type { Incident } from "../../../src/features/history/incidents.ts";

export function sampleReceiver(changes: Partial<Receiver> = {}): Receiver {
  return {
    name: "ops",
    kind: "webhook",
    url: { env: "OPS_URL" },
    key: undefined,
    chat: undefined,
    on: RECEIVER_EVENTS,
    only: undefined,
    afterMs: 0,
    groupWaitMs: 10_000,
    remindMs: undefined,
    ...changes,
  };
}

export type Heard = { readonly receiver: string; readonly message: Message; readonly atMs: number };

/** How a receiver takes a message: whether it hears it, what it answers, and when. */
export type Taking = { readonly hears: boolean; readonly answers: Delivery; readonly afterMs: number };

const DELIVERED: Delivery = { kind: "delivered", detail: "it answered 200" };
export const TAKEN: Taking = { hears: true, answers: DELIVERED, afterMs: 100 };

export type FallenState = "down" | "throttled" | "unauthorized";

type Watched = { state: HealthState; incidents: Incident[]; isUnsure: boolean };

/** Upstreams that fall and rise, a process that tells of them and may be killed, and what its receivers have heard. */
export class NotifyWorld {
  readonly clock: VirtualClock = new VirtualClock();
  readonly heard: Heard[] = [];
  /** The state file. */
  readonly since: Map<string, number> = new Map();
  readonly notified: Map<string, Notified> = new Map();
  readonly logged: string[] = [];
  readonly upstreams: Map<string, Watched> = new Map();
  firing: FiringAlert[] = [];
  take: (receiver: string, message: Message) => Taking = () => TAKEN;
  /** In place of `take`: sends it to a receiver at a real socket. */
  deliver: ((receiver: Receiver, message: Message) => Promise<Delivery>) | undefined;
  random: () => number = () => 0.5;
  #receivers: readonly Receiver[];
  #recorders = new Map<string, Recorder>();
  #notifier: Notifier | undefined;
  #life = 0;

  constructor(receivers: readonly Receiver[] = [sampleReceiver()], upstreams: readonly string[] = ["email"]) {
    this.#receivers = receivers;
    for (const name of upstreams) this.upstreams.set(name, { state: "up", incidents: [], isUnsure: false });
  }

  get nowMs(): number {
    return this.clock.wallNow();
  }

  get snapshots(): readonly ReceiverSnapshot[] {
    return this.#notifier?.snapshots ?? [];
  }

  start(): void {
    const life = (this.#life += 1);
    const isAlive = (): boolean => this.#life === life;
    const log = (_: object, msg: string): void => void this.logged.push(msg);
    const notifier = new Notifier(
      { notify: this.#receivers },
      {
        clock: this.clock,
        log: { debug: log, info: log, warn: log, error: log },
        random: this.random,
        send: (receiver, message) =>
          this.deliver?.(receiver, message) ?? this.#send(receiver.name, message, isAlive),
        keep: (note) => {
          const { since, notified } = rememberedIn([{ notes: [note] }]);
          for (const [receiver, sinceMs] of since) this.since.set(receiver, sinceMs);
          if (isAlive()) for (const each of notified) this.notified.set(note.key, each);
        },
        before: { since: new Map(this.since), notified: [...this.notified.values()] },
        onBug: (error) => {
          throw error;
        },
        view: () => ({
          upstream: (name) => {
            const watched = this.upstreams.get(name);
            return watched && { ...watched, labels: { team: name.startsWith("a") ? "growth" : "core" } };
          },
          incidentsOf: (name) => this.upstreams.get(name)?.incidents.toReversed() ?? [],
          firing: () => this.firing,
          words: (name) => {
            const status = sampleStatus({
              nowMs: this.nowMs,
              upstreams: [...this.upstreams.keys()].map((each) => sampleUpstreamStatus({ name: each })),
            });
            const facts = status.facts(name);
            return facts && wordsOf(facts, status);
          },
          of: this.upstreams.size,
          pageUrl: "https://pacewatch.example",
        }),
      },
    );
    this.#notifier = notifier;
    this.#recorders = new Map([...this.upstreams.keys()].map((name) => [name, notifier.recorderOf(name)]));
    notifier.start();
  }

  reload(receivers: readonly Receiver[]): void {
    this.#receivers = receivers;
    this.#notifier?.changed({ notify: receivers });
  }

  /** In the middle of whatever it does. */
  kill(): void {
    this.#life += 1;
    void this.#notifier?.close();
    this.#notifier = undefined;
  }

  async stop(): Promise<void> {
    const closing = this.#notifier?.close();
    await this.clock.advance(60_000);
    await closing;
    this.#life += 1;
    this.#notifier = undefined;
  }

  fall(name: string, state: FallenState = "down", reason = "timeout"): string {
    const watched = this.#watched(name);
    const startedAtMs = this.nowMs;
    watched.incidents.push({ upstream: name, state, reason, startedAtMs, endedAtMs: undefined, polls: 2 });
    this.#changed(name, state);
    return `${name}/${startedAtMs.toString(36)}`;
  }

  fails(name: string, polls: Partial<Pick<Incident, "polls" | "reasons" | "answeredBy">>): void {
    this.#change(name, polls);
  }

  rise(name: string): void {
    this.#change(name, { endedAtMs: this.nowMs });
    this.#changed(name, "up");
  }

  worsen(name: string): void {
    this.#change(name, { state: "down" });
    this.#changed(name, "down");
  }

  /** As a process finds it that was away for long: nobody knows when it ended. */
  wasUnwatched(name: string): void {
    this.#change(name, { endedAtMs: this.nowMs, isUnwatched: true });
    this.#watched(name).state = "unknown";
  }

  /** Its incident stays open. */
  becomes(name: string, to: HealthState): void {
    this.#changed(name, to);
  }

  /** It answers, and had no incident since. */
  answers(name: string): void {
    this.#changed(name, "up");
  }

  /** It leaves the config. */
  remove(name: string): void {
    this.upstreams.delete(name);
    this.#recorders.get(name)?.record({ kind: "unwatched" });
  }

  /** What one receiver has heard, in short. */
  told(receiver = "ops"): readonly string[] {
    return this.heard
      .filter((each) => each.receiver === receiver)
      .map(({ message: { event, members, isReminder } }) => {
        const names = members.map(({ upstream = "pacewatch" }) => upstream);
        const shown = names.length > 3 ? `${names.length} upstreams` : names.join(" ");
        return `${isReminder ? "still " : ""}${event} ${shown}`;
      });
  }

  async #send(receiver: string, message: Message, isAlive: () => boolean): Promise<Delivery> {
    const { hears, answers, afterMs } = this.take(receiver, message);
    if (hears) this.heard.push({ receiver, message, atMs: this.nowMs });
    await this.clock.sleep(afterMs);
    // Nobody is there any more to hear the answer.
    return isAlive() ? answers : new Promise(() => {});
  }

  #watched(name: string): Watched {
    const watched = this.upstreams.get(name);
    if (watched === undefined) throw new Error(`no upstream ${name}`);
    return watched;
  }

  #change(name: string, change: Partial<Incident>): void {
    const { incidents } = this.#watched(name);
    const newest = incidents.pop();
    if (newest !== undefined) incidents.push({ ...newest, ...change });
  }

  #changed(name: string, to: HealthState): void {
    const watched = this.#watched(name);
    const from = watched.state;
    watched.state = to;
    this.#recorders.get(name)?.record({ kind: "health_changed", from, to, atMs: this.nowMs });
  }
}
