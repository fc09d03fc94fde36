import { ANNOUNCEMENT } from "../../features/announcements/announcement.ts";
import { SIGNATURES } from "../../features/auth/aws-signature.ts";
import { EXPECTATIONS } from "../../features/expect/assertions.ts";
import { headerHints, HINTS } from "../../features/hints/fields/answer-hints.ts";
import { answerHintsReader } from "../../features/hints/requested-pause.ts";
import { COSTS } from "../../features/quota/cost.ts";
import { quotaReader } from "../../features/quota/reader.ts";
import { refusalsBy, waitInBody } from "../../features/refusals/judging.ts";
import { STREAMS } from "../../features/streams/stream.ts";
import { VALUES_READ } from "../../features/values/values.ts";
import type { AskedUpstream } from "../../kernel/poll/answer.ts";
import { brokenOff, invalidJson, unexpectedStatus } from "../../kernel/poll/classify.ts";
import type { Judge, Judging, JudgingPart, Libraries } from "../../kernel/poll/judging.ts";
import type { Reader } from "../../kernel/poll/reader.ts";

/** In this order judges are asked, and readers after them. */
const PARTS: readonly JudgingPart[] = [
  judges(refusalsBy(headerHints)),
  judges(brokenOff, unexpectedStatus),
  STREAMS,
  judges(invalidJson),
  EXPECTATIONS,
  SIGNATURES,
  reads(answerHintsReader(headerHints, waitInBody)),
  reads(ANNOUNCEMENT),
  reads(quotaReader((said) => HINTS.of(said)?.families ?? [])),
  VALUES_READ,
  COSTS,
];

/** Every upstream has these. */
function judges(...all: readonly Judge[]): JudgingPart {
  return { of: () => ({ judges: all }) };
}

function reads(reader: Reader<unknown>): JudgingPart {
  return { of: () => ({ readers: [reader] }) };
}

/** How the answers of an upstream are judged, and what is read in them. */
export function judgingOf(upstream: AskedUpstream, libraries: Libraries = {}): Judging {
  const parts = PARTS.map((part) => part.of(upstream, libraries));
  return {
    judges: parts.flatMap(({ judges = [] }) => judges),
    remarks: parts.flatMap(({ remarks = [] }) => remarks),
    readers: parts.flatMap(({ readers = [] }) => readers),
  };
}

export function needsThread(upstream: AskedUpstream): boolean {
  return PARTS.some((part) => part.needsThread?.(upstream) === true);
}

export async function librariesFor(upstream: AskedUpstream): Promise<Libraries> {
  const loaded = await Promise.all(PARTS.map(async (part) => part.load?.(upstream)));
  return Object.assign({}, ...loaded);
}
