import type { Fields } from "../../kernel/text/field.ts";
import { VALUES } from "./values.ts";

export function valuesAsJson(said: Fields | undefined): object {
  const seen = VALUES.of(said);
  return seen === undefined
    ? {}
    : { values: seen.values.map(({ name, value }) => ({ name, value })), unreadable: seen.unreadable };
}

/** Each value of the config, or what stands in its place. */
export function valueLines(said: Fields | undefined): readonly (readonly [name: string, text: string])[] {
  const { values = [], unreadable = [] } = VALUES.of(said) ?? {};
  const lines = [
    ...values.map(({ name, value }) => `${name}: ${value}`),
    ...unreadable.map(({ name, found }) =>
      found === undefined ? `${name}: nothing stands there` : `${name}: ${found}, which is no number`,
    ),
  ];
  return lines.map((line) => ["value", line]);
}
