import { z } from "zod";
import { DURATION_PATTERN, parseDuration } from "../../core/time/duration.ts";
import { zoneSpans } from "../../core/time/time-zone.ts";
import { parseCron } from "../../core/schedule/parse-cron.ts";
import {
  LEGAL_PERIODS_MS,
  type Schedule,
  scheduleCron,
  scheduleEvery,
  cronOf,
} from "../../core/schedule/schedule.ts";
import {
  type Auth,
  type BodyAssertion,
  LINK_LABEL,
  type Proxy,
  type Tls,
  type Upstream,
  type Value,
} from "../../core/config/config.ts";
import type { Price } from "../../core/config/price.ts";
import { isObject } from "../../core/exchange/json-value.ts";
import { authSchema, headersOf } from "../auth/auth.ts";
import { NEVER_LITERAL } from "../auth/source.ts";
import { budgetName, namesOf, writtenNames } from "../keys/budget-name.ts";
import {
  HEADER_NAME_PATTERN,
  HEADER_VALUE_PATTERN,
  isOwnHeader,
  looksLikeSecretHeader,
} from "../keys/credential-signs.ts";
import { type ExpectKeys, expectSchema } from "./expect.ts";
import {
  checked,
  duration,
  filledList,
  flag,
  headerName,
  httpUrl,
  list,
  lowered,
  matching,
  name,
  named,
  oneOf,
  percentage,
  section,
  text,
  wholeNumber,
} from "../keys/leaves.ts";
import { type Rule, encoded, noted } from "../keys/notes.ts";
import {
  CRON_PATTERN,
  PATH_PATTERN,
  PROXY_PATTERN,
  TIME_ZONE_PATTERN,
  durationsPattern,
} from "../keys/patterns.ts";
import { atMostOne, exactlyOne, itemsOf, mappingOf, ruled } from "../keys/rules.ts";
import { certificateAndKey, tlsFiles } from "../keys/tls.ts";
import { hasQueryParameter, joinTemplate, joinUrl, pathFault, urlFault } from "../keys/upstream-url.ts";
import { bodyNeedsMethod, bodyOf, noBodyOfHead, requestKeys } from "./request.ts";
import { priceSchema } from "./price.ts";
import { slaSchema } from "./sla.ts";
import { streamIsRead, streamSchema } from "./stream.ts";
import { valuesSchema } from "./values.ts";

/** What one template may make. */
export const MOST_MADE = 500;

const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 60_000;
const OF_ALERTS = ["alertname", "alertstate", "severity"];
const OF_SCRAPES = ["exported_instance", "exported_job", "instance", "job", "le", "quantile"];
const OF_UPSTREAMS = ["upstream", "outcome", "reason", "cause", "code", "phase", "state", "name"];
const OF_BUDGETS = ["budget", "per", "quota", "window"];
const OF_PROCESSES = ["node", "version", "vantage"];
/** Labels that a metric, a scrape or an alert sets itself. */
const RESERVED_LABELS: readonly string[] = [
  ...OF_ALERTS,
  ...OF_SCRAPES,
  ...OF_UPSTREAMS,
  ...OF_BUDGETS,
  ...OF_PROCESSES,
].toSorted();

/** Links are labels too. */
function isReserved(label: string): boolean {
  return RESERVED_LABELS.includes(label) || label.startsWith(LINK_LABEL);
}

const freeLabels: Rule = {
  check: (labels, refuse) => {
    for (const label of Object.keys(mappingOf(labels)).filter(isReserved)) {
      const why = "is a label that metrics, scrapes or alerts set themselves: choose another name";
      refuse([label], why, []);
    }
  },
};

const notTooMany: Rule = {
  check: (each, refuse) => {
    const lists = Object.values(mappingOf(each)).map((list) => itemsOf(list).length);
    const made = lists.reduce((product, length) => product * length, 1);
    if (made > MOST_MADE) refuse([], `must make at most ${MOST_MADE} upstreams, it makes ${made}`);
    if (isObject(each) && lists.length === 0) refuse([], "must have at least one list, received none");
  },
  jsonSchema: { minProperties: 1 },
};

