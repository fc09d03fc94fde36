/** An answer that comes as a stream of events. */

import type { StreamMeasures } from "../../kernel/exchange/exchange.ts";
import { flawOf, hasNoContent } from "../../kernel/poll/classify.ts";
import { type Judge, judgement, type Remark } from "../../kernel/poll/judging.ts";
import { type Reader, reader } from "../../kernel/poll/reader.ts";

/** Nothing where no stream began. */
export const STREAM: Reader<StreamMeasures> = reader("stream", ({ answer }) => answer.observation.stream);

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
