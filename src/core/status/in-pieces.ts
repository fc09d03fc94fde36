/** Work that takes long with thousands of upstreams. It yields after each piece, so that other work can come in between. */
export type InPieces<Result> = Generator<void, Result, void>;

/** Each of these, in its own piece. */
export function* eachInPieces<Item, Result>(
  items: Iterable<Item>,
  make: (item: Item) => Result,
): InPieces<Result[]> {
  const made: Result[] = [];
  for (const item of items) {
    made.push(make(item));
    yield;
  }
  return made;
}

/** Compared so often in one piece. */
const COMPARED_IN_A_PIECE = 1_000;

/** Merges lists that are in order already. Of equal items, those of earlier lists come first. */
export function* mergedInPieces<Item>(
  lists: readonly (readonly Item[])[],
  compare: (one: Item, other: Item) => number,
): InPieces<readonly Item[]> {
  let waiting = lists.filter(({ length }) => length > 0);
  while (waiting.length > 1) {
    const merged: (readonly Item[])[] = [];
    for (let at = 0; at < waiting.length; at += 2) {
      merged.push(yield* mergedPair(waiting[at] ?? [], waiting[at + 1] ?? [], compare));
    }
    waiting = merged;
  }
  return waiting[0] ?? [];
}

function* mergedPair<Item>(
  one: readonly Item[],
  other: readonly Item[],
  compare: (one: Item, other: Item) => number,
): InPieces<readonly Item[]> {
  const merged: Item[] = [];
  let [at, atOther] = [0, 0];
  for (;;) {
    const [next, nextOther] = [one[at], other[atOther]];
    if (next === undefined || nextOther === undefined) break;
    const isFirst = compare(next, nextOther) <= 0;
    merged.push(isFirst ? next : nextOther);
    if (isFirst) at += 1;
    else atOther += 1;
    if (merged.length % COMPARED_IN_A_PIECE === 0) yield;
  }
  yield;
  return merged.concat(one.slice(at), other.slice(atOther));
}
