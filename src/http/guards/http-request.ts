import { percentDecoded } from "../../kernel/text/percent.ts";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpRequest } from "./guard.ts";

/** A name or an address, with or without a port: nothing that would begin another part of a URL. */
const HOST = /^(?:\[[0-9a-f:.]+\]|[^\s/?#@\\:[\]]+)(?::\d{0,5})?$/i;

/** Undefined for what is not a valid request: the target or Host cannot be part of a URL. */
export function readRequest(incoming: IncomingMessage, outgoing: ServerResponse): HttpRequest | undefined {
  const { method = "GET", headersDistinct } = incoming;
  const url = urlOf(incoming);
  if (url === null) return undefined;
  return {
    method,
    url,
    path: pathOf(url),
    header: (name) => headersDistinct[name]?.join(", "),
    incoming,
    outgoing,
  };
}

function urlOf({ url: target = "/", headers }: IncomingMessage): URL | null {
  // HTTP/1.0 needs no Host, and the health checks of some load balancers send none.
  const { host = "localhost" } = headers;
  // Browsers, and URL, take one for a slash.
  if (!HOST.test(host) || target.split("?", 1)[0]?.includes("\\") === true) return null;
  if (target.startsWith("/")) return URL.parse(`http://${host}${target}`);
  return /^https?:\/\//.test(target) ? URL.parse(target) : null;
}

export function pathOf({ pathname }: URL): string {
  // What is decoded once stays as it is.
  return percentDecoded(pathname.replaceAll("%25", "%2525"), decodeURI);
}
