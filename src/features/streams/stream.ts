/** An answer that comes as a stream of events: what is kept of it while it comes, and when it has said enough. */

import { EventReader, type StreamEvent, type StreamFormat } from "./event-reader.ts";
import { parseJson } from "../../kernel/exchange/json-body.ts";
import { valueAt } from "../../kernel/exchange/json-pointer.ts";
import type { Upstream } from "../../kernel/config/config.ts";
import type { JsonScalar } from "../../kernel/exchange/json-value.ts";
import type { StreamEnd, StreamMeasures, StreamRead } from "../../kernel/exchange/exchange.ts";
import { type BodyReader, type BodyReading, EVENT_CHARS } from "../../transport/body-reader.ts";
import { isObject } from "../../kernel/text/json.ts";
import { flawOf, hasNoContent } from "../../kernel/poll/classify.ts";
import { type Judge, judgement, type JudgingPart, type Remark } from "../../kernel/poll/judging.ts";
import { STREAM } from "../../kernel/poll/reader.ts";

export type Stream = {
  readonly format: StreamFormat;
  /** By which event it tells that it is complete, or `end` where the end of the answer is the end of the stream. */
  readonly ends: "end" | { readonly data: string } | { readonly path: string; readonly equals: JsonScalar };
  /** After so many events it is left. */
  readonly atMost: number;
  /** Undefined for the timeout of the whole poll. */
  readonly gapTimeoutMs?: number | undefined;
  /** An event counts if it has something at this pointer; undefined where each counts. */
  readonly counts?: { readonly path: string } | undefined;
};

/** Errors are JSON. */
const ACCEPTED: Readonly<Record<StreamFormat, string>> = {
  sse: "text/event-stream, application/json",
  ndjson: "application/x-ndjson, application/json",
};

export function streamReading({ stream }: Partial<Upstream>): BodyReading | undefined {
  if (stream === undefined) return undefined;
  const { format, gapTimeoutMs } = stream;
  return { accept: ACCEPTED[format], gapTimeoutMs, open: (nowMs) => new StreamFold(stream, nowMs) };
}

declare module "../../kernel/config/config.ts" {
  interface Upstream {
    /** Absent where the answer is read as a whole. */
    readonly stream?: Stream | undefined;
  }
}

const ENCODER = new TextEncoder();

/** Each costs an exception: a thousand of them would take thirty milliseconds. */
const MOST_NOT_JSON = 20;

export class StreamFold implements BodyReader {
  events = 0;
  bytes = 0;
  /** When the last event came, whether it counts or not. Monotonic. */
  lastEventAtMs: number;
  #firstAtMs: number | undefined;
  #lastCountedAtMs = 0;
  #longestGapMs: number | undefined;
  #first: string | undefined;
  #last = "";
  #joined = "";
  #notJson = 0;
  /** Undefined while it goes on. */
  end: StreamEnd | undefined;
  readonly #stream: Stream;
  readonly #reader: EventReader;

  /** `nowMs`: when its head came. */
  constructor(stream: Stream, nowMs: number) {
    this.#stream = stream;
    this.#reader = new EventReader(stream.format);
    this.lastEventAtMs = nowMs;
  }

