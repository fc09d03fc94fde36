/** An answer that comes as a stream of events. */

import { flawOf, hasNoContent } from "../../kernel/poll/classify.ts";
import { type Judge, judgement, type JudgingPart, type Remark } from "../../kernel/poll/judging.ts";
import { STREAM } from "../../kernel/poll/reader.ts";

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
