import { setImmediate as nextTurn } from "node:timers/promises";
import { constants, inflateRawSync } from "node:zlib";
import { type HttpAnswer, type HttpRequest, textAnswer, whenResponseEnds } from "../guards/guard.ts";
import { type Coding, codingFor } from "./accept.ts";
import { type Compressor, compressorOf } from "./compressors.ts";
import type { Readers } from "./readers.ts";
import { Turns, Unwanted } from "./turns.ts";

type Chunk = Uint8Array<ArrayBuffer>;

/** Made in turns, before the first byte is sent: so a fault is still told as one. Each is used up before the next. */
export type Pieces = Iterable<Piece>;
/** Nothing of the answer yet, but a moment at which other work can run. */
type Piece = string | Uint8Array | undefined;

type Head = { readonly status: 200 | 404; readonly type: string };
export type Draft = Head & { readonly pieces: Pieces };

/**
 * The memory of all answers together, from when they are made until the last byte is read: the answers themselves, and
 * what the kernel may hold of them for each reader.
 */
export type AnswerRoom = { readonly limitBytes: number; takenBytes: number };

export type AnswersOptions = {
  readonly room: AnswerRoom;
  readonly readers: Readers;
  /** How many different answers may wait to be made. */
  readonly maxWaiting: number;
  /** After each turn of making an answer, as long as it took. */
  readonly rests: boolean;
};

/** A part has at most so many bytes of plain text: it is compressed, or made plain again, in one turn of the loop. */
const PART_BYTES = 131_072;

