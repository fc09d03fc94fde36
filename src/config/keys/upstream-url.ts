import { looksLikeSecretParameter } from "./credential-signs.ts";

/**
 * Says what a URL must be, and nothing of a valid one. It never quotes the URL, which may have a key in it. `instead`: what
 * to do with a user name or password.
 */
export function urlFault(text: string, instead: string = "see auth"): string | undefined {
  const url = parseHttpUrl(text);
  if (url === undefined) return "an http:// or https:// URL with a host";
  if (url.username !== "" || url.password !== "") {
    return `a URL without a user name or password: a key is never written in the config, ${instead}`;
  }
  if (text.includes("#")) return "a URL without a fragment (#)";
  if (holdsSecretParameter(url)) {
    return "a URL without a key in its query: a key is never written in the config, see auth.query";
  }
  return undefined;
}

export function pathFault(path: string): string | undefined {
  if (!path.startsWith("/")) return "a path that begins with /";
  if (path.includes("#")) return "a path without a fragment (#)";
  if (/[\s\\]/.test(path)) return "a path without spaces and backslashes";
  if (holdsSecretParameter(new URL(`http://host.invalid${path}`))) {
    return "a path without a key in its query: a key is never written in the config, see auth.query";
  }
  return undefined;
}

export function joinUrl(base: string, path: string): string {
  return new URL(joinTemplate(base, path)).href;
}

/** Joins the paths, and the queries. The variables of the path may not be filled in; their defaults are not in it. */
export function joinTemplate(base: string, path: string): string {
  const { origin, pathname, search } = new URL(base);
  const queryAt = path.indexOf("?");
  const [own, query] = queryAt < 0 ? [path, ""] : [path.slice(0, queryAt), path.slice(queryAt + 1)];
  const shownPath = `${pathname.replace(/\/+$/, "")}${own.startsWith("/") ? own : `/${own}`}`;
  const queries = [search.slice(1), query].filter((part) => part !== "").join("&");
  return `${origin}${shownPath}${queries === "" ? "" : `?${queries}`}`;
}

/** Tells whether a request is sent over a network unencrypted. */
export function isCleartext(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  const isLoopback = hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
  return protocol === "http:" && !isLoopback;
}

function parseHttpUrl(text: string): URL | undefined {
  // The URL parser accepts spaces, tabs and a missing slash; a config may not have them.
  if (!/^https?:\/\/[^\s\\/?#]/i.test(text) || /[\s\\]/.test(text)) return undefined;
  const url = URL.parse(text);
  return url === null || url.hostname === "" ? undefined : url;
}

function holdsSecretParameter(url: URL): boolean {
  return [...url.searchParams.keys()].some((name) => looksLikeSecretParameter(name));
}
