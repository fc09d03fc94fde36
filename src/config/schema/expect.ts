import { z } from "zod";
import { type Expectation, type ExpectedStatus, STATUS_CLASSES } from "../../kernel/config/config.ts";
import { byteSize, flag, named, oneOf, oneOrMore, section } from "../keys/leaves.ts";
import { ruled } from "../keys/rules.ts";
import { rulesAt, type Section, withSections } from "./section.ts";
import { LARGEST_BODY_BYTES } from "../../kernel/exchange/exchange.ts";

export const MOST_STATUS = 100;
const THROTTLING: readonly number[] = [402, 429];

const error = "a whole number from 200 to 599 but 402 and 429, which are never ok, or a class such as 2xx";

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

const own = {
  status: statuses
    .prefault([200])
    .describe("The status codes that are ok, or a class such as 2xx. 402 and 429 are never ok."),
  json: flag().optional().describe("Whether the body must be JSON. Default: true, but false for HEAD."),
  max_body: byteSize(1, LARGEST_BODY_BYTES, "1MiB")
    .prefault("1MiB")
    .describe("A longer body, also after decompression, is a failure."),
};

/** Whether JSON is expected where nothing is said of it depends on the method. */
export type ExpectKeys = Omit<Expectation, "json"> & { readonly json: boolean | undefined };

export function expectSchema(sections: readonly Section[]): z.ZodType<ExpectKeys> {
  const keys = ruled(section(withSections(own, "expect", sections)), ...rulesAt("expect", sections));
  return named(keys, { max_body: "maxBodyBytes" });
}
