import type { Receiver } from "./receiver.ts";
import { alikeOf, composeMessage, type Message } from "./plan/message.ts";
import type { Outlook } from "./plan/outlook.ts";
import { type Due, notifiedOf, planFor, sendAtMs } from "./plan/plan.ts";
import { FORGOTTEN_MS, isOpen, type Notified, toldNote } from "./plan/transitions.ts";
import type { Note } from "../../kernel/text/notes.ts";
import type { Log } from "../../kernel/text/log.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time/duration.ts";
import type { Delivery } from "./receivers/answer.ts";
import { KINDS } from "./receivers/kinds.ts";

const FIRST_WAIT_MS = 5 * SECOND_MS;
const LONGEST_WAIT_MS = 10 * MINUTE_MS;

export type OutboxParts = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  /** Never rejects. */
  readonly send: (receiver: Receiver, message: Message) => Promise<Delivery>;
  readonly keep: (note: Note) => void;
  /** Called when there may be more to tell. */
  readonly onFree: () => void;
};

/** What one receiver knows. It is sent one message at a time, and waits for no other receiver. */
export class Outbox {
  readonly #parts: OutboxParts;
  /** What was over before is no news to it. Wall clock. */
  readonly sinceMs: number;
  /** By the ids of alerts. */
  readonly notified: Map<string, Notified>;
  readonly counts: Record<Delivery["kind"], number> = { delivered: 0, failed: 0, refused: 0 };
  /** When the next message should leave. Wall clock; undefined while nothing waits. */
  sendMs: number | undefined;
  #receiver: Receiver;
  #sending: Promise<void> | undefined;
  /** Monotonic. */
  #notBeforeMs = Number.NEGATIVE_INFINITY;
  #failures = 0;

  constructor(receiver: Receiver, sinceMs: number, notified: readonly Notified[], parts: OutboxParts) {
    this.#receiver = repeating(receiver);
    this.sinceMs = sinceMs;
    this.#parts = parts;
    this.notified = new Map(notified.map((each) => [each.alert, each]));
  }

  /** The config says it anew. */
  continued(receiver: Receiver): this {
    this.#receiver = repeating(receiver);
    this.#notBeforeMs = Number.NEGATIVE_INFINITY;
    return this;
  }

  /** Sends what is due, if it may. Tells in how many ms to ask again, unless something happens. */
  look(outlook: Outlook): number {
    const { nowMs } = outlook;
    const receiver = this.#receiver;
    const question = { ...outlook, receiver, sinceMs: this.sinceMs, notified: this.notified };
    const plan = planFor(question);
    for (const each of plan.quiet) this.#know(each);
    const [first] = plan.dues;
    const sendMs = sendAtMs(plan.dues, receiver.groupWaitMs);
    this.sendMs = first && sendMs;
    if (this.#sending !== undefined) return Infinity;
    const waitMs = Math.max(sendMs - nowMs, this.#notBeforeMs - this.#parts.clock.now());
    if (first === undefined || waitMs > 0) return Math.min(waitMs, plan.nextAtMs - nowMs);
    const alike = alikeOf(first, plan.dues, KINDS[receiver.kind].closesById === true);
    this.#sending = this.#tell(composeMessage(first, alike, question), alike);
    return Infinity;
  }

  /** Waits for the message that is on its way. */
  async close(): Promise<void> {
    await this.#sending;
  }

  async #tell(message: Message, dues: readonly Due[]): Promise<void> {
    const { clock, send, onFree, random } = this.#parts;
    const receiver = this.#receiver;
    const delivery = await send(receiver, message);
    this.counts[delivery.kind] += 1;
    this.#logged(delivery, message);
    if (delivery.kind === "failed") {
      const backoffMs = FIRST_WAIT_MS * 2 ** Math.min(this.#failures, 20) * (0.8 + 0.4 * random());
      this.#failures += 1;
      this.#notBeforeMs = clock.now() + Math.max(delivery.waitMs ?? 0, Math.min(backoffMs, LONGEST_WAIT_MS));
    } else {
      this.#failures = 0;
      // What is repeated each minute by itself need not be written down each time.
      for (const due of dues)
        for (const each of notifiedOf(receiver.name, due, this.notified, message))
          this.#know(each, !due.isReminder || KINDS[receiver.kind].repeatMs === undefined);
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

  #know(notified: Notified, isKept = true): void {
    const { receiver, alert, state } = notified;
    const from = this.notified.get(alert)?.state ?? "new";
    this.notified.set(alert, notified);
    if (isKept) this.#parts.keep(toldNote(notified));
    if (from !== state)
      this.#parts.log.debug({ receiver, alert, from, to: state }, "receiver knows of an alert");
  }

  forget(): void {
    const fromMs = this.#parts.clock.wallNow() - FORGOTTEN_MS;
    for (const each of this.notified.values())
      if (!isOpen(each) && each.atMs < fromMs) this.notified.delete(each.alert);
  }
}

function repeating(receiver: Receiver): Receiver {
  return { ...receiver, remindMs: KINDS[receiver.kind].repeatMs ?? receiver.remindMs };
}