/** More would push the numbers of its alerts out of sight. */
const MOST_LINKS = 10;

/** A model's, a project's and the account's: more have not been met. */
const MOST_BUDGETS = 4;

/** A list names each budget once. */
const differentBudgets: Rule = {
  check: (budgets, refuse) => {
    if (!Array.isArray(budgets)) return;
    for (const [index, budget] of budgets.entries()) {
      if (typeof budget !== "string" || !budgets.slice(0, index).includes(budget)) continue;
      refuse([index], `must differ from the other budgets of its upstream, received "${budget}" again`);
    }
  },
};

const EVERY_PHRASE = "a period such as 15s, 5m or 1h";
const CRON_PHRASE = "a cron expression";
const ZONE_PHRASE = "the name of a time zone, such as Europe/Berlin";

function everyFault(text: string): string | undefined {
  if (!DURATION_PATTERN.test(text)) return EVERY_PHRASE;
  const reading = scheduleEvery(parseDuration(text) ?? 0, "");
  if (reading.kind === "schedule") return undefined;
  return `a period that divides a minute, an hour or a day evenly (${reading.message})`;
}

function zoneFault(name: string): string | undefined {
  return zoneSpans(name) === undefined ? ZONE_PHRASE : undefined;
}

function cronFault(text: string): string | undefined {
  const reading = parseCron(text);
  return reading.kind === "cron" ? undefined : `${CRON_PHRASE}: ${reading.message}`;
}

const KEY_PLACE = `${NEVER_LITERAL}, use auth: { header: { name: HEADER, env: NAME } } or auth: { bearer: { env: NAME } }`;

const freeHeaders: Rule = {
  check: (upstream, refuse) => {
    const { auth, headers } = mappingOf(upstream);
    const taken = new Set(headersOf(auth));
    for (const [header, value] of Object.entries(mappingOf(headers))) {
      const at = ["headers", header];
      const lower = header.toLowerCase();
      if (looksLikeSecretHeader(header, typeof value === "string" ? value : "")) {
        refuse(["headers"], `must not contain a key: ${KEY_PLACE}`, [header]);
      } else if (isOwnHeader(header)) refuse(at, "is set by Pacewatch itself", []);
      else if (taken.has(lower)) refuse(at, "is set twice: by auth, or in another case of letters", []);
      else taken.add(lower);
    }
  },
};

const freeParameter: Rule = {
  check: (upstream, refuse) => {
    const { auth, base_url: base, path = "/" } = mappingOf(upstream);
    const { name: parameter } = mappingOf(mappingOf(auth)["query"]);
    if (typeof parameter !== "string" || typeof base !== "string" || typeof path !== "string") return;
    if (urlFault(base) !== undefined || pathFault(path) !== undefined) return;
    if (!hasQueryParameter(joinUrl(base, path), parameter)) return;
    refuse(["auth", "query", "name"], "must be a parameter that base_url and path do not have yet");
  },
};

const tlsNeedsHttps: Rule = {
  check: (upstream, refuse) => {
    const { tls, base_url: base } = mappingOf(upstream);
    if (Object.keys(mappingOf(tls)).length === 0) return;
    if (!String(base).toLowerCase().startsWith("http:")) return;
    refuse(["tls"], "must not be set where base_url is http://", []);
  },
};

const SHARED_RULES: readonly Rule[] = [freeHeaders, freeParameter, tlsNeedsHttps, noBodyOfHead];

const tls: z.ZodType<Tls> = named(
  ruled(
    section({
      ...tlsFiles,
      server_name: matching(/^[A-Za-z0-9.-]{1,253}$/, "a host name")
        .optional()
        .describe("The name to ask for (SNI) and to verify, if it is not the URL's host."),
      insecure_skip_verify: flag().prefault(false).describe("Trust any certificate. Only for tests."),
    }),
    certificateAndKey,
  ),
  {},
);

