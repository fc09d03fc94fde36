import type { KeptHeader } from "../../core/exchange/exchange.ts";

/** A value that we would never write. */
class Misfit extends Error {}

/**
 * Rows are checked like any input: a damaged byte that SQLite did not notice costs its row, not the start. Checked by
 * hand, as a validation library would take more memory than everything else in this thread.
 */
export function readRows<Read>(rows: readonly unknown[], read: (row: Row) => Read): readonly Read[] {
  return rows.flatMap((row) => {
    try {
      return [read(new Row(row))];
    } catch (error) {
      if (error instanceof Misfit) return [];
      throw error;
    }
  });
}

export class Row {
  readonly #fields: ReadonlyMap<string, unknown>;

  constructor(row: unknown) {
    this.#fields = fieldsOf(row);
  }

  has(name: string): boolean {
    return this.#fields.get(name) !== null;
  }

  /** Columns always are; what is in JSON may be left out. */
  isThere(name: string): boolean {
    return this.#fields.has(name);
  }

  text(name: string): string {
    const value = this.#fields.get(name);
    return typeof value === "string" ? value : misfit();
  }

  number(name: string): number {
    return numberIn(this.#fields.get(name));
  }

  whole(name: string, least: number = Number.NEGATIVE_INFINITY): number {
    const value = wholeIn(this.#fields.get(name));
    return value >= least ? value : misfit();
  }

  /** A flag; not set either where an older version has written the file. */
  isSet(name: string): boolean {
    return this.#fields.get(name) === 1;
  }

  oneOf<Choice extends string>(name: string, choices: readonly Choice[]): Choice {
    const value = this.#fields.get(name);
    return choices.find((choice) => choice === value) ?? misfit();
  }

  /** Numbers by name; only these names are allowed. */
  numbers<Name extends string>(name: string, names: readonly Name[]): Partial<Record<Name, number>> {
    const read: Partial<Record<Name, number>> = {};
    for (const [given, value] of fieldsOf(this.#json(name))) {
      const known = names.find((each) => each === given) ?? misfit();
      read[known] = numberIn(value);
    }
    return read;
  }

  headers(name: string): readonly KeptHeader[] {
    const list = this.#json(name);
    if (!Array.isArray(list)) return misfit();
    return list.map((header) => {
      const row = new Row(header);
      const kept = { name: row.text("name"), bytes: row.whole("bytes") };
      return row.isThere("value") ? { ...kept, value: row.text("value") } : kept;
    });
  }

  #json(name: string): unknown {
    const text = this.text(name);
    try {
      return JSON.parse(text);
    } catch {
      return misfit();
    }
  }
}

function fieldsOf(value: unknown): ReadonlyMap<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return misfit();
  return new Map(Object.entries(value));
}

function numberIn(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : misfit();
}

function wholeIn(value: unknown): number {
  return Number.isSafeInteger(value) ? numberIn(value) : misfit();
}

function misfit(): never {
  throw new Misfit();
}
