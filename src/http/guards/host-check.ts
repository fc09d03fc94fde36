import { isIPv4 } from "node:net";
import { type Guard, PROBE_PATHS } from "./guard.ts";

/** What no web page can have for its own name. */
const OWN_NAMES = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Which names `Host` may say; undefined for any. On a loopback address a browser on this machine is the way in, so
 * there it is checked without being asked for; elsewhere only the operator knows by what names others scrape.
 */
export function hostsToAllow(
  configured: readonly string[] | undefined,
  listenHost: string,
): readonly string[] | undefined {
  if (configured === undefined && !isLoopback(listenHost)) return undefined;
  if (configured?.includes("*") === true) return undefined;
  return [...OWN_NAMES, listenHost, ...(configured ?? [])];
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));
}

/**
 * A web page can point its own name at this machine and then read the answers as its own (DNS rebinding); but
 * its browser still says that name in `Host`. `undefined` allows any name. Ports are not compared. The names are
 * asked for at each request, as they change with the config.
 */
export function checkHost(allowedHosts: () => readonly string[] | undefined): Guard {
  return async (c, next) => {
    if (saysHostTwice(c.env?.incoming?.rawHeaders)) return c.text("bad request\n", 400);
    const allowed = allowedHosts();
    if (allowed === undefined || PROBE_PATHS.has(c.req.path)) return next();
    const known = new Set(allowed.map(hostnameOf));
    // A target can have a name of its own, whatever Host says.
    const target = c.env?.incoming?.url ?? "";
    const asked = [
      c.req.header("host") ?? new URL(c.req.url).host,
      ...(URL.canParse(target) ? [new URL(target).host] : []),
    ];
    if (asked.every((host) => known.has(hostnameOf(host)))) return next();
    return c.text('cannot answer: "Host" must be a name of this machine or one of web.allowed_hosts\n', 421);
  };
}

/** Node keeps the first of them; whatever stands before us may have kept another. */
function saysHostTwice(rawHeaders: readonly string[] = []): boolean {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === "host").length > 1;
}

/** Without port, brackets, case and a final dot. */
function hostnameOf(host: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\](?::\d*)?|([^:]*)(?::\d*)?)$/.exec(host) ?? [];
  return (bracketed ?? plain ?? host).toLowerCase().replace(/\.$/, "");
}
