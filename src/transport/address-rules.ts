import { BlockList, isIP } from "node:net";
import { ipv6Groups } from "../platform/ipv6.ts";

/**
 * Where nothing that is watched lives, but a machine's own secrets may: link-local addresses, with the metadata service
 * of most clouds among them, the addresses of that service elsewhere, and the unspecified ones, which lead to the
 * machine itself.
 */
const DENIED_BY_DEFAULT: readonly string[] = [
  "169.254.0.0/16",
  "fe80::/10",
  // The metadata services of Amazon, Google, Oracle, Scaleway, Linode, Alibaba and Azure.
  "fd00:ec2::/32",
  "fd20:ce::254",
  "fd00:c1::a9fe:a9fe",
  "192.0.0.192",
  "fd00:42::42",
  "fd00:a9fe:a9fe::1",
  "fd00:100::100:200",
  "100.100.100.200",
  "168.63.129.16",
  "0.0.0.0/8",
  "::",
];

const LOOPBACK: readonly string[] = ["127.0.0.0/8", "::1"];

/** Why no poll may connect to this address of a host, in words; undefined where it may. */
export type AddressRules = (host: string, address: string) => string | undefined;

let latest: { readonly key: string | undefined; readonly rules: AddressRules } | undefined;

/** The same ones for all upstreams of a config: its networks take 20 kB, outside of the heap. */
export function addressRulesOf(networks: readonly string[] | undefined): AddressRules {
  const key = networks?.join(" ");
  if (latest === undefined || latest.key !== key) latest = { key, rules: rulesOf(networks) };
  return latest.rules;
}

/** Undefined: the default list. */
function rulesOf(networks: readonly string[] | undefined): AddressRules {
  const denied = listOf(networks ?? DENIED_BY_DEFAULT);
  // Whoever owns a name could let it lead to this machine. An address in the config, or localhost, is meant.
  const deniedToNames = listOf(networks === undefined ? LOOPBACK : []);
  return (host, address) => {
    if (!isIn(denied, address) && !(isForeignName(host) && isIn(deniedToNames, address))) return undefined;
    const where = host === address ? address : `${address}, the address of ${host}`;
    return `no poll may connect to ${where}: see deny_addresses`;
  };
}

function isForeignName(host: string): boolean {
  return isIP(host) === 0 && !/(?:^|\.)localhost\.?$/i.test(host);
}

/** An IPv4 address inside of an IPv6 one counts as itself. */
function isIn(list: BlockList, address: string): boolean {
  const bare = address.replace(/%.*$/, "");
  if (isIP(bare) !== 6) return list.check(bare, "ipv4");
  return (
    list.check(bare, "ipv6") ||
    insideOf(ipv6Groups(bare).flatMap(bytesOf)).some((inside) => list.check(inside, "ipv4"))
  );
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", length] = network.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    if (length === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(length), family);
  }
  return list;
}

/** Translators, relays and tunnels in the network lead to an IPv4 address that is inside of an IPv6 one, at these bytes. */
const PREFIXES: readonly (readonly [
  prefix: string,
  places: (bytes: readonly number[]) => readonly number[],
])[] = [
  // NAT64 (RFC 6052), the same with a prefix of one's own (RFC 8215), and SIIT (RFC 2765).
  ["0064ff9b0000000000000000", () => [12, 13, 14, 15]],
  ["0064ff9b0001", placesOfLocal],
  ["0000000000000000ffff0000", () => [12, 13, 14, 15]],
  // 6to4 (RFC 3056), and both ends of Teredo (RFC 4380), of which the second is inverted.
  ["2002", () => [2, 3, 4, 5]],
  ["20010000", () => [4, 5, 6, 7]],
  ["20010000", () => [-12, -13, -14, -15]],
];

/** A prefix of 48, 56, 64 or 96 bits, by what is empty behind the address; the ninth byte is left out. */
function placesOfLocal(bytes: readonly number[]): readonly number[] {
  const isEmptyFrom = (at: number): boolean => bytes.slice(at).every((byte) => byte === 0);
  if (isEmptyFrom(11)) return [6, 7, 9, 10];
  if (isEmptyFrom(12)) return [7, 9, 10, 11];
  return isEmptyFrom(13) ? [9, 10, 11, 12] : [12, 13, 14, 15];
}

function insideOf(bytes: readonly number[]): readonly string[] {
  const hex = bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return PREFIXES.filter(([prefix]) => hex.startsWith(prefix)).map(([, placesIn]) =>
    placesIn(bytes)
      .map((place) => (place < 0 ? 255 - (bytes[-place] ?? 0) : (bytes[place] ?? 0)))
      .join("."),
  );
}

function bytesOf(group: string): readonly number[] {
  const number = Number.parseInt(group, 16);
  return [number >> 8, number & 255];
}