const proxy: z.ZodType<Proxy> = checked((value) => {
  const fault = value === "env" || value === "none" ? undefined : urlFault(value);
  return fault === undefined ? undefined : `env, none or ${fault}`;
}, "env, none or a URL").meta({ pattern: PROXY_PATTERN });

const LABEL_NAME_PATTERN = /^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const LINK_PATTERN = /^https?:\/\/(?!.*["'<>\\^`{|}])[!-~]{1,500}$/i;
const LINK_PHRASE = "an http:// or https:// URL";

/** It may have a fragment: nobody requests it but a browser. */
const link = noted(
  checked(
    (url) => (LINK_PATTERN.test(url) ? urlFault(url.replace(/#.*$/, "")) : LINK_PHRASE),
    LINK_PHRASE,
  ).meta({ pattern: "^[Hh][Tt][Tt][Pp][Ss]?://" }),
  { example: "https://unset.invalid" },
);

const requestPath = noted(checked(pathFault, "a path that begins with /").meta({ pattern: PATH_PATTERN }), {
  example: "/unset",
  isSecret: true,
});

/** The keys that `defaults` may have too: all but the name. */
const shared = {
  base_url: noted(httpUrl(), { isSecret: true }).describe("Its http or https URL, without a key in it."),
  path: requestPath
    .prefault("/v1/resources")
    .describe(
      "The path to request, appended to the path of base_url. What a variable puts into it is treated as a secret; what is in base_url is shown.",
    ),
  ...requestKeys,
  stream: streamSchema.optional(),
  auth: authSchema,
  headers: noted(
    z.record(
      matching(HEADER_NAME_PATTERN, "a header's name"),
      matching(HEADER_VALUE_PATTERN, "printable ASCII text of at most 2048 characters (quote numbers)"),
      { error: "a mapping of header names to values" },
    ),
    { isSecret: true },
  )
    .prefault({})
    .describe("More headers, the same on every request. They are shown on pages: never put a key here."),
  budget: noted(
    ruled(
      z.union([budgetName, filledList(budgetName, MOST_BUDGETS, "budgets")], {
        error: "the name of a budget, or a list of names",
      }),
      differentBudgets,
    ),
    { isNeeded: true },
  ).describe(
    "The budget that its requests count against, or a list of up to 4 that all count them: such as a model's and the account's.",
  ),
  every: noted(checked(everyFault, EVERY_PHRASE), { isNeeded: true })
    .meta({ pattern: durationsPattern(LEGAL_PERIODS_MS) })
    .optional()
    .describe(
      "The period: seconds that divide 60, minutes that divide 60, or hours that divide 24. Its phase comes from the name.",
    ),
  cron: noted(checked(cronFault, CRON_PHRASE), { isNeeded: true })
    .meta({ pattern: CRON_PATTERN })
    .optional()
    .describe(
      "Instead of every: 5 or 6 fields (seconds first) in UTC or time_zone; numbers, names such as MON and JAN, lists, ranges, steps, or @hourly, @daily, @weekly, @monthly, @yearly. Days must match both day fields.",
    ),
  time_zone: noted(checked(zoneFault, ZONE_PHRASE), { isNeeded: true })
    .meta({ pattern: TIME_ZONE_PATTERN })
    .optional()
    .describe(
      "In which cron is read, instead of UTC; every is the same in all. At a change of daylight saving, a fixed hour that is skipped or comes twice is polled once, and what runs in every hour runs on.",
    ),
  timeout: noted(duration(10, MAX_TIMEOUT_MS, "10s"), { isNeeded: true })
    .optional()
    .describe(
      "The deadline of the whole poll, up to 60s. Default: the smaller of 10s and the period. If it is longer than the period, a slot is skipped while the last poll still runs.",
    ),
  confirm: noted(wholeNumber(0, 10), { isNeeded: true })
    .prefault(1)
    .describe(
      "How many further polls must fail before a failure counts as down. Each counts against the budget.",
    ),
  expect: expectSchema.prefault({}).describe("What an ok answer looks like."),
  degraded_above: duration(1, MAX_TIMEOUT_MS, "2s")
    .optional()
    .describe("An ok answer that took longer means degraded. Without it, an upstream is never degraded."),
  request_id_headers: list(lowered(headerName()), 10, "header names")
    .prefault([])
    .describe(
      "Headers whose values are kept with a failed poll, for the provider's support, besides x-request-id, cf-ray and the like.",
    ),
  values: valuesSchema.optional(),
  price: priceSchema
    .optional()
    .describe(
      "What each of its polls costs, confirmations too: one price, or a list of prices that are added. Default: that of its budget.",
    ),
  objective: noted(
    named(
      section({
        availability: percentage({ zero: false, hundred: false }, "99.5%")
          .prefault("99.5%")
          .describe("The part of the polls that should be ok."),
        latency: duration(1, MAX_TIMEOUT_MS, "1s")
          .prefault("1s")
          .describe("An ok poll that took no longer counts as fast enough."),
      }),
      { latency: "latencyMs" },
    ),
    { isNeeded: true },
  )
    .prefault({})
    .describe("The service level that alerts and dashboards are measured against."),
  sla: noted(slaSchema, { isNeeded: true }).optional(),
  connection: oneOf(["fresh", "reuse"])
    .prefault("fresh")
    .describe("fresh: a new connection for each poll, as a new caller has. reuse: keep one open."),
  proxy: noted(proxy, { isSecret: true })
    .prefault("env")
    .describe(
      "env: as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. none: directly. Or the proxy's URL, without a key in it.",
    ),
  tls: tls.prefault({}).describe("For https only."),
  labels: noted(
    ruled(
      z
        .record(
          matching(LABEL_NAME_PATTERN, "a Prometheus label name"),
          text("a text of at most 128 characters (quote numbers)", 128),
          { error: "a mapping of label names to texts" },
        )
        .meta({
          propertyNames: {
            pattern: LABEL_NAME_PATTERN.source,
            not: { anyOf: [{ enum: RESERVED_LABELS }, { pattern: `^${LINK_LABEL}` }] },
          },
        }),
      freeLabels,
    ),
    { isNeeded: true },
  )
    .prefault({})
    .describe(
      "Labels of your own, on pacewatch_upstream_info and on the alerts that pacewatch rules prints: the same keys on every upstream.",
    ),
  links: z
    .record(matching(/^[a-z][a-z0-9_]{0,31}$/, "a name of small letters, digits and underscores"), link, {
      error: "a mapping of names to URLs",
    })
    .refine((links) => Object.keys(links).length <= MOST_LINKS, {
      error: `a mapping of at most ${MOST_LINKS} names to URLs`,
    })
    .optional()
    .describe(
      "Where people look in an outage, such as status_page, support and runbook: on its page, and as annotations link_NAME of its alerts.",
    ),
};

export const SHARED_KEYS: readonly string[] = Object.keys(shared);
/** Exactly one of them. */
export const SCHEDULE_KEYS = ["every", "cron"] as const;

const ownName = noted(name(), { isNeeded: true }).describe(
  "Its name in metrics, on the page and in the API.",
);

const MOST_FURTHER = 20;
/** A further path of one service is asked there with the same key, and counts against the same budget. */
export const SAME_FOR_FURTHER: readonly string[] = ["base_url", "auth", "budget"];
const { base_url: _service, auth: _key, budget: _budget, ...ofOnePath } = shared;

const further = section({
  name: ownName,
  ...ofOnePath,
  path: requestPath.describe("The path to request, appended to the path of base_url."),
})
  .meta({ not: { required: SCHEDULE_KEYS } })
  .describe("A further path of the same service: an upstream of its own.");
export const FURTHER_KEYS: readonly string[] = ["name", ...Object.keys(ofOnePath)];

const EACH_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/;
const EACH_VALUE = "a text of at most 256 characters without ${, a number, true or false";

const eachSchema = noted(
  ruled(
    z.record(
      matching(EACH_NAME, "a name of letters, digits and underscores"),
      filledList(
        z.union([z.string().regex(/^(?!.*\$\{)\P{Cc}{1,256}$/u), z.number(), z.boolean()], {
          error: EACH_VALUE,
        }),
        MOST_MADE,
        "values",
      ),
      { error: "a mapping of names to lists" },
    ),
    notTooMany,
  ),
  { isNeeded: true },
).describe(
  "Makes one upstream of each combination of these lists, at most 500: ${each.NAME} is filled in wherever it stands in this upstream, as a slug in name and budget, and escaped in path.",
);

const upstreamKeys = section({
  name: ownName,
  ...shared,
  each: eachSchema.optional(),
  also: filledList(further, MOST_FURTHER, "further paths")
    .optional()
    .describe(
      "Further paths of the same service, such as its balance, each an upstream of its own on the same budget and key. Each needs a name and a path. Each has what this upstream has unless it says otherwise, but not what belongs to the answer of one path: path, method, body, idempotency_key, stream, expect, values, price, degraded_above and objective.",
    ),
});

/** Its schedule may be in `defaults`: of that the JSON Schema tells in `REQUIRED_SOMEWHERE`. */
const aSchedule: Rule = { ...exactlyOne(...SCHEDULE_KEYS), jsonSchema: { not: { required: SCHEDULE_KEYS } } };

/** The keys of an upstream, as they are inside. */
export type UpstreamKeys = Omit<
  Upstream,
  "url" | "pathTemplate" | "budgets" | "schedule" | "timeoutMs" | "denyAddresses" | "expect"
> & {
  readonly expect: ExpectKeys;
  readonly baseUrl: string;
  readonly path: string;
  readonly budget: string | readonly string[];
  readonly every: string | undefined;
  readonly cron: string | undefined;
  readonly timeZone: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly also: unknown;
  readonly each: unknown;
};

export const upstreamSchema: z.ZodType<UpstreamKeys> = named(
  ruled(upstreamKeys, aSchedule, bodyNeedsMethod, streamIsRead, ...SHARED_RULES)
    // What else must be there may be in `defaults`: see REQUIRED_SOMEWHERE.
    .meta({ required: ["name"] })
    .describe("A service that is watched."),
  {
    timeout: "timeoutMs",
    degraded_above: "degradedAboveMs",
  },
);

/** Each value is checked here too, so that one which all upstreams override is not wrong unnoticed. */
export const defaultsSchema: z.ZodType = ruled(
  section(z.object(shared).partial().shape),
  atMostOne(...SCHEDULE_KEYS),
  ...SHARED_RULES,
).describe(
  "What all upstreams have unless they say otherwise: each key of an upstream but its name. headers, expect, objective, labels and links are merged key by key; everything else, auth and tls included, is taken whole. every and cron replace each other. A key cannot be unset: leave out here what some upstreams must not have.",
);

const REQUIRED: readonly (readonly string[])[] = [["base_url"], ["auth"], ["budget"], SCHEDULE_KEYS];

/** The JSON Schema says this of the whole config, as an upstream may have what it needs from `defaults`. */
export const REQUIRED_SOMEWHERE: readonly object[] = REQUIRED.map((keys) => {
  const hasOne = { type: "object", anyOf: keys.map((key) => ({ type: "object", required: [key] })) };
  return {
    anyOf: [
      { properties: { defaults: hasOne }, required: ["defaults"] },
      { properties: { upstreams: { type: "array", items: hasOne } } },
    ],
  };
});

/** An upstream depends on these besides its keys. */
export type Around = {
  /** Replicas that poll the same upstream do so at different moments. */
  readonly vantage: string | undefined;
  readonly denyAddresses: Upstream["denyAddresses"];
  /** By budget. */
  readonly prices: ReadonlyMap<string, Price>;
  /** Its path as it is written, where it has variables. */
  readonly template: string | undefined;
  /** Its body as it is written: the variables in it are not filled in. */
  readonly writtenBody: unknown;
};

/** An upstream without a schedule, or with two, is refused by its rule, and is none. */
export function upstreamOf(
  keys: UpstreamKeys,
  { vantage, denyAddresses, prices, template, writtenBody }: Around,
): Upstream | undefined {
  const {
    baseUrl: base,
    path,
    auth,
    budget,
    every,
    cron,
    timeZone,
    also: _also,
    each: _each,
    timeoutMs,
    expect,
    ...same
  } = keys;
  const schedule = scheduleOf(same.name, { every, cron, timeZone }, vantage);
  if (schedule === undefined) return undefined;
  const budgets = namesOf(budget);
  const ofBudgets = budgets.map((each) => prices.get(each)).filter((each) => each !== undefined);
  // Where two have one, it is to say which counts: see `unpricedFault`.
  const price = same.price ?? (ofBudgets.length === 1 ? ofBudgets[0] : undefined);
  return {
    ...same,
    url: joinUrl(base, path),
    ...(template !== undefined && {
      url: joinTemplate(base, template),
      pathTemplate: { base, path: template },
    }),
    ...(same.body && !("file" in same.body) && { body: bodyOf(mappingOf(writtenBody)) }),
    auth: withTokenOf(auth, budgets, same.proxy),
    budgets,
    schedule,
    timeoutMs: timeoutMs ?? Math.min(DEFAULT_TIMEOUT_MS, cronOf(schedule).shortestGapMs),
    expect: {
      ...expect,
      json: expect.json ?? same.method !== "HEAD",
      body: expect.body && withCredits(expect.body, same.values ?? []),
    },
    ...(price && { price }),
    denyAddresses,
  };
}

/** An upstream is shown as a config would say it, but with its whole URL, and with its schedule as it is triggered. */
export function writtenUpstream(upstream: Upstream): object {
  const { name, url, schedule, budgets } = upstream;
  const keys = encoded(upstreamSchema, { ...upstream, budget: writtenNames(budgets) });
  const [, cron, timeZone] = /^((?:\S+ ){5}\S+)(?: (.*))?$/.exec(schedule.expression) ?? [];
  return { name, url, ...mappingOf(keys), schedule: schedule.source, cron, time_zone: timeZone };
}

function scheduleOf(
  name: string,
  { every, cron, timeZone }: Pick<UpstreamKeys, "every" | "cron" | "timeZone">,
  vantage: string | undefined,
): Schedule | undefined {
  if ((every === undefined) === (cron === undefined)) return undefined;
  const phase = vantage === undefined ? name : `${name}@${vantage}`;
  const reading =
    cron === undefined ? scheduleEvery(parseDuration(every ?? "") ?? 0, phase) : scheduleCron(cron, timeZone);
  return reading.kind === "schedule" ? reading.schedule : undefined;
}

/** A token request counts against its upstream's budgets where it names none, and takes the same proxy. */
function withTokenOf(auth: Auth, budgets: readonly string[], proxy: Proxy): Auth {
  if (auth.kind !== "oauth2") return auth;
  const { token } = auth;
  return { ...auth, token: { ...token, budgets: token.budgets.length > 0 ? token.budgets : budgets, proxy } };
}

/** An assertion of a credit's place, or of what holds it, knows it. */
function withCredits(body: readonly BodyAssertion[], values: readonly Value[]): readonly BodyAssertion[] {
  const credits = values.flatMap(({ credit, path }) => (credit && path !== undefined ? [`${path}/`] : []));
  return body.map((each) =>
    each.path !== undefined && credits.some((credit) => credit.startsWith(`${each.path}/`))
      ? { ...each, isCredit: true }
      : each,
  );
}
