import { setImmediate as nextTurn } from "node:timers/promises";
import { constants, inflateRawSync } from "node:zlib";
import { type HttpAnswer, type HttpRequest, textAnswer, whenResponseEnds } from "../guards/guard.ts";
import { prefersGzip } from "./accept-encoding.ts";
import { Turns, Unwanted } from "./turns.ts";

type Part = Uint8Array<ArrayBuffer>;

/**
 * A text in pieces is made in turns, before the first byte of it is sent: so a fault is still told as one. What comes in
 * gzip, of parts that can be read one by one, is sent while it is made.
 */
export type Content =
  | { readonly pieces: Iterable<string | undefined> | AsyncIterable<string | undefined> }
  | { readonly gzipped: AsyncIterable<Part> };

type Head = { readonly status: 200 | 404; readonly type: string };
export type Draft = Head & { readonly content: Content };

/** Makes one gzip of parts. Each of them ends on a whole byte, and refers to nothing before itself. */
export type Gzip = { next(text: Uint8Array, isLast: boolean): Part };

/**
 * The memory of all answers together, from when they are made until the last byte is read: the answers themselves, and
 * what the kernel may hold of them for each reader.
 */
export type AnswerRoom = { readonly limitBytes: number; takenBytes: number };

export type AnswersOptions = {
  readonly room: AnswerRoom;
  readonly gzip: () => Gzip;
  /** How many different answers may wait to be made. */
  readonly maxWaiting: number;
  /** After each turn of making an answer, as long as it took. */
  readonly rests: boolean;
};

/** A part has at most so many bytes of plain text: it is compressed, or made plain again, in one turn of the loop. */
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
  /** The key says what is asked for. The oldest comes first. */
  readonly #waiting = new Map<string, Answer>();
  #isWorking = false;
  /** No answer so far was larger: one that is still to be made is expected to be as large. */
  #largest: Sizes = { gzipBytes: 0, plainBytes: 0 };

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /** `key` says what is asked for: the same key, the same answer. */
  async serve(request: HttpRequest, key: string, draft: () => Draft | Promise<Draft>): Promise<HttpAnswer> {
    const { room, maxWaiting } = this.#options;
    const known = this.#waiting.get(key);
    if (room.takenBytes >= room.limitBytes) return refusal("too many answers are still being read");
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
      const { gzipBytes, plainBytes } = answer.sizes ?? this.#largest;
      this.#largest = {
        gzipBytes: Math.max(gzipBytes, this.#largest.gzipBytes),
        plainBytes: Math.max(plainBytes, this.#largest.plainBytes),
      };
    }
    this.#isWorking = false;
  }
}

type Sizes = { readonly gzipBytes: number; readonly plainBytes: number };

export function refusal(why: string): HttpAnswer {
  return textAnswer(`cannot answer: ${why}\n`, 503, { Vary: "Accept-Encoding", "Retry-After": "1" });
}

/** One answer, from the first request for it until the last byte of it is read. */
class Answer {
  readonly #draft: () => Draft | Promise<Draft>;
  readonly #options: AnswersOptions;
  /** Joined, they are one gzip. */
  readonly #parts: Part[] = [];
  readonly #begun = Promise.withResolvers<Head | undefined>();
  #grown = Promise.withResolvers<void>();
  #readers = 0;
  #bytes = 0;
  #plain: { readonly index: number; readonly part: Part } | undefined;
  #end: { readonly fault: unknown } | "whole" | undefined;

  constructor(draft: () => Draft | Promise<Draft>, options: AnswersOptions) {
    this.#draft = draft;
    this.#options = options;
    // All who wait for it may have gone.
    this.#begun.promise.catch(() => {});
  }

  /** A text in pieces is whole by then. Undefined if nobody waits for it any more. */
  get begun(): Promise<Head | undefined> {
    return this.#begun.promise;
  }

