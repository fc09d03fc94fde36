import type { DatabaseSync } from "node:sqlite";

/** All of it or nothing. */
export function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    work();
    database.exec("COMMIT");
  } catch (error) {
    // A full disk may have rolled it back already.
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}
