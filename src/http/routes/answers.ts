import { setImmediate as nextTurn } from "node:timers/promises";
import { constants, inflateRawSync } from "node:zlib";
import { type HttpAnswer, type HttpRequest, textAnswer, whenResponseEnds } from "../guards/guard.ts";
import { prefersGzip } from "./accept-encoding.ts";
import { Turns, Unwanted } from "./turns.ts";

export type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

/** A whole text, a text that is made while it is read, or the same in gzip, of parts that can be read one by one. */
export type Content = string | Bytes | { readonly gzipped: Bytes };

type Head = { readonly status: 200 | 404; readonly type: string };
/** The pieces of a text are made in turns, before the first byte of it is sent: so a fault is still told as one. */
export type Draft = Head & { readonly content: Content | { readonly pieces: Iterable<string> } };

/** Makes one gzip of parts. Each of them ends on a whole byte, and refers to nothing before itself. */
export type Gzip = { next(text: Uint8Array, isLast: boolean): Uint8Array<ArrayBuffer> };

/**
 * The memory of all answers together, from when they are made until the last byte is read: the answers themselves, and
 * what the kernel may hold of them for each reader.
 */
export class AnswerRoom {
  readonly #limitBytes: number;
  #takenBytes = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get isFull(): boolean {
    return this.#takenBytes >= this.#limitBytes;
  }

  take(bytes: number): void {
    this.#takenBytes += bytes;
  }

  give(bytes: number): void {
    this.#takenBytes -= bytes;
  }
}

export type AnswersOptions = {
  readonly room: AnswerRoom;
  readonly gzip: () => Gzip;
  /** How many different answers may wait to be made. */
  readonly maxWaiting: number;
  /** After each turn of making an answer, as long as it took. */
  readonly rests: boolean;
};

/** Of plain text. Each part is compressed, or made plain again for a client without gzip, in one turn of the loop. */
const PART_BYTES = 131_072;

/** What Linux keeps at most of what a client has not read yet (net.ipv4.tcp_wmem). Containers are charged for it. */
const SOCKET_BYTES = 4 * 1024 * 1024;

/**
 * Makes answers one at a time, so that polls, probes and other clients come in between. Whoever asks for an answer that
 * is not begun yet gets the same one: it is made once, is newer than each of their requests, and is kept once, in gzip,
 * however many read it and however slowly.
 */
