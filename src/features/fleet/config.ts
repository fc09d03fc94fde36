import { hostname } from "node:os";
import type { z } from "zod";
import type { Address, SecretSource, Tls } from "../../kernel/config/config.ts";
import type { Config } from "../../kernel/config/config.ts";
import type { Section } from "../../config/schema/section.ts";
import { source } from "../../config/keys/source.ts";
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
  reading,
  section,
  text,
} from "../../config/keys/leaves.ts";
import { parseListen } from "../../config/keys/listen.ts";
import { type Rule, noted } from "../../config/keys/notes.ts";
import { ADDRESS_PATTERN, REDIS_URL_PATTERN } from "../../config/keys/patterns.ts";
import { exactlyOne, mappingOf, ruled } from "../../config/keys/rules.ts";
import { certificateAndKey, tlsFiles } from "../../config/keys/tls.ts";
import { BYTES_OF_ALL, BYTES_OF_BUDGET } from "./lead/notes.ts";
import { MOST_BYTES } from "./lead/register.ts";

export type RedisNodes =
  | { readonly kind: "single"; readonly url: string }
  | { readonly kind: "sentinel"; readonly master: string; readonly nodes: readonly Address[] };

export type LockRedis = {
  readonly nodes: RedisNodes;
  readonly username: string | undefined;
  readonly password: SecretSource | undefined;
  /** Undefined for a connection in plain text. */
  readonly tls: Omit<Tls, "insecureSkipVerify"> | undefined;
  /** Under which the lock stands there. */
  readonly key: string;
};

/** One of several processes leads, which is the one that holds the lock; the others stand by. */
export type Fleet = {
  readonly lock: { readonly redis: LockRedis };
  readonly ttlMs: number;
  /** Of this process. */
  readonly name: string;
  /** The URL of this process's page for people. */
  readonly advertise: string | undefined;
};

declare module "../../kernel/config/config.ts" {
  interface Config {
    /** Absent if this process is the only one. */
    readonly fleet?: Fleet | undefined;
  }
}

const ADDRESS_PHRASE = "an address and port, such as 10.0.0.1:6379";

const address = noted(reading(ADDRESS_PATTERN, ADDRESS_PHRASE, parseListen), {
  example: "unset.invalid:6379",
});
const nodes = filledList(address, 100, "addresses");

const redis = section({
  url: noted(checked(redisUrlFault, "a redis:// or rediss:// URL", REDIS_URL_PATTERN), {
    example: "rediss://unset.invalid",
    isSecret: true,
  })
    .optional()
    .describe("redis://HOST:PORT/DATABASE, or rediss:// over TLS. Never with a user name or password."),
  sentinel: section({
    master: name().describe("The master's name in Sentinel."),
    nodes: nodes.describe("The sentinels."),
  })
    .optional()
    .describe("Instead of url: ask Redis Sentinel for the master."),
  tls: noted(flag(), { example: "true" })
    .optional()
    .describe("Whether to connect to the sentinels, and to their master, over TLS."),
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
  key: name()
    .prefault("pacewatch")
    .describe("The key under which the lock stands there. Each fleet needs one of its own."),
}).describe("A Redis or Valkey that all processes reach: exactly one of url and sentinel.");

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

const redisSchema: z.ZodType<LockRedis> = decoded(
  named(
    noted(ruled(redis, exactlyOne("url", "sentinel"), certificateAndKey, tlsKeysNeedTls), {
      gone: { cluster: "a lock is one key, and needs no cluster: write url or sentinel; " },
    }),
    {},
  ),
  ({ url, sentinel, tls, username, password, key, ...files }) => ({
    // One that has neither is refused by its rule.
    nodes: sentinel === undefined ? { kind: "single", url: url ?? "" } : { kind: "sentinel", ...sentinel },
    username,
    password,
    key,
    tls: tls === true || url?.startsWith("rediss:") === true ? files : undefined,
  }),
);

/** Of fleets whose processes shared the work. */
const GONE: Readonly<Record<string, string>> = {
  redis: "write it as fleet.lock: { redis: … }; ",
  mode: "remove it, as one process of a fleet polls and the others stand by; to see an API from several places, write vantage beside fleet; ",
  replicas: "remove it, as there may be any number of them; ",
  reserve: "remove it, as whoever cannot reach the lock sends nothing; ",
  prefix: "write it as fleet.lock.redis.key; ",
};

const keys = named(
  noted(
    section({
      lock: section({ redis: redisSchema }).describe("The lock: whoever holds it leads."),
      ttl: duration(1_000, 600_000, "10s")
        .prefault("10s")
        .describe("How soon a dead leader is replaced. The same for all processes."),
      name: name().optional().describe("This process's name. Default: the machine's host name."),
      advertise: httpUrl()
        .optional()
        .describe("The URL of this process's page for people: the pages of those that stand by link to it."),
    }).describe(
      "Several processes with the same config: one of them leads and polls, the others stand by. It cannot change without a restart.",
    ),
    { gone: GONE },
  ),
  { ttl: "ttlMs" },
);

const fleetSchema: z.ZodType<Fleet> = decoded(keys, (written) => ({
  ...written,
  name: written.name ?? ownName(),
}));

/** The machine's host name, without the characters that a name may not have. */
function ownName(): string {
  const name = hostname()
    .replaceAll(/[^A-Za-z0-9._-]/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 64);
  return name === "" ? "pacewatch" : name;
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

/** Its sums, in JSON. */
const BYTES_OF_QUOTA = 1_800;
/** For pauses, lowered limits, and what else is known of upstreams and receivers. */
const BYTES_OF_OTHERS = 32 * 1_024;

const notesHaveRoom: Rule = {
  check: (written, refuse) => {
    const { fleet, budgets } = mappingOf(written);
    if (fleet === undefined) return;
    const all = Object.values(mappingOf(budgets)).map(mappingOf);
    const quotas = all.flatMap((keys) => ["quota", "spend"].filter((key) => Object.hasOwn(keys, key)));
    const bytes = all.length * BYTES_OF_BUDGET + quotas.length * BYTES_OF_QUOTA;
    if (bytes + BYTES_OF_ALL + BYTES_OF_OTHERS <= MOST_BYTES) return;
    const counted = `${all.length} budgets with ${quotas.length} of quota and spend`;
    refuse(
      ["budgets"],
      `must be fewer with fleet: what its next leader must know of ${counted} has no room beside a lock: run several fleets, each with budgets and a lock.redis.key of its own`,
      [],
    );
  },
};

export const FLEET: Section = {
  at: "config",
  before: "vantage",
  shape: { fleet: fleetSchema.optional() },
  rules: [notesHaveRoom],
};

export const fleetIn = ({ fleet }: Config): Fleet | undefined => fleet;

export const advertisedUrl = ({ fleet }: Config): string | undefined => fleet?.advertise;
