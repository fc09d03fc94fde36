import { request } from "node:http";
import { codeOf } from "../kernel/text/escape.ts";
import { percentDecoded } from "../kernel/text/percent.ts";
import { BlockList, isIP, type Socket } from "node:net";
import type { Proxy } from "../kernel/config/config.ts";
import { WireError } from "./faults.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export type ProxyServer = {
  readonly host: string;
  readonly port: number;
  /** Whether the connection to the proxy itself uses TLS. */
  readonly secure: boolean;
  readonly authorization: string | undefined;
  /** Never to be printed. */
  readonly secrets: readonly string[];
};

const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

export function portOf(url: URL): number {
  return url.port === "" ? (DEFAULT_PORTS[url.protocol] ?? 0) : Number(url.port);
}

/** Without the brackets of IPv6. A final dot stays: it tells the resolver not to try search domains. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "");
}

/** The proxy for requests to this URL, if any. Throws where its address cannot be used. */
export function chooseProxy(proxy: Proxy, url: URL, environment: Environment): ProxyServer | undefined {
  if (proxy === "none") return undefined;
  return proxy === "env" ? proxyFromEnvironment(url, environment) : parseProxy(proxy, "proxy");
}

function proxyFromEnvironment(url: URL, environment: Environment): ProxyServer | undefined {
  if (isExempt(url, read(environment, "no_proxy")?.value ?? "")) return undefined;
  const found = read(environment, `${url.protocol.slice(0, -1)}_proxy`) ?? read(environment, "all_proxy");
  return found === undefined ? undefined : parseProxy(found.value, found.name);
}

/** Lower case has priority, as in curl; an empty variable counts as unset. */
function read(environment: Environment, lower: string): { name: string; value: string } | undefined {
  for (const name of [lower, lower.toUpperCase()]) {
    const value = environment[name]?.trim();
    if (value !== undefined && value !== "") return { name, value };
  }
  return undefined;
}

/** The error leaves out the address: it may hold a password. */
function parseProxy(address: string, name: string): ProxyServer {
  const withScheme = /^[a-z][a-z0-9+.-]*:\/\//i.test(address) ? address : `http://${address}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (url === undefined || DEFAULT_PORTS[url.protocol] === undefined || url.hostname === "") {
    throw new Error(`cannot use the proxy: "${name}" must be an http or https URL`);
  }
  return { host: hostOf(url), port: portOf(url), secure: url.protocol === "https:", ...basicIn(url) };
}

/** What the user and the password in a URL are sent as, and what of that is secret: a user without a password is a key. */
export function basicIn(url: URL): Pick<ProxyServer, "authorization" | "secrets"> {
  const [user, password] = [percentDecoded(url.username), percentDecoded(url.password)];
  if (user === "" && password === "") return { authorization: undefined, secrets: [] };
  const pair = Buffer.from(`${user}:${password}`).toString("base64");
  return { authorization: `Basic ${pair}`, secrets: [password === "" ? user : password, pair] };
}

/** `no_proxy`: names with their subdomains, addresses, networks, each with an optional port; `*` is everything. */
function isExempt(url: URL, list: string): boolean {
  const host = hostOf(url).toLowerCase().replace(/\.$/, "");
  const port = portOf(url);
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => matches(entry, host, port));
}

function matches(entry: string, host: string, port: number): boolean {
  if (entry === "*") return true;
  const [, bracketed, plain, entryPort] = /^(?:\[([^\]]+)\]|([^:]*|.*:.*:.*?))(?::(\d+))?$/.exec(entry) ?? [];
  const bare = isIP(entry) === 6 ? entry : (bracketed ?? plain);
  if (bare === undefined) return false;
  if (entryPort !== undefined && bare !== entry && Number(entryPort) !== port) return false;
  if (isIP(host) !== 0) return bare === host || isInNetwork(bare, host);
  const suffix = bare.replace(/^\*?\./, "").replace(/\.$/, "");
  return suffix !== "" && (host === suffix || host.endsWith(`.${suffix}`));
}

function isInNetwork(network: string, address: string): boolean {
  const [base, length, more] = network.split("/");
  if (base === undefined || length === undefined || more !== undefined || !/^\d{1,3}$/.test(length))
    return false;
  const family = isIP(base) === 6 ? "ipv6" : "ipv4";
  if (isIP(base) === 0 || Number(length) > (family === "ipv6" ? 128 : 32)) return false;
  const block = new BlockList();
  block.addSubnet(base, Number(length), family);
  return block.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/**
 * Asks a proxy for a tunnel to `authority`. By a request of its own, not left to undici, so that a refusal is never taken
 * for the upstream's answer, and so that no header of the poll can reach the proxy.
 */
export function openTunnel(
  socket: Socket,
  authority: string,
  { authorization }: ProxyServer,
  done: (error: WireError | undefined) => void,
): void {
  const headers = { Host: authority, ...(authorization && { "Proxy-Authorization": authorization }) };
  const asked = request({ method: "CONNECT", path: authority, headers, createConnection: () => socket });
  // It would be said of the tunnel.
  asked.removeHeader("Connection");
  asked.on("connect", ({ statusCode = 0 }, _socket, rest) => {
    const isOpen = statusCode >= 200 && statusCode < 300;
    if (isOpen && rest.length > 0) socket.unshift(rest);
    done(isOpen ? undefined : new WireError("connect", `the proxy answered ${statusCode} to CONNECT`));
  });
  asked.on("error", (error) => done(new WireError("connect", whyNoTunnel(codeOf(error)))));
  asked.end();
}

function whyNoTunnel(code = ""): string {
  if (code === "HPE_HEADER_OVERFLOW") return "the proxy's answer to CONNECT is too long";
  if (code.startsWith("HPE_")) return "the proxy's answer to CONNECT is not HTTP";
  return "the proxy closed the connection before it answered CONNECT";
}
