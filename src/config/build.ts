import { dirname, resolve } from "node:path";
import type {
  Auth,
  Budget,
  Config,
  Fleet,
  FleetRedis,
  Rate,
  RedisNodes,
  SecretSource,
  Upstream,
} from "../core/config/config.ts";
import { formatDuration } from "../core/time/duration.ts";
import { type Schedule, scheduleCron, scheduleEvery, shortestGapMs } from "../core/schedule/schedule.ts";
import type { RawAuth, RawSecret } from "./schema/auth.ts";
import type { RawBudget } from "./schema/budget.ts";
import type { RawGeneral } from "./schema/schema.ts";
import type { RawUpstream } from "./schema/upstream.ts";
import { joinUrl } from "./schema/upstream-url.ts";
import { hostname } from "node:os";
import type { RawFleet, RawRedis } from "./schema/fleet.ts";

export type General = Omit<Config, "budgets" | "upstreams">;

const DEFAULT_TIMEOUT_MS = 10_000;

/** From what was written to what the house works with. Paths are relative to the config's own directory. */
export class Builder {
  readonly #directory: string;

  constructor(configPath: string) {
    this.#directory = dirname(configPath);
  }

  general({ web, log, state, fleet }: RawGeneral): General {
    return {
      web: {
        ...web.listen,
        configFile: this.#path(web.config_file),
        enableLifecycle: web.enable_lifecycle,
        allowedHosts: web.allowed_hosts,
      },
      log,
      state: state === undefined ? undefined : { path: resolve(this.#directory, state.path) },
      fleet: fleet === undefined ? undefined : buildFleet(fleet, this.#directory),
    };
  }

  budget(name: string, raw: RawBudget): Budget {
    const rates = "requests" in raw.rate ? [raw.rate] : raw.rate;
    const { quota } = raw;
    return {
      name,
      rates: rates.map(({ requests, per }): Rate => ({ requests, perMs: per, label: formatDuration(per) })),
      share: raw.share,
      lingerMs: raw.linger,
      maxPauseMs: raw.max_pause,
      yieldBelow: raw.yield_below,
      quota:
        quota === undefined
          ? undefined
          : {
              requests: quota.requests,
              perMs: quota.per,
              onExhaust: quota.on_exhaust,
              pricePerRequest: quota.price_per_request,
            },
    };
  }

  /** Undefined where something that was complained of elsewhere leaves it incomplete. */
  upstream(raw: RawUpstream, vantage?: string): Upstream | undefined {
    const schedule = scheduleOf(raw, vantage);
    const auth = this.#auth(raw.auth);
    if (schedule === undefined || auth === undefined) return undefined;
    return {
      name: raw.name,
      url: joinUrl(raw.base_url, raw.path),
      auth,
      headers: raw.headers,
      budget: raw.budget,
      schedule,
      timeoutMs: raw.timeout ?? Math.min(DEFAULT_TIMEOUT_MS, shortestGapMs(schedule)),
      confirm: raw.confirm,
      expect: { status: raw.expect.status, json: raw.expect.json, maxBodyBytes: raw.expect.max_body },
      degradedAboveMs: raw.degraded_above,
      objective: { availability: raw.objective.availability, latencyMs: raw.objective.latency },
      connection: raw.connection,
      proxy:
        raw.proxy === "env" || raw.proxy === "none" ? { kind: raw.proxy } : { kind: "url", url: raw.proxy },
      tls: {
        caFile: this.#path(raw.tls.ca_file),
        certFile: this.#path(raw.tls.cert_file),
        keyFile: this.#path(raw.tls.key_file),
        serverName: raw.tls.server_name,
        insecureSkipVerify: raw.tls.insecure_skip_verify,
      },
      labels: raw.labels,
    };
  }

  #auth({ none, bearer, header, query }: RawAuth): Auth | undefined {
    if (none === true) return { kind: "none" };
    const secret = this.#secret(bearer ?? header ?? query ?? {});
    if (secret === undefined) return undefined;
    if (bearer !== undefined) return { kind: "bearer", secret };
    if (header !== undefined) return { kind: "header", name: header.name, secret };
    return query === undefined ? undefined : { kind: "query", name: query.name, secret };
  }

  #secret({ env, file }: RawSecret): SecretSource | undefined {
    if (env !== undefined) return { from: "env", variable: env };
    return file === undefined ? undefined : { from: "file", path: resolve(this.#directory, file) };
  }

  #path(path: string | undefined): string | undefined {
    return path === undefined ? undefined : resolve(this.#directory, path);
  }
}

/** Replicas that poll the same upstream do so at different moments. */
function scheduleOf({ name, every, cron }: RawUpstream, vantage: string | undefined): Schedule | undefined {
  if (every !== undefined && cron !== undefined) return undefined;
  const phase = vantage === undefined ? name : `${name}@${vantage}`;
  const reading = every === undefined ? scheduleCron(cron ?? "") : scheduleEvery(every, phase);
  return reading.kind === "schedule" ? reading.schedule : undefined;
}

/** Paths are relative to the config's directory. */
function buildFleet(raw: RawFleet, directory: string): Fleet {
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