  /** They are known when the answer is whole. */
  get sizes(): Sizes | undefined {
    const last = this.#parts.at(-1);
    if (this.#end !== "whole" || last === undefined) return undefined;
    // A gzip ends with the length of its text.
    const plainBytes = new DataView(last.buffer, last.byteOffset).getUint32(last.length - 4, true);
    return { gzipBytes: this.#bytes, plainBytes };
  }

  /** Counts this reader, and what the kernel may hold for it, until the last byte is sent or the client has gone. */
  join(request: HttpRequest, needsBytes: number): void {
    const { room } = this.#options;
    this.#readers += 1;
    room.takenBytes += needsBytes;
    whenResponseEnds(request, () => {
      room.takenBytes -= needsBytes;
      this.#readers -= 1;
      this.#forgetUnlessWanted();
    });
  }

  async make(): Promise<void> {
    const turns = new Turns({ rests: this.#options.rests, isWanted: () => this.#readers > 0 });
    try {
      turns.endUnlessWanted();
      const { content, ...head } = await this.#draft();
      await turns.pauseIfLong();
      if ("gzipped" in content) this.#begun.resolve(head);
      for await (const part of partsOf(content, this.#options.gzip, turns)) {
        turns.endUnlessWanted();
        this.#add(part);
      }
      this.#end = "whole";
      this.#begun.resolve(head);
    } catch (fault) {
      this.#end = { fault };
      if (fault instanceof Unwanted) this.#begun.resolve(undefined);
      else this.#begun.reject(fault);
    }
    this.#grown.resolve();
    this.#forgetUnlessWanted();
    await turns.rest();
  }

  /** Yields its parts as they come, in gzip or plain. */
  async *read(isPlain: boolean): AsyncGenerator<Part, void, void> {
    for (let index = 0; ; index++) {
      while (this.#parts[index] === undefined && this.#end === undefined) await this.#grown.promise;
      const part = this.#parts[index];
      if (part !== undefined) yield isPlain ? this.#plainPart(part, index) : part;
      else if (typeof this.#end === "object") throw this.#end.fault;
      else return;
    }
  }

  /** Readers at the same place share what is made plain for them. */
  #plainPart(part: Part, index: number): Part {
    if (this.#plain?.index !== index) this.#plain = { index, part: inflated(part, index) };
    return this.#plain.part;
  }

  #add(part: Part): void {
    this.#parts.push(part);
    this.#bytes += part.length;
    this.#options.room.takenBytes += part.length;
    this.#grown.resolve();
    this.#grown = Promise.withResolvers();
  }

  #forgetUnlessWanted(): void {
    if (this.#readers > 0) return;
    this.#options.room.takenBytes -= this.#bytes;
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
    body: answer.read(isPlain),
  };
}

const GZIP_HEADER_BYTES = 10;

/** What follows the last part, the end of the gzip, is not read. */
function inflated(part: Part, index: number): Part {
  const deflated = index === 0 ? part.subarray(GZIP_HEADER_BYTES) : part;
  return inflateRawSync(deflated, {
    finishFlush: constants.Z_SYNC_FLUSH,
    chunkSize: PART_BYTES + PART_BYTES / 2,
  });
}

async function* partsOf(
  content: Content,
  makeGzip: () => Gzip,
  turns: Turns,
): AsyncGenerator<Part, void, void> {
  if ("gzipped" in content) {
    yield* content.gzipped;
    return;
  }
  const gzip = makeGzip();
  const part = new Uint8Array(PART_BYTES);
  let text = "";
  /** It is given one character more than fits, so that none is cut in two. */
  const encode = (): Uint8Array => {
    const { read, written } = UTF8.encodeInto(text.slice(0, PART_BYTES + 1), part);
    text = text.slice(read);
    return part.subarray(0, written);
  };
  for await (const piece of content.pieces) {
    await turns.pauseIfLong();
    text += piece ?? "";
    while (text.length > PART_BYTES) {
      yield gzip.next(encode(), false);
      await turns.pause();
    }
  }
  for (;;) {
    const bytes = encode();
    yield gzip.next(bytes, text === "");
    if (text === "") return;
  }
}

const UTF8 = new TextEncoder();
