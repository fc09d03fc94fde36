import { valueLines, valuesAsJson } from "../../features/values/said.ts";
import type { Fields } from "../../kernel/text/field.ts";

type Lines = readonly (readonly [name: string, text: string])[];

/** What the commands show of that which features read in an answer. */
const SAID: readonly {
  readonly json: (said: Fields | undefined) => object;
  readonly lines: (said: Fields | undefined) => Lines;
}[] = [{ json: valuesAsJson, lines: valueLines }];

export const jsonOfSaid = (said: Fields | undefined): object =>
  Object.assign({}, ...SAID.map(({ json }) => json(said)));

export const linesOfSaid = (said: Fields | undefined): Lines => SAID.flatMap(({ lines }) => lines(said));
