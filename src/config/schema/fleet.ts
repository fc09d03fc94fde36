import { z } from "zod";
import { FLEET_MODES, type FleetMode } from "../../core/config/config.ts";
import type { RawSecret } from "./auth.ts";
import {
  NAME_PATTERN,
  NAME_PHRASE,
  duration,
  filePath,
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
import { type RedisUrl, parseRedisUrl, redisUrlFault } from "./redis-url.ts";
import { urlFault } from "./upstream-url.ts";

export type RawRedis = {
  readonly url?: RedisUrl | undefined;
  readonly sentinel?: { readonly master: string; readonly nodes: readonly ListenAddress[] } | undefined;
  readonly cluster?: readonly ListenAddress[] | undefined;
  readonly tls?: boolean | undefined;
  readonly username?: string | undefined;
  readonly password?: RawSecret | undefined;
  readonly ca_file?: string | undefined;
  readonly cert_file?: string | undefined;
  readonly key_file?: string | undefined;
  readonly server_name?: string | undefined;
};

export type RawFleet = {
  readonly redis: RawRedis;
  readonly mode: FleetMode;
  readonly replicas: number;
  readonly reserve: number;
  readonly ttl: number;
  readonly name?: string | undefined;
  readonly advertise?: string | undefined;
  readonly prefix: string;
};

const ADDRESS_PHRASE = "an address and port, such as 10.0.0.1:6379";
const MOST_REPLICAS = 1_000;

const url: z.ZodType<RedisUrl, string> = z
  .string({ error: "a redis:// or rediss:// URL" })
  .transform((value, context) => {
    const fault = redisUrlFault(value);
    if (fault === undefined) return parseRedisUrl(value);
    context.addIssue({ code: "custom", message: fault });
    return z.NEVER;
  });

const nodes: z.ZodType<readonly ListenAddress[]> = z
  .array(
    reading(/^[^:].*:\d{1,5}$/, ADDRESS_PHRASE, (value) => {
      const address = parseListen(value);
      return address === undefined || address.port === 0 ? undefined : address;
    }),
    { error: "a list of addresses" },
  )
  .min(1, { error: "a list of at least one address" })
  .max(100, { error: "a list of at most 100 addresses" });

const password: z.ZodType<RawSecret> = section(
  {
    env: matching(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, "the name of an environment variable")
      .optional()
      .describe("The environment variable that holds the password."),
    file: filePath().optional().describe("The file that holds the password, relative to the config."),
  },
  "{ env: NAME } or { file: PATH }: a password is never written in the config",
)
  .meta({ oneOf: [{ required: ["env"] }, { required: ["file"] }] })
  .describe("Where the password is found.");

const redis: z.ZodType<RawRedis> = section({
  url: url
    .optional()
    .describe("redis://HOST:PORT/DATABASE, or rediss:// over TLS. Never with a user name or password."),
  sentinel: section({
    master: matching(NAME_PATTERN, NAME_PHRASE).describe("The name that the sentinels know the master by."),
    nodes: nodes.describe("The sentinels."),
  })
    .optional()
    .describe("Instead of url: the master is asked of Redis Sentinel."),
  cluster: nodes.optional().describe("Instead of url: some nodes of a Redis Cluster."),
  tls: flag().optional().describe("Whether sentinels, or the nodes of a cluster, are spoken to over TLS."),
  username: text("a user's name", 128).optional().describe("The user (ACL)."),
  password: password.optional(),
  ca_file: filePath().optional().describe("Whom to trust, in place of the system's authorities (PEM)."),
  cert_file: filePath().optional().describe("Our own certificate (PEM)."),
  key_file: filePath().optional().describe("The key of cert_file (PEM)."),
  server_name: matching(/^[A-Za-z0-9._-]{1,253}$/, "a host's name")
    .optional()
    .describe("The name that its certificate must have, in place of its address."),
}).describe("The Redis or Valkey that the replicas share: exactly one of url, sentinel and cluster.");

export const fleetSchema: z.ZodType<RawFleet> = section({
  redis,
  mode: oneOf(FLEET_MODES).describe(
    "shard: each upstream is polled by one replica. everywhere: by all, each from where it stands.",
  ),
  replicas: wholeNumber(1, MOST_REPLICAS).describe("How many replicas there are at the most."),
  reserve: percentage({ zero: true, hundred: false }, "20%")
    .prefault("20%")
    .describe("The part of each budget's cap that is set aside, for polls while Redis is away."),
  ttl: duration(1_000, 600_000, "10s").prefault("10s").describe("How soon a replica that died is replaced."),
  name: matching(NAME_PATTERN, NAME_PHRASE)
    .optional()
    .describe("This replica's own name; the machine's host name where none is given."),
  advertise: z
    .string({ error: "an http:// or https:// URL" })
    .superRefine((value, context) => {
      const message = urlFault(value);
      if (message !== undefined) context.addIssue({ code: "custom", message });
    })
    .optional()
    .describe("Where people find this replica's page. By default the address that it listens on."),
  prefix: matching(NAME_PATTERN, NAME_PHRASE)
    .prefault("pacewatch")
    .describe("What its keys in Redis begin with."),
}).describe("Several replicas that share their budgets. It cannot change without a restart.");
