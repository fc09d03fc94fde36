import { BlockList, isIP } from "node:net";

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

/** An IPv4 address follows this prefix: a translator in the network leads there (NAT64, RFC 6052). */
const NAT64_PREFIX = "64:ff9b::";
const NAT64_BITS = 96;
const IPV4_BITS = 32;

/** An IPv4 address follows this one too: a relay leads there (6to4, RFC 3056). */
const SIX_TO_FOUR_PREFIX = "2002:";
const SIX_TO_FOUR_BITS = 16;

const LOOPBACK: readonly string[] = ["127.0.0.0/8", "::1"];

let latest: { readonly key: string | undefined; readonly rules: AddressRules } | undefined;

/** The same ones for all upstreams of a config: its networks take 20 kB, outside of the heap. */
export function addressRulesOf(networks: readonly string[] | undefined): AddressRules {
  const key = networks?.join(" ");
  if (latest === undefined || latest.key !== key) latest = { key, rules: new AddressRules(networks) };
  return latest.rules;
}

/** Which addresses no poll may connect to. */
export class AddressRules {
  readonly #denied: BlockList;
  readonly #deniedToNames: BlockList;

  /** Undefined: the default list. */
  constructor(networks: readonly string[] | undefined) {
    this.#denied = listOf(networks ?? DENIED_BY_DEFAULT);
    // Whoever owns a name could let it lead to this machine. An address in the config, or localhost, is meant.
    this.#deniedToNames = listOf(networks === undefined ? LOOPBACK : []);
  }

  /** Why not, in words; undefined where `host` may be reached at this address. */
  refusal(host: string, address: string): string | undefined {
    const isDenied =
      isIn(this.#denied, address) || (isForeignName(host) && isIn(this.#deniedToNames, address));
    if (!isDenied) return undefined;
    const where = host === address ? address : `${address}, the address of ${host}`;
    return `no poll may connect to ${where}: see deny_addresses`;
  }
}

function isForeignName(host: string): boolean {
  return isIP(host) === 0 && !/(?:^|\.)localhost\.?$/i.test(host);
}

/** An IPv4 address inside of an IPv6 one counts as itself. */
function isIn(list: BlockList, address: string): boolean {
  const bare = address.replace(/%.*$/, "");
  return list.check(bare, isIP(bare) === 6 ? "ipv6" : "ipv4");
}

function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", length] = network.split("/");
    const family = isIP(address) === 6 ? "ipv6" : "ipv4";
    const bits = length === undefined ? undefined : Number(length);
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, bits, family);
    if (family === "ipv6") continue;
    list.addSubnet(`${NAT64_PREFIX}${address}`, NAT64_BITS + (bits ?? IPV4_BITS), "ipv6");
    list.addSubnet(sixToFour(address), SIX_TO_FOUR_BITS + (bits ?? IPV4_BITS), "ipv6");
  }
  return list;
}

function sixToFour(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  return `${SIX_TO_FOUR_PREFIX}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}::`;
}
