import type { Receiver } from "./receiver.ts";
import type { ReceiverSnapshot } from "./metrics.ts";
import type { Condition } from "./plan/alert.ts";
import { KnownAlerts } from "./plan/known-alerts.ts";
import type { Scene } from "./plan/plan.ts";
import { receiverNote, type Remembered, toldNote } from "./plan/transitions.ts";
import type { PollEvent, Recorder } from "../../kernel/poll/ports.ts";
import type { Note } from "../../kernel/text/notes.ts";
import { keepNewest } from "../../platform/remembered.ts";
import { DAY_MS, SECOND_MS } from "../../kernel/time/duration.ts";
import { Outbox, type Outlook, type OutboxParts } from "./outbox.ts";
import type { Incident } from "../history/incidents.ts";

/** What it asks of the rest of the process. */
export type NotifierView = Omit<Outlook, "scene"> & {
  readonly upstream: Scene["upstream"];
  /** The newest first. */
  incidentsOf(upstream: string): readonly Incident[];
  conditions(): readonly Condition[];
};

export type NotifierParts = Omit<OutboxParts, "onFree"> & {
  readonly view: () => NotifierView;
  readonly before: Remembered;
  readonly onBug: (error: unknown) => void;
};

const LOOK_EVERY_MS = 5 * SECOND_MS;
/** Thousands of upstreams may fail at once. */
const LOOK_AT_MOST_EVERY_MS = 100;
/** Twice as many as a config may name. */
const MOST_KEPT = 100;

/** Sees the alerts, and lets each receiver be told of them. */
export class Notifier {
  readonly #parts: NotifierParts;
  readonly #outboxes = new Map<string, Outbox>();
  /** Also of receivers that have left the config: one that comes back goes on with what it was told. */
  readonly #kept = new Map<string, Outbox>();
  readonly #alerts: KnownAlerts;
  readonly #changed = new Set<string>();
  #forgottenAtMs: number;
  readonly #closing = new AbortController();
  #wake = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(receivers: readonly Receiver[], parts: NotifierParts) {
    this.#parts = parts;
    this.#forgottenAtMs = parts.clock.now();
    this.#alerts = new KnownAlerts(parts.before.notified);
    this.change(receivers);
  }

  /** A receiver that stays keeps what it was told. */
  change(receivers: readonly Receiver[]): void {
    const { before, keep, clock } = this.#parts;
    this.#outboxes.clear();
    for (const receiver of receivers) {
      const { name } = receiver;
      const former = this.#kept.get(name);
      const known = before.since.get(name);
      const sinceMs = former?.sinceMs ?? known ?? clock.wallNow();
      if (former === undefined && known === undefined) keep(receiverNote(name, sinceMs));
      const notified = before.notified.filter((each) => each.receiver === name);
      const parts = { ...this.#parts, onFree: () => this.#wake.abort() };
      const outbox = former?.continued(receiver) ?? new Outbox(receiver, sinceMs, notified, parts);
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
  get notes(): readonly Note[] {
    const outboxes = [...this.#outboxes];
    const notified = outboxes.flatMap(([, outbox]) => [...outbox.notified.values()]);
    return [
      ...outboxes.map(([name, { sinceMs }]) => receiverNote(name, sinceMs)),
      ...notified.toSorted((one, other) => other.atMs - one.atMs).map(toldNote),
    ];
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
    if (kind === "judged" && !this.#alerts.has(upstream)) return;
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
    this.#see(view);
    const scene = { alerts: this.#alerts.all, upstream: view.upstream };
    const waits = [...this.#outboxes.values()].map((outbox) => outbox.look({ ...view, scene }));
    return Math.min(Infinity, ...waits);
  }

  #see(view: NotifierView): void {
    const { clock } = this.#parts;
    const nowMs = clock.wallNow();
    for (const name of this.#changed) {
      const isLeft = view.upstream(name) === undefined;
      this.#alerts.see(name, isLeft ? undefined : view.incidentsOf(name), nowMs);
    }
    this.#changed.clear();
    this.#alerts.seeConditions(view.conditions(), nowMs);
    if (clock.now() - this.#forgottenAtMs < DAY_MS) return;
    this.#forgottenAtMs = clock.now();
    this.#alerts.forget(nowMs);
    for (const outbox of this.#kept.values()) outbox.forget();
  }
}
