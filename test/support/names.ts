import type { LookupFunction } from "node:net";
import { systemClock } from "../../src/adapters/clock.ts";
import { NameResolver } from "../../src/adapters/dns/name-resolver.ts";
import type { Names } from "../../src/adapters/undici/route.ts";

export const systemNames: Names = new NameResolver({ clock: systemClock });

/** Resolved by this function alone. */
export function namesBy(lookup: LookupFunction): Names {
  return { lookup, forget: () => {} };
}
