import { z } from "zod";
import { parseDuration, DURATION_PATTERN } from "../../core/time/duration.ts";
import { parseCron } from "../../core/schedule/cron-expression.ts";
import {
  LEGAL_PERIODS_MS,
  type Schedule,
  scheduleCron,
  scheduleEvery,
  shortestGapMs,
} from "../../core/schedule/schedule.ts";
import type { BodyAssertion, Proxy, RefusalRule, Upstream, Value } from "../../core/config/config.ts";
import { assertionIn, bodyAssertion, headerAssertion } from "./assertion.ts";
import { REFUSAL_MEANINGS } from "../../core/exchange/outcome.ts";
import { HEADER_NAME_PATTERN, HEADER_VALUE_PATTERN } from "./credential-signs.ts";
import { CERTIFICATE_AND_KEY, authSchema, tlsFiles, tlsFilesIn } from "./credentials.ts";
import {
  NAME_PATTERN,
  NAME_PHRASE,
  byteSize,
  checked,
  duration,
  flag,
  matching,
  oneOf,
  percentage,
  section,
  text,
  wholeNumber,
} from "./leaves.ts";
import { CRON_PATTERN, PATH_PATTERN, PROXY_PATTERN, URL_PATTERN, durationsPattern } from "./patterns.ts";
import { joinUrl, pathFault, urlFault } from "./upstream-url.ts";

/** Undefined where the checks of the upstream report that something is missing. */
export type UpstreamIn = (directory: string, vantage: string | undefined) => Upstream | undefined;

const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_TIMEOUT_MS = 60_000;
/** Labels that a metric, a scrape or an alert sets itself. */
export const RESERVED_LABELS: readonly string[] = [
  "alertname",
  "alertstate",
  "budget",
  "cause",
  "code",
  "exported_instance",
  "exported_job",
  "instance",
  "job",
  "le",
  "node",
  "outcome",
  "per",
  "phase",
  "quantile",
  "reason",
  "severity",
  "state",
  "upstream",
  "vantage",
  "version",
];

const LABEL_NAME_PATTERN = /^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$/;

/** A model's, a project's and the account's: more have not been met. */
const MOST_BUDGETS = 4;
const budgetName: z.ZodType<string, string> = matching(NAME_PATTERN, "the name of a budget");

const every: z.ZodType<number, string> = z
  .string({ error: "a period such as 15s, 5m or 1h" })
  .regex(DURATION_PATTERN, { error: "a period such as 15s, 5m or 1h", abort: true })
  .transform((value, context) => {
    const periodMs = parseDuration(value) ?? 0;
    const reading = scheduleEvery(periodMs, "");
    if (reading.kind === "schedule") return periodMs;
    const message = `a period that divides a minute, an hour or a day evenly (${reading.message})`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  })
  .meta({ pattern: durationsPattern(LEGAL_PERIODS_MS) });

const cron: z.ZodType<string> = z
  .string({ error: "a cron expression" })
  .superRefine((value, context) => {
    const reading = parseCron(value);
    if (reading.kind === "cron") return;
    context.addIssue({ code: "custom", message: `a cron expression: ${reading.message}` });
  })
  .meta({ pattern: CRON_PATTERN });

const MOST_ASSERTIONS = 20;

const JSON_POINTER_PATTERN = /^(?:\/[^/]{0,64}){1,16}$/;

const THROTTLING: readonly number[] = [402, 429];

const status: z.ZodType<number> = wholeNumber(200, 599)
  .refine((code) => !THROTTLING.includes(code), {
    error: "a status other than 402 and 429, which always mean throttled",
  })
  .meta({ not: { enum: THROTTLING } });

const refusal = section({
  status: z
    .array(wholeNumber(100, 999), { error: "a list of status codes, such as [403]" })
    .min(1, { error: "a list of at least one status code" })
    .max(100, { error: "a list of at most 100 status codes" })
    .optional()
    .describe("Only with one of these status codes."),
  header: matching(HEADER_NAME_PATTERN, "a header's name")
    .optional()
    .describe("Only with this header. With text: only where its value contains that."),
  json: matching(JSON_POINTER_PATTERN, "a JSON pointer, such as /error/code")
    .optional()
    .describe("Only where the body has something there. With text: only where that contains it."),
  text: text("a text", 256)
    .optional()
    .describe(
      "Only where the header, the JSON value or else the body contains this, in any case of letters.",
    ),
  means: oneOf([...REFUSAL_MEANINGS, "status"]).describe(
    "What such an answer means. status: what its status says, whatever else it looks like.",
  ),
});

