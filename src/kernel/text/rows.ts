import { isList, isObject } from "./json.ts";

/** A value that we would never write. */
class Misfit extends Error {}

/** Reads one stored value, and throws a misfit for one that we would never write. */
export type Check<Read> = (stored: unknown) => Read;

/**
 * Rows are checked like any input: a damaged byte that SQLite did not notice costs its row, not the start. Checked by
 * hand, as a validation library would take more memory than everything else in this thread.
 */
export function readRows<Read>(rows: Iterable<unknown>, read: (row: Row) => Read): readonly Read[] {
  const found: Read[] = [];
  readEach(rows, (row) => void found.push(read(row)));
  return found;
}

/** Of many rows, none is kept but what is taken of each. */
export function readEach(rows: Iterable<unknown>, take: (row: Row) => void): void {
  for (const row of rows) {
    try {
      take(new Row(row));
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
    }
  }
}

/** Undefined for what we would never write. */
export function readOne<Read>(stored: unknown, check: Check<Read>): Read | undefined {
  return readRows([{ stored }], (row) => row.get("stored", check))[0];
}

/** A row of a table, or an object in JSON. */
export class Row {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(stored: unknown) {
    this.#fields = isObject(stored) ? stored : misfit();
  }

  get<Read>(name: string, check: Check<Read>): Read {
    return check(this.#fields[name]);
  }
}

export const text: Check<string> = (stored) => (typeof stored === "string" ? stored : misfit());

export const number: Check<number> = (stored) =>
  typeof stored === "number" && Number.isFinite(stored) ? stored : misfit();

export const whole: Check<number> = (stored) => (Number.isSafeInteger(stored) ? number(stored) : misfit());

export const count: Check<number> = wholeFrom(0, Number.MAX_SAFE_INTEGER);

export function wholeFrom(least: number, most: number): Check<number> {
  return (stored) => (whole(stored) >= least && whole(stored) <= most ? whole(stored) : misfit());
}

export const flag: Check<boolean> = (stored) => (typeof stored === "boolean" ? stored : misfit());

export function exactly(wanted: unknown): Check<unknown> {
  return (stored) => (stored === wanted ? stored : misfit());
}

export function oneOf<Choice extends string>(choices: readonly Choice[]): Check<Choice> {
  return (stored) => choices.find((choice) => choice === stored) ?? misfit();
}

/** Columns are null where there is nothing, and properties of JSON are left out. */
export function optional<Read>(check: Check<Read>): Check<Read | undefined> {
  return (stored) => (stored === null || stored === undefined ? undefined : check(stored));
}

export function objectOf<Read>(read: (row: Row) => Read): Check<Read> {
  return (stored) => read(new Row(stored));
}

export function listOf<Read>(check: Check<Read>): Check<readonly Read[]> {
  return (stored) => (isList(stored) ? stored.map((each) => check(each)) : misfit());
}

/** Whoever reads the items looks at each. */
export const anyList: Check<readonly unknown[]> = listOf((each) => each);

/** Numbers by name; only these names are allowed. */
export function numbersOf<Name extends string>(names: readonly Name[]): Check<Partial<Record<Name, number>>> {
  return (stored) => {
    const read: Partial<Record<Name, number>> = {};
    for (const [name, value] of Object.entries(isObject(stored) ? stored : misfit())) {
      read[oneOf(names)(name)] = number(value);
    }
    return read;
  };
}

export const parsed: Check<unknown> = (stored) => {
  try {
    return JSON.parse(text(stored));
  } catch {
    return misfit();
  }
};

export function json<Read>(read: (row: Row) => Read): Check<Read> {
  return (stored) => read(new Row(parsed(stored)));
}

function misfit(): never {
  throw new Misfit();
}
