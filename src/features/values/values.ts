/** Numbers that an answer tells beside its outcome, such as the credit that is left. */

import type { JudgingPart } from "../../kernel/poll/judging.ts";
import type { Value } from "./config.ts";
import { headerValue, type WithoutKeys } from "../../kernel/exchange/exchange.ts";
import { contentOf } from "../../kernel/exchange/json-body.ts";
import type { PollOutcome } from "../../kernel/exchange/outcome.ts";
import { valueAt } from "../../kernel/exchange/json-pointer.ts";
import { numberIn } from "../../kernel/exchange/json-value.ts";
import { oneLine } from "../../kernel/text/escape.ts";
import type { Answer } from "../../kernel/poll/answer.ts";
import { type Reader, reader } from "../../kernel/poll/reader.ts";
import type { Burn } from "../history/credit.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import type { Log } from "../../kernel/text/log.ts";

/** A credit is only spent, and now and then refilled. */
export type SeenValue = { readonly name: string; readonly value: number; readonly isCredit?: boolean };

/** No number stands at its place. */
export type UnreadableValue = {
  readonly name: string;
  /** Something else stands there, shortened and without keys; undefined for nothing. */
  readonly found: string | undefined;
};

export type SeenValues = {
  readonly values: readonly SeenValue[];
  readonly unreadable: readonly UnreadableValue[];
};

/** One value that the answers tell. All unknown once it was not seen for long. */
export type ValueSnapshot = {
  readonly value: number | undefined;
  /** Wall clock. */
  readonly seenAtMs: number | undefined;
  /** Whether the answers have a number at its place; undefined while none has come for long. */
  readonly isReadable: boolean | undefined;
  /** Something else may stand there. No metric has it. */
  readonly found?: string | undefined;
  /** A credit has these, in the order of BURN_WINDOWS. */
  readonly burns: readonly Burn[];
};

export const VALUES: Reader<SeenValues> = reader("values", ({ answer, outcome }) => {
  const { values } = answer.upstream;
  if (values === undefined || answer.exchange.head === undefined) return undefined;
  return readValues(values, outcome, answer);
});

export const VALUES_READ: JudgingPart = {
  of: ({ values }) => (values === undefined ? {} : { readers: [VALUES] }),
};

const LONGEST_FOUND = 40;
/** A key that begins in what is shown ends in this. */
const MOST_LOOKED_AT = 1_000;

/**
 * Those that are there, and what stands in place of the others. A refusal for want of credit may tell the credit too, and so may an answer that lacks what was
 * asserted; what any other failure tells is not believed.
 */
export function readValues(
  wanted: readonly Value[],
  outcome: PollOutcome,
  answer: Pick<Answer, "head" | "withoutKeys" | "json">,
): SeenValues {
  const { head, withoutKeys } = answer;
  const values: SeenValue[] = [];
  const unreadable: UnreadableValue[] = [];
  if (outcome.kind === "failed" && outcome.reason !== "assertion") return { values, unreadable };
  for (const { name, path = "", of, header, credit } of wanted) {
    const found =
      header === undefined ? valueAt(contentOf(answer.json(of)), path) : headerValue(head.headers, header);
    const value = numberIn(found);
    if (value !== undefined) values.push({ name, value, isCredit: credit });
    // A refusal need not tell it.
    else if (outcome.kind === "ok") unreadable.push({ name, found: shown(found, withoutKeys) });
  }
  return { values, unreadable };
}

function shown(found: unknown, withoutKeys: WithoutKeys): string | undefined {
  if (found === undefined) return undefined;
  if (typeof found === "object" && found !== null) return Array.isArray(found) ? "a list" : "an object";
  const text = JSON.stringify(typeof found === "string" ? found.slice(0, MOST_LOOKED_AT) : found);
  return oneLine(withoutKeys(text), LONGEST_FOUND);
}

const UNREADABLE_IS_TOLD_AFTER = 3;

/** One answer without a value may be of a server that lags behind: the log hears of three in a row. */
export function valueLog(): (poll: Pick<Poll, "said">, log: Pick<Log, "info" | "warn">) => void {
  /** By name, in how many answers in a row. */
  let unreadableFor: Map<string, number> | undefined;
  return ({ said }, log) => {
    const read = VALUES.of(said);
    if (read === undefined) return;
    unreadableFor ??= new Map();
    for (const { name, found = "nothing" } of read.unreadable ?? []) {
      const inARow = (unreadableFor.get(name) ?? 0) + 1;
      unreadableFor.set(name, inARow);
      if (inARow === UNREADABLE_IS_TOLD_AFTER) log.warn({ name, found }, "value cannot be read");
    }
    for (const { name, value } of read.values) {
      const inARow = unreadableFor.get(name) ?? 0;
      unreadableFor.delete(name);
      if (inARow >= UNREADABLE_IS_TOLD_AFTER) log.info({ name, value }, "value can be read again");
    }
  };
}
