import type { Receiver } from "../../core/config/config.ts";
import type { ToldReceiver } from "../../core/fleet/fleet-status.ts";
import type { ReceiverSnapshot } from "../../core/metrics/snapshot.ts";
import { NEWS_MS, type Notice, type Scene, type ToldBefore } from "../../core/notify/plan.ts";
import { type Condition, foldConditions, type Trouble, troubleOf } from "../../core/notify/trouble.ts";
import type { PollEvent, Recorder } from "../../core/poll/ports.ts";
import type { Incident } from "../../core/status/status.ts";
import { DAY_MS, SECOND_MS } from "../../core/time/duration.ts";
import { Outbox, type Outlook, type OutboxParts } from "./outbox.ts";

/** What it asks of the rest of the process. */
export type NotifierView = Omit<Outlook, "scene"> & {
  readonly upstream: Scene["upstream"];
  /** Of an upstream that is polled here, the newest first; undefined of another. */
  incidentsOf(upstream: string): readonly Incident[] | undefined;
  conditions(): readonly Condition[];
};

export type NotifierParts = Omit<OutboxParts, "onFree"> & {
  readonly view: () => NotifierView;
  readonly before: ToldBefore;
  readonly keepSince: (receiver: string, sinceMs: number) => void;
  readonly onBug: (error: unknown) => void;
};

const LOOK_EVERY_MS = 5 * SECOND_MS;
/** Thousands of upstreams may fail at once. */
const LOOK_AT_MOST_EVERY_MS = 100;
const MOST_ENDED = 1_000;

/** Knows the troubles of now and of the last day, and lets each receiver be told of them. */
export class Notifier {
  readonly #parts: NotifierParts;
  readonly #outboxes = new Map<string, Outbox>();
  /** By upstream; none of those that had no trouble for a day. */
  readonly #incidents = new Map<string, readonly Trouble[]>();
  readonly #changed = new Set<string>();
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
    const former = new Map(this.#outboxes);
    this.#outboxes.clear();
    for (const receiver of receivers) {
      const { name } = receiver;
      const outbox = former.get(name);
      const known = before.since.get(name);
      const sinceMs = outbox?.sinceMs ?? known ?? clock.wallNow();
      if (outbox === undefined && known === undefined) keepSince(name, sinceMs);
      const notices = before.notices.filter((notice) => notice.receiver === name);
      const parts = { ...this.#parts, onFree: () => this.#wake.abort() };
      this.#outboxes.set(name, outbox?.continued(receiver) ?? new Outbox(receiver, sinceMs, notices, parts));
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
      notices: outboxes.flatMap(([, { notices }]) => [...notices]),
    };
  }

  /** By upstream, for whoever polls it next. */
  get open(): ReadonlyMap<string, readonly Notice[]> {
    const open = this.told.notices.filter(({ isOpen, subject, upstream }) => isOpen && subject === upstream);
    return Map.groupBy(open, ({ subject }) => subject);
  }

  /** It was polled by another replica until now, which told this. */
  goOn(upstream: string, told: readonly ToldReceiver[]): void {
    for (const [name, outbox] of this.#outboxes)
      outbox.goOn(
        upstream,
        told.filter(({ receiver }) => receiver === name),
      );
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Messages that are on their way may arrive. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake.abort();
    await this.#running;
    await Promise.all([...this.#outboxes.values()].map((outbox) => outbox.close()));
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
        if (waitMs < Infinity) waitMs = Math.min(waitMs, this.#look());
      } catch (error) {
        onBug(error);
      }
      await clock.sleep(LOOK_AT_MOST_EVERY_MS, this.#closing.signal);
      await clock.sleep(Math.max(0, waitMs - LOOK_AT_MOST_EVERY_MS), this.#wake.signal);
    }
  }

  #look(): number {
    const view = this.#parts.view();
    this.#learn(view);
    const troubles = [...this.#incidents.values()].flat();
    const scene = {
      troubles: [...troubles, ...this.#open.values(), ...this.#ended],
      upstream: view.upstream,
    };
    const waits = [...this.#outboxes.values()].map((outbox) => outbox.look({ ...view, scene }));
    return Math.min(Infinity, ...waits);
  }

  #learn(view: NotifierView): void {
    const { clock } = this.#parts;
    const nowMs = clock.wallNow();
    for (const name of this.#changed) {
      const incidents = view.incidentsOf(name);
      this.#incidents.set(
        name,
        incidents ? this.#known(name, incidents, nowMs) : this.#leftOf(name, view, nowMs),
      );
    }
    this.#changed.clear();
    const { open, ended } = foldConditions(this.#open, view.conditions(), nowMs);
    this.#open = open;
    this.#ended = [...this.#ended, ...ended].slice(-MOST_ENDED);
    for (const [name, troubles] of this.#incidents) {
      const news = troubles.filter(({ endedAtMs = nowMs }) => endedAtMs > nowMs - NEWS_MS);
      if (news.length === 0 || view.upstream(name)?.isElsewhere === true) this.#incidents.delete(name);
      else if (news.length < troubles.length) this.#incidents.set(name, news);
    }
    if (clock.now() - this.#forgottenAtMs < DAY_MS) return;
    this.#forgottenAtMs = clock.now();
    for (const outbox of this.#outboxes.values()) outbox.forget();
  }

  #known(name: string, incidents: readonly Incident[], nowMs: number): readonly Trouble[] {
    const before = new Map(this.#incidents.get(name)?.map((trouble) => [trouble.id, trouble]));
    return incidents.flatMap((incident) => {
      const trouble = troubleOf(incident, nowMs);
      const known = trouble && before.get(trouble.id);
      if (trouble === undefined || known?.endedAtMs !== trouble.endedAtMs) return trouble ?? [];
      return known === undefined ? trouble : { ...trouble, knownAtMs: known.knownAtMs };
    });
  }

  /** It has left the config: what was open was seen last. */
  #leftOf(name: string, view: NotifierView, nowMs: number): readonly Trouble[] {
    if (view.upstream(name) !== undefined) return [];
    return (this.#incidents.get(name) ?? []).map((trouble) =>
      trouble.endedAtMs === undefined
        ? { ...trouble, endedAtMs: nowMs, knownAtMs: nowMs, isUnwatched: true }
        : trouble,
    );
  }
}

/** A credit that was ending when an earlier process told so is still the same trouble. */
function conditionsIn(notices: readonly Notice[]): ReadonlyMap<string, Trouble> {
  const open = new Map<string, Trouble>();
  for (const { isOpen, incident: id, subject, event: kind, upstream, startedAtMs } of notices) {
    if (!isOpen || subject === upstream || kind === "up" || kind === "flapping") continue;
    const found = { id, subject, kind, upstream, startedAtMs, endedAtMs: undefined };
    open.set(subject, { ...found, knownAtMs: startedAtMs, reason: "", polls: 0, says: "" });
  }
  return open;
}
