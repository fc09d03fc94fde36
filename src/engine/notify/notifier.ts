import type { Receiver } from "../../core/config/config.ts";
import type { ReceiverSnapshot } from "../../core/metrics/snapshot.ts";
import { conditionsIn, NEWS_MS, type Notice, type Scene, type ToldBefore } from "../../core/notify/plan.ts";
import { type Condition, foldConditions, type Trouble, troubleOf } from "../../core/notify/trouble.ts";
import type { PollEvent, Recorder } from "../../core/poll/ports.ts";
import type { Incident } from "../../core/status/status.ts";
import { keepNewest } from "../../core/text/remembered.ts";
import { DAY_MS, SECOND_MS } from "../../core/time/duration.ts";
import { Outbox, type Outlook, type OutboxParts } from "./outbox.ts";

/** What it asks of the rest of the process. */
export type NotifierView = Omit<Outlook, "scene"> & {
  readonly upstream: Scene["upstream"];
  /** Upstreams that another replica polls, and that are in trouble or are among these. */
  elsewhere(known: Iterable<string>): Iterable<string>;
  /** The newest first. */
  incidentsOf(upstream: string): readonly Incident[];
  conditions(): readonly Condition[];
  /** Whether the process that saw it runs. */
  isWatched(trouble: Trouble): boolean;
};

/** Where several replicas have one config, one of them tells. */
export type Hearing = {
  /** Another one where another replica may have told something since. */
  readonly reign: string;
  /** By all of them, until now; undefined where this process knows it all. Asked for once in a reign: it may be long. */
  readonly told: () => ToldBefore | undefined;
};

export type NotifierParts = Omit<OutboxParts, "onFree"> & {
  /** Undefined while another replica tells, or nobody knows which one. */
  readonly hear: () => Promise<Hearing | undefined>;
  readonly view: () => NotifierView;
  readonly before: ToldBefore;
  readonly keepSince: (receiver: string, sinceMs: number) => void;
  readonly onBug: (error: unknown) => void;
};

const LOOK_EVERY_MS = 5 * SECOND_MS;
/** Thousands of upstreams may fail at once. */
const LOOK_AT_MOST_EVERY_MS = 100;
const MOST_ENDED = 1_000;
/** Twice as many as a config may name. */
const MOST_KEPT = 100;
/** Of one upstream: who has more of them in a day is told of these. */
export const INCIDENTS_TOLD = 16;

