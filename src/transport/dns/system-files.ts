import { readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";
import type { LookupAddress } from "node:dns";

/** Reads what the system knows of names: /etc/hosts, /etc/resolv.conf, /etc/nsswitch.conf. */
export type NameSettings = {
  readonly hosts: ReadonlyMap<string, readonly LookupAddress[]>;
  readonly search: readonly string[];
  /** A name with fewer dots is tried with the search domains first. */
  readonly ndots: number;
  /** The system knows names from elsewhere too: multicast DNS, LDAP, the machine's own name. */
  readonly hasOtherSources: boolean;
};

export type NameFiles = { readonly hosts: string; readonly resolvConf: string; readonly nsswitch: string };

const SYSTEM_FILES: NameFiles = {
  hosts: "/etc/hosts",
  resolvConf: "/etc/resolv.conf",
  nsswitch: "/etc/nsswitch.conf",
};

/** `onChange` hears that the name servers may be others now. */
export type ReadNames = (onChange: () => void) => NameSettings;

/** Reads the files anew when one of them has changed: a container's are written while it runs. */
export function nameReader({ hosts, resolvConf, nsswitch }: NameFiles = SYSTEM_FILES): ReadNames {
  let known: { readonly version: string; readonly settings: NameSettings } | undefined;
  return (onChange) => {
    const version = [hosts, resolvConf, nsswitch].map(versionOf).join(" ");
    if (known?.version === version) return known.settings;
    if (known !== undefined) onChange();
    const settings = {
      hosts: parseHosts(textOf(hosts)),
      ...parseResolvConf(textOf(resolvConf)),
      hasOtherSources: namesOtherSources(textOf(nsswitch)),
    };
    known = { version, settings };
    return settings;
  };
}

function parseHosts(text: string): ReadonlyMap<string, readonly LookupAddress[]> {
  const hosts = new Map<string, LookupAddress[]>();
  for (const line of linesOf(text)) {
    const [address = "", ...names] = line.split(/\s+/);
    const family = isIP(address);
    if (family === 0) continue;
    for (const name of names.map((one) => one.toLowerCase())) {
      const known = hosts.get(name) ?? [];
      if (!known.some((other) => other.address === address)) hosts.set(name, [...known, { address, family }]);
    }
  }
  return hosts;
}

function parseResolvConf(text: string): Pick<NameSettings, "search" | "ndots"> {
  let search: readonly string[] = [];
  let ndots = 1;
  for (const line of linesOf(text)) {
    const [key, ...values] = line.split(/\s+/);
    // The last of them counts, as it does for the C library.
    if (key === "search" || key === "domain") search = values.map((value) => value.replace(/\.$/, ""));
    if (key !== "options") continue;
    for (const value of values) {
      const said = /^ndots:(\d{1,2})$/.exec(value)?.[1];
      if (said !== undefined) ndots = Math.min(15, Number(said));
    }
  }
  return { search: search.filter((domain) => domain !== ""), ndots };
}

/** `resolve` asks the same servers that resolv.conf names. */
const KNOWN_SOURCES: ReadonlySet<string> = new Set(["files", "dns", "resolve"]);

function namesOtherSources(text: string): boolean {
  const line = linesOf(text).find((one) => one.startsWith("hosts:"));
  const sources = (line ?? "hosts: files dns").slice("hosts:".length).replaceAll(/\[[^\]]*\]/g, " ");
  return sources.split(/\s+/).some((source) => source !== "" && !KNOWN_SOURCES.has(source));
}

function linesOf(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.replace(/[#;].*$/, "").trim())
    .filter((line) => line !== "");
}

function versionOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "none" : `${stat.ino}:${stat.mtimeMs}:${stat.size}`;
}

/** A file that is missing or unreadable says nothing, as for the C library. */
function textOf(path: string): string {
  try {
    return statSync(path).isFile() ? readFileSync(path, "utf8") : "";
  } catch {
    return "";
  }
}
