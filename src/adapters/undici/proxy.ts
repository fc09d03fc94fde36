import { percentDecoded } from "../../core/text/percent.ts";
import { BlockList, isIP, type Socket } from "node:net";
import type { Proxy } from "../../core/config/config.ts";
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
  switch (proxy.kind) {
    case "none":
      return undefined;
    case "url":
      return parseProxy(proxy.url, "proxy");
    case "env":
      return proxyFromEnvironment(url, environment);
    default:
      return proxy satisfies never;
  }
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
  const user = percentDecoded(url.username);
  const password = percentDecoded(url.password);
  const known = user !== "" || password !== "";
  const pair = Buffer.from(`${user}:${password}`).toString("base64");
  return {
    host: hostOf(url),
    port: portOf(url),
    secure: url.protocol === "https:",
    authorization: known ? `Basic ${pair}` : undefined,
    secrets: known ? [password, pair].filter((secret) => secret !== "") : [],
  };
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

const HEAD_MAX_BYTES = 16_384;
const INTERIM_MAX = 16;

/**
 * Asks a proxy for a tunnel to `authority`. Written here, not left to undici, so that a refusal is never taken for the
 * upstream's answer, and so that no header of the request can reach the proxy.
 */
export function openTunnel(
  socket: Socket,
  authority: string,
  proxy: ProxyServer,
  done: (error: WireError | undefined) => void,
): void {
  let received = Buffer.alloc(0);
  let interim = 0;

  function finish(error: WireError | undefined, rest: Buffer): void {
    socket.off("data", onData).off("end", onEnd).pause();
    if (rest.length > 0) socket.unshift(rest);
    done(error);
  }

  function refuse(detail: string): void {
    finish(new WireError("connect", detail), Buffer.alloc(0));
  }

  function onEnd(): void {
    refuse("the proxy closed the connection before it answered CONNECT");
  }

  function onData(chunk: Buffer): void {
    received = Buffer.concat([received, chunk]);
    for (;;) {
      const end = received.indexOf("\r\n\r\n");
      if (end < 0) break;
      const status = statusOf(received.toString("latin1", 0, end));
      received = received.subarray(end + 4);
      if (status >= 200 && status < 300) return finish(undefined, received);
      if (!(status >= 100 && status < 200)) return refuse(refusal(status));
      interim += 1;
    }
    if (received.length > HEAD_MAX_BYTES || interim > INTERIM_MAX) {
      refuse("the proxy's answer to CONNECT is too long");
    }
  }

  socket.on("data", onData).on("end", onEnd);
  const credentials =
    proxy.authorization === undefined ? "" : `Proxy-Authorization: ${proxy.authorization}\r\n`;
  socket.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n${credentials}\r\n`, "latin1");
}

function statusOf(head: string): number {
  return Number(/^HTTP\/1\.[01] (\d{3})(?: |\r|$)/.exec(head)?.[1] ?? Number.NaN);
}

function refusal(status: number): string {
  return Number.isNaN(status)
    ? "the proxy's answer to CONNECT is not HTTP"
    : `the proxy answered ${status} to CONNECT`;
}
