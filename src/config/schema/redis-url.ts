import { isIPv6 } from "node:net";

export type RedisUrl = {
  readonly host: string;
  readonly port: number;
  readonly database: number;
  readonly tls: boolean;
};

const DEFAULT_PORT = 6_379;

/** What is wrong with a URL of a Redis, as "must be …"; undefined where nothing is. It never quotes the URL. */
export function redisUrlFault(text: string): string | undefined {
  const url = /^rediss?:\/\/[^\s\\/?#]/.test(text) && !/\s/.test(text) ? URL.parse(text) : null;
  if (url === null || url.hostname === "") return "a redis:// or rediss:// URL with a host";
  if (url.username !== "" || url.password !== "" || text.includes("@")) {
    return "a URL without a user name or password: see username and password";
  }
  if (url.search !== "" || text.includes("#") || !/^(?:\/\d{0,5})?$/.test(url.pathname)) {
    return "a URL with nothing behind its host but a database's number, such as redis://127.0.0.1:6379/0";
  }
  return undefined;
}

/** Of a URL that has no fault. */
export function parseRedisUrl(text: string): RedisUrl {
  const { protocol, hostname, port, pathname } = new URL(text);
  const bare = hostname.replace(/^\[|\]$/g, "");
  return {
    host: isIPv6(bare) ? bare : hostname,
    port: port === "" ? DEFAULT_PORT : Number(port),
    database: Number(pathname.slice(1)),
    tls: protocol === "rediss:",
  };
}