function refusalOf({ status, header, json, text, means }: z.output<typeof refusal>): RefusalRule {
  return {
    status: status ?? [],
    place:
      header !== undefined
        ? { kind: "header", name: header.toLowerCase() }
        : json !== undefined
          ? { kind: "json", pointer: json }
          : { kind: "body" },
    text: text?.toLowerCase() ?? "",
    means,
  };
}

const VALUE_POINTER_PATTERN = /^(?:\/(?:[^/~]|~[01]){0,64}){1,16}$/;
const UNIT_PATTERN = /^[A-Za-z][A-Za-z0-9_]{0,31}$/;

const value = section({
  name: matching(NAME_PATTERN, NAME_PHRASE).describe("Its name in metrics, on the page and in the API."),
  path: matching(VALUE_POINTER_PATTERN, "a JSON pointer, such as /data/credits")
    .optional()
    .describe("Where it stands in the body, as a JSON pointer (RFC 6901)."),
  header: matching(HEADER_NAME_PATTERN, "a header's name")
    .optional()
    .describe("Or the header that tells it."),
  unit: matching(UNIT_PATTERN, "a word such as usd or requests")
    .optional()
    .describe("What it counts: a label of its metric."),
  credit: flag()
    .prefault(false)
    .describe("It is spent and must not run out: Pacewatch works out when it will, and alerts before."),
});

function valueOf({ name, path, header, unit, credit }: z.output<typeof value>): Value {
  return {
    name,
    place:
      header === undefined
        ? { kind: "json", pointer: path ?? "" }
        : { kind: "header", name: header.toLowerCase() },
    unit: unit ?? "",
    credit,
  };
}

/** An assertion of a credit's place, or of what holds it, knows it. */
function withCredits(
  body: readonly BodyAssertion[],
  values: readonly z.output<typeof value>[],
): readonly BodyAssertion[] {
  const credits = values.filter(({ credit }) => credit).map(({ path }) => `${path}/`);
  return body.map((each) =>
    credits.some((credit) => credit.startsWith(`${each.path}/`)) ? { ...each, isCredit: true } : each,
  );
}

/** Each is some series, for each upstream. */
const MOST_VALUES = 10;

const labelValue: z.ZodType<string> = text("a text of at most 128 characters (quote numbers)", 128);

const requestPath = checked(pathFault, "a path that begins with /").meta({ pattern: PATH_PATTERN });

