import { type Ask, settlementOf, type Lease } from "../../kernel/budget/ledger.ts";
import { TOKEN_GAP_MS } from "./oauth2.ts";
import type { Observation } from "../../kernel/exchange/exchange.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { Ending, Gate, GateWaiter, HeldBack, Probe, Waiting } from "../../kernel/poll/ports.ts";
import { noToken, readTokenAnswer } from "./token-answer.ts";
import type { Log } from "../../kernel/text/log.ts";
import type { Clock } from "../../kernel/time/clock.ts";
import { type Moment, momentOf, mostSince } from "../../kernel/time/moment.ts";
import type { LeaseQueue } from "../../kernel/polling/lease-queue.ts";

/** What answers say of limits. */
export type HintsOfTokens = {
  /** Monotonic. */
  pausedUntilMs(budgets: readonly string[]): number;
  /** A token request was answered so. Returns for how long it must not be asked again, as far as `max_pause` allows. */
  heardBeside(budgets: readonly string[], observation: Observation): number;
};

export type TokenSourceParts = {
  readonly clock: Clock;
  readonly hints: HintsOfTokens;
  readonly queue: LeaseQueue;
  /** Of each of its requests. */
  readonly ask: Ask;
  /** Asks the token endpoint. */
  readonly probe: Probe;
  /** The client's secret as it is now: of a file that may change. */
  readonly secret: () => string | Promise<string>;
  /** Hears of every token before anybody sends it. */
  readonly learn: (token: string) => void;
  /** From 0 to 1, so that several processes do not renew at the same moment. */
  readonly random: () => number;
  /** With every line of the log. */
  readonly fields: object;
  readonly log: Log;
  readonly onBug: (error: unknown) => void;
};

/** A token must arrive before it expires, so it is used no longer than this before its end. */
const EXPIRES_EARLY_MS = 10_000;
const EXPIRES_EARLY_PART = 0.1;
/** A slot that comes so shortly before the expiry begins a renewal, and does not wait for it. */
const RENEWED_EARLY_MS = 300_000;
const RENEWED_EARLY_PART = 0.2;
/** A token of a minute expires some seconds before the next may be requested: so long, a slot waits for that. */
const SOON_MS = 10_000;
/** No wait after failures is longer than so many gaps. */
const MOST_GAPS = 5;

/** The shared token as one upstream uses it. */
export type UpstreamToken = {
  readonly gate: Gate;
  /** Right before a poll is sent. */
  readonly read: () => string;
};

type HeldToken = {
  readonly value: string;
  readonly requestedAt: Moment;
  /** From then on. A wall clock that leaps ahead may be right: this process was suspended. */
  readonly usableMs: number;
  readonly renewFromMs: number;
  wasAccepted: boolean;
  isRejected: boolean;
};

type Request =
  /** Until the next one is allowed, then for its lease. */
  | {
      readonly kind: "waiting";
      readonly dueMs: number;
      /** Tells why it has no lease yet, where it waits for one. */
      readonly leave: () => HeldBack | undefined;
    }
  | { readonly kind: "sent" };

const GONE_EARLY = noToken(
  "the last one has expired or was rejected, and the next is requested a minute after it at the earliest",
);

const EXPIRED_WAITING = noToken(
  "each expires while its poll waits for a lease; a budget of their own may help",
);

/**
 * The access token that some upstreams share. Slots ask for it: without slots, nothing is fetched.
 *
 *     slot ── ask ──┬─ usable ────────────────── lease ── poll        renewed ahead of its expiry, while polls go on
 *                   ├─ waiting ── lease ── POST ── ask again          one request for all that wait
 *                   └─ unavailable                                    the last request failed, and the next is not due
 *
 * A request is sent at most once in `TOKEN_GAP_MS`, whatever expires, fails or is rejected: the proof counts on it.
 */
export class TokenSource {
  readonly #parts: TokenSourceParts;
  readonly #waiters = new Set<GateWaiter>();
  readonly #closing = new AbortController();
  #held: HeldToken | undefined;
  #failure: Ending | undefined;
  #failuresInARow = 0;
  #request: Request | undefined;
  #ended: Promise<void> = Promise.resolve();
  #lastSentMs = Number.NEGATIVE_INFINITY;
  /** The token endpoint asked not to be asked before. */
  #pausedUntilMs = Number.NEGATIVE_INFINITY;
  /** The one that the last request was made with. */
  #secret: string | undefined;
  /** An upstream has rejected a token since one was accepted. */
  #isRejected = false;

  constructor(parts: TokenSourceParts) {
    this.#parts = parts;
  }

