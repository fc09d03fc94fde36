import type { Asked } from "../../kernel/poll/answer.ts";
import { ANNOUNCEMENT } from "../../features/announcements/announcement.ts";
import { expectationsBy } from "../../features/expect/assertions.ts";
import { type Checks, NO_CHECKS } from "../../features/expect/checks.ts";
import { brokenOff, invalidJson, unexpectedStatus } from "../../kernel/poll/classify.ts";
import { clockSkew } from "../../features/auth/clock-skew.ts";
import { COST } from "../../features/money/cost.ts";
import type { Judging } from "../../kernel/poll/judging.ts";
import { QUOTAS_LEFT } from "../../features/quota/reader.ts";
import { factsIn, refusalsBy } from "../../features/refusals/judging.ts";
import { adviceBy } from "../../features/hints/requested-pause.ts";
import { flawBeside, flawedStream, STREAM } from "../../features/streams/judging.ts";
import { VALUES } from "../../features/values/values.ts";
import { toldByHeaders } from "../../features/hints/advice-in.ts";

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
