import { z } from "zod";
import { type Expectation, type ExpectedStatus, STATUS_CLASSES } from "../../kernel/config/config.ts";
import { LARGEST_BODY_BYTES } from "../../kernel/exchange/bounds.ts";
import { REFUSAL_MEANINGS } from "../../kernel/exchange/outcome.ts";
import { bodyAssertion, headerAssertion } from "../../features/expect/config.ts";
import {
  byteSize,
  filledList,
  flag,
  headerName,
  list,
  lowered,
  named,
  oneOf,
  oneOrMore,
  pointer,
  section,
  text,
  wholeNumber,
} from "../keys/leaves.ts";
import { type Rule, noted } from "../keys/notes.ts";
import { atLeastOne, atMostOne, itemsOf, mappingOf, ruled } from "../keys/rules.ts";

const MOST_ASSERTIONS = 20;
const MOST_STATUS = 100;
const THROTTLING: readonly number[] = [402, 429];

const error =
  "a whole number from 200 to 599 but 402 and 429, which always mean throttled, or a class such as 2xx";

const code = z
  .int({ error })
  .min(200, { error })
  .max(599, { error })
  .refine((number) => !THROTTLING.includes(number), { error })
  .meta({ not: { enum: THROTTLING } });

const status: z.ZodType<ExpectedStatus> = z.union([code, oneOf(STATUS_CLASSES)], { error });

const statuses = oneOrMore(
  status,
  "a status code, a class such as 2xx, or a list of them, such as [200, 404]",
  MOST_STATUS,
  "status codes",
  ", such as [200]",
);

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

const refusalRule: z.ZodType<NonNullable<Expectation["refusals"]>[number]> = ruled(
  refusal,
  atMostOne("header", "json"),
  atLeastOne("status", "header", "json", "text"),
);

const noPathWithoutJson: Rule = {
  check: (expect, refuse) => {
    const { json, body } = mappingOf(expect);
    if (json !== false) return;
    for (const [index, assertion] of itemsOf(body).entries()) {
      if (!Object.hasOwn(mappingOf(assertion), "path")) continue;
      refuse(["body", index, "path"], "must not be set where json is false", []);
    }
  },
  jsonSchema: {
    not: {
      required: ["json", "body"],
      properties: { json: { const: false }, body: { contains: { required: ["path"] } } },
    },
  },
};

const keys = section({
  status: statuses
    .prefault([200])
    .describe("The status codes that are ok, or a class such as 2xx. 402 and 429 always mean throttled."),
  json: flag().optional().describe("Whether the body must be JSON. Default: true, but false for HEAD."),
  max_body: byteSize(1, LARGEST_BODY_BYTES, "1MiB")
    .prefault("1MiB")
    .describe("A longer body, also after decompression, is a failure."),
  refusals: list(refusalRule, 50, "refusals")
    .optional()
    .describe(
      "How this upstream refuses, where Pacewatch does not know it or gets it wrong. The first that fits decides, before all that Pacewatch knows itself.",
    ),
  body: list(bodyAssertion, MOST_ASSERTIONS, "assertions")
    .optional()
    .describe(
      "What the body of an ok answer must say, place by place, or its whole text; the first that does not hold fails the poll. Not asked of 204 and 304.",
    ),
  headers: list(headerAssertion, MOST_ASSERTIONS, "assertions")
    .optional()
    .describe(
      "What the headers of an ok answer must say. The values found are never kept or shown, as they may be secret.",
    ),
});

/** Whether JSON is expected where nothing is said of it depends on the method. */
export type ExpectKeys = Omit<Expectation, "json"> & { readonly json: boolean | undefined };

export const expectSchema: z.ZodType<ExpectKeys> = named(ruled(keys, noPathWithoutJson), {
  max_body: "maxBodyBytes",
});
