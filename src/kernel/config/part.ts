/** The one place where it is decided how much of what an owner allows may be used: `share` of it, divided by the vantages. */

import type { Budget } from "./config.ts";

/** What is ours of a limit: of what all vantages may send together, or are told that is left, an equal part. */
export type Shares = Pick<Budget, "share" | "vantage">;

export function partOf(whole: number, { vantage }: Pick<Shares, "vantage">): number {
  return vantage === undefined ? whole : Math.floor(whole / vantage.of);
}

/** C = ⌊⌊L / of⌋ · share⌋, guarded against 0.1 · 30 = 3.0000000000000004 and 0.29 · 100 = 28.999999999999996. */
export function capOf(limit: number, shares: Shares): number {
  return Math.floor(partOf(limit, shares) * shares.share + 1e-9);
}

/** The least limit of which this is the cap. */
export function limitFor(cap: number, { share, vantage }: Shares): number {
  return Math.ceil(cap / share - 1e-9) * (vantage?.of ?? 1);
}

/** By which it is known again whether a process before this one had the same part. */
export function partName({ vantage }: Pick<Shares, "vantage">): string | undefined {
  return vantage && `${vantage.name}/${vantage.of}`;
}
