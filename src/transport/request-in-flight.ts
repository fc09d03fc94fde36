import type { Dispatcher } from "undici";
import { isExpected } from "../kernel/config/config.ts";
import {
  ACTIVITIES,
  type AnswerHead,
  type Exchange,
  headerValue,
  type LargeBody,
  type Observation,
  type WireFault,
  type WithoutKeys,
  SMALL_BODY_BYTES,
} from "../kernel/exchange/exchange.ts";
import { counted } from "../kernel/exchange/json-value.ts";
import type { Clock } from "../kernel/time/clock.ts";
import type { BodyMemory } from "./body-memory.ts";
import { type BodyReader, EVENT_CHARS } from "./body-reader.ts";
import type { ConnectionAttempt } from "./connection-attempt.ts";
import { explain } from "./faults.ts";
import { PhaseTimer } from "./phases.ts";
import { ReceivedBody } from "./received-body.ts";
import type { Endpoint } from "./request.ts";
import type { Route } from "./route.ts";

/** Each header takes 200 bytes more than it has. */
export const MOST_HEADERS = 500;
/** After so many bytes of a stream others get their turn. A piece of any body costs as much as some bytes of a stream. */
const TURN_BYTES = 16_384;
const PIECE_BYTES = 8;
/** A stream that keeps more than a little needs a part of the memory for bodies: two bytes a character at worst. */
const SMALL_STREAM_CHARS = 32_768;
const LARGE_STREAM_BYTES = 2 * 4 * EVENT_CHARS;
/** The system hands over 64 KiB at once; a socket reads until it has so much ahead, and then once more. */
const SOCKET_BYTES = 131_072;
const BEGUN_STREAM_BYTES = SOCKET_BYTES + 2 * SMALL_STREAM_CHARS;

const INFORMATIONAL_MAX = 100;
const REASON_PHRASE_MAX_CHARS = 1_024;

/** A chunk of one byte takes six on the wire, and the headers come before the body. */
const WIRE_BYTES_A_BODY_BYTE = 8;
const WIRE_EXTRA_BYTES = 1_048_576;

const LOOK_EVERY_MS = 50;
/** A timer may fire by so much too early. */
const TIMER_EARLY_MS = 1;

const NOTHING = Buffer.alloc(0);
const LINE_FEED = 0x0a;
const HEAD_TOO_LARGE = "the headers of the answer are too large";
/** The first one has the status, and the last one is empty. */
const LINES_OF_HEAD = 1 + MOST_HEADERS + 1;

type Broken = Extract<Exchange, { kind: "broken" }>;

/** All requests of one probe have this in common. */
export type RequestParts = {
  readonly clock: Clock;
  readonly upstream: Pick<Endpoint, "method" | "timeoutMs" | "connection" | "reading" | "expect">;
  /** Where it is given, large bodies share it, and are handed over as they came: `Observation.large`. */
  readonly memory?: BodyMemory | undefined;
};

/**
 * One request and its answer, as undici reports them. It ends once; what comes later is ignored. The connection that it
 * uses is its client's, and may have been another request's before.
 */
export class RequestInFlight implements Dispatcher.DispatchHandler {
  readonly timer: PhaseTimer;
  readonly #clock: Clock;
  readonly #upstream: RequestParts["upstream"];
  readonly #memory: BodyMemory | undefined;
  readonly #route: Pick<Route, "upstream" | "peer" | "tls">;
  readonly #mayWrite: () => boolean;
  readonly #startedAtMs: number;
  readonly #body: ReceivedBody;
  readonly #looks: NodeJS.Timeout;
  readonly #ended = Promise.withResolvers<Exchange>();
  /** The body is still encoded. */
  readonly ended: Promise<Exchange> = this.#ended.promise;
  #endedAtMs: number | undefined;
  #connection: ConnectionAttempt | undefined;
  #reconnect: (() => void) | undefined;
  #bytesReadBefore = 0;
  #sent = false;
  #informational = 0;
  #informationalHeaders = 0;
  /** What was read and not told yet: a head or trailers that are not complete, or the frame of a chunk. */
  #unparsed: Buffer = NOTHING;
  #unparsedLines = 0;
  #head: AnswerHead | undefined;
  /** Read once: a body may come in tens of thousands of pieces. NaN where its length is not told. */
  #announcedBytes = Number.NaN;
  #stream: BodyReader | undefined;
  #turnBytes = 0;
  #wasLeft = false;
  #giveMemoryBack: (() => void) | undefined;
  #streamEnded: (() => void) | undefined;
  #waitsSinceMs: number | undefined;
  /** This time is ours, and none of the upstream's. */
  #waitedMs = 0;

