import type { PollOutcome } from "../exchange/outcome.ts";
import { type Field, field, type Fields } from "../text/field.ts";
import type { StreamMeasures } from "../exchange/exchange.ts";
import type { Answer, AskedUpstream } from "./answer.ts";

export type Reading = {
  readonly answer: Answer;
  readonly outcome: PollOutcome;
  /** By the readers before. */
  readonly said: Fields;
};

/**
 * Reads what an answer says beside its judgement. What it returns is plain, bounded and without keys: it may come from
 * another thread, and is kept. Undefined for nothing.
 */
export type Reader<Said> = Field<Said> & {
  read(reading: Reading): Said | undefined;
  /** The request was sent, and nobody could read its answer. */
  unread?(upstream: AskedUpstream): Said | undefined;
};

export function reader<Said>(name: string, read: (reading: Reading) => Said | undefined): Reader<Said> {
  return { ...field<Said>(name), read };
}

/** The measures of an answer that came piece by piece. Nothing where none began. */
export const STREAM: Reader<StreamMeasures> = reader("stream", ({ answer }) => answer.observation.stream);
