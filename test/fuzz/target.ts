import type * as fc from "fast-check";

/** A parser of ours, and bytes for it. A case can be written down as JSON. */
export type Target<Case> = {
  readonly name: string;
  readonly cases: fc.Arbitrary<Case>;
  /** Cases that once did harm, or nearly did; each with what is special about it. */
  readonly kept: readonly (readonly [why: string, bytes: Case])[];
  readonly open: () => Promise<Session<Case>>;
};

export type Session<Case> = AsyncDisposable & {
  /** Rejects where a promise about this case is broken. */
  readonly check: (bytes: Case) => Promise<void>;
};

export function promise(holds: boolean, broken: string): void {
  if (!holds) throw new Error(broken);
}

/** Controls, format characters, line separators and lone surrogates: nothing that we say has any. */
export const UNPRINTABLE: RegExp = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;

/** Rejects where it takes so long that even this machine cannot be the reason. */
export async function within<Value>(mostMs: number, what: string, work: Promise<Value>): Promise<Value> {
  const startedMs = performance.now();
  const value = await work;
  const tookMs = performance.now() - startedMs;
  promise(tookMs <= mostMs, `${what} took ${Math.round(tookMs)} ms`);
  return value;
}