  constructor(
    { clock, upstream, memory }: RequestParts,
    route: Pick<Route, "upstream" | "peer" | "tls">,
    mayWrite: () => boolean,
  ) {
    this.timer = new PhaseTimer(clock);
    this.#clock = clock;
    this.#upstream = upstream;
    // An answer to HEAD tells how long a body would be that never comes.
    this.#memory = upstream.method === "HEAD" ? undefined : memory;
    this.#route = route;
    this.#mayWrite = mayWrite;
    this.#startedAtMs = clock.now();
    this.#body = new ReceivedBody(upstream.expect.maxBodyBytes);
    this.#looks = setInterval(() => this.#look(), LOOK_EVERY_MS);
    this.#timeOutBeforeNextLook();
  }

  /** `reconnect` is called once if a kept connection turns out to be dead before anything is written to it. */
  use(connection: ConnectionAttempt, reconnect?: () => void): void {
    this.#connection = connection;
    this.#bytesReadBefore = connection.bytesRead;
    this.#reconnect = reconnect;
  }

  /** The last moment before the first byte: nothing else runs in this process between here and the write. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (!this.#mayWrite()) this.fail("timeout", "nothing was sent: the right to send ended first");
    // This process stood still: the request would be given up at once, and leave a quota with the hour of its lease.
    else if (this.#wholeLeftMs <= 0) this.#timeOut();
    if (this.hasEnded) {
      controller.abort(new Error("too late"));
      return;
    }
    this.#sent = true;
    this.timer.enter("wait");
  }

  /**
   * As much of what was read as undici may parse now. undici bounds the bytes of names and values, not how many there are:
   * a head of one-letter headers would take 4 MB until it is complete, and one host could so fill the memory.
   */
  partOf(read: Buffer): Buffer | undefined {
    this.#unparsedLines += endOfLines(this.#unparsed, LINES_OF_HEAD).lines;
    const { end } = endOfLines(read, LINES_OF_HEAD - this.#unparsedLines);
    this.#unparsed = read.subarray(0, end);
    if (end > 0) return this.#unparsed;
    this.fail("protocol", HEAD_TOO_LARGE);
    return undefined;
  }

  /** undici tells of a piece of what was read: only what comes after it is not told yet. */
  #hearOf(piece: Buffer | string | undefined): void {
    const read = this.#unparsed;
    if (typeof piece === "object" && piece.buffer === read.buffer)
      this.#unparsed = read.subarray(piece.byteOffset + piece.byteLength - read.byteOffset);
    this.#unparsedLines = 0;
  }

