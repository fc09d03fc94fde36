import type {
  Auth,
  BodyAssertion,
  Budget,
  Config,
  Expectation,
  Fleet,
  HeaderAssertion,
  RefusalRule,
  SecretSource,
  Upstream,
  Value,
} from "../core/config/config.ts";
import { formatDuration } from "../core/time/duration.ts";
import { formatByteSize, formatPercentage } from "./schema/leaves.ts";
import { formatListen } from "./schema/listen.ts";

/**
 * The running config as plain JSON, with the config file's own names. Of a key it shows only the source. Budgets and
 * upstreams, of which there may be thousands, are described when they are written.
 */
export function describeConfig(config: Config): unknown {
  const { probeListen } = config.web;
  return {
    web: {
      listen: formatListen(config.web),
      probe_listen: probeListen && formatListen(probeListen),
      config_file: config.web.configFile,
      enable_lifecycle: config.web.enableLifecycle,
      allowed_hosts: config.web.allowedHosts,
    },
    log: config.log,
    state: config.state,
    fleet: config.fleet === undefined ? undefined : describeFleet(config.fleet),
    deny_addresses: config.denyAddresses,
    budgets: Object.fromEntries(
      config.budgets.map((budget) => [budget.name, { toJSON: () => describeBudget(budget) }]),
    ),
    upstreams: config.upstreams.map((upstream) => ({ toJSON: () => describeUpstream(upstream) })),
  };
}

function describeFleet({ redis, mode, replicas, reserve, ttlMs, name, advertise, prefix }: Fleet): unknown {
  const { nodes, username, password, tls } = redis;
  const scheme = tls === undefined ? "redis" : "rediss";
  return {
    redis: {
      url: nodes.kind === "single" ? `${scheme}://${formatListen(nodes)}/${nodes.database}` : undefined,
      sentinel:
        nodes.kind === "sentinel"
          ? { master: nodes.master, nodes: nodes.nodes.map((node) => formatListen(node)) }
          : undefined,
      cluster: nodes.kind === "cluster" ? nodes.nodes.map((node) => formatListen(node)) : undefined,
      tls: tls !== undefined,
      username,
      password: password === undefined ? undefined : describeSecret(password),
      ca_file: tls?.caFile,
      cert_file: tls?.certFile,
      key_file: tls?.keyFile,
      server_name: tls?.serverName,
    },
    mode,
    replicas,
    reserve: formatPercentage(reserve),
    ttl: formatDuration(ttlMs),
    name,
    advertise,
    prefix,
  };
}

function describeBudget({ rates, share, lingerMs, maxPauseMs, yieldBelow, quota }: Budget): unknown {
  return {
    rate: rates.map(({ requests, label }) => ({ requests, per: label })),
    share: formatPercentage(share),
    linger: formatDuration(lingerMs),
    max_pause: formatDuration(maxPauseMs),
    yield_below: formatPercentage(yieldBelow),
    quota:
      quota === undefined
        ? undefined
        : {
            requests: quota.requests,
            per: formatDuration(quota.perMs),
            on_exhaust: quota.onExhaust,
            price_per_request: quota.pricePerRequest,
          },
  };
}

function describeUpstream(upstream: Upstream): unknown {
  const { expect, objective, tls, proxy, schedule, degradedAboveMs } = upstream;
  return {
    name: upstream.name,
    url: upstream.url,
    auth: describeAuth(upstream.auth),
    headers: upstream.headers,
    budget: upstream.budgets.length === 1 ? upstream.budgets[0] : upstream.budgets,
    schedule: schedule.source,
    cron: schedule.expression,
    timeout: formatDuration(upstream.timeoutMs),
    confirm: upstream.confirm,
    expect: describeExpectation(expect),
    degraded_above: degradedAboveMs === undefined ? undefined : formatDuration(degradedAboveMs),
    request_id_headers: upstream.requestIdHeaders,
    values: upstream.values?.map(describeValue),
    objective: {
      availability: formatPercentage(objective.availability),
      latency: formatDuration(objective.latencyMs),
    },
    connection: upstream.connection,
    proxy: proxy.kind === "url" ? proxy.url : proxy.kind,
    tls: {
      ca_file: tls.caFile,
      cert_file: tls.certFile,
      key_file: tls.keyFile,
      server_name: tls.serverName,
      insecure_skip_verify: tls.insecureSkipVerify,
    },
    labels: upstream.labels,
  };
}

export function describeExpectation({
  status,
  json,
  maxBodyBytes,
  refusals,
  body,
  headers,
}: Expectation): object {
  return {
    status,
    json,
    max_body: formatByteSize(maxBodyBytes),
    refusals: refusals?.map(describeRefusal),
    body: body?.map(({ path, check }) => ({ path, ...describeCheck(check) })),
    headers: headers?.map(({ name, check }) => ({ name, ...describeCheck(check) })),
  };
}

function describeRefusal({ status, place, text, means }: RefusalRule): unknown {
  return {
    status: status.length === 0 ? undefined : status,
    header: place.kind === "header" ? place.name : undefined,
    json: place.kind === "json" ? place.pointer : undefined,
    text: text === "" ? undefined : text,
    means,
  };
}

function describeCheck(check: BodyAssertion["check"] | HeaderAssertion["check"]): object {
  switch (check.kind) {
    case "exists":
      return { exists: check.exists };
    case "one_of":
      return check.values.length === 1 ? { equals: check.values[0] } : { one_of: check.values };
    case "type":
      return { type: check.type };
    case "range":
      return { min: check.min, max: check.max };
    case "items":
      return { min_items: check.min, max_items: check.max };
    case "contains":
      return { contains: check.text };
    case "json_schema":
      return { json_schema: check.file };
    default:
      return check satisfies never;
  }
}

function describeValue({ name, place, unit, credit }: Value): unknown {
  return {
    name,
    path: place.kind === "json" ? place.pointer : undefined,
    header: place.kind === "header" ? place.name : undefined,
    unit: unit === "" ? undefined : unit,
    credit,
  };
}

function describeAuth(auth: Auth): unknown {
  switch (auth.kind) {
    case "none":
      return { none: true };
    case "bearer":
      return { bearer: describeSecret(auth.secret) };
    case "header":
      return { header: { name: auth.name, ...describeSecret(auth.secret) } };
    case "query":
      return { query: { name: auth.name, ...describeSecret(auth.secret) } };
    case "oauth2": {
      const { url, clientId, clientAuth, scopes, parameters, budgets, caFile } = auth.token;
      const client_secret = describeSecret(auth.secret);
      return {
        oauth2: {
          token_url: url,
          client_id: clientId,
          client_secret,
          scopes,
          parameters,
          client_auth: clientAuth,
          budget: budgets.length === 1 ? budgets[0] : budgets,
          ca_file: caFile,
        },
      };
    }
    default:
      return auth satisfies never;
  }
}

function describeSecret(source: SecretSource): Readonly<Record<string, string>> {
  const place = source.from === "env" ? { env: source.variable } : { file: source.path };
  return { ...place, key: "<secret>" };
}
