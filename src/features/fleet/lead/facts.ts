import type { Note } from "../../../kernel/text/notes.ts";
import { anyList, listOf, number, objectOf, readOne, text } from "../../../kernel/text/rows.ts";

/** What the next leader must know. Their times are by the wall clock that showed `atMs` when they were noted. */
export type Facts = { readonly atMs: number; readonly notes: readonly Note[] };

/** As many as have room, in their order, but counts first. Behind one that has none, all are left out. */
export function fitting(notes: readonly Note[], mostBytes: number): readonly Note[] {
  const rank = ({ isCount, isLeast }: Note): number => (isCount === true ? 0 : isLeast === true ? 2 : 1);
  const sorted = [...notes].sort((one, other) => rank(one) - rank(other));
  let bytes = 0;
  const tooMany = sorted.findIndex((note) => {
    bytes += new TextEncoder().encode(JSON.stringify(factRow(note))).length + 1;
    return bytes > mostBytes;
  });
  return tooMany === -1 ? sorted : sorted.slice(0, tooMany);
}

/** As it is written. */
export function factRow({ kind, key, json }: Note): readonly [kind: string, key: string, json: unknown] {
  return [kind, key, json];
}

/** Undefined where they are none of ours. */
export function factsIn(stored: unknown): Facts | undefined {
  return readOne(
    stored,
    objectOf((row) => ({ atMs: row.get("atMs", number), notes: row.get("rows", listOf(noteIn)) })),
  );
}

function noteIn(stored: unknown): Note {
  const [kind, key, json] = anyList(stored);
  return { kind: text(kind), key: text(key), json };
}
