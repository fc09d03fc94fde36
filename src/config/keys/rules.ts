/**
 * Rules between the keys of a section, which stand beside the section. They see what is written, whatever else is wrong
 * with it: zod's own refinements would see values that are decoded already, and defaults as if they were written.
 */

import type { z } from "zod";
import { isObject } from "../../kernel/text/json.ts";
import { type Rule, noted } from "./notes.ts";

export function ruled<Ruled extends z.ZodType>(schema: Ruled, ...rules: readonly Rule[]): Ruled {
  const jsonSchema = Object.assign({}, ...rules.map((rule) => rule.jsonSchema));
  return noted(schema.meta(jsonSchema), { rules });
}

export type Mapping = Readonly<Record<string, unknown>>;

/** Nothing of it where it is something else. */
export function mappingOf(written: unknown): Mapping {
  return isObject(written) ? written : {};
}

export function itemsOf(written: unknown): readonly unknown[] {
  return Array.isArray(written) ? written : [];
}

/** Finds which of these keys are written, with a value or without. */
function found(written: unknown, keys: readonly string[]): readonly string[] {
  return keys.filter((key) => Object.hasOwn(mappingOf(written), key));
}

/** If several are set, it points at the second. */
export function exactlyOne(...keys: readonly string[]): Rule {
  return {
    check: (written, refuse) => {
      const set = found(written, keys);
      if (!isObject(written) || set.length === 1) return;
      const isPair = keys.length === 2;
      const allowed = isPair ? keys.join(" or ") : `exactly one of ${keys.join(", ")}`;
      const none = isPair ? "neither" : "none of them";
      const shown = set.length === 0 ? none : isPair ? "both" : set.join(" and ");
      const lacking = set.length === 0 ? keys : [];
      refuse([], `must have ${allowed}, received ${shown}`, set.slice(1, 2), lacking);
    },
    jsonSchema: { oneOf: keys.map((key) => ({ required: [key] })) },
  };
}

/** The rule of `exactlyOne`, where none is fine. */
export function atMostOne(...keys: readonly [string, string]): Rule {
  const one = exactlyOne(...keys);
  return {
    check: (written, refuse) => {
      if (found(written, keys).length > 0) one.check(written, refuse, {});
    },
    jsonSchema: { not: { required: keys } },
  };
}

export function atLeastOne(...keys: readonly string[]): Rule {
  return {
    check: (written, refuse) => {
      if (!isObject(written) || found(written, keys).length > 0) return;
      refuse([], `must have at least one of ${keys.join(", ")}, received none of them`, [], keys);
    },
    jsonSchema: { anyOf: keys.map((key) => ({ required: [key] })) },
  };
}

/** Each needs the others. */
export function together(...keys: readonly string[]): Rule {
  const others = (key: string): readonly string[] => keys.filter((each) => each !== key);
  return {
    check: (written, refuse) => {
      const present = found(written, keys);
      const missing = keys.filter((key) => !present.includes(key));
      if (present[0] === undefined || missing.length === 0) return;
      refuse([present[0]], `must come with ${missing.join(" and ")}`, []);
    },
    jsonSchema: { dependentRequired: Object.fromEntries(keys.map((key) => [key, others(key)])) },
  };
}

/** Keys of one kind only. */
export function oneKind(kinds: readonly (readonly string[])[]): Rule {
  const pairs = kinds.flatMap((keys, at) =>
    kinds.slice(at + 1).flatMap((others) => keys.flatMap((key) => others.map((other) => [key, other]))),
  );
  return {
    check: (written, refuse) => {
      const set = kinds.flatMap((keys) => found(written, keys).slice(0, 1));
      if (set[1] === undefined) return;
      const must = `must have one kind of check, received ${set.join(" and ")}: write one entry for each`;
      refuse([], must, [set[1]]);
    },
    jsonSchema: { not: { anyOf: pairs.map((required) => ({ required })) } },
  };
}

export function inOrder(least: string, most: string): Rule {
  return {
    check: (written, refuse) => {
      const { [least]: min, [most]: max } = mappingOf(written);
      if (typeof min !== "number" || typeof max !== "number" || min <= max) return;
      refuse([most], `must be at least ${least}, which is ${min}, received ${max}`);
    },
  };
}

/** The texts that were in the list before, and where each was first. */
export function repeats(
  list: readonly unknown[],
): readonly { readonly text: string; readonly at: number; readonly first: number }[] {
  const firsts = new Map<unknown, number>();
  return list.flatMap((text, at) => {
    if (typeof text !== "string") return [];
    const first = firsts.get(text);
    if (first === undefined) firsts.set(text, at);
    return first === undefined ? [] : [{ text, at, first }];
  });
}

/** Each item of a list has a name of its own. */
export const namesOfTheirOwn: Rule = {
  check: (items, refuse) => {
    for (const { text, at } of repeats(itemsOf(items).map((item) => mappingOf(item)["name"])))
      refuse([at, "name"], `must be a name of its own, received "${text}" again`);
  },
};