/** Linux keeps so much at most of what a client has not read yet (net.ipv4.tcp_wmem). Containers are charged for it. */
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
  #largest: Sizes = { compressedBytes: 0, plainBytes: 0 };

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /** `key` says what is asked for: the same key, the same answer. */
  async serve(request: HttpRequest, key: string, draft: () => Draft | Promise<Draft>): Promise<HttpAnswer> {
    const { room, readers, maxWaiting } = this.#options;
    const coding = codingFor(request.header("accept-encoding"));
    // Plain is made from gzip, so these share one answer.
    const kept = coding === "zstd" ? "zstd" : "gzip";
    const keptKey = `${kept} ${key}`;
    const known = this.#waiting.get(keptKey);
    if (room.takenBytes >= room.limitBytes && !readers.makeRoomFor(request))
      return refusal("too many answers are still being read");
    if (known === undefined && this.#waiting.size >= maxWaiting)
      return refusal(`${maxWaiting} requests are already waiting`);
    const answer = known ?? new Answer(draft, compressorOf(kept), this.#options);
    if (known === undefined) this.#waiting.set(keptKey, answer);
    const largestBytes = coding === "identity" ? this.#largest.plainBytes : this.#largest.compressedBytes;
    answer.join(request, Math.min(largestBytes, SOCKET_BYTES));
    if (!this.#isWorking) void this.#work();
    return respond(answer, coding);
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
      const { compressedBytes, plainBytes } = answer.sizes;
      this.#largest = {
        compressedBytes: Math.max(compressedBytes, this.#largest.compressedBytes),
        plainBytes: Math.max(plainBytes, this.#largest.plainBytes),
      };
    }
    this.#isWorking = false;
  }
}

type Sizes = { readonly compressedBytes: number; readonly plainBytes: number };

export function refusal(why: string): HttpAnswer {
  return textAnswer(`cannot answer: ${why}\n`, 503, { Vary: "Accept-Encoding", "Retry-After": "1" });
}

/** One answer, from the first request for it until the last byte of it is read. */
class Answer {
  readonly #draft: () => Draft | Promise<Draft>;
  readonly #compressor: Compressor;
  readonly #options: AnswersOptions;
  /** Joined, they are the compressed answer. */
  readonly #parts: Chunk[] = [];
  readonly #made = Promise.withResolvers<Head | undefined>();
  #readers = 0;
  #sizes: Sizes = { compressedBytes: 0, plainBytes: 0 };
  #plain: { readonly index: number; readonly part: Chunk } | undefined;

  constructor(draft: () => Draft | Promise<Draft>, compressor: Compressor, options: AnswersOptions) {
    this.#draft = draft;
    this.#compressor = compressor;
    this.#options = options;
    // All who wait for it may have gone.
    this.#made.promise.catch(() => {});
  }

  /** Undefined if nobody waits for it any more. */
  get made(): Promise<Head | undefined> {
    return this.#made.promise;
  }

  get sizes(): Sizes {
    return this.#sizes;
  }

  /** Counts this reader, and what the kernel may hold for it, until the last byte is sent or the client has gone. */
  join(request: HttpRequest, needsBytes: number): void {
    const { room, readers } = this.#options;
    this.#readers += 1;
    readers.add(request);
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
      const { pieces, ...head } = await this.#draft();
      await turns.pauseIfLong();
      for await (const { part, plainBytes } of partsOf(pieces, this.#compressor, turns)) {
        turns.endUnlessWanted();
        this.#add(part, plainBytes);
      }
      this.#made.resolve(head);
    } catch (fault) {
      if (fault instanceof Unwanted) this.#made.resolve(undefined);
      else this.#made.reject(fault);
    }
    this.#forgetUnlessWanted();
    await turns.rest();
  }

  /** Compressed or plain. */
  async *read(isPlain: boolean): AsyncGenerator<Chunk, void, void> {
    for (let index = 0; ; index++) {
      const part = this.#parts[index];
      if (part === undefined) return;
      yield isPlain ? this.#plainPart(part, index) : part;
    }
  }

  /** Readers at the same place share what is made plain for them. */
  #plainPart(part: Chunk, index: number): Chunk {
    if (this.#plain?.index !== index) this.#plain = { index, part: inflated(part, index) };
    return this.#plain.part;
  }

  #add(part: Chunk, plainBytes: number): void {
    this.#parts.push(part);
    this.#options.room.takenBytes += part.length;
    this.#sizes = {
      compressedBytes: this.#sizes.compressedBytes + part.length,
      plainBytes: this.#sizes.plainBytes + plainBytes,
    };
  }

  #forgetUnlessWanted(): void {
    if (this.#readers > 0) return;
    for (const part of this.#parts.splice(0)) this.#options.room.takenBytes -= part.length;
  }
}

async function respond(answer: Answer, coding: Coding): Promise<HttpAnswer> {
  const head = await answer.made;
  // The client has gone: no answer is needed.
  if (head === undefined) return { status: 503, headers: {}, body: undefined };
  const { plainBytes, compressedBytes } = answer.sizes;
  const isPlain = coding === "identity";
  return {
    status: head.status,
    headers: {
      "Content-Type": head.type,
      Vary: "Accept-Encoding",
      ...(!isPlain && { "Content-Encoding": coding }),
      "Content-Length": String(isPlain ? plainBytes : compressedBytes),
    },
    body: answer.read(isPlain),
  };
}

const GZIP_HEADER_BYTES = 10;

/** What follows the last part, the end of the gzip, is not read. */
function inflated(part: Chunk, index: number): Chunk {
  const deflated = index === 0 ? part.subarray(GZIP_HEADER_BYTES) : part;
  return inflateRawSync(deflated, {
    finishFlush: constants.Z_SYNC_FLUSH,
    chunkSize: PART_BYTES + PART_BYTES / 2,
  });
}

type MadeChunk = { readonly part: Chunk; readonly plainBytes: number };

async function* partsOf(
  pieces: Pieces,
  compressor: Compressor,
  turns: Turns,
): AsyncGenerator<MadeChunk, void, void> {
  const room = new Uint8Array(PART_BYTES);
  let filled = 0;
  const compress = (isLast: boolean): MadeChunk => {
    const part = compressor(room.subarray(0, filled), isLast);
    const made = { part, plainBytes: filled };
    filled = 0;
    return made;
  };
  for (const piece of pieces) {
    // Thousands of pieces are nothing yet: each wait would cost as much as a short one.
    const pause = turns.pauseIfLong();
    if (pause !== undefined) await pause;
    let rest = piece ?? "";
    while (rest.length > 0) {
      const { read, written } = fill(rest, room.subarray(filled));
      // A slice of bytes is a copy of all that is left.
      rest = typeof rest === "string" ? rest.slice(read) : rest.subarray(read);
      filled += written;
      if (rest.length === 0) break;
      yield compress(false);
      await turns.pauseIfLong();
    }
  }
  yield compress(true);
}

/** No character is cut in two. */
function fill(
  from: string | Uint8Array,
  to: Uint8Array,
): { readonly read: number; readonly written: number } {
  if (typeof from === "string") return UTF8.encodeInto(from, to);
  const length = Math.min(from.length, to.length);
  to.set(from.subarray(0, length));
  return { read: length, written: length };
}

const UTF8 = new TextEncoder();