/** All but its name: what `defaults` may have. */
const shared = {
  base_url: checked(urlFault, "an http:// or https:// URL")
    .meta({ pattern: URL_PATTERN })
    .describe("Its http or https URL, without a key in it."),
  path: requestPath
    .prefault("/v1/resources")
    .describe(
      "The path to request, appended to the path of base_url. What a variable puts into it is treated as a secret; what is in base_url is shown.",
    ),
  auth: authSchema,
  headers: z
    .record(
      matching(HEADER_NAME_PATTERN, "a header's name"),
      matching(HEADER_VALUE_PATTERN, "printable ASCII text of at most 2048 characters (quote numbers)"),
      { error: "a mapping of header names to values" },
    )
    .prefault({})
    .describe("More headers, the same on every request. They are shown on pages: never put a key here."),
  budget: z
    .union(
      [
        budgetName,
        z
          .array(budgetName)
          .min(1, { error: "a list of at least one budget" })
          .max(MOST_BUDGETS, { error: `a list of at most ${MOST_BUDGETS} budgets` }),
      ],
      { error: "the name of a budget, or a list of names" },
    )
    .transform((named) => (typeof named === "string" ? [named] : named))
    .describe(
      "The budget that its requests count against, or a list of up to 4 that all count them: such as a model's and the account's.",
    ),
  every: every
    .optional()
    .describe(
      "The period: seconds that divide 60, minutes that divide 60, or hours that divide 24. Its phase comes from the name.",
    ),
  cron: cron
    .optional()
    .describe(
      "Instead of every: 5 or 6 fields (seconds first) in UTC; numbers, lists, ranges and steps. Days must match both day fields.",
    ),
  timeout: duration(10, MAX_TIMEOUT_MS, "10s")
    .optional()
    .describe(
      "The deadline of the whole poll, up to 60s. Default: the smaller of 10s and the period. If it is longer than the period, a slot is skipped while the last poll still runs.",
    ),
  confirm: wholeNumber(0, 10)
    .prefault(1)
    .describe(
      "How many further polls must fail before a failure counts as down. Each counts against the budget.",
    ),
  expect: section({
    status: z
      .array(status, { error: "a list of status codes, such as [200]" })
      .min(1, { error: "a list of at least one status code" })
      .max(100, { error: "a list of at most 100 status codes" })
      .prefault([200])
      .describe("The status codes that are ok. 402 and 429 always mean throttled."),
    json: flag().prefault(true).describe("Whether the body must be JSON."),
    max_body: byteSize(1, 64 * 1024 * 1024, "1MiB")
      .prefault("1MiB")
      .describe("A longer body, also after decompression, is a failure."),
    refusals: z
      .array(refusal, { error: "a list of refusals" })
      .max(50, { error: "a list of at most 50 refusals" })
      .optional()
      .describe(
        "How this upstream refuses, where Pacewatch does not know it or gets it wrong. The first that fits decides, before all that Pacewatch knows itself.",
      ),
    body: z
      .array(bodyAssertion, { error: "a list of assertions" })
      .max(MOST_ASSERTIONS, { error: `a list of at most ${MOST_ASSERTIONS} assertions` })
      .optional()
      .describe(
        "What the JSON of an ok answer must say, place by place; the first that does not hold fails the poll. Not asked of 204 and 304.",
      ),
    headers: z
      .array(headerAssertion, { error: "a list of assertions" })
      .max(MOST_ASSERTIONS, { error: `a list of at most ${MOST_ASSERTIONS} assertions` })
      .optional()
      .describe(
        "What the headers of an ok answer must say. The values found are never kept or shown, as they may be secret.",
      ),
  })
    // The check says the same.
    .meta({ not: { required: ["json", "body"], properties: { json: { const: false } } } })
    .prefault({})
    .describe("What an ok answer looks like."),
  degraded_above: duration(1, MAX_TIMEOUT_MS, "2s")
    .optional()
    .describe("An ok answer that took longer means degraded. Without it, an upstream is never degraded."),
  request_id_headers: z
    .array(matching(HEADER_NAME_PATTERN, "a header's name"), { error: "a list of header names" })
    .max(10, { error: "a list of at most 10 header names" })
    .prefault([])
    .describe(
      "Headers whose values are kept with a failed poll, for the provider's support, besides x-request-id, cf-ray and the like.",
    ),
  values: z
    .array(value, { error: "a list of values" })
    .min(1, { error: "a list of at least one value" })
    .max(MOST_VALUES, { error: `a list of at most ${MOST_VALUES} values` })
    .optional()
    .describe(
      "Numbers that its answers tell at no further request, such as the credit that is left: a JSON number, or a text that is a plain decimal number (12.34). Read from ok and throttled answers, and from those that fail an assertion; absent once not seen for three periods (at least 10 minutes).",
    ),
  objective: section({
    availability: percentage({ zero: false, hundred: false }, "99.5%")
      .prefault("99.5%")
      .describe("The part of the polls that should be ok."),
    latency: duration(1, MAX_TIMEOUT_MS, "1s")
      .prefault("1s")
      .describe("An ok poll that took no longer counts as fast enough."),
  })
    .prefault({})
    .describe("The service level that alerts and dashboards are measured against."),
  connection: oneOf(["fresh", "reuse"])
    .prefault("fresh")
    .describe("fresh: a new connection for each poll, as a new caller has. reuse: keep one open."),
  proxy: checked(
    (value) => (value === "env" || value === "none" ? undefined : proxyFault(value)),
    "env, none or a URL",
  )
    .meta({ pattern: PROXY_PATTERN })
    .prefault("env")
    .describe(
      "env: as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. none: directly. Or the proxy's URL, without a key in it.",
    ),
  tls: section({
    ...tlsFiles,
    server_name: matching(/^[A-Za-z0-9.-]{1,253}$/, "a host name")
      .optional()
      .describe("The name to ask for (SNI) and to verify, if it is not the URL's host."),
    insecure_skip_verify: flag().prefault(false).describe("Trust any certificate. Only for tests."),
  })
    .meta({ dependentRequired: CERTIFICATE_AND_KEY })
    .prefault({})
    .describe("For https only."),
  labels: z
    .record(matching(LABEL_NAME_PATTERN, "a Prometheus label name"), labelValue, {
      error: "a mapping of label names to texts",
    })
    .meta({ propertyNames: { pattern: LABEL_NAME_PATTERN.source, not: { enum: RESERVED_LABELS } } })
    .prefault({})
    .describe("Labels of your own on pacewatch_upstream_info: the same keys on every upstream."),
};

export const SHARED_KEYS: readonly string[] = Object.keys(shared);
/** Exactly one of them. */
export const SCHEDULE_KEYS: readonly string[] = ["every", "cron"];

const name = matching(NAME_PATTERN, NAME_PHRASE).describe("Its name in metrics, on the page and in the API.");

const MOST_FURTHER = 20;
/** A further path of one service is asked there with the same key, and counts against the same budget. */
export const SAME_FOR_FURTHER: readonly string[] = ["base_url", "auth", "budget"];
const { base_url: _service, auth: _key, budget: _budget, ...ofOnePath } = shared;

