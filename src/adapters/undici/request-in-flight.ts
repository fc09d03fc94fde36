import type { Dispatcher } from "undici";
import type { AnswerHead, Exchange, WireFault } from "../../core/exchange/exchange.ts";
import type { Clock } from "../../core/time/clock.ts";
import type { ConnectionAttempt } from "./connection-attempt.ts";
import { explain, type FaultContext } from "./faults.ts";
import { PhaseTimer } from "./phases.ts";

const INFORMATIONAL_MAX = 100;
const REASON_PHRASE_MAX_CHARS = 1_024;

/** A chunk of one byte takes six on the wire; and before the body come the headers. */
const WIRE_BYTES_A_BODY_BYTE = 8;
const WIRE_EXTRA_BYTES = 1_048_576;

type Broken = Extract<Exchange, { kind: "broken" }>;

/** Between whom a talk is, for the words of its faults. */
export type Parties = Pick<FaultContext, "peer" | "upstream" | "encrypted">;

/** One request and its answer as undici tells of them. It ends once: whatever comes later is not heard. */
export class RequestInFlight implements Dispatcher.DispatchHandler {
  readonly timer: PhaseTimer;
  readonly #clock: Clock;
  readonly #startedAtMs: number;
  readonly #parties: Parties;
  readonly #maxBodyBytes: number;
  readonly #mayWrite: () => boolean;
  readonly #received: ReceivedBody;
  readonly #ended = Promise.withResolvers<Exchange>();
  #endedAtMs: number | undefined;
  #wire: ConnectionAttempt | undefined;
  #redial: (() => void) | undefined;
  #dialled = false;
  #sent = false;
  #head: AnswerHead | undefined;
  #informational = 0;
  #readBefore = 0;

  constructor(clock: Clock, parties: Parties, maxBodyBytes: number, mayWrite: () => boolean) {
    this.#mayWrite = mayWrite;
    this.timer = new PhaseTimer(clock);
    this.#clock = clock;
    this.#startedAtMs = clock.now();
    this.#parties = parties;
    this.#maxBodyBytes = maxBodyBytes;
    this.#received = new ReceivedBody(maxBodyBytes);
  }

  /** The body is as it came: still encoded. */
  get ended(): Promise<Exchange> {
    return this.#ended.promise;
  }

  get over(): boolean {
    return this.#endedAtMs !== undefined;
  }

  get dialled(): boolean {
    return this.#dialled;
  }

  get sent(): boolean {
    return this.#sent;
  }

  get wire(): ConnectionAttempt | undefined {
    return this.#wire;
  }

