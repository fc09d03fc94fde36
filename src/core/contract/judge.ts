/** Whether an answer keeps a contract, in a bounded number of steps: the answer is anybody's. */

import { isList, isObject, isOfType } from "../exchange/json-value.ts";
import { type Matcher, NO_MATCHER } from "../text/matcher.ts";
import type { Contract, Rule } from "./contract.ts";

/** The work that one answer may cause. All that judge it take from the same. */
export type Steps = { left: number };

/** A list of 1 MiB takes half of it, with five rules for each of 13,000 items. */
export const MOST_STEPS = 500_000;

/** Schemas within schemas: each takes some of the stack, which ends at a thousand or two. */
export const MOST_LEVELS_JUDGED = 400;

/** The first rule that does not hold. */
export type Broken = {
  /** Names, and positions in lists; the innermost comes first, as it is added to on the way out. */
  readonly path: (string | number)[];
  readonly rule: Rule;
  /** Undefined where there is nothing. */
  readonly value: unknown;
  /** Whether it is about the name at the end of the path, not about what stands there. */
  readonly isName?: boolean;
  /** Where each of several alternatives is broken by this very value: the rule that each has for it. */
  readonly alternatives?: readonly Rule[];
};

/** Undefined where it keeps the contract, and in any case where no steps are left. */
export function judgeByContract(
  contract: Contract,
  value: unknown,
  steps: Steps,
  matcher: Matcher = NO_MATCHER,
): Broken | undefined {
  try {
    return new Judge(contract, steps, matcher).judge(0, value);
  } catch (error) {
    if (error instanceof OutOfSteps) return undefined;
    throw error;
  }
}

/** Thrown and caught in this file alone: from any depth, nothing more is looked at. */
class OutOfSteps extends Error {}

const NEVER: Rule = { kind: "never" };

type Of<Kind extends Rule["kind"]> = Rule & { readonly kind: Kind };

/** The rules of a schema have looked at these; `unevaluated` is about the rest. */
class Seen {
  readonly names = new Set<string>();
  readonly positions = new Set<number>();
  /** All positions before this. */
  items = 0;

  has(step: string | number): boolean {
    return typeof step === "string" ? this.names.has(step) : step < this.items || this.positions.has(step);
  }

  /** How many steps it took. */
  add({ names, positions, items }: Seen): number {
    for (const name of names) this.names.add(name);
    for (const position of positions) this.positions.add(position);
    this.items = Math.max(this.items, items);
    return names.size + positions.size;
  }
}

class Judge {
  readonly #contract: Contract;
  readonly #steps: Steps;
  readonly #matcher: Matcher;
  #depth = 0;

  constructor(contract: Contract, steps: Steps, matcher: Matcher) {
    this.#contract = contract;
    this.#steps = steps;
    this.#matcher = matcher;
  }

  judge(number: number, value: unknown, seen?: Seen): Broken | undefined {
    this.#spend(this.#depth < MOST_LEVELS_JUDGED ? 1 : Infinity);
    this.#depth += 1;
    const rules = this.#contract[number] ?? [NEVER];
    const own = rules.at(-1)?.kind === "unevaluated" ? new Seen() : seen;
    let broken: Broken | undefined;
    for (const rule of rules) {
      broken = this.#rule(rule, value, own);
      if (broken !== undefined) break;
    }
    if (broken === undefined && own !== undefined && own !== seen && seen !== undefined) {
      this.#spend(seen.add(own));
    }
    this.#depth -= 1;
    return broken;
  }

  #spend(steps: number): void {
    this.#steps.left -= steps;
    if (this.#steps.left < 0) throw new OutOfSteps();
  }

