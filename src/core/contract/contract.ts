import type { Bounds, JsonType } from "../exchange/json-value.ts";

/**
 * A JSON Schema (draft 2020-12) that was read and checked. Plain data, as threads pass it on: schemas refer to each
 * other by their numbers. The first is the whole.
 */
export type Contract = readonly Schema[];

/** All of them must hold. */
export type Schema = readonly Rule[];

/** A rule holds of every value that it says nothing about: `least` of whatever is no number. */
export type Rule =
  | { readonly kind: "never" }
  | { readonly kind: "type"; readonly types: readonly JsonType[] }
  | { readonly kind: "values"; readonly values: readonly unknown[] }
  | { readonly kind: "least" | "most" | "above" | "below" | "multiple"; readonly number: number }
  | ({ readonly kind: "size"; readonly of: "text" | "list" | "object" } & Bounds)
  /** Of a text: matches an expression. */
  | { readonly kind: "pattern"; readonly pattern: string }
  | { readonly kind: "unique" }
  /** It holds only where the object has `when`, if that is told. */
  | { readonly kind: "required"; readonly names: readonly string[]; readonly when: string | undefined }
  | {
      readonly kind: "properties";
      readonly names: readonly string[];
      readonly named: Readonly<Record<string, number>>;
      /** Expressions, and the schemas of properties whose names match them. */
      readonly matching: readonly (readonly [pattern: string, schema: number])[];
      /** The schema of a property that is not named, and matches none of them. */
      readonly others: number | undefined;
    }
  | { readonly kind: "names"; readonly schema: number }
  | { readonly kind: "items"; readonly first: readonly number[]; readonly rest: number | undefined }
  | ({ readonly kind: "contains"; readonly schema: number } & Bounds)
  | { readonly kind: "all"; readonly schemas: readonly number[]; readonly when: string | undefined }
  | { readonly kind: "any" | "one"; readonly schemas: readonly number[] }
  | { readonly kind: "not"; readonly schema: number }
  | {
      readonly kind: "if";
      readonly condition: number;
      readonly fits: number | undefined;
      readonly otherwise: number | undefined;
    }
  /** It is about what no other rule of its schema has looked at, and so comes last. */
  | { readonly kind: "unevaluated"; readonly of: "list" | "object"; readonly schema: number };

/** The schemas that are about the same value as this rule. */
export function schemasOfSameValue(rule: Rule): readonly number[] {
  const { kind } = rule;
  if (kind === "all" || kind === "any" || kind === "one") return rule.schemas;
  if (kind === "not") return [rule.schema];
  if (kind !== "if") return [];
  return [rule.condition, rule.fits, rule.otherwise].filter((schema) => schema !== undefined);
}
