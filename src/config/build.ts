import { dirname, resolve } from "node:path";
import type { Auth, Budget, Config, Rate, SecretSource, Upstream } from "../core/config.ts";
import { formatDuration } from "../core/duration.ts";
import { type Schedule, scheduleCron, scheduleEvery, shortestGapMs } from "../core/schedule.ts";
import type { RawAuth, RawSecret } from "./auth-schema.ts";
import { buildFleet } from "./fleet-build.ts";
import type { RawBudget } from "./budget-schema.ts";
import type { RawGeneral } from "./schema.ts";
import type { RawUpstream } from "./upstream-schema.ts";
import { joinUrl } from "./upstream-url.ts";

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