  #rule(rule: Rule, value: unknown, seen?: Seen): Broken | undefined {
    const judged = this.#judged(rule, value, seen);
    if (judged === false) return { path: [], rule, value };
    return judged === true ? undefined : judged;
  }

  /** False where it is broken by the value itself, and by nothing that is inside. */
  #judged(rule: Rule, value: unknown, seen?: Seen): boolean | Broken | undefined {
    switch (rule.kind) {
      case "never":
        return false;
      case "type":
        return rule.types.some((type) => isOfType(value, type));
      case "values":
        return rule.values.some((each) => this.#areEqual(each, value));
      case "least":
        return typeof value !== "number" || value >= rule.number;
      case "most":
        return typeof value !== "number" || value <= rule.number;
      case "above":
        return typeof value !== "number" || value > rule.number;
      case "below":
        return typeof value !== "number" || value < rule.number;
      case "multiple":
        return typeof value !== "number" || isMultiple(value, rule.number);
      case "size":
        return this.#hasSize(rule, value);
      case "pattern":
        return typeof value !== "string" || this.#matches(rule.pattern, value);
      case "unique":
        return !isList(value) || this.#areUnique(value);
      case "required":
        return this.#required(rule, value);
      case "properties":
        return this.#properties(rule, value, seen);
      case "names":
        return this.#names(rule, value);
      case "items":
        return this.#items(rule, value, seen);
      case "contains":
        return this.#contains(rule, value, seen);
      case "all":
        return this.#all(rule, value, seen);
      case "any":
      case "one":
        return this.#alternatives(rule, value, seen);
      case "not":
        return this.judge(rule.schema, value) !== undefined;
      case "if":
        return this.#if(rule, value, seen);
      case "unevaluated":
        return this.#unevaluated(rule, value, seen);
      default:
        return rule satisfies never;
    }
  }

  #hasSize({ of, min = 0, max = Infinity }: Of<"size">, value: unknown): boolean {
    let count: number;
    if (of === "text" && typeof value === "string") count = this.#charactersIn(value, min, max);
    else if (of === "list" && isList(value)) count = value.length;
    else if (of === "object" && isObject(value)) count = this.#keysOf(value).length;
    else return true;
    return count >= min && count <= max;
  }

  #matches(pattern: string, text: string): boolean {
    const matches = this.#matcher.matches(pattern, text);
    if (matches === undefined) this.#spend(Infinity);
    return matches === true;
  }

  /** As people count them. A character is one or two units, so they are counted only where that decides. */
  #charactersIn(text: string, min: number, max: number): number {
    const units = text.length;
    if (units < min || units > 2 * max || (units >= 2 * min && units <= max)) return units;
    this.#spend(units >> 2);
    let count = 0;
    for (const _ of text) count += 1;
    return count;
  }

  #keysOf(value: Readonly<Record<string, unknown>>): readonly string[] {
    const keys = Object.keys(value);
    this.#spend(STEPS_OF_A_KEY * keys.length);
    return keys;
  }

  #required({ names, when }: Of<"required">, value: unknown): Broken | undefined {
    if (!isObject(value) || (when !== undefined && !Object.hasOwn(value, when))) return undefined;
    this.#spend(names.length);
    const missing = names.find((name) => !Object.hasOwn(value, name));
    if (missing === undefined) return undefined;
    return { path: [missing], rule: { kind: "required", names: [missing], when }, value: undefined };
  }

  #properties(rule: Of<"properties">, value: unknown, seen?: Seen): Broken | undefined {
    if (!isObject(value)) return undefined;
    const { names, matching, others } = rule;
    const isNamedOnly = others === undefined && matching.length === 0;
    if (isNamedOnly) this.#spend(names.length >> 1);
    for (const name of isNamedOnly ? names : this.#keysOf(value)) {
      if (isNamedOnly && !Object.hasOwn(value, name)) continue;
      for (const schema of this.#schemasOf(name, rule)) {
        const broken = this.#inside(name, schema, value[name], seen);
        if (broken !== undefined) return broken;
      }
    }
    return undefined;
  }

  #schemasOf(name: string, { named, matching, others }: Of<"properties">): readonly number[] {
    const own = Object.hasOwn(named, name) ? named[name] : undefined;
    const matched = matching.filter(([pattern]) => this.#matches(pattern, name)).map(([, schema]) => schema);
    const schema = own ?? (matched.length === 0 ? others : undefined);
    return schema === undefined ? matched : [schema, ...matched];
  }

  #names({ schema }: Of<"names">, value: unknown): Broken | undefined {
    if (!isObject(value)) return undefined;
    for (const name of this.#keysOf(value)) {
      const broken = this.judge(schema, name);
      if (broken !== undefined) return { ...broken, path: [name], isName: true };
    }
    return undefined;
  }

  #items({ first, rest }: Of<"items">, value: unknown, seen?: Seen): Broken | undefined {
    if (!isList(value)) return undefined;
    const end = rest === undefined ? Math.min(first.length, value.length) : value.length;
    for (let at = 0; at < end; at += 1) {
      const schema = first[at] ?? rest;
      if (schema === undefined) continue;
      const broken = this.judge(schema, value[at]);
      if (broken !== undefined) return outside(at, broken);
    }
    if (seen !== undefined) seen.items = Math.max(seen.items, end);
    return undefined;
  }

  #contains({ schema, min = 1, max }: Of<"contains">, value: unknown, seen?: Seen): boolean {
    if (!isList(value)) return true;
    let count = 0;
    for (let at = 0; at < value.length; at += 1) {
      if (this.judge(schema, value[at]) !== undefined) continue;
      count += 1;
      seen?.positions.add(at);
      if (max === undefined && seen === undefined && count >= min) return true;
    }
    return count >= min && (max === undefined || count <= max);
  }

  #all({ schemas, when }: Of<"all">, value: unknown, seen?: Seen): Broken | undefined {
    if (when !== undefined && !(isObject(value) && Object.hasOwn(value, when))) return undefined;
    for (const schema of schemas) {
      const broken = this.judge(schema, value, seen);
      if (broken !== undefined) return broken;
    }
    return undefined;
  }

  #alternatives(rule: Of<"any" | "one">, value: unknown, seen?: Seen): Broken | undefined {
    const alternatives: Rule[] = [];
    let count = 0;
    for (const schema of rule.schemas) {
      const broken = this.#tried(schema, value, seen);
      if (broken === undefined) count += 1;
      else if (broken.path.length === 0) alternatives.push(broken.rule);
      if (count > 0 && rule.kind === "any" && seen === undefined) return undefined;
    }
    if (rule.kind === "any" ? count > 0 : count === 1) return undefined;
    const areAll = alternatives.length === rule.schemas.length;
    return { path: [], rule, value, ...(areAll && { alternatives }) };
  }

  /** What a schema has looked at counts only where it holds. */
  #tried(schema: number, value: unknown, seen?: Seen): Broken | undefined {
    if (seen === undefined) return this.judge(schema, value);
    const own = new Seen();
    const broken = this.judge(schema, value, own);
    if (broken === undefined) this.#spend(seen.add(own));
    return broken;
  }

  #if({ condition, fits, otherwise }: Of<"if">, value: unknown, seen?: Seen): Broken | undefined {
    const next = this.#tried(condition, value, seen) === undefined ? fits : otherwise;
    return next === undefined ? undefined : this.judge(next, value, seen);
  }

  #unevaluated({ of, schema }: Of<"unevaluated">, value: unknown, seen?: Seen): Broken | undefined {
    if (of === "list" && isList(value)) {
      for (let at = 0; at < value.length; at += 1) {
        if (seen?.has(at) === true) continue;
        const broken = this.judge(schema, value[at]);
        if (broken !== undefined) return outside(at, broken);
      }
      if (seen !== undefined) seen.items = value.length;
    }
    if (of === "list" || !isObject(value)) return undefined;
    for (const name of this.#keysOf(value)) {
      if (seen?.has(name) === true) continue;
      const broken = this.#inside(name, schema, value[name], seen);
      if (broken !== undefined) return broken;
    }
    return undefined;
  }

  #inside(name: string, schema: number, value: unknown, seen?: Seen): Broken | undefined {
    const broken = this.judge(schema, value);
    if (broken !== undefined) return outside(name, broken);
    seen?.names.add(name);
    return undefined;
  }

  #areEqual(one: unknown, other: unknown): boolean {
    // Texts of the same length are compared unit by unit.
    this.#spend(typeof one === "string" && typeof other === "string" ? 1 + (one.length >> 6) : 1);
    if (one === other) return true;
    if (isList(one)) {
      if (!isList(other) || one.length !== other.length) return false;
      return one.every((item, at) => this.#areEqual(item, other[at]));
    }
    if (!isObject(one) || !isObject(other)) return false;
    const names = this.#keysOf(one);
    if (names.length !== this.#keysOf(other).length) return false;
    return names.every((name) => Object.hasOwn(other, name) && this.#areEqual(one[name], other[name]));
  }

  /** Each item is written out once: to compare each with each would take the square of their number. */
  #areUnique(list: readonly unknown[]): boolean {
    const simple = new Set<unknown>();
    const composed = new Set<unknown>();
    for (const item of list) {
      this.#spend(STEPS_OF_A_SET);
      const isComposed = typeof item === "object" && item !== null;
      const [known, key] = isComposed ? [composed, this.#written(item)] : [simple, item];
      if (known.has(key)) return false;
      known.add(key);
    }
    return true;
  }

  /** The same text for what is equal. */
  #written(value: unknown): string {
    this.#spend(STEPS_OF_A_SET);
    const text = isList(value)
      ? `[${value.map((item) => this.#written(item)).join()}]`
      : isObject(value)
        ? `{${this.#sortedKeysOf(value)
            .map((name) => `${JSON.stringify(name)}:${this.#written(value[name])}`)
            .join()}}`
        : typeof value === "string"
          ? JSON.stringify(value)
          : String(value);
    this.#spend(text.length >> 4);
    return text;
  }

  #sortedKeysOf(value: Readonly<Record<string, unknown>>): readonly string[] {
    const keys = this.#keysOf(value);
    this.#spend(STEPS_OF_A_SET * keys.length);
    return keys.toSorted();
  }
}

/** In an object of many thousands, to find one takes longer than to judge it. */
const STEPS_OF_A_KEY = 2;
/** To keep a value takes longer than to look at it. */
const STEPS_OF_A_SET = 4;

function outside(step: string | number, broken: Broken): Broken {
  broken.path.push(step);
  return broken;
}

/** Neither 19.99 nor 0.01 is exactly what it says, and yet one is a multiple of the other. Integers are exact. */
function isMultiple(value: number, of: number): boolean {
  const rest = Math.abs(value % of);
  if (rest === 0 || (Number.isInteger(value) && Number.isInteger(of))) return rest === 0;
  return Math.min(rest, of - rest) <= Math.min(2 * Number.EPSILON * Math.abs(value), of / 4);
}
