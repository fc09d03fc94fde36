import { isIPv6 } from "node:net";
import { ipv6Groups } from "../../platform/ipv6.ts";

/** An IPv6 network of 64 bits is one client's: it can choose any address in it. */
export function networkOf(address: string): string {
  const ipv4 = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (ipv4 !== undefined || !isIPv6(address)) return ipv4 ?? address;
  return ipv6Groups(address.replace(/%.*$/, "")).slice(0, 4).join(":");
}
