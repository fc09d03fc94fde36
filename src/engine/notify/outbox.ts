import type { Receiver } from "../../core/config/config.ts";
import { type Message, type Telled, tellingsOf, type Telling } from "../../core/notify/message.ts";
import {
  FORGOTTEN_MS,
  type Notice,
  noticesOf,
  planFor,
  sendAtMs,
  type ToldBefore,
} from "../../core/notify/plan.ts";
import type { Log } from "../../core/text/log.ts";
import type { Clock } from "../../core/time/clock.ts";
import { DAY_MS, MINUTE_MS, SECOND_MS } from "../../core/time/duration.ts";
import type { Delivery } from "../receivers/answer.ts";
import { KINDS } from "../receivers/kinds.ts";

const FIRST_WAIT_MS = 5 * SECOND_MS;
const LONGEST_WAIT_MS = 10 * MINUTE_MS;

/** What it may tell of now. */
export type Outlook = Pick<Telled, "scene" | "of" | "words" | "pageUrl">;

export type OutboxParts = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** Never rejects. */
  readonly send: (receiver: Receiver, message: Message) => Promise<Delivery>;
  readonly keep: (notice: Notice) => void;
  /** Called when there may be more to tell. */
  readonly onFree: () => void;
};

/** What one receiver was told, and is to be told. It sends one message at a time, and waits for no other receiver. */
export class Outbox {
  readonly #parts: OutboxParts;
  /** What was over before is no news to it. Wall clock. */
  #sinceMs: number;
  readonly notices: Map<string, Notice> = new Map();
  readonly counts: Record<Delivery["kind"], number> = { delivered: 0, failed: 0, refused: 0 };
  #receiver: Receiver;
  #sending: Promise<void> | undefined;
  /** Monotonic. */
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #failures = 0;
  #oldestDueMs: number | undefined;

  constructor(receiver: Receiver, sinceMs: number, notices: readonly Notice[], parts: OutboxParts) {
    this.#receiver = repeating(receiver);
    this.#sinceMs = sinceMs;
    this.#parts = parts;
    for (const notice of notices) this.notices.set(notice.incident, notice);
  }

  /** The config says it anew. */
  continued(receiver: Receiver): this {
    this.#receiver = repeating(receiver);
    this.#notBeforeMs = Number.NEGATIVE_INFINITY;
    return this;
  }

  /** Wall clock; undefined while nothing waits. */
  get oldestDueMs(): number | undefined {
    return this.#oldestDueMs;
  }

  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** This process tells from now on. What another told until now holds, and what it has forgotten is over. */
  takeOver({ since, notices }: ToldBefore): void {
    const { name } = this.#receiver;
    this.#sinceMs = since.get(name) ?? this.#sinceMs;
    const theirs = new Map(
      notices.flatMap((notice) => (notice.receiver === name ? [[notice.incident, notice] as const] : [])),
    );
    const staleMs = this.#parts.clock.wallNow() - DAY_MS;
    for (const [incident, notice] of this.notices)
      if (notice.isOpen && !theirs.has(incident) && notice.atMs < staleMs)
        this.#note({ ...notice, isOpen: false });
    for (const [incident, notice] of theirs)
      if (notice.atMs >= (this.notices.get(incident)?.atMs ?? 0)) this.#note(notice);
  }

  /** Another process tells. */
  rest(): void {
    this.#oldestDueMs = undefined;
  }

  /** Sends what is due, if it may. Tells in how many ms to ask again, unless something happens. */
  look(outlook: Outlook): number {
    const { clock } = this.#parts;
    const nowMs = clock.wallNow();
    const told = { sinceMs: this.#sinceMs, notices: this.notices };
    const plan = planFor(this.#receiver, told, outlook.scene, nowMs);
    for (const notice of plan.quiet) this.#note(notice);
    this.#oldestDueMs = plan.dues.at(0)?.dueAtMs;
    if (this.#sending !== undefined) return Infinity;
    const inMs = sendAtMs(plan.dues, this.#receiver.groupWaitMs) - nowMs;
    const waitMs = Math.max(inMs, this.#notBeforeMs - clock.now());
    if (waitMs > 0) return Math.min(waitMs, plan.nextAtMs - nowMs);
    const { closesById = false } = KINDS[this.#receiver.kind];
    const [telling] = tellingsOf({ ...outlook, dues: plan.dues, notices: this.notices, nowMs, closesById });
    if (telling !== undefined) this.#sending = this.#tell(telling);
    return Infinity;
  }

  /** Waits for the message that is on its way. */
  async close(): Promise<void> {
    await this.#sending;
  }

  async #tell({ message, dues }: Telling): Promise<void> {
    const { clock, send, onFree } = this.#parts;
    const delivery = await send(this.#receiver, message);
    this.counts[delivery.kind] += 1;
    this.#logged(delivery, message);
    if (delivery.kind === "failed") {
      const backoffMs =
        FIRST_WAIT_MS * 2 ** Math.min(this.#failures, 20) * (0.8 + 0.4 * this.#parts.random());
      this.#failures += 1;
      this.#notBeforeMs = clock.now() + Math.max(delivery.waitMs ?? 0, Math.min(backoffMs, LONGEST_WAIT_MS));
    } else {
      this.#failures = 0;
      const { atMs, incident, side } = message;
      for (const due of dues)
        for (const notice of noticesOf(this.#receiver.name, due, this.notices, { atMs, incident, side }))
          this.#note(notice, !due.isReminder || KINDS[this.#receiver.kind].repeatMs === undefined);
    }
    this.#sending = undefined;
    onFree();
  }

  /** Each outage of a receiver is logged once. */
  #logged(delivery: Delivery, { event, incident }: Message): void {
    const { log } = this.#parts;
    const fields = { receiver: this.#receiver.name, detail: delivery.detail, event, incident };
    if (delivery.kind === "refused") log.warn(fields, "receiver refused a notification");
    else if (delivery.kind === "failed" && this.#failures === 0)
      log.warn(fields, "cannot notify a receiver, trying again");
    else if (delivery.kind === "delivered")
      log.info(fields, this.#failures === 0 ? "receiver notified" : "receiver can be notified again");
  }

  #note(notice: Notice, isKept = true): void {
    this.notices.set(notice.incident, notice);
    if (isKept) this.#parts.keep(notice);
  }

  forget(): void {
    const fromMs = this.#parts.clock.wallNow() - FORGOTTEN_MS;
    for (const [incident, { isOpen, atMs }] of this.notices)
      if (!isOpen && atMs < fromMs) this.notices.delete(incident);
  }
}

function repeating(receiver: Receiver): Receiver {
  return { ...receiver, remindMs: KINDS[receiver.kind].repeatMs ?? receiver.remindMs };
}