  get keptChars(): number {
    return (this.#first?.length ?? 0) + this.#last.length + this.#joined.length + this.#reader.keptChars;
  }

  get hasCounted(): boolean {
    return this.#firstAtMs !== undefined;
  }

  add(piece: Uint8Array, nowMs: number): void {
    this.bytes += piece.length;
    if (this.end !== undefined) return;
    for (const event of this.#reader.read(piece)) {
      this.#take(event, nowMs);
      if (this.end !== undefined) return;
    }
    if (this.#reader.isTooLong) this.end = "too_long";
  }

  /** The answer has ended. */
  finish(nowMs: number): void {
    const last = this.end === undefined ? this.#reader.finish() : undefined;
    if (last !== undefined) this.#take(last, nowMs);
    this.end ??= this.#stream.ends === "end" ? "complete" : "broke_off";
  }

  /** `stalledAtMs`: when it was given up waiting for the next event. */
  measures(startedAtMs: number, stalledAtMs: number | undefined): StreamMeasures {
    const { events, bytes } = this;
    const firstAtMs = this.#firstAtMs;
    const stallMs =
      firstAtMs === undefined || stalledAtMs === undefined ? 0 : stalledAtMs - this.#lastCountedAtMs;
    return {
      events,
      bytes,
      firstEventMs: firstAtMs === undefined ? undefined : firstAtMs - startedAtMs,
      longestGapMs: stallMs > (this.#longestGapMs ?? 0) ? stallMs : this.#longestGapMs,
    };
  }

  /** After its end. */
  get read(): StreamRead {
    return {
      end: this.end ?? "broke_off",
      events: this.events,
      bytes: this.bytes,
      first: this.#first === undefined ? undefined : ENCODER.encode(this.#first),
      joined: ENCODER.encode(this.#joined),
    };
  }

  get last(): Uint8Array {
    return ENCODER.encode(this.#last);
  }

  /** Undefined for what is no JSON object: no place in anything else can be meant. */
  #jsonIn(data: string): unknown {
    if (this.#notJson === MOST_NOT_JSON || !/^\s*\{/.test(data)) return undefined;
    const read = parseJson(data);
    if (read.kind === "json") return read.value;
    this.#notJson += 1;
    return undefined;
  }

  #take(event: StreamEvent, nowMs: number): void {
    const { ends, counts, atMost } = this.#stream;
    this.lastEventAtMs = nowMs;
    if (ends !== "end" && "data" in ends && event.data === ends.data) {
      this.end = "complete";
      return;
    }
    this.events += 1;
    this.#last = event.data;
    const mayFail = event.data.includes('"error"');
    const end = ends !== "end" && "path" in ends ? ends : undefined;
    const json = mayFail || counts !== undefined || end !== undefined ? this.#jsonIn(event.data) : undefined;
    if (event.name === "error" || (mayFail && isError(json))) {
      this.end = "error";
      return;
    }
    const found = counts && valueAt(json, counts.path);
    if (counts === undefined || (found !== undefined && found !== null && found !== "")) {
      this.#count(event.data, found, nowMs);
    }
    if (end !== undefined && valueAt(json, end.path) === end.equals) this.end ??= "complete";
    else if (this.events >= atMost) this.end ??= "left";
  }

  #count(data: string, found: unknown, nowMs: number): void {
    if (this.#firstAtMs === undefined) {
      this.#firstAtMs = nowMs;
      this.#first = data;
    } else {
      this.#longestGapMs = Math.max(this.#longestGapMs ?? 0, nowMs - this.#lastCountedAtMs);
    }
    this.#lastCountedAtMs = nowMs;
    if (typeof found === "string") this.#joined += found;
    if (this.#joined.length > EVENT_CHARS) this.end = "too_long";
  }
}

/** Providers send an error in the middle of a stream as one of these: `{"error": …}`, `{"type": "error", …}`. */
function isError(json: unknown): boolean {
  if (!isObject(json)) return false;
  const { error, type } = json;
  return type === "error" || (error !== undefined && error !== null && error !== false && error !== "");
}

const flawedStream: Judge = (answer) => {
  const flaw = hasNoContent(answer) ? undefined : flawOf(answer);
  return flaw === undefined ? undefined : judgement("stream", `answered ${answer.head.status}, but ${flaw}`);
};

/** A stream may be flawed because it was refused. */
const flawBeside: Remark = (answer, { outcome }) => {
  if (outcome.kind === "ok" || outcome.reason === "stream") return "";
  const flaw = flawOf(answer);
  return flaw === undefined ? "" : `; ${flaw}`;
};

export const STREAMS: JudgingPart = {
  of: ({ stream }) =>
    stream === undefined ? {} : { judges: [flawedStream], remarks: [flawBeside], readers: [STREAM] },
};
