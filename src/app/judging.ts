import type { Asked } from "../core/poll/answer.ts";
import { ANNOUNCEMENT } from "../core/poll/announcement.ts";
import { expectationsBy } from "../core/poll/assertions.ts";
import { type Checks, NO_CHECKS } from "../core/poll/checks.ts";
import { brokenOff, invalidJson, unexpectedStatus } from "../core/poll/classify.ts";
import { clockSkew } from "../core/poll/clock-skew.ts";
import { COST } from "../core/poll/cost.ts";
import type { Judging } from "../core/poll/judging.ts";
import { QUOTAS_LEFT } from "../core/poll/quotas.ts";
import { factsIn, refusalsBy } from "../core/poll/refusals.ts";
import { adviceBy } from "../core/poll/requested-pause.ts";
import { flawBeside, flawedStream, STREAM } from "../core/poll/streamed.ts";
import { VALUES } from "../core/poll/values.ts";
import { toldByHeaders } from "../engine/poll/advice-in.ts";

const REFUSALS = refusalsBy(toldByHeaders);
const ADVISED = adviceBy(toldByHeaders, factsIn);

/** How the answers of an upstream are judged, and what is read in them. What its config does not ask for is not looked for. */
export function judgingOf(
  { expect, stream, values, price, auth }: Asked,
  checks: Checks = NO_CHECKS,
): Judging {
  const isAsserted = expect.body !== undefined || expect.headers !== undefined;
  return {
    judges: [
      REFUSALS,
      brokenOff,
      unexpectedStatus,
      ...(stream === undefined ? [] : [flawedStream]),
      invalidJson,
      ...(isAsserted ? [expectationsBy(checks)] : []),
    ],
    remarks: [...(stream === undefined ? [] : [flawBeside]), ...(auth?.kind === "aws" ? [clockSkew] : [])],
    readers: [
      ADVISED,
      ANNOUNCEMENT,
      QUOTAS_LEFT,
      ...(stream === undefined ? [] : [STREAM]),
      ...(values === undefined ? [] : [VALUES]),
      ...(price === undefined ? [] : [COST]),
    ],
  };
}
