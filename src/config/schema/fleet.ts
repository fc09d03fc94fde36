import { isIPv6 } from "node:net";
import { hostname } from "node:os";
import type { z } from "zod";
import { type Address, FLEET_MODES, type Fleet, type FleetRedis } from "../../core/config/config.ts";
import { source } from "../auth/source.ts";
import {
  checked,
  decoded,
  duration,
  filledList,
  flag,
  httpUrl,
  matching,
  name,
  named,
  oneOf,
  percentage,
  reading,
  section,
  text,
  wholeNumber,
} from "../keys/leaves.ts";
import { parseListen } from "../keys/listen.ts";
import { type Rule, noted } from "../keys/notes.ts";
import { ADDRESS_PATTERN, REDIS_URL_PATTERN } from "../keys/patterns.ts";
import { exactlyOne, mappingOf, ruled } from "../keys/rules.ts";
import { certificateAndKey, tlsFiles } from "../keys/tls.ts";

const ADDRESS_PHRASE = "an address and port, such as 10.0.0.1:6379";
const MOST_REPLICAS = 1_000;
const DEFAULT_PORT = 6_379;

type RedisUrl = Address & { readonly database: number; readonly tls: boolean };

const url: z.ZodType<RedisUrl> = decoded(
  checked(redisUrlFault, "a redis:// or rediss:// URL", REDIS_URL_PATTERN),
  parseRedisUrl,
);

const address = noted(reading(ADDRESS_PATTERN, ADDRESS_PHRASE, parseListen), {
  example: "unset.invalid:6379",
});
const nodes = filledList(address, 100, "addresses");

const redis = section({
  url: noted(url, { example: "rediss://unset.invalid", isSecret: true })
    .optional()
    .describe("redis://HOST:PORT/DATABASE, or rediss:// over TLS. Never with a user name or password."),
  sentinel: section({
    master: name().describe("The master's name in Sentinel."),
    nodes: nodes.describe("The sentinels."),
  })
    .optional()
    .describe("Instead of url: ask Redis Sentinel for the master."),
  cluster: nodes.optional().describe("Instead of url: some nodes of a Redis Cluster."),
  tls: noted(flag(), { example: "true" })
    .optional()
    .describe("Whether to connect to the sentinels, or to the nodes of a cluster, over TLS."),
  username: noted(text("a user's name", 128), { isSecret: true }).optional().describe("The user (ACL)."),
  password: noted(
    source("the password", "{ env: NAME } or { file: PATH }: a password is never written in the config", "."),
    { isSecret: true },
  )
    .optional()
    .describe("Where the password is found."),
  ...tlsFiles,
  server_name: matching(/^[A-Za-z0-9._-]{1,253}$/, "a host's name")
    .optional()
    .describe("The name that its certificate must have, instead of its address."),
}).describe("The Redis or Valkey that the replicas share: exactly one of url, sentinel and cluster.");

const REDIS_TLS_KEYS = ["ca_file", "cert_file", "key_file", "server_name"];

const tlsKeysNeedTls: Rule = {
  check: (redis, refuse) => {
    const keys = mappingOf(redis);
    const hasUrl = Object.hasOwn(keys, "url");
    if (hasUrl && Object.hasOwn(keys, "tls"))
      refuse(["tls"], "must not be set together with url: for TLS, write rediss:// there", []);
    const said = hasUrl ? "url" : "tls";
    // Its variable is not set: that is said already.
    if (Object.hasOwn(keys, said) && keys[said] === undefined) return;
    const isEncrypted = hasUrl ? String(keys["url"]).startsWith("rediss:") : keys["tls"] === true;
    const first = REDIS_TLS_KEYS.find((key) => Object.hasOwn(keys, key));
    if (isEncrypted || first === undefined) return;
    refuse([first], `must be set only where ${hasUrl ? "url is rediss://" : "tls is true"}`, []);
  },
};