  forUpstream(): UpstreamToken {
    let sent = "";
    let mayReject = true;
    const gate: Gate = {
      prepare: (waiter) => this.#ask(waiter),
      // A second time only: a pace that is slower than tokens expire would go on like this for ever.
      atLease: (isAgain) => (this.#isUsable() ? undefined : isAgain ? EXPIRED_WAITING : "prepare"),
      ended: (poll) => {
        const accepted = isAccepted(poll);
        const held = this.#held?.value === sent ? this.#held : undefined;
        if (accepted === true) mayReject = true;
        if (accepted === true && held !== undefined) held.wasAccepted = true;
        if (accepted !== undefined) this.#isRejected = !accepted;
        if (accepted !== false || !mayReject) return undefined;
        // Once, until a token is accepted: an upstream that rejects every token must not have one fetched each minute.
        mayReject = false;
        if (held !== undefined) held.isRejected = true;
        return undefined;
      },
    };
    // A poll is sent only where it is usable: then there is one.
    return { gate, read: () => (sent = this.#held?.value ?? "") };
  }

  /** A request in flight is cut off. Nobody waits any more. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#leave();
    await this.#ended;
    await this.#parts.probe.close();
  }

  /** Each failure in a row doubles the wait for the next request, up to a bound. */
  get #notBeforeMs(): number {
    const gaps = Math.min(2 ** Math.max(0, this.#failuresInARow - 1), MOST_GAPS);
    return Math.max(this.#lastSentMs + gaps * TOKEN_GAP_MS, this.#pausedUntilMs);
  }

  #ask(waiter: GateWaiter): Waiting | Ending | undefined {
    const nowMs = this.#parts.clock.now();
    if (this.#failure !== undefined || this.#isRejected) void this.#lookAtSecret().catch(this.#parts.onBug);
    const untilDueMs = this.#closing.signal.aborted ? Infinity : this.#notBeforeMs - nowMs;
    const isDue = untilDueMs <= 0;
    const held = this.#isUsable() ? this.#held : undefined;
    if (held !== undefined && !(held.isRejected && (isDue || this.#request !== undefined))) {
      if (isDue && nowMs >= held.renewFromMs) this.#fetch(held.requestedAt.nowMs + held.usableMs);
      return undefined;
    }
    if (isDue || (this.#failure === undefined && untilDueMs <= SOON_MS)) this.#fetch(waiter.dueMs);
    if (this.#request === undefined) return this.#failure ?? GONE_EARLY;
    this.#waiters.add(waiter);
    return { kind: "waiting", ticket: { withdraw: () => this.#withdraw(waiter) } };
  }

  /**
   * A token that was rejected and cannot be renewed is not sent: what it is answered would blame our key. One that was
   * accepted before waits for its renewal too; one that never was tells of the key.
   */
  #isUsable(): boolean {
    const held = this.#held;
    if (held === undefined) return false;
    if (held.isRejected && (this.#failure !== undefined || held.wasAccepted)) return false;
    return mostSince(held.requestedAt, momentOf(this.#parts.clock)) < held.usableMs;
  }

  /** A pause may have come while the request was connecting. One that is closed may be on budgets that nobody knows. */
  get #isPaused(): boolean {
    const { hints, ask, clock } = this.#parts;
    return !this.#closing.signal.aborted && hints.pausedUntilMs(ask.budgets) > clock.now();
  }

  /** Nobody waits for this: the probe reads it too, and gives up where the file system hangs. */
  async #noteSecret(): Promise<void> {
    this.#secret = await this.#parts.secret();
  }

  /** Another secret is a reason to ask again: not to wait as long as the last one failed. */
  async #lookAtSecret(): Promise<void> {
    const used = this.#secret;
    const secret = await this.#parts.secret();
    if (used === undefined || secret === used || this.#secret !== used || this.#request !== undefined) return;
    this.#secret = secret;
    this.#failuresInARow = 0;
    if (this.#held !== undefined) this.#held.isRejected = true;
  }

  #withdraw(waiter: GateWaiter): HeldBack {
    this.#waiters.delete(waiter);
    const request = this.#request;
    const reason = this.#leave();
    // Whoever takes its place asks right after this.
    if (request?.kind === "waiting" && this.#waiters.size > 0) this.#fetch(request.dueMs);
    return reason ?? { cause: "overlap", budget: this.#parts.ask.budgets[0] };
  }

  #leave(): HeldBack | undefined {
    if (this.#request?.kind !== "waiting") return undefined;
    const { leave } = this.#request;
    this.#request = undefined;
    return leave();
  }

  /** One request for all that wait, as urgent as the most urgent of them. */
  #fetch(dueMs: number): void {
    if (this.#request?.kind === "sent") return;
    if (this.#request !== undefined && this.#request.dueMs <= dueMs) return;
    this.#leave();
    const waitMs = this.#notBeforeMs - this.#parts.clock.now();
    const leave = waitMs > 0 ? this.#fetchIn(waitMs, dueMs) : this.#enterQueue(dueMs);
    this.#request = { kind: "waiting", dueMs, leave };
  }

  /** Returns what ends the wait. */
  #fetchIn(waitMs: number, dueMs: number): () => undefined {
    const { clock, onBug } = this.#parts;
    const withdrawn = new AbortController();
    const fetchNow = (): void => {
      if (withdrawn.signal.aborted) return;
      this.#request = undefined;
      this.#fetch(dueMs);
    };
    clock.sleep(waitMs, withdrawn.signal).then(fetchNow).catch(onBug);
    return () => {
      withdrawn.abort();
      return undefined;
    };
  }

  #enterQueue(dueMs: number): () => HeldBack {
    const { queue, ask, clock } = this.#parts;
    const ticket = queue.enter({
      ask,
      dueMs,
      endsAtPause: false,
      granted: (lease) => {
        this.#request = { kind: "sent" };
        this.#ended = this.#send(lease).catch(this.#parts.onBug);
      },
      refused: () => {
        this.#lastSentMs = clock.now();
        this.#failed(noToken("its request got no lease"));
      },
    });
    return () => ticket.withdraw();
  }

  async #send(lease: Lease): Promise<void> {
    const { clock, probe, hints, ask } = this.#parts;
    const requestedAt = momentOf(clock);
    const lastSentMs = this.#lastSentMs;
    this.#lastSentMs = requestedAt.nowMs;
    void this.#noteSecret().catch(this.#parts.onBug);
    let hadRight = true;
    const mayWrite = (): boolean => (hadRight = lease.isUsable() && !this.#isPaused);
    let observation: Observation | undefined;
    try {
      observation = await probe.poll(this.#closing.signal, mayWrite);
    } catch (error) {
      this.#parts.onBug(error);
    }
    lease.settle(observation === undefined ? "unanswered" : settlementOf(observation.exchange));
    if (!hadRight) {
      // Nothing was sent, and nobody has failed: whoever waits asks again, and the next lease comes after the pause.
      this.#lastSentMs = lastSentMs;
      return this.#settle();
    }
    if (observation === undefined)
      return this.#failed(noToken("pacewatch failed at its request: see its log"));
    const pauseMs = hints.heardBeside(ask.budgets, observation);
    const answer = readTokenAnswer(observation.exchange, observation.withoutKeys);
    if (answer.kind === "failed") return this.#failed(answer, pauseMs);
    const { value, lifetimeMs } = answer;
    this.#parts.learn(value);
    const usableMs = lifetimeMs - Math.min(EXPIRES_EARLY_MS, lifetimeMs * EXPIRES_EARLY_PART);
    const earlyMs =
      Math.min(RENEWED_EARLY_MS, lifetimeMs * RENEWED_EARLY_PART) * (0.5 + this.#parts.random() / 2);
    this.#held = {
      value,
      requestedAt,
      usableMs,
      renewFromMs: requestedAt.nowMs + usableMs - earlyMs,
      wasAccepted: false,
      isRejected: false,
    };
    this.#failure = undefined;
    this.#failuresInARow = 0;
    const seconds = Math.round(lifetimeMs / 1_000);
    this.#parts.log.debug({ ...this.#parts.fields, seconds }, "access token received");
    this.#settle();
  }

  /** The token that is held is used until it expires. */
  #failed(failure: Ending, pauseMs = 0): void {
    const { clock, fields, log } = this.#parts;
    this.#failuresInARow += 1;
    const nowMs = clock.now();
    this.#pausedUntilMs = nowMs + pauseMs;
    this.#failure = failure;
    if (!this.#closing.signal.aborted) {
      const seconds = Math.round((this.#notBeforeMs - nowMs) / 1_000);
      const isStill = this.#isUsable() ? { lastTokenIsUsed: true } : {};
      log.warn(
        { ...fields, ...isStill, detail: failure.detail, nextInSeconds: seconds },
        "token request failed",
      );
    }
    this.#settle();
  }

  #settle(): void {
    this.#request = undefined;
    const waiters = [...this.#waiters];
    this.#waiters.clear();
    for (const waiter of waiters) {
      try {
        waiter.settled();
      } catch (error) {
        this.#parts.onBug(error);
      }
    }
  }
}

/** Undefined where the answer does not tell: who is overloaded, throttles us or is a bot wall may not have looked at it. */
function isAccepted({ outcome: { kind, reason } }: Poll): boolean | undefined {
  if (reason === "unauthorized") return false;
  return kind === "ok" || reason === "assertion" ? true : undefined;
}
