/**
 * Work that takes long with thousands of upstreams: at each `yield`, polls and other readers may come in between. What it
 * yields is the text of an answer, in order; work that writes nothing yet yields nothing.
 */
export type Pieces<Result = void> = Generator<string | undefined, Result, void>;

export function* eachInPieces<Item, Result>(
  items: Iterable<Item>,
  make: (item: Item) => Result,
): Pieces<Result[]> {
  const made: Result[] = [];
  for (const item of items) {
    made.push(make(item));
    yield;
  }
  return made;
}

/** Lists of thousands are within an object, or within an object in it. */
const DEPTH = 2;

/** The text of `JSON.stringify`. Any iterable is a list, and its items are made one by one, as they are written. */
export function* jsonPieces(value: unknown, depth: number = DEPTH): Generator<string, void, void> {
  if (typeof value !== "object" || value === null || depth === 0) {
    yield JSON.stringify(value) ?? "null";
  } else if (isIterable(value)) {
    let before = "[";
    for (const item of value) {
      yield before + (JSON.stringify(item) ?? "null");
      before = ",";
    }
    yield before === "[" ? "[]" : "]";
  } else {
    let before = "{";
    for (const [key, field] of Object.entries(value)) {
      if (field === undefined) continue;
      yield `${before}${JSON.stringify(key)}:`;
      yield* jsonPieces(field, depth - 1);
      before = ",";
    }
    yield before === "{" ? "{}" : "}";
  }
}

function isIterable(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value;
}
