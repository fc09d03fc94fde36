/** The upstreams that one template makes differ in this. */

import { z } from "zod";
import { isObject } from "../../kernel/text/json.ts";
import { filledList, matching } from "../keys/leaves.ts";
import { type Rule, noted } from "../keys/notes.ts";
import { itemsOf, mappingOf, ruled } from "../keys/rules.ts";

/** One template makes so many at most. */
export const MOST_MADE = 500;

const notTooMany: Rule = {
  check: (each, refuse) => {
    const lists = Object.values(mappingOf(each)).map((list) => itemsOf(list).length);
    const made = lists.reduce((product, length) => product * length, 1);
    if (made > MOST_MADE) refuse([], `must make at most ${MOST_MADE} upstreams, it makes ${made}`);
    if (isObject(each) && lists.length === 0) refuse([], "must have at least one list, received none");
  },
  jsonSchema: { minProperties: 1 },
};

const NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const VALUE_PHRASE = "a text of at most 256 characters without ${, a number, true or false";
const value = z.union([z.string().regex(/^(?!.*\$\{)\P{Cc}{1,256}$/u), z.number(), z.boolean()], {
  error: VALUE_PHRASE,
});

export const eachSchema: z.ZodType = noted(
  ruled(
    z.record(
      matching(NAME, "a name of letters, digits and underscores"),
      filledList(value, MOST_MADE, "values"),
      { error: "a mapping of names to lists" },
    ),
    notTooMany,
  ),
  { isNeeded: true },
).describe(
  "Makes one upstream of each combination of these lists, at most 500: ${each.NAME} is filled in wherever it stands in this upstream, as a slug in name and budget, and escaped in path.",
);
