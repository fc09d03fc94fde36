import type { z } from "zod";
import type { Vantage } from "../../kernel/config/config.ts";
import { name, section, wholeNumber } from "../keys/leaves.ts";
import { noted } from "../keys/notes.ts";

export const vantageSchema: z.ZodType<Vantage> = section({
  name: noted(name(), { example: "unset" }).describe(
    "The name of this place: a label of every metric. No two have the same, and none may run twice at once.",
  ),
  of: noted(wholeNumber(1, 100), { isNeeded: true }).describe(
    "How many places there are at most: each uses an equal part of every limit, quota and spend. The order in which to change it: scale.md.",
  ),
}).describe(
  "Where several watch the same from different places and share nothing: which of them this one is.",
);
