/** How an answer is judged: by a list of judges, and what is read beside by a list of readers. */

import { counted } from "../exchange/json-value.ts";
import { OK, outcomeOf, type PollOutcome } from "../exchange/outcome.ts";
import type { Reason } from "../exchange/reasons.ts";
import type { Fields } from "../text/field.ts";
import type { Answer, AskedUpstream } from "./answer.ts";
import type { Reader } from "./reader.ts";

export type Judgement = {
  readonly outcome: PollOutcome;
  /** One sentence for people, escaped and capped. */
  readonly detail: string;
  /** The words by which a refusal was classified: a piece of the answer, for nobody but `explain`. */
  readonly words?: string;
};

/** Undefined for an answer that it has nothing against. */
export type Judge = (answer: Answer) => Judgement | undefined;

/** People should know this beside the judgement; empty for nothing. */
export type Remark = (answer: Answer, judgement: Judgement) => string;

/** Chosen for one upstream by its config: what that does not ask for is not looked for. */
export type Judging = {
  /** In order: the first judgement stands. */
  readonly judges: readonly Judge[];
  readonly remarks: readonly Remark[];
  /** In order: each knows what those before it have read. */
  readonly readers: readonly Reader<unknown>[];
};

/** Judges may need these, which take long to load: only where answers are judged that ask for them. */
export interface Libraries {
  /** Features add theirs. */
}

/** A feature, or the kernel, adds this to the judging of an upstream's answers: nothing where its config asks for none. */
export type JudgingPart = {
  of(upstream: AskedUpstream, libraries: Libraries): Partial<Judging>;
  /** Whether its answers may be judged only where polls do not run. */
  needsThread?(upstream: AskedUpstream): boolean;
  /** Loads each library with the first answer that needs it. */
  load?(upstream: AskedUpstream): Promise<Libraries>;
};

export function judgement(reason: Reason, detail: string): Judgement {
  return { outcome: outcomeOf(reason), detail };
}

export function judgeAnswer(
  answer: Answer,
  { judges, remarks, readers }: Judging,
): Judgement & { readonly said: Fields } {
  let judged: Judgement | undefined;
  for (const judge of judges) judged ??= judge(answer);
  const first = judged ?? { outcome: OK, detail: wellSaid(answer) };
  const { outcome } = first;
  const said: Record<string, unknown> = {};
  const read = { answer, outcome, said };
  for (const reader of readers) {
    const content = reader.read(read);
    if (content !== undefined) said[reader.name] = content;
  }
  const detail = remarks.reduce((sum, remark) => sum + remark(answer, first), first.detail);
  return { ...first, detail, said };
}

/** This counts as said where nobody could read the answer of a request that was sent. */
export function unreadBy({ readers }: Judging, upstream: AskedUpstream): Fields {
  const said: Record<string, unknown> = {};
  for (const reader of readers) {
    const content = reader.unread?.(upstream);
    if (content !== undefined) said[reader.name] = content;
  }
  return said;
}

function wellSaid(answer: Answer): string {
  const { stream, head } = answer;
  const length = stream
    ? `${counted(stream.events, "event")} in ${stream.bytes} B`
    : `${answer.bytes().length} B`;
  return `answered ${head.status} with ${length}`;
}