  get durationMs(): number {
    return (this.#endedAtMs ?? this.#clock.now()) - this.#startedAtMs;
  }

  /** The connection that a kept line brings, and what to do should it turn out to be dead before it is written to. */
  resumes(wire: ConnectionAttempt | undefined, redial: () => void): void {
    this.#wire = wire;
    this.#readBefore = wire?.bytesRead ?? 0;
    this.#redial = wire === undefined ? undefined : redial;
  }

  /** Registers the connection that was made for this talk. */
  dials(wire: ConnectionAttempt): void {
    this.#wire = wire;
    this.#readBefore = 0;
    this.#dialled = true;
  }

  fail(fault: WireFault, detail: string): void {
    this.#end({ kind: "broken", fault, detail, sent: this.#sent, head: this.#head });
  }

  /** What is neither header nor body can come without end too: blank lines, a reason phrase, chunk extensions. */
  checkLength(): void {
    const mostBytes = this.#maxBodyBytes * WIRE_BYTES_A_BODY_BYTE + WIRE_EXTRA_BYTES;
    if ((this.#wire?.bytesRead ?? 0) - this.#readBefore <= mostBytes) return;
    this.fail("protocol", `the answer is longer than ${mostBytes} bytes, though little of it is body`);
  }

  failWith(error: unknown): void {
    const scene = { ...this.#parties, phase: this.timer.phase, cut: this.#wire?.cut ?? false };
    // undici forgets it: it tells only of the end that follows.
    const { fault, detail } = explain(this.#wire?.alert ?? error, scene);
    this.fail(fault, detail);
  }

  /** The same break, found after the end: in the decoding of the body. */
  broken(fault: WireFault, detail: string): Broken {
    return { kind: "broken", fault, detail, sent: this.#sent, head: this.#head };
  }

  /** The last moment before its first byte: from here to the writing nothing else runs in this process. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (!this.#mayWrite()) {
      this.fail("timeout", "nothing was sent: the right to send it ended first");
      controller.abort(new Error("too late"));
      return;
    }
    this.#sent = true;
    this.timer.enter("wait");
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    reasonPhrase: string = "",
  ): void {
    // The parser passes any three digits, and asserts against these only once the answer is over.
    if (status < 100) return this.fail("protocol", `the answer's status is none: ${status}`);
    if (status === 101) return this.fail("protocol", "the answer is not one to this request");
    if (status < 200) {
      this.#informational += 1;
      if (this.#informational > INFORMATIONAL_MAX) {
        this.fail("protocol", `more than ${INFORMATIONAL_MAX} informational answers`);
      }
      return;
    }
    this.timer.enter("transfer");
    const headers = readHeaders(controller.rawHeaders);
    this.#head = { status, reasonPhrase: reasonPhrase.slice(0, REASON_PHRASE_MAX_CHARS), headers };
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    if (this.over || this.#received.add(chunk)) return;
    this.fail("body_too_large", `the body exceeds ${this.#maxBodyBytes} bytes`);
  }

  onResponseEnd(): void {
    if (this.#head === undefined) return this.fail("internal", "an answer ended without a head");
    // undici takes them for the end of a body whose length was not said.
    if (this.#wire?.alert !== undefined) return this.failWith(this.#wire.alert);
    if (this.#wire?.reset === true)
      return this.fail("reset", "the connection was reset before the whole answer had come");
    forgoStacksThisTurn();
    this.#end({ kind: "answered", head: this.#head, body: this.#received.take() });
  }

  onResponseError(_controller: unknown, error: Error): void {
    const redial = this.#redial;
    this.#redial = undefined;
    if (redial !== undefined && !this.#sent && !this.#dialled && !this.over) redial();
    else this.failWith(error);
  }

  #end(exchange: Exchange): void {
    if (this.over) return;
    this.timer.stop();
    this.#endedAtMs = this.#clock.now();
    this.#ended.resolve(exchange);
  }
}

function readHeaders(raw: Dispatcher.DispatchController["rawHeaders"]): (readonly [string, string])[] {
  if (!Array.isArray(raw)) return [];
  const headers: (readonly [string, string])[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    headers.push([readText(raw[index]).toLowerCase(), readText(raw[index + 1])]);
  }
  return headers;
}

function readText(text: Buffer | string | undefined): string {
  return typeof text === "string" ? text : (text?.toString("latin1") ?? "");
}

const FIRST_BYTES = 4_096;

/**
 * A body as it comes. It is copied: a piece that is kept would keep the whole read that it is a part of, and an
 * upstream can see to it that each read of 64 KiB holds one byte of body.
 */
export class ReceivedBody {
  readonly #mostBytes: number;
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** False where it is too much, and then nothing is kept any more. */
  add(piece: Buffer): boolean {
    const length = this.#length + piece.byteLength;
    if (length > this.#mostBytes) {
      this.#drop();
      return false;
    }
    if (length > this.#bytes.byteLength) this.#grow(length);
    piece.copy(this.#bytes, this.#length);
    this.#length = length;
    return true;
  }

  take(): Buffer {
    const body = this.#bytes.subarray(0, this.#length);
    this.#drop();
    return body;
  }

  #grow(length: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(length, FIRST_BYTES, this.#bytes.byteLength * 2));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }

  #drop(): void {
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
  }
}

/**
 * Undici ends a connection by way of errors that nobody ever sees. To write down where each one came from, and to
 * make text of it, takes a ninth of what a poll costs: so until this turn of the loop is over, no error has a stack.
 */
function forgoStacksThisTurn(): void {
  const usual = Error.stackTraceLimit;
  if (usual === 0) return;
  Error.stackTraceLimit = 0;
  queueMicrotask(() => {
    Error.stackTraceLimit = usual;
  });
}
