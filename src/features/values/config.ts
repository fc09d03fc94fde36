import type { z } from "zod";
import type { StreamPart } from "../../kernel/exchange/exchange.ts";
import {
  filledList,
  flag,
  headerName,
  lowered,
  matching,
  name,
  part,
  pointer,
  section,
} from "../../config/keys/leaves.ts";
import { noted } from "../../config/keys/notes.ts";
import { exactlyOne, namesOfTheirOwn, ruled } from "../../config/keys/rules.ts";
import type { Section } from "../../config/schema/section.ts";

/** A number that the answers tell, such as the credit that is left. */
export type Value = {
  readonly name: string;
  /** A JSON pointer. */
  readonly path?: string | undefined;
  /** The part of a stream; absent for its last event. */
  readonly of?: StreamPart | undefined;
  /** In place of a path: the header of this name in lower case. */
  readonly header?: string | undefined;
  readonly unit?: string | undefined;
  /** It is spent, and must not run out. */
  readonly credit: boolean;
};

declare module "../../kernel/config/config.ts" {
  interface Upstream {
    readonly values?: readonly Value[] | undefined;
  }
}

/** Each value makes some series, for each upstream. */
const MOST_VALUES = 10;
const UNIT_PATTERN = /^[A-Za-z][A-Za-z0-9_]{0,31}$/;

const value = section({
  name: noted(name(), { isNeeded: true }).describe("Its name in metrics, on the page and in the API."),
  path: pointer("a JSON pointer, such as /data/credits", { least: 1 })
    .optional()
    .describe("Where it stands in the body, as a JSON pointer (RFC 6901)."),
  of: part,
  header: lowered(headerName()).optional().describe("Or the header that tells it."),
  unit: matching(UNIT_PATTERN, "a word such as usd or requests")
    .optional()
    .describe("What it counts: a label of its metric."),
  credit: flag()
    .prefault(false)
    .describe("It is spent and must not run out: Pacewatch works out when it will, and alerts before."),
});

const valuesSchema: z.ZodType<readonly Value[]> = ruled(
  filledList(
    ruled(value, exactlyOne("path", "header")),
    MOST_VALUES,
    "values",
    ", such as - { name: credit, path: /data/credits }",
  ),
  namesOfTheirOwn,
).describe(
  "Numbers that its answers tell at no further request, such as the credit that is left: a JSON number, or a text that is a plain decimal number (12.34). Read from ok and throttled answers, and from those that fail an assertion; absent once not seen for three periods (at least 10 minutes).",
);

export const VALUES: Section = {
  at: "upstream",
  before: "objective",
  shape: { values: valuesSchema.optional() },
  ofUpstream: ({ values = [], expect }) => {
    const unshown = values.flatMap(({ credit, path }) => (credit && path !== undefined ? [path] : []));
    return unshown.length === 0 ? {} : { expect: { ...expect, unshown } };
  },
};
