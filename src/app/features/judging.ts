import { ANNOUNCEMENT } from "../../features/announcements/announcement.ts";
import { SIGNATURES } from "../../features/auth/clock-skew.ts";
import { EXPECTATIONS } from "../../features/expect/judging.ts";
import { toldByHeaders } from "../../features/hints/advice-in.ts";
import { adviceBy } from "../../features/hints/requested-pause.ts";
import { COSTS } from "../../features/money/cost.ts";
import { QUOTAS_LEFT } from "../../features/quota/reader.ts";
import { factsIn, refusalsBy } from "../../features/refusals/judging.ts";
import { STREAMS } from "../../features/streams/judging.ts";
import { VALUES_READ } from "../../features/values/values.ts";
import type { Asked } from "../../kernel/poll/answer.ts";
import { brokenOff, invalidJson, unexpectedStatus } from "../../kernel/poll/classify.ts";
import type { Judge, Judging, JudgingPart, Libraries } from "../../kernel/poll/judging.ts";
import type { Reader } from "../../kernel/poll/reader.ts";

/** In this order judges are asked, and readers after them. */
const PARTS: readonly JudgingPart[] = [
  judges(refusalsBy(toldByHeaders)),
  judges(brokenOff, unexpectedStatus),
  STREAMS,
  judges(invalidJson),
  EXPECTATIONS,
  SIGNATURES,
  reads(adviceBy(toldByHeaders, factsIn)),
  reads(ANNOUNCEMENT),
  reads(QUOTAS_LEFT),
  VALUES_READ,
  COSTS,
];

/** Of every upstream. */
function judges(...all: readonly Judge[]): JudgingPart {
  return { of: () => ({ judges: all }) };
}

function reads(reader: Reader<unknown>): JudgingPart {
  return { of: () => ({ readers: [reader] }) };
}

/** How the answers of an upstream are judged, and what is read in them. */
export function judgingOf(asked: Asked, libraries: Libraries = {}): Judging {
  const parts = PARTS.map((part) => part.of(asked, libraries));
  return {
    judges: parts.flatMap(({ judges = [] }) => judges),
    remarks: parts.flatMap(({ remarks = [] }) => remarks),
    readers: parts.flatMap(({ readers = [] }) => readers),
  };
}

export function needsThread(asked: Asked): boolean {
  return PARTS.some((part) => part.needsThread?.(asked) === true);
}

export async function librariesFor(asked: Asked): Promise<Libraries> {
  const loaded = await Promise.all(PARTS.map(async (part) => part.load?.(asked)));
  return Object.assign({}, ...loaded);
}