  #pause(controller: Dispatcher.DispatchController): void {
    controller.pause();
    // The rest of what was read is not parsed now: it is read again.
    this.#unparsed = NOTHING;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    reasonPhrase: string = "",
  ): void {
    const raw = Array.isArray(controller.rawHeaders) ? controller.rawHeaders : [];
    this.#hearOf(raw.at(-1));
    if (raw.length > 2 * MOST_HEADERS) return this.fail("protocol", HEAD_TOO_LARGE);
    // The parser accepts any three digits, and asserts that these do not occur only when the answer is over.
    if (status < 100) return this.fail("protocol", `the answer has an invalid status: ${status}`);
    if (status === 101) return this.fail("protocol", "the answer does not belong to this request");
    if (status < 200) {
      this.#informational += 1;
      this.#informationalHeaders += raw.length / 2;
      if (this.#informational > INFORMATIONAL_MAX || this.#informationalHeaders > MOST_HEADERS) {
        const most = `${INFORMATIONAL_MAX} informational answers, or ${MOST_HEADERS} headers of them`;
        this.fail("protocol", `more than ${most}`);
      }
      return;
    }
    const headers = readHeaders(raw);
    this.#head = { status, reasonPhrase: reasonPhrase.slice(0, REASON_PHRASE_MAX_CHARS), headers };
    this.#announcedBytes = Number(headerValue(headers, "content-length") ?? Number.NaN);
    const { reading, expect } = this.#upstream;
    // An answer with another status is no stream.
    const isStream = reading !== undefined && isExpected({ status: expect.status ?? [] }, status);
    this.timer.enter(isStream ? "first_event" : "transfer");
    if (!isStream) return this.#askForMemory(controller);
    this.#streamEnded = this.#memory?.beginStream(BEGUN_STREAM_BYTES);
    if (this.#memory !== undefined && this.#streamEnded === undefined)
      return this.fail("memory", "too many other streams are read already");
    this.#stream = reading.open(this.#clock.now());
    const encoding = headerValue(headers, "content-encoding") ?? "";
    if (!/^(identity)?$/i.test(encoding))
      this.fail("protocol", "the stream is encoded, though it must not be");
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.hasEnded) return;
    this.#hearOf(chunk);
    if (this.#stream !== undefined) return this.#readStream(this.#stream, controller, chunk);
    if (!this.#body.add(chunk))
      return this.fail("body_too_large", `the body exceeds ${this.#upstream.expect.maxBodyBytes} bytes`);
    this.#askForMemory(controller);
    this.#giveTurn(controller, PIECE_BYTES);
  }

  onResponseEnd(): void {
    if (this.#head === undefined) return this.fail("bug", "an answer ended without a head");
    // Where the body has no length, undici takes a TLS error or a reset for its end.
    const { isReset = false, tlsError } = this.#connection ?? {};
    if (tlsError !== undefined) return this.failWith(tlsError);
    if (isReset) return this.fail("reset", "the connection was reset before the answer was complete");
    if (this.#upstream.connection !== "reuse") this.#connection?.closeAfterAnswer();
    const stream = this.#stream;
    stream?.finish(this.#clock.now());
    if (stream !== undefined) return this.#endStream(stream);
    this.#end({ kind: "answered", head: this.#head, body: this.#body.take() });
  }

  onResponseError(_controller: unknown, error: Error): void {
    const reconnect = this.#reconnect;
    this.#reconnect = undefined;
    if (reconnect !== undefined && !this.#sent && !this.hasEnded) reconnect();
    else this.failWith(error);
  }

  /** Once, for the whole of a body that is told or turns out to be large. What comes meanwhile stays in the socket. */
  #askForMemory(controller: Dispatcher.DispatchController): void {
    const [memory, told] = [this.#memory, this.#announcedBytes];
    const { maxBodyBytes } = this.#upstream.expect;
    if (memory === undefined || this.#giveMemoryBack !== undefined) return;
    if (this.#body.length <= SMALL_BODY_BYTES && !(told > SMALL_BODY_BYTES)) return;
    this.#waitsSinceMs = this.#clock.now();
    this.#giveMemoryBack = memory.take(
      told <= maxBodyBytes ? told : maxBodyBytes,
      this.#body.length + SOCKET_BYTES,
      () => this.#readOn(controller),
    );
    if (this.#giveMemoryBack === undefined) this.fail("memory", "too many others wait for memory already");
    else if (this.#waitsSinceMs !== undefined) this.#pause(controller);
  }

  #readOn(controller: Dispatcher.DispatchController): void {
    if (this.hasEnded || this.#waitsSinceMs === undefined) return;
    this.#waitedMs = this.#clock.now() - this.#waitsSinceMs;
    this.#waitsSinceMs = undefined;
    controller.resume();
  }

  /** Where its body took some. */
  releaseMemory(): void {
    this.#giveMemoryBack?.();
  }

  #readStream(stream: BodyReader, controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const { maxBodyBytes } = this.#upstream.expect;
    const hadCounted = stream.hasCounted;
    stream.add(chunk, this.#clock.now());
    if (stream.hasCounted && !hadCounted) this.timer.enter("stream");
    if (stream.bytes > maxBodyBytes)
      return this.fail("body_too_large", `the stream exceeds ${maxBodyBytes} bytes`);
    if (stream.events > 0) this.#body.drop();
    else if (stream.bytes <= SMALL_BODY_BYTES) this.#body.add(chunk);
    if (stream.keptChars > SMALL_STREAM_CHARS && !this.#hasMemoryForStream())
      return this.fail("memory", "for all that is kept of the stream there was no memory");
    // The end of the answer may come with that of the stream: then its connection can be used again.
    if (stream.end === "complete") setImmediate(() => this.#leave(stream));
    else if (stream.end !== undefined) this.#leave(stream);
    else this.#giveTurn(controller, chunk.byteLength + PIECE_BYTES);
  }

  /** Now or not at all: a wait would be taken for one of the upstream's. */
  #hasMemoryForStream(): boolean {
    this.#giveMemoryBack ??= this.#memory?.take(LARGE_STREAM_BYTES, Number.POSITIVE_INFINITY, () => {});
    return this.#memory === undefined || this.#giveMemoryBack !== undefined;
  }

  /** The system hands over megabytes at once, and nothing else would run meanwhile. */
  #giveTurn(controller: Dispatcher.DispatchController, bytes: number): void {
    this.#turnBytes += bytes;
    if (this.#turnBytes < TURN_BYTES) return;
    this.#turnBytes = 0;
    this.#pause(controller);
    setImmediate(() => {
      if (!this.hasEnded && this.#waitsSinceMs === undefined) controller.resume();
    });
  }

  #leave(stream: BodyReader): void {
    if (this.hasEnded) return;
    this.#wasLeft = true;
    this.#endStream(stream);
  }

  #endStream(stream: BodyReader): void {
    if (this.#head === undefined) return;
    if (stream.end === "too_long") {
      return this.fail(
        "body_too_large",
        `an event, or all that events say, exceeds ${EVENT_CHARS} characters`,
      );
    }
    const raw = this.#body.take();
    const body = stream.events === 0 ? raw : stream.last;
    this.#end({ kind: "answered", head: this.#head, body, stream: stream.read });
  }

  #look(): void {
    this.#checkLength();
    this.#timeOutBeforeNextLook();
  }

  /** Blank lines, a reason phrase and chunk extensions are neither header nor body, and can be endless too. */
  #checkLength(): void {
    const maxBytes = this.#upstream.expect.maxBodyBytes * WIRE_BYTES_A_BODY_BYTE + WIRE_EXTRA_BYTES;
    if ((this.#connection?.bytesRead ?? 0) - this.#bytesReadBefore <= maxBytes) return;
    this.fail("protocol", `the answer is longer than ${maxBytes} bytes, though little of it is body`);
  }

  #timeOutBeforeNextLook(): void {
    const leftMs = Math.min(this.#wholeLeftMs, this.#gapLeftMs);
    if (leftMs > LOOK_EVERY_MS) return;
    // After this process was paused, timers run before the answers that arrived meanwhile: let those be read first.
    setTimeout(() => setImmediate(() => this.#timeOut()), Math.max(0, leftMs));
  }

  get #wholeLeftMs(): number {
    return this.#startedAtMs + this.#upstream.timeoutMs - this.#clock.now();
  }

  get #gapLeftMs(): number {
    const gapMs = this.#upstream.reading?.gapTimeoutMs;
    const stream = this.#stream;
    if (gapMs === undefined || stream === undefined) return Number.POSITIVE_INFINITY;
    return stream.lastEventAtMs + gapMs - this.#clock.now();
  }

  #timeOut(): void {
    const { timeoutMs: afterMs, reading } = this.#upstream;
    if (this.#wholeLeftMs > TIMER_EARLY_MS && reading?.gapTimeoutMs !== undefined) {
      // An event may have come since this was planned.
      if (this.#gapLeftMs > TIMER_EARLY_MS) return;
      this.fail("timeout", `no event came for ${reading.gapTimeoutMs} ms`);
    } else if (this.#waitsSinceMs !== undefined) {
      this.fail("memory", `for the rest of the body there was no memory within ${afterMs} ms`);
    } else if (this.#connection === undefined) this.fail("bug", `the key was not read within ${afterMs} ms`);
    else this.cancel(`timed out after ${afterMs} ms`);
  }

  cancel(reason: string): void {
    const { phase } = this.timer;
    this.fail("timeout", `${reason} while ${phase === undefined ? "preparing" : ACTIVITIES[phase]}`);
  }

  failWith(error: unknown): void {
    const { isLost: lost = false, tlsError } = this.#connection ?? {};
    const { upstream, peer, tls } = this.#route;
    const context = { upstream, peer, encrypted: tls !== undefined, phase: this.timer.phase, lost };
    // undici drops the TLS error and reports only the end that follows it.
    const { fault, detail } = explain(tlsError ?? error, context);
    this.fail(fault, detail);
  }

  fail(fault: WireFault, detail: string): void {
    this.#end(this.broken(fault, detail));
  }

  broken(fault: WireFault, detail: string): Broken {
    const stream = this.#stream;
    const told = stream === undefined ? "" : ` (${counted(stream.events, "event")} had come)`;
    return { kind: "broken", fault, detail: `${detail}${told}`, sent: this.#sent, head: this.#head };
  }

  #end(exchange: Exchange): void {
    if (this.hasEnded) return;
    clearInterval(this.#looks);
    this.#streamEnded?.();
    if (exchange.kind === "broken") {
      this.#body.drop();
      this.releaseMemory();
    }
    this.timer.stop();
    this.#endedAtMs = this.#clock.now();
    // Other answers may have come with this one: all are read before one is judged, or they would seem slower than they are.
    setImmediate(() => this.#ended.resolve(exchange));
  }

  get hasEnded(): boolean {
    return this.#endedAtMs !== undefined;
  }

  /** Whether its stream had said enough before the answer was over: its connection is of no use any more. */
  get wasLeft(): boolean {
    return this.#wasLeft;
  }

  /** After the end: `exchange` is decoded, unless it is `large`. */
  observation(exchange: Exchange, withoutKeys: WithoutKeys, large: LargeBody | undefined): Observation {
    const { timesMs } = this.timer;
    const waitedMs = this.#waitedMs;
    const endedAtMs = this.#endedAtMs ?? this.#clock.now();
    const hasStalled = exchange.kind === "broken" && exchange.fault === "timeout";
    const stream = this.#stream?.measures(this.#startedAtMs, hasStalled ? endedAtMs : undefined);
    return {
      exchange,
      durationMs: endedAtMs - this.#startedAtMs - waitedMs,
      phasesMs: waitedMs === 0 ? timesMs : { ...timesMs, transfer: (timesMs.transfer ?? 0) - waitedMs },
      certificateExpiresAtMs: this.#connection?.certificateExpiresAtMs,
      withoutKeys,
      ...(large && { large }),
      ...(stream && { stream }),
    };
  }
}

/** Where so many lines end, or all that there are. */
function endOfLines(text: Buffer, most: number): { readonly lines: number; readonly end: number } {
  let [lines, end] = [0, 0];
  for (; lines < most; lines += 1) {
    const at = text.indexOf(LINE_FEED, end);
    if (at < 0) return { lines, end: text.length };
    end = at + 1;
  }
  return { lines, end };
}

function readHeaders(raw: readonly (Buffer | string)[]): (readonly [string, string])[] {
  const headers: (readonly [string, string])[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    headers.push([readText(raw[index]).toLowerCase(), readText(raw[index + 1])]);
  }
  return headers;
}

function readText(text: Buffer | string | undefined): string {
  return typeof text === "string" ? text : (text?.toString("latin1") ?? "");
}