/** Knows the troubles of now and of the last day, and lets each receiver be told of them. */
export class Notifier {
  readonly #parts: NotifierParts;
  readonly #outboxes = new Map<string, Outbox>();
  /** Also of receivers that have left the config: one that comes back goes on with what it was told. */
  readonly #kept = new Map<string, Outbox>();
  /** By upstream; none of those that had no trouble for a day. */
  readonly #incidents = new Map<string, readonly Trouble[]>();
  readonly #changed = new Set<string>();
  /** By the ids that this replica gives them: incidents of which another one has told. */
  #renamed: ReadonlyMap<string, Pick<Trouble, "id" | "startedAtMs">> = new Map();
  #reign: string | undefined;
  #open: ReadonlyMap<string, Trouble>;
  #ended: readonly Trouble[] = [];
  #forgottenAtMs: number;
  readonly #closing = new AbortController();
  #wake = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(receivers: readonly Receiver[], parts: NotifierParts) {
    this.#parts = parts;
    this.#forgottenAtMs = parts.clock.now();
    this.#open = conditionsIn(parts.before.notices);
    this.change(receivers);
  }

  /** A receiver that stays keeps what it was told. */
  change(receivers: readonly Receiver[]): void {
    const { before, keepSince, clock } = this.#parts;
    this.#outboxes.clear();
    for (const receiver of receivers) {
      const { name } = receiver;
      const former = this.#kept.get(name);
      const known = before.since.get(name);
      const sinceMs = former?.sinceMs ?? known ?? clock.wallNow();
      if (former === undefined && known === undefined) keepSince(name, sinceMs);
      const notices = before.notices.filter((notice) => notice.receiver === name);
      const parts = { ...this.#parts, onFree: () => this.#wake.abort() };
      const outbox = former?.continued(receiver) ?? new Outbox(receiver, sinceMs, notices, parts);
      this.#outboxes.set(name, outbox);
      keepNewest(this.#kept, name, outbox, MOST_KEPT);
    }
    this.#wake.abort();
  }

  recorderOf(upstream: string): Recorder {
    this.#changed.add(upstream);
    return { record: (event) => this.#record(upstream, event) };
  }

  get snapshots(): readonly ReceiverSnapshot[] {
    const nowMs = this.#parts.clock.wallNow();
    return [...this.#outboxes].map(([name, { counts, oldestDueMs }]) => ({
      name,
      counts,
      oldestDueMs,
      nowMs,
    }));
  }

  /** All that the state file must hold of it. */
  get told(): ToldBefore {
    const outboxes = [...this.#outboxes];
    return {
      since: new Map(outboxes.map(([name, { sinceMs }]) => [name, sinceMs])),
      notices: outboxes.flatMap(([, { notices }]) => [...notices.values()]),
    };
  }

  /** Undefined while it does not tell. */
  get reign(): string | undefined {
    return this.#reign;
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Messages that are on their way may arrive. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake.abort();
    await this.#running;
    await Promise.all([...this.#kept.values()].map((outbox) => outbox.close()));
  }

  #record(upstream: string, { kind }: PollEvent): void {
    if (kind !== "health_changed" && kind !== "unwatched" && kind !== "judged") return;
    // Of most judgements nothing follows.
    if (kind === "judged" && !this.#incidents.has(upstream)) return;
    this.#changed.add(upstream);
    if (kind === "health_changed") this.#wake.abort();
  }

  async #run(): Promise<void> {
    const { clock, onBug } = this.#parts;
    while (!this.#closing.signal.aborted) {
      this.#wake = new AbortController();
      let waitMs = this.#outboxes.size === 0 ? Infinity : LOOK_EVERY_MS;
      try {
        if (waitMs < Infinity) waitMs = Math.min(waitMs, await this.#look());
      } catch (error) {
        onBug(error);
      }
      await clock.sleep(LOOK_AT_MOST_EVERY_MS, this.#closing.signal);
      await clock.sleep(Math.max(0, waitMs - LOOK_AT_MOST_EVERY_MS), this.#wake.signal);
    }
  }

  async #look(): Promise<number> {
    const heard = await this.#parts.hear();
    if (this.#closing.signal.aborted) return Infinity;
    if (heard === undefined) {
      this.#reign = undefined;
      for (const outbox of this.#outboxes.values()) outbox.rest();
      return Infinity;
    }
    const view = this.#parts.view();
    const told = heard.reign === this.#reign ? undefined : heard.told();
    if (told !== undefined) this.#takeOver(told);
    this.#reign = heard.reign;
    this.#learn(view);
    if (told !== undefined) this.#rename(told.notices);
    const troubles = [...this.#incidents.values()].flat();
    const scene = {
      troubles: [...troubles, ...this.#open.values(), ...this.#ended],
      upstream: view.upstream,
    };
    const waits = [...this.#outboxes.values()].map((outbox) => outbox.look({ ...view, scene }));
    return Math.min(Infinity, ...waits);
  }

  #takeOver(told: ToldBefore): void {
    for (const [name, outbox] of this.#kept) {
      outbox.takeOver(told);
      this.#parts.keepSince(name, outbox.sinceMs);
    }
    this.#open = conditionsIn(told.notices);
    this.#renamed = new Map();
  }

  /** What this replica saw at the time of what the other one has told of is the same: it has that one's id. */
  #rename(notices: readonly Notice[]): void {
    const ids = new Set(notices.map(({ incident }) => incident));
    const renamed = new Map<string, Pick<Trouble, "id" | "startedAtMs">>();
    for (const { subject, incident: id, startedAtMs, isOpen, atMs } of notices) {
      const own = this.#incidents.get(subject) ?? [];
      const nearness = (trouble: Trouble): number => Math.abs(trouble.startedAtMs - startedAtMs);
      const [nearest] = own
        .filter((each) => !ids.has(each.id) && !renamed.has(each.id))
        .filter((each) => startedAtMs <= (each.endedAtMs ?? Infinity) && (isOpen || each.startedAtMs <= atMs))
        .toSorted((one, other) => nearness(one) - nearness(other));
      if (nearest !== undefined && own.every((each) => each.id !== id))
        renamed.set(nearest.id, { id, startedAtMs });
    }
    this.#renamed = renamed;
    for (const [name, troubles] of this.#incidents)
      this.#incidents.set(
        name,
        troubles.map((trouble) => ({ ...trouble, ...renamed.get(trouble.id) })),
      );
  }

  #learn(view: NotifierView): void {
    const { clock } = this.#parts;
    const nowMs = clock.wallNow();
    for (const name of new Set([...this.#changed, ...view.elsewhere(this.#incidents.keys())])) {
      const isLeft = view.upstream(name) === undefined;
      const troubles = isLeft ? this.#leftOf(name, nowMs) : this.#known(name, view.incidentsOf(name), nowMs);
      this.#incidents.set(name, troubles);
    }
    this.#changed.clear();
    const { open, ended } = foldConditions(this.#open, view.conditions(), nowMs, (each) =>
      view.isWatched(each),
    );
    this.#open = open;
    this.#ended = [...this.#ended, ...ended].slice(-MOST_ENDED);
    for (const [name, troubles] of this.#incidents) {
      const news = troubles.filter(({ endedAtMs = nowMs }) => endedAtMs > nowMs - NEWS_MS);
      if (news.length === 0) this.#incidents.delete(name);
      else if (news.length < troubles.length) this.#incidents.set(name, news);
    }
    if (clock.now() - this.#forgottenAtMs < DAY_MS) return;
    this.#forgottenAtMs = clock.now();
    for (const outbox of this.#kept.values()) outbox.forget();
  }

  #known(name: string, incidents: readonly Incident[], nowMs: number): readonly Trouble[] {
    const before = new Map(this.#incidents.get(name)?.map((trouble) => [trouble.id, trouble]));
    return incidents.slice(0, INCIDENTS_TOLD).flatMap((incident) => {
      const seen = troubleOf(incident, nowMs);
      if (seen === undefined) return [];
      const trouble = { ...seen, ...this.#renamed.get(seen.id) };
      const known = before.get(trouble.id);
      if (known?.endedAtMs !== trouble.endedAtMs) return trouble;
      return known === undefined ? trouble : { ...trouble, knownAtMs: known.knownAtMs };
    });
  }

  /** It has left the config: what was open was seen last. */
  #leftOf(name: string, nowMs: number): readonly Trouble[] {
    return (this.#incidents.get(name) ?? []).map((trouble) =>
      trouble.endedAtMs === undefined
        ? { ...trouble, endedAtMs: nowMs, knownAtMs: nowMs, isUnwatched: true }
        : trouble,
    );
  }
}
