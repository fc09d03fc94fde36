/** An answer that comes as a stream of events. */

import { counted } from "../../kernel/exchange/json-value.ts";
import type { StreamMeasures } from "./stream.ts";
import type { Answer } from "../../kernel/poll/answer.ts";
import { hasNoContent } from "../../kernel/poll/classify.ts";
import { type Judge, judgement, type Remark } from "../../kernel/poll/judging.ts";
import { type Reader, reader } from "../../kernel/poll/reader.ts";

/** Nothing where no stream began. */
export const STREAM: Reader<StreamMeasures> = reader("stream", ({ answer }) => answer.observation.stream);

/** What is wrong with a stream, whatever its events say; undefined for nothing. */
export function flawOf({ stream }: Answer): string | undefined {
  if (stream === undefined) return undefined;
  const { end, events, bytes, first } = stream;
  if (events === 0) return `no event came in its ${bytes} B`;
  const after = counted(end === "error" ? events - 1 : events, "event");
  if (end === "error") return `an error came after ${after} of its stream`;
  if (end === "broke_off") return `its stream ended after ${after}, without the one that ends it`;
  return first === undefined ? `its stream had ${after}, none of which counts` : undefined;
}

/** The events of a stream may speak of limits and keys: only what came in their place, or ended them, is about us. */
export function saysOfLimits({ stream }: Answer): boolean {
  return stream === undefined || stream.events === 0 || stream.end === "error";
}

export const flawedStream: Judge = (answer) => {
  const flaw = hasNoContent(answer) ? undefined : flawOf(answer);
  return flaw === undefined ? undefined : judgement("stream", `answered ${answer.head.status}, but ${flaw}`);
};

/** A stream may be flawed because it was refused. */
export const flawBeside: Remark = (answer, { outcome }) => {
  if (outcome.kind === "ok" || outcome.reason === "stream") return "";
  const flaw = flawOf(answer);
  return flaw === undefined ? "" : `; ${flaw}`;
};