const redisSchema: z.ZodType<FleetRedis> = decoded(
  named(ruled(redis, exactlyOne("url", "sentinel", "cluster"), certificateAndKey, tlsKeysNeedTls), {}),
  ({ url, sentinel, cluster, tls, username, password, ...files }) => ({
    nodes: nodesOf({ url, sentinel, cluster }),
    username,
    password,
    tls: (url?.tls ?? tls) === true ? files : undefined,
  }),
);

/** A mapping that has none of them, or several, is refused by its rule, so any answer will do. */
function nodesOf({
  url,
  sentinel,
  cluster,
}: Pick<z.output<typeof redis>, "url" | "sentinel" | "cluster">): FleetRedis["nodes"] {
  if (sentinel !== undefined) return { kind: "sentinel", ...sentinel };
  if (url === undefined) return { kind: "cluster", nodes: cluster ?? [] };
  return { kind: "single", host: url.host, port: url.port, database: url.database };
}

const reserveNeedsEverywhere: Rule = {
  check: (fleet, refuse) => {
    const { mode, reserve } = mappingOf(fleet);
    if (mode !== "shard" || reserve === undefined) return;
    const why = "without Redis nobody knows who polls an upstream, so nothing can be set aside: remove it";
    refuse(["reserve"], `must be set only where mode is everywhere: ${why}`, []);
  },
};

const DEFAULT_RESERVE = 0.2;

const keys = named(
  section({
    redis: redisSchema,
    mode: noted(oneOf(FLEET_MODES), { isNeeded: true }).describe(
      "shard: each upstream is polled by one replica. everywhere: by all, each from its own place.",
    ),
    replicas: noted(wholeNumber(1, MOST_REPLICAS), { isNeeded: true }).describe(
      "The largest number of replicas.",
    ),
    reserve: percentage({ zero: true, hundred: false }, "20%")
      .optional()
      .describe(
        "Only in everywhere: the part of each budget's cap that replicas may use while Redis is unreachable. Default: 20%.",
      ),
    ttl: duration(1_000, 600_000, "10s").prefault("10s").describe("How soon a dead replica is replaced."),
    name: name().optional().describe("This replica's name. Default: the machine's host name."),
    advertise: httpUrl()
      .optional()
      .describe("The URL of this replica's page for people. Default: the address that it listens on."),
    prefix: name().prefault("pacewatch").describe("The prefix of its keys in Redis."),
  }).describe(
    "Several replicas that share their budgets. It cannot change without a restart; a reload keeps replicas and reserve as they were.",
  ),
  { ttl: "ttlMs" },
);

export const fleetSchema: z.ZodType<Fleet> = decoded(ruled(keys, reserveNeedsEverywhere), (written) => ({
  ...written,
  name: written.name ?? ownName(),
  reserve: written.mode === "shard" ? 0 : (written.reserve ?? DEFAULT_RESERVE),
}));

/** The machine's host name, without the characters that a name may not have. */
function ownName(): string {
  const name = hostname()
    .replaceAll(/[^A-Za-z0-9._-]/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 64);
  return name === "" ? "replica" : name;
}

/** Says what a Redis URL must be, and nothing of a valid one. It never quotes the URL, which may have a password in it. */
function redisUrlFault(text: string): string | undefined {
  const url = /^rediss?:\/\/[^\s\\/?#]/.test(text) && !/\s/.test(text) ? URL.parse(text) : null;
  if (url === null || url.hostname === "") return "a redis:// or rediss:// URL with a host";
  if (url.username !== "" || url.password !== "" || text.includes("@")) {
    return "a URL without a user name or password: see username and password";
  }
  if (url.search !== "" || text.includes("#") || !/^(?:\/\d{0,5})?$/.test(url.pathname)) {
    return "a URL with nothing after its host but a database number, such as redis://127.0.0.1:6379/0";
  }
  return undefined;
}

/** The URL must be valid. */
function parseRedisUrl(text: string): RedisUrl {
  const { protocol, hostname, port, pathname } = new URL(text);
  const bare = hostname.replace(/^\[|\]$/g, "");
  return {
    host: isIPv6(bare) ? bare : hostname,
    port: port === "" ? DEFAULT_PORT : Number(port),
    database: Number(pathname.slice(1)),
    tls: protocol === "rediss:",
  };
}
