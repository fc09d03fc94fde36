import type { z } from "zod";
import { isObject } from "../../kernel/text/json.ts";
import { listing } from "../../kernel/text/listing.ts";
import { didYouMean } from "../read/wording.ts";
import { NAME_PATTERN, matching } from "./leaves.ts";
import { type Rule, noted } from "./notes.ts";
import { ruled } from "./rules.ts";

const isThere: Rule = {
  check: (name, refuse, { budgets }) => {
    if (typeof name !== "string" || !isObject(budgets) || Object.hasOwn(budgets, name)) return;
    const known = Object.keys(budgets);
    const allowed = known.length === 0 ? "there are no budgets" : `allowed are ${listing(known)}`;
    const hint = `${didYouMean(name, known)}${allowed}`;
    refuse([], (received) => `must name a budget, received ${received}: ${hint}`);
  },
};

export const budgetName: z.ZodType<string, string> = noted(
  ruled(matching(NAME_PATTERN, "the name of a budget"), isThere),
  { isNeeded: true },
);
