import type { StreamMeasures, StreamRead } from "../kernel/exchange/exchange.ts";

/** What is kept of a stream is its first event, its last, and all that its events say together: each has so much at most. */
export const EVENT_CHARS = 65_536;

/** Reads a body piece by piece, while it comes. Times are monotonic. */
export interface BodyReader {
  readonly events: number;
  readonly bytes: number;
  readonly lastEventAtMs: number;
  readonly keptChars: number;
  readonly hasCounted: boolean;
  /** Undefined while it goes on. */
  readonly end: StreamRead["end"] | undefined;
  add(piece: Uint8Array, nowMs: number): void;
  /** The answer has ended. */
  finish(nowMs: number): void;
  readonly read: StreamRead;
  readonly last: Uint8Array;
  measures(startedAtMs: number, stalledAtMs: number | undefined): StreamMeasures;
}

/** How an upstream's answers are read, and what is asked for so that they can be. */
export type BodyReading = {
  readonly accept: string;
  /** Undefined for the timeout of the whole poll. */
  readonly gapTimeoutMs?: number | undefined;
  open(nowMs: number): BodyReader;
};
