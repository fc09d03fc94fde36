import { isIP } from "node:net";
import { systemClock } from "../../src/platform/clock.ts";
import { NameResolver } from "../../src/transport/dns/name-resolver.ts";
import type { Names } from "../../src/transport/route.ts";

export const systemNames: Names = new NameResolver({ clock: systemClock });

/** Resolved by this function alone. */
export function namesBy(addressesOf: Names["addressesOf"]): Names {
  return { addressesOf, forget: () => {} };
}

/** A name with these addresses, in this order. */
export function leadsTo(...addresses: readonly string[]): Names["addressesOf"] {
  return () => Promise.resolve(addresses.map((address) => ({ address, family: isIP(address) })));
}

/** No server answers. */
export const isSilent: Names["addressesOf"] = () => new Promise(() => {});
