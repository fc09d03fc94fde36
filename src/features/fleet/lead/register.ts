/**
 * One value that many processes read and write. A lock is made of one of these, and notes are kept in another. Each call is
 * answered or rejected after a quarter of a ttl at the latest.
 */
export interface Register {
  read(): Promise<Reading>;
  /**
   * Replaces what was read with that version, or nothing at all. A rejection means that nobody knows whether it was
   * written, or is yet to be.
   */
  write(value: string, version: string): Promise<Written>;
}

export type Reading = {
  /** Of the server's data: another one after a failover or a restart, which may have lost what was written. */
  readonly era: string;
  readonly value: string | undefined;
  /** To be handed back to `write` as it is. */
  readonly version: string;
  /** Whether it was written in this era: if not, something later may have been lost. */
  readonly isSure: boolean;
};

export type Written = { readonly kind: "written"; readonly version: string } | { readonly kind: "changed" };

/** Nothing that is written is longer. */
export const MOST_BYTES: number = 256 * 1_024;
