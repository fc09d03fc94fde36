import type { Upstream } from "../config/config.ts";
import type { Observation } from "../exchange/exchange.ts";
import type { JsonBody } from "../exchange/json-body.ts";
import type { PollOutcome } from "../exchange/outcome.ts";
import type { Part } from "../exchange/stream.ts";
import { type Field, field, type Fields } from "../text/field.ts";

/** An answer, or what there is in place of one, with its verdict. */
export type Judged = {
  readonly upstream: Upstream;
  readonly observation: Observation;
  readonly outcome: PollOutcome;
  /** When the poll ended. Wall clock. */
  readonly endedAtMs: number;
  /** Its body, or a part of a stream, parsed once however many ask, and only if anybody does. */
  readonly json: (of?: Part) => JsonBody;
  /** By the readers before. */
  readonly said: Fields;
};

/**
 * Reads what an answer says beside its verdict. What it returns is plain, bounded and without keys: it may come from
 * another thread, and is kept. Undefined for nothing.
 */
export type Reader<Said> = Field<Said> & { read(answer: Judged): Said | undefined };

export function reader<Said>(name: string, read: (answer: Judged) => Said | undefined): Reader<Said> {
  return { ...field<Said>(name), read };
}