const further = section({
  name,
  ...ofOnePath,
  path: requestPath.describe("The path to request, appended to the path of base_url."),
})
  .meta({ not: { required: SCHEDULE_KEYS } })
  .describe("A further path of the same service: an upstream of its own.");
export const FURTHER_KEYS: readonly string[] = ["name", ...Object.keys(ofOnePath)];

const upstream = section({
  name,
  ...shared,
  also: z
    .array(further, { error: "a list of further paths" })
    .min(1, { error: "a list of at least one further path" })
    .max(MOST_FURTHER, { error: `a list of at most ${MOST_FURTHER} further paths` })
    .optional()
    .describe(
      "Further paths of the same service, such as its balance, each an upstream of its own on the same budget and key. Each has what this upstream has unless it says otherwise, but not what belongs to the answer of one path: path, expect, values, degraded_above and objective.",
    ),
})
  // What else must be there may be in `defaults`: see REQUIRED_SOMEWHERE.
  .meta({ required: ["name"], not: { required: SCHEDULE_KEYS } })
  .describe("A service that is watched.");

/** Each value is checked here too, so that one which all upstreams override is not wrong unnoticed. */
export const defaultsSchema: z.ZodType = section(z.object(shared).partial().shape)
  .meta({ not: { required: SCHEDULE_KEYS } })
  .describe(
    "What all upstreams have unless they say otherwise: each key of an upstream but its name. headers, expect, objective and labels are merged key by key; everything else, auth and tls included, is taken whole. every and cron replace each other. A key cannot be unset: leave out here what some upstreams must not have.",
  );

const REQUIRED: readonly (readonly string[])[] = [["base_url"], ["auth"], ["budget"], SCHEDULE_KEYS];

/** For the JSON Schema of the whole config: what every upstream needs, of its own or from `defaults`. */
export const REQUIRED_SOMEWHERE: readonly object[] = REQUIRED.map((keys) => {
  const hasOne = { type: "object", anyOf: keys.map((key) => ({ type: "object", required: [key] })) };
  return {
    anyOf: [
      { properties: { defaults: hasOne }, required: ["defaults"] },
      { properties: { upstreams: { type: "array", items: hasOne } } },
    ],
  };
});

export const upstreamSchema: z.ZodType<UpstreamIn> = upstream.transform(
  (raw) =>
    (directory: string, vantage: string | undefined): Upstream | undefined => {
      const schedule = scheduleOf(raw, vantage);
      const proxy: Proxy =
        raw.proxy === "env" || raw.proxy === "none" ? { kind: raw.proxy } : { kind: "url", url: raw.proxy };
      const auth = raw.auth(directory, { budgets: raw.budget, proxy });
      if (schedule === undefined || auth === undefined) return undefined;
      return {
        name: raw.name,
        url: joinUrl(raw.base_url, raw.path),
        auth,
        headers: raw.headers,
        budgets: raw.budget,
        schedule,
        timeoutMs: raw.timeout ?? Math.min(DEFAULT_TIMEOUT_MS, shortestGapMs(schedule)),
        confirm: raw.confirm,
        expect: {
          status: raw.expect.status,
          json: raw.expect.json,
          maxBodyBytes: raw.expect.max_body,
          ...(raw.expect.refusals === undefined ? {} : { refusals: raw.expect.refusals.map(refusalOf) }),
          ...(raw.expect.body === undefined
            ? {}
            : {
                body: withCredits(raw.expect.body, raw.values ?? []).map((each) =>
                  assertionIn(directory, each),
                ),
              }),
          ...(raw.expect.headers === undefined ? {} : { headers: raw.expect.headers }),
        },
        degradedAboveMs: raw.degraded_above,
        requestIdHeaders: raw.request_id_headers.map((name) => name.toLowerCase()),
        ...(raw.values === undefined ? {} : { values: raw.values.map(valueOf) }),
        objective: { availability: raw.objective.availability, latencyMs: raw.objective.latency },
        connection: raw.connection,
        proxy,
        tls: {
          ...tlsFilesIn(directory, raw.tls),
          serverName: raw.tls.server_name,
          insecureSkipVerify: raw.tls.insecure_skip_verify,
        },
        labels: raw.labels,
      };
    },
);

/** Replicas that poll the same upstream do so at different moments. */
function scheduleOf(
  { name, every, cron }: z.output<typeof upstream>,
  vantage: string | undefined,
): Schedule | undefined {
  if (every !== undefined && cron !== undefined) return undefined;
  const phase = vantage === undefined ? name : `${name}@${vantage}`;
  const reading = every === undefined ? scheduleCron(cron ?? "") : scheduleEvery(every, phase);
  return reading.kind === "schedule" ? reading.schedule : undefined;
}

function proxyFault(value: string): string | undefined {
  const fault = urlFault(value);
  return fault === undefined ? undefined : `env, none or ${fault}`;
}
