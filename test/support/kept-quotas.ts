import { DatabaseSync } from "node:sqlite";
import { allUsed, type KeptQuotas, quotasIn } from "../../src/features/quota/quota.ts";
import type { Note } from "../../src/kernel/text/notes.ts";

/** What a life begins with that is given these notes. */
export function quotasKept(
  { notes, isLoss = false }: { readonly notes: readonly Note[]; readonly isLoss?: boolean },
  nowMs = 0,
): KeptQuotas {
  const kept = quotasIn([{ notes }]);
  return isLoss ? allUsed(kept, nowMs) : kept;
}

/** As the file has them, without a look at their checksums. */
export function quotasInFile(database: DatabaseSync): KeptQuotas["rows"] {
  const rows = database.prepare("SELECT kind, key, json FROM notes").all();
  const notes = rows.map(({ kind, key, json }) => ({
    kind: String(kind),
    key: String(key),
    json: JSON.parse(String(json)),
  }));
  return quotasIn([{ notes }]).rows;
}
