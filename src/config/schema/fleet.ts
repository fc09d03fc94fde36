import { isIPv6 } from "node:net";
import { hostname } from "node:os";
import { z } from "zod";
import { FLEET_MODES, type Fleet, type FleetRedis } from "../../core/config/config.ts";
import {
  CERTIFICATE_AND_KEY,
  type InDirectory,
  passwordSchema,
  tlsFiles,
  tlsFilesIn,
} from "./credentials.ts";
import {
  NAME_PATTERN,
  NAME_PHRASE,
  checked,
  duration,
  flag,
  matching,
  oneOf,
  percentage,
  reading,
  section,
  text,
  wholeNumber,
} from "./leaves.ts";
import { type ListenAddress, parseListen } from "./listen.ts";
import { ADDRESS_PATTERN, REDIS_URL_PATTERN, URL_PATTERN } from "./patterns.ts";
import { urlFault } from "./upstream-url.ts";

const ADDRESS_PHRASE = "an address and port, such as 10.0.0.1:6379";
const MOST_REPLICAS = 1_000;
const DEFAULT_PORT = 6_379;

type RedisUrl = ListenAddress & { readonly database: number; readonly tls: boolean };

const url: z.ZodType<RedisUrl, string> = z
  .string({ error: "a redis:// or rediss:// URL" })
  .transform((value, context) => {
    const fault = redisUrlFault(value);
    if (fault === undefined) return parseRedisUrl(value);
    context.addIssue({ code: "custom", message: fault });
    return z.NEVER;
  })
  .meta({ pattern: REDIS_URL_PATTERN });

const nodes: z.ZodType<readonly ListenAddress[]> = z
  .array(reading(ADDRESS_PATTERN, ADDRESS_PHRASE, parseListen), { error: "a list of addresses" })
  .min(1, { error: "a list of at least one address" })
  .max(100, { error: "a list of at most 100 addresses" });

const redis = section({
  url: url
    .optional()
    .describe("redis://HOST:PORT/DATABASE, or rediss:// over TLS. Never with a user name or password."),
  sentinel: section({
    master: matching(NAME_PATTERN, NAME_PHRASE).describe("The master's name in Sentinel."),
    nodes: nodes.describe("The sentinels."),
  })
    .optional()
    .describe("Instead of url: ask Redis Sentinel for the master."),
  cluster: nodes.optional().describe("Instead of url: some nodes of a Redis Cluster."),
  tls: flag()
    .optional()
    .describe("Whether to connect to the sentinels, or to the nodes of a cluster, over TLS."),
  username: text("a user's name", 128).optional().describe("The user (ACL)."),
  password: passwordSchema.optional(),
  ...tlsFiles,
  server_name: matching(/^[A-Za-z0-9._-]{1,253}$/, "a host's name")
    .optional()
    .describe("The name that its certificate must have, instead of its address."),
})
  .meta({
    oneOf: ["url", "sentinel", "cluster"].map((key) => ({ required: [key] })),
    dependentRequired: CERTIFICATE_AND_KEY,
  })
  .describe("The Redis or Valkey that the replicas share: exactly one of url, sentinel and cluster.");

export const fleetSchema: z.ZodType<InDirectory<Fleet>> = section({
  redis: redis.transform((raw) => (directory: string) => redisIn(directory, raw)),
  mode: oneOf(FLEET_MODES).describe(
    "shard: each upstream is polled by one replica. everywhere: by all, each from its own place.",
  ),
  replicas: wholeNumber(1, MOST_REPLICAS).describe("The largest number of replicas."),
  reserve: percentage({ zero: true, hundred: false }, "20%")
    .prefault("20%")
    .describe("The part of each budget's cap that is set aside for polls while Redis is unreachable."),
  ttl: duration(1_000, 600_000, "10s").prefault("10s").describe("How soon a dead replica is replaced."),
  name: matching(NAME_PATTERN, NAME_PHRASE)
    .optional()
    .describe("This replica's name. Default: the machine's host name."),
  advertise: checked(urlFault, "an http:// or https:// URL")
    .meta({ pattern: URL_PATTERN })
    .optional()
    .describe("The URL of this replica's page for people. Default: the address that it listens on."),
  prefix: matching(NAME_PATTERN, NAME_PHRASE)
    .prefault("pacewatch")
    .describe("The prefix of its keys in Redis."),
})
  .describe(
    "Several replicas that share their budgets. It cannot change without a restart; a reload keeps replicas and reserve as they were.",
  )
  .transform((raw) => (directory: string) => ({
    redis: raw.redis(directory),
    mode: raw.mode,
    replicas: raw.replicas,
    reserve: raw.reserve,
    ttlMs: raw.ttl,
    name: raw.name ?? ownName(),
    advertise: raw.advertise,
    prefix: raw.prefix,
  }));

function redisIn(directory: string, raw: z.output<typeof redis>): FleetRedis {
  const isEncrypted = raw.url === undefined ? raw.tls === true : raw.url.tls;
  return {
    nodes: nodesOf(raw),
    username: raw.username,
    password: raw.password?.(directory),
    tls: isEncrypted ? { ...tlsFilesIn(directory, raw), serverName: raw.server_name } : undefined,
  };
}

/** The checks of the fleet report it unless exactly one of them is set. */
function nodesOf({ url, sentinel, cluster }: z.output<typeof redis>): FleetRedis["nodes"] {
  if (sentinel !== undefined) return { kind: "sentinel", ...sentinel };
  if (url === undefined) return { kind: "cluster", nodes: cluster ?? [] };
  return { kind: "single", host: url.host, port: url.port, database: url.database };
}

/** The machine's host name, without the characters that a name may not have. */
function ownName(): string {
  const name = hostname()
    .replaceAll(/[^A-Za-z0-9._-]/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 64);
  return name === "" ? "replica" : name;
}

/** What a Redis URL must be; undefined for a valid one. It never quotes the URL. */
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
