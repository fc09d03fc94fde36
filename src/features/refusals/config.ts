import type { z } from "zod";
import {
  filledList,
  headerName,
  list,
  lowered,
  oneOf,
  pointer,
  section,
  text,
  wholeNumber,
} from "../../config/keys/leaves.ts";
import { noted } from "../../config/keys/notes.ts";
import { atLeastOne, atMostOne, ruled } from "../../config/keys/rules.ts";
import { MOST_STATUS } from "../../config/schema/expect.ts";
import type { Section } from "../../config/schema/section.ts";

/** What an answer that declines to serve us can mean. */
export const REFUSAL_MEANINGS = [
  "rate",
  "quota",
  "unauthorized",
  "forbidden",
  "blocked",
  "server_error",
  "client_error",
] as const;
export type RefusalMeaning = (typeof REFUSAL_MEANINGS)[number];

/** How one upstream refuses, told by its operator. All that is given must hold. */
export type RefusalRule = {
  /** Absent for any. */
  readonly status?: readonly number[] | undefined;
  /** Its name in lower case. */
  readonly header?: string | undefined;
  /** A JSON pointer. */
  readonly json?: string | undefined;
  /** A part of what stands there, or without a place of the body, in lower case; absent for anything at all. */
  readonly text?: string | undefined;
  /** `status`: what its status says, whatever else it looks like. */
  readonly means: RefusalMeaning | "status";
};

declare module "../../kernel/config/config.ts" {
  interface Expectation {
    readonly refusals?: readonly RefusalRule[] | undefined;
  }
}

const refusal = section({
  status: filledList(wholeNumber(100, 999), MOST_STATUS, "status codes", ", such as [403]")
    .optional()
    .describe("Only with one of these status codes."),
  header: lowered(headerName())
    .optional()
    .describe("Only with this header. With text: only where its value contains that."),
  json: pointer("a JSON pointer, such as /error/code", { least: 1 })
    .optional()
    .describe("Only where the body has something there. With text: only where that contains it."),
  text: lowered(text("a text", 256))
    .optional()
    .describe(
      "Only where the header, the JSON value or else the body contains this, in any case of letters.",
    ),
  means: noted(oneOf([...REFUSAL_MEANINGS, "status"]), { example: "status" }).describe(
    "What such an answer means. status: what its status says, whatever else it looks like.",
  ),
});

const refusalRule: z.ZodType<RefusalRule> = ruled(
  refusal,
  atMostOne("header", "json"),
  atLeastOne("status", "header", "json", "text"),
);

export const REFUSALS: Section = {
  at: "expect",
  shape: {
    refusals: list(refusalRule, 50, "refusals", ", such as - { status: [403], means: rate }")
      .optional()
      .describe(
        "How this upstream refuses, where Pacewatch does not know it or gets it wrong. The first that fits decides, before all that Pacewatch knows itself.",
      ),
  },
};
