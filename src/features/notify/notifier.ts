import type { Config } from "../../kernel/config/config.ts";
import type { ReceiverSnapshot } from "./metrics.ts";
import type { FiringAlert } from "./plan/alert.ts";
import { KnownAlerts } from "./plan/known-alerts.ts";
import type { Outlook } from "./plan/outlook.ts";
import { receiverNote, type Remembered, toldNote } from "./plan/transitions.ts";
import type { PollEvent, Recorder } from "../../kernel/poll/ports.ts";
import type { Note } from "../../kernel/text/notes.ts";
import { keepNewest } from "../../platform/remembered.ts";
import { DAY_MS, SECOND_MS } from "../../kernel/time/duration.ts";
import { Outbox, type OutboxParts } from "./outbox.ts";
import type { Incident } from "../history/incidents.ts";

/** What it asks of the rest of the process. */
export type NotifierView = Omit<Outlook, "nowMs" | "alerts"> & {
  /** The newest first. */
  incidentsOf(upstream: string): readonly Incident[];
  firing(): readonly FiringAlert[];
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
  /** Its metrics are read from this. */
  readonly running: { readonly notifier: Notifier } = { notifier: this };
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

  constructor(config: Pick<Config, "notify">, parts: NotifierParts) {
    this.#parts = parts;
    this.#forgottenAtMs = parts.clock.now();
    this.#alerts = new KnownAlerts(parts.before.notified, (id) =>
      this.#outboxes.values().some(({ notified }) => notified.get(id)?.state === "notified"),
    );
    this.changed(config);
  }

  /** A receiver that stays keeps what it was told. */
  changed({ notify: receivers = [] }: Pick<Config, "notify">): void {
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
    return [...this.#outboxes].map(([name, { counts, sendMs }]) => ({ name, counts, sendMs }));
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
    const nowMs = this.#parts.clock.wallNow();
    this.#see(view, nowMs);
    const outlook = { ...view, nowMs, alerts: this.#alerts.all };
    return Math.min(Infinity, ...[...this.#outboxes.values()].map((outbox) => outbox.look(outlook)));
  }

  #see(view: NotifierView, nowMs: number): void {
    for (const name of this.#changed) {
      const isLeft = view.upstream(name) === undefined;
      this.#alerts.see(name, isLeft ? undefined : view.incidentsOf(name), nowMs);
    }
    this.#changed.clear();
    this.#alerts.seeFiring(view.firing(), nowMs);
    const { clock } = this.#parts;
    if (clock.now() - this.#forgottenAtMs < DAY_MS) return;
    this.#forgottenAtMs = clock.now();
    this.#alerts.forget(nowMs);
    for (const outbox of this.#kept.values()) outbox.forget();
  }
}