export class Answers {
  readonly #options: AnswersOptions;
  /** By what is asked for, the oldest first. */
  readonly #waiting = new Map<string, Answer>();
  #isWorking = false;
  /** Of the largest answer so far. */
  #largest: Sizes = { gzipBytes: 0, plainBytes: 0 };

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /** `key` says what is asked for: the same key, the same answer. */
  async serve(
    request: HttpRequest,
    key: string,
    draft: (turns: Turns) => Promise<Draft>,
  ): Promise<HttpAnswer> {
    const { room, maxWaiting } = this.#options;
    const known = this.#waiting.get(key);
    if (room.isFull) return refusal("too many answers are still being read");
    if (known === undefined && this.#waiting.size >= maxWaiting)
      return refusal(`${maxWaiting} requests are already waiting`);
    const answer = known ?? new Answer(draft, this.#options);
    if (known === undefined) this.#waiting.set(key, answer);
    const isPlain = !prefersGzip(request.header("accept-encoding"));
    const largestBytes = isPlain ? this.#largest.plainBytes : this.#largest.gzipBytes;
    answer.join(request, Math.min(largestBytes, SOCKET_BYTES));
    if (!this.#isWorking) void this.#work();
    return respond(answer, isPlain);
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    for (;;) {
      await nextTurn();
      const [next] = this.#waiting;
      if (next === undefined) break;
      const [key, answer] = next;
      // Whoever asks from now on gets the next one.
      this.#waiting.delete(key);
      await answer.make();
      this.#largest = larger(this.#largest, answer.sizes);
    }
    this.#isWorking = false;
  }
}

type Sizes = { readonly gzipBytes: number; readonly plainBytes: number };

function larger(one: Sizes, other: Sizes | undefined): Sizes {
  if (other === undefined) return one;
  return {
    gzipBytes: Math.max(one.gzipBytes, other.gzipBytes),
    plainBytes: Math.max(one.plainBytes, other.plainBytes),
  };
}

export function refusal(why: string): HttpAnswer {
  return textAnswer(`cannot answer: ${why}\n`, 503, { Vary: "Accept-Encoding", "Retry-After": "1" });
}

/** One answer, from the first request for it until the last byte of it is read. */
class Answer {
  readonly #draft: (turns: Turns) => Promise<Draft>;
  readonly #options: AnswersOptions;
  /** Of one gzip. */
  readonly #parts: Uint8Array<ArrayBuffer>[] = [];
  readonly #begun = Promise.withResolvers<Head | undefined>();
  #grown = Promise.withResolvers<void>();
  #readers = 0;
  #bytes = 0;
  #plain: { readonly index: number; readonly bytes: Uint8Array<ArrayBuffer> } | undefined;
  #isOver = false;
  #fault: unknown;

  constructor(draft: (turns: Turns) => Promise<Draft>, options: AnswersOptions) {
    this.#draft = draft;
    this.#options = options;
    // All who wait for it may have gone.
    this.#begun.promise.catch(() => {});
  }

  /** A whole text is compressed by then. Undefined if nobody waits for it any more. */
  get begun(): Promise<Head | undefined> {
    return this.#begun.promise;
  }

  /** Undefined while it is made. */
  get sizes(): Sizes | undefined {
    const last = this.#parts.at(-1);
    if (!this.#isOver || last === undefined) return undefined;
    // A gzip ends with the length of its text.
    const plainBytes = new DataView(last.buffer, last.byteOffset).getUint32(last.length - 4, true);
    return { gzipBytes: this.#bytes, plainBytes };
  }

  /** Until the last byte is sent, or the client has gone. */
  join(request: HttpRequest, needsBytes: number): void {
    const { room } = this.#options;
    this.#readers += 1;
    // Without a socket, nothing tells when the answer was read.
    if (request.outgoing === undefined) return;
    room.take(needsBytes);
    whenResponseEnds(request, () => {
      room.give(needsBytes);
      this.#readers -= 1;
      this.#forgetUnlessWanted();
    });
  }

  async make(): Promise<void> {
    const turns = new Turns({ rests: this.#options.rests, isWanted: () => this.#readers > 0 });
    try {
      await this.#make(turns);
    } catch (error) {
      if (error instanceof Unwanted) this.#giveUp();
      else this.#fail(error);
    }
    this.#grown.resolve();
    this.#forgetUnlessWanted();
    await turns.rest();
  }

  async #make(turns: Turns): Promise<void> {
    if (this.#readers === 0) throw new Unwanted();
    const { content, ...head } = await this.#draft(turns);
    if (isStream(content)) this.#begun.resolve(head);
    for await (const part of gzipParts(content, this.#options.gzip(), turns)) {
      if (this.#readers === 0) throw new Unwanted();
      this.#add(part);
    }
    this.#isOver = true;
    this.#begun.resolve(head);
  }

  /** Who has gone may still wait for its next part: there is none. */
  #giveUp(): void {
    this.#isOver = true;
    this.#begun.resolve(undefined);
  }

  #fail(error: unknown): void {
    this.#fault = error;
    this.#begun.reject(error);
  }

  /** Undefined after the last one. Readers at the same place share what is made plain for them. */
  async plainPart(index: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    const part = await this.part(index);
    if (part === undefined) return undefined;
    if (this.#plain?.index !== index) this.#plain = { index, bytes: inflated(part, index) };
    return this.#plain.bytes;
  }

  /** In gzip; undefined after the last one. */
  async part(index: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
    for (;;) {
      const part = this.#parts[index];
      if (part !== undefined || this.#isOver) return part;
      if (this.#fault !== undefined) throw this.#fault;
      await this.#grown.promise;
    }
  }

  #add(part: Uint8Array<ArrayBuffer>): void {
    this.#parts.push(part);
    this.#bytes += part.length;
    this.#options.room.take(part.length);
    this.#grown.resolve();
    this.#grown = Promise.withResolvers();
  }

  #forgetUnlessWanted(): void {
    if (this.#readers > 0) return;
    this.#options.room.give(this.#bytes);
    this.#bytes = 0;
    this.#parts.length = 0;
  }
}

async function respond(answer: Answer, isPlain: boolean): Promise<HttpAnswer> {
  const head = await answer.begun;
  // The client has gone: no answer is needed.
  if (head === undefined) return { status: 503, headers: {}, body: undefined };
  const { sizes } = answer;
  return {
    status: head.status,
    headers: {
      "Content-Type": head.type,
      Vary: "Accept-Encoding",
      ...(!isPlain && { "Content-Encoding": "gzip" }),
      ...(sizes && { "Content-Length": String(isPlain ? sizes.plainBytes : sizes.gzipBytes) }),
    },
    body: partsOf(answer, isPlain),
  };
}

async function* partsOf(answer: Answer, isPlain: boolean): AsyncGenerator<Uint8Array, void, void> {
  for (let index = 0; ; index++) {
    const part = isPlain ? await answer.plainPart(index) : await answer.part(index);
    if (part === undefined) return;
    yield part;
  }
}

const GZIP_HEADER_BYTES = 10;

/** What follows the last part, the end of the gzip, is not read. */
function inflated(part: Uint8Array, index: number): Uint8Array<ArrayBuffer> {
  const deflated = index === 0 ? part.subarray(GZIP_HEADER_BYTES) : part;
  return inflateRawSync(deflated, {
    finishFlush: constants.Z_SYNC_FLUSH,
    chunkSize: PART_BYTES + PART_BYTES / 2,
  });
}

function isStream(content: Draft["content"]): content is Bytes | { readonly gzipped: Bytes } {
  return typeof content === "object" && !("pieces" in content);
}

async function* gzipParts(
  content: Draft["content"],
  gzip: Gzip,
  turns: Turns,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void, void> {
  if (isStream(content) && "gzipped" in content) {
    yield* content.gzipped;
    return;
  }
  const buffer = new Uint8Array(PART_BYTES);
  let filled = 0;
  for await (const slice of isStream(content) ? content : slices(content, turns)) {
    for (let at = 0; at < slice.length;) {
      if (filled === PART_BYTES) {
        yield gzip.next(buffer, false);
        filled = 0;
      }
      const taken = slice.subarray(at, at + PART_BYTES - filled);
      buffer.set(taken, filled);
      filled += taken.length;
      at += taken.length;
    }
  }
  yield gzip.next(buffer.subarray(0, filled), true);
}

/** One in each turn, as each is compressed at once. A slice is valid until the next one. One character more than fits: so that none is cut in two. */
async function* slices(
  content: string | { readonly pieces: Iterable<string> },
  turns: Turns,
): AsyncGenerator<Uint8Array, void, void> {
  const slice = new Uint8Array(PART_BYTES);
  for await (const text of typeof content === "string" ? [content] : gathered(content.pieces, turns)) {
    for (let at = 0; at < text.length;) {
      const { read, written } = UTF8.encodeInto(text.slice(at, at + PART_BYTES + 1), slice);
      at += read;
      yield slice.subarray(0, written);
      await turns.pause();
    }
  }
}

/** Small pieces are many: together they are written faster. */
async function* gathered(pieces: Iterable<string>, turns: Turns): AsyncGenerator<string, void, void> {
  let text = "";
  for (const piece of pieces) {
    text += piece;
    await turns.pauseIfLong();
    if (text.length < PART_BYTES) continue;
    yield text;
    text = "";
  }
  yield text;
}

const UTF8 = new TextEncoder();
