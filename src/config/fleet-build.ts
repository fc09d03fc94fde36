import { hostname } from "node:os";
import { resolve } from "node:path";
import type { Fleet, FleetRedis, RedisNodes, SecretSource } from "../core/config.ts";
import type { RawSecret } from "./auth-schema.ts";
import type { RawFleet, RawRedis } from "./fleet-schema.ts";

/** Paths are relative to the config's directory. */
export function buildFleet(raw: RawFleet, directory: string): Fleet {
  return {
    redis: buildRedis(raw.redis, directory),
    mode: raw.mode,
    replicas: raw.replicas,
    reserve: raw.reserve,
    ttlMs: raw.ttl,
    name: raw.name ?? ownName(),
    advertise: raw.advertise,
    prefix: raw.prefix,
  };
}

function buildRedis(raw: RawRedis, directory: string): FleetRedis {
  const path = (file: string | undefined): string | undefined =>
    file === undefined ? undefined : resolve(directory, file);
  const isEncrypted = raw.url === undefined ? raw.tls === true : raw.url.tls;
  return {
    nodes: nodesOf(raw),
    username: raw.username,
    password: raw.password === undefined ? undefined : sourceOf(raw.password, directory),
    tls: isEncrypted
      ? {
          caFile: path(raw.ca_file),
          certFile: path(raw.cert_file),
          keyFile: path(raw.key_file),
          serverName: raw.server_name,
        }
      : undefined,
  };
}

/** That one of them is there was checked elsewhere. */
function nodesOf({ url, sentinel, cluster }: RawRedis): RedisNodes {
  if (sentinel !== undefined) return { kind: "sentinel", ...sentinel };
  if (url === undefined) return { kind: "cluster", nodes: cluster ?? [] };
  return { kind: "single", host: url.host, port: url.port, database: url.database };
}

function sourceOf({ env, file }: RawSecret, directory: string): SecretSource {
  return env === undefined
    ? { from: "file", path: resolve(directory, file ?? "") }
    : { from: "env", variable: env };
}

/** The machine's, in the letters that a name may have. */
function ownName(): string {
  const name = hostname()
    .replaceAll(/[^A-Za-z0-9._-]/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 64);
  return name === "" ? "replica" : name;
}
