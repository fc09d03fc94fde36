/** How an answer is judged: by a list of judges, and what is read beside by a list of readers. */

import { counted } from "../exchange/json-value.ts";
import { OK, outcomeOf, type PollOutcome } from "../exchange/outcome.ts";
import type { Reason } from "../exchange/reasons.ts";
import type { Fields } from "../text/field.ts";
import type { Answer, Asked } from "./answer.ts";
import type { Reader } from "./reader.ts";

export type Judgement = {
  readonly outcome: PollOutcome;
  /** One sentence for people, escaped and capped. */
  readonly detail: string;
  /** The words by which a refusal was recognised: a piece of the answer, for nobody but `explain`. */
  readonly words?: string;
};

/** Undefined for an answer that it has nothing against. */
export type Judge = (answer: Answer) => Judgement | undefined;

/** What people should know beside the judgement; empty for nothing. */
export type Remark = (answer: Answer, judgement: Judgement) => string;

/** Chosen for one upstream by its config: what that does not ask for is not looked for. */
export type Judging = {
  /** In order: the first judgement stands. */
  readonly judges: readonly Judge[];
  readonly remarks: readonly Remark[];
  /** In order: each knows what those before it have read. */
  readonly readers: readonly Reader<unknown>[];
};

/** What judges may need that takes long to load: only where answers are judged that ask for it. */
export interface Libraries {
  /** Features add theirs. */
}

/** What a feature, or the kernel, adds to the judging of an upstream's answers: nothing where its config asks for none. */
export type JudgingPart = {
  of(asked: Asked, libraries: Libraries): Partial<Judging>;
  /** Whether its answers may be judged only where polls do not run. */
  needsThread?(asked: Asked): boolean;
  /** Loads each library with the first answer that needs it. */
  load?(asked: Asked): Promise<Libraries>;
};

export function judgement(reason: Reason, detail: string): Judgement {
  return { outcome: outcomeOf(reason), detail };
}

export type Judged = Judgement & { readonly said: Fields };

export function judgeAnswer(answer: Answer, { judges, remarks, readers }: Judging): Judged {
  const first = firstOf(judges, answer) ?? { outcome: OK, detail: wellSaid(answer) };
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

/** What counts as said where nobody could read the answer of a request that was sent. */
export function unreadBy({ readers }: Judging, asked: Asked): Fields {
  const said: Record<string, unknown> = {};
  for (const reader of readers) {
    const content = reader.unread?.(asked);
    if (content !== undefined) said[reader.name] = content;
  }
  return said;
}

function firstOf(judges: readonly Judge[], answer: Answer): Judgement | undefined {
  for (const judge of judges) {
    const judged = judge(answer);
    if (judged !== undefined) return judged;
  }
  return undefined;
}

function wellSaid(answer: Answer): string {
  const { stream, head } = answer;
  const length = stream
    ? `${counted(stream.events, "event")} in ${stream.bytes} B`
    : `${answer.bytes().length} B`;
  return `answered ${head.status} with ${length}`;
}
