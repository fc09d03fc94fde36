import type { Confirmation } from "../../kernel/poll/health.ts";
import { z } from "zod";
import { type Proxy, type Tls, type Upstream, LINK_LABEL } from "../../kernel/config/config.ts";
import { authSchema, headersOf } from "./auth.ts";
import { NEVER_LITERAL } from "../keys/source.ts";
import {
  HEADER_NAME_PATTERN,
  HEADER_VALUE_PATTERN,
  isOwnHeader,
  looksLikeSecretHeader,
} from "../keys/credential-signs.ts";
import { eachSchema } from "./each.ts";
import { type ExpectKeys, expectSchema } from "./expect.ts";
import { rulesAt, type Section, withSections } from "./section.ts";
import {
  checked,
  decoded,
  duration,
  flag,
  headerName,
  httpUrl,
  list,
  lowered,
  matching,
  name,
  named,
  oneOf,
  oneOrMore,
  percentage,
  section,
  wholeNumber,
  text,
  budgetName,
} from "../keys/leaves.ts";
import { type Rule, noted } from "../keys/notes.ts";
import { PATH_PATTERN, PROXY_PATTERN } from "../keys/patterns.ts";
import { atMostOne, exactlyOne, itemsOf, mappingOf, repeats, ruled } from "../keys/rules.ts";
import { certificateAndKey, tlsFiles } from "../keys/tls.ts";
import { joinUrl, pathFault, urlFault } from "../keys/upstream-url.ts";
import { bodyNeedsMethod, ofBody, requestKeys } from "./request.ts";
import { SCHEDULE_KEYS, scheduleKeys } from "./schedule.ts";
import { wordSet } from "../../kernel/text/word-set.ts";

const MAX_TIMEOUT_MS = 60_000;
/** A model's, a project's and the account's: more have not been met. */
const MOST_BUDGETS = 4;

/** A list names each budget once. */
const differentBudgets: Rule = {
  check: (budgets, refuse) => {
    for (const { text, at } of repeats(itemsOf(budgets)))
      refuse([at], `must differ from the other budgets of its upstream, received "${text}" again`);
  },
};

const KEY_PLACE = `${NEVER_LITERAL}, use auth: { header: { name: HEADER, env: NAME } } or auth: { bearer: { env: NAME } }`;

const freeHeaders = (sections: readonly Section[]): Rule => ({
  check: (upstream, refuse) => {
    const { auth, headers } = mappingOf(upstream);
    const taken = new Set(headersOf(auth, sections));
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
});

const freeParameter: Rule = {
  check: (upstream, refuse) => {
    const { auth, base_url: base, path = "/" } = mappingOf(upstream);
    const { name: parameter } = mappingOf(mappingOf(auth)["query"]);
    if (typeof parameter !== "string" || typeof base !== "string" || typeof path !== "string") return;
    if (urlFault(base) !== undefined || pathFault(path) !== undefined) return;
    if (!new URL(joinUrl(base, path)).searchParams.has(parameter)) return;
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

/** Shorter, a blip pages; longer, an outage is told late. */
const CONFIRM_OVER_MS = 10_000;
const CONFIRM_PHRASE = "a whole number from 0 to 10, or a mapping such as { polls: 1, over: 10s }";

const confirmSchema: z.ZodType<Confirmation> = decoded(
  z.union(
    [
      wholeNumber(0, 10),
      section({
        polls: wholeNumber(0, 10).prefault(1).describe("How many further polls must fail."),
        over: duration(0, 600_000, "10s")
          .prefault("10s")
          .describe(
            "From the first poll that fails to the last one, up to 10m. 0s: as soon as the pace allows.",
          ),
      }),
    ],
    { error: CONFIRM_PHRASE },
  ),
  (written) =>
    typeof written === "number"
      ? { polls: written, overMs: CONFIRM_OVER_MS }
      : { polls: written.polls, overMs: written.over },
);

function proxyFault(proxy: Proxy): string | undefined {
  if (proxy === "env" || proxy === "none") return undefined;
  const fault = urlFault(proxy, "write env and set HTTPS_PROXY");
  return fault && `env, none or ${fault}`;
}

const proxy = checked(proxyFault, "env, none or a URL", PROXY_PATTERN);

/** The keys that `defaults` may have too: all but the name. */
const ownKeys = (sections: readonly Section[]) => ({
  base_url: noted(httpUrl(), { isSecret: true }).describe("Its http or https URL, without a key in it."),
  path: noted(checked(pathFault, "a path that begins with /", PATH_PATTERN), {
    example: "/unset",
    isSecret: true,
  })
    .prefault("/v1/resources")
    .describe(
      "The path to request, appended to the path of base_url. What a variable puts into it is treated as a secret; what is in base_url is shown.",
    ),
  ...requestKeys,
  auth: authSchema(sections),
  headers: noted(
    z.record(
      matching(HEADER_NAME_PATTERN, "a header's name"),
      noted(
        matching(HEADER_VALUE_PATTERN, "printable ASCII text of at most 2048 characters (quote numbers)"),
        { example: "unset" },
      ),
      { error: "a mapping of header names to values" },
    ),
    { isSecret: true, isMerged: true },
  )
    .prefault({})
    .describe("More headers, the same on every request. They are shown on pages: never put a key here."),
  budget: noted(
    ruled(
      oneOrMore(budgetName, "the name of a budget, or a list of names", MOST_BUDGETS, "budgets"),
      differentBudgets,
    ),
    { isNeeded: true },
  ).describe(
    "The budget that its requests count against, or a list of up to 4 that all count them: such as a model's and the account's.",
  ),
  ...scheduleKeys,
  timeout: noted(duration(10, MAX_TIMEOUT_MS, "10s"), { isNeeded: true })
    .optional()
    .describe(
      "The deadline of the whole poll, up to 60s. Default: the smaller of 10s and the period. If it is longer than the period, a slot is skipped while the last poll still runs.",
    ),
  confirm: noted(confirmSchema, { isNeeded: true })
    .prefault(1)
    .describe(
      "How many further polls must fail, and for how long it must have failed, before a failure counts as down: a whole number stands for { polls: N, over: 10s }, and 0 for the first failure. Each counts against the budget. A slot that comes meanwhile is one of them.",
    ),
  expect: noted(expectSchema(sections), { isMerged: true })
    .prefault({})
    .describe("What an ok answer looks like."),
  degraded_above: duration(1, MAX_TIMEOUT_MS, "2s")
    .optional()
    .describe("An ok answer that took longer means degraded. Default: the latency of its objective."),
  request_id_headers: list(lowered(headerName()), 10, "header names")
    .prefault([])
    .describe(
      "Headers whose values are kept with a failed poll, for the provider's support, besides x-request-id, cf-ray and the like.",
    ),
  objective: noted(
    named(
      section({
        availability: percentage({ zero: false, hundred: false }, "99.5%")
          .prefault("99.5%")
          .describe("The part of the watched time that should be ok."),
        latency: duration(1, MAX_TIMEOUT_MS, "1s")
          .prefault("1s")
          .describe("An ok poll that took no longer counts as fast enough."),
      }),
      { latency: "latencyMs" },
    ),
    { isNeeded: true, isMerged: true },
  )
    .prefault({})
    .describe("The service level that alerts and dashboards are measured against."),
  connection: oneOf(["fresh", "reuse"])
    .prefault("fresh")
    .describe("fresh: a new connection for each poll, as a new caller has. reuse: keep one open."),
  proxy: noted(proxy, { isSecret: true })
    .prefault("env")
    .describe(
      "env: as HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. none: directly. Or the proxy's URL, without a key in it.",
    ),
  tls: tls.prefault({}).describe("For https only."),
  labels: labelsSchema
    .prefault({})
    .describe(
      "Labels of your own, on pacewatch_upstream_info and on the alerts that pacewatch rules prints: the same keys on every upstream.",
    ),
});

/** Its schedule may be in `defaults`: of that the JSON Schema tells in `REQUIRED_SOMEWHERE`. */
const aSchedule: Rule = { ...exactlyOne(...SCHEDULE_KEYS), jsonSchema: { not: { required: SCHEDULE_KEYS } } };

/** The keys of an upstream, as they are inside. */
export type UpstreamKeys = Omit<
  Upstream,
  "url" | "pathTemplate" | "schedule" | "timeoutMs" | "denyAddresses" | "expect" | "confirm" | "confirmOverMs"
> & {
  readonly confirm: Confirmation;
  readonly expect: ExpectKeys;
  readonly baseUrl: string;
  readonly path: string;
  readonly every: number | undefined;
  readonly cron: string | undefined;
  readonly timeZone: string | undefined;
  readonly timeoutMs: number | undefined;
  readonly each: unknown;
};

export type UpstreamSchemas = {
  readonly upstream: z.ZodType<UpstreamKeys>;
  readonly defaults: z.ZodType;
  /** The keys that both have. */
  readonly shared: z.core.$ZodShape;
};

export function upstreamSchemas(sections: readonly Section[]): UpstreamSchemas {
  const shared = withSections(ownKeys(sections), "upstream", sections);
  const rules = [freeHeaders(sections), freeParameter, tlsNeedsHttps, ofBody("expect", "json")];
  const upstream = section({
    name: noted(name(), { isNeeded: true }).describe("Its name in metrics, on the page and in the API."),
    ...shared,
    each: eachSchema.optional(),
  });
  return {
    shared,
    upstream: named(
      ruled(upstream, aSchedule, bodyNeedsMethod, ...rules, ...rulesAt("upstream", sections))
        // Others may be in `defaults`: see REQUIRED_SOMEWHERE.
        .meta({ required: ["name"] })
        .describe("A service that is watched."),
      { timeout: "timeoutMs", degraded_above: "degradedAboveMs", budget: "budgets" },
    ),
    // Each value is checked here too, so that one which all upstreams override is not wrong unnoticed.
    defaults: ruled(
      section(z.object(shared).partial().shape),
      atMostOne(...SCHEDULE_KEYS),
      ...rules,
    ).describe(
      "What all upstreams have unless they say otherwise: each key of an upstream but its name. headers, expect, objective, labels and links are merged key by key; everything else, auth and tls included, is taken whole. every and cron replace each other. A key cannot be unset: leave out here what some upstreams must not have.",
    ),
  };
}

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

/** Labels that a metric, a scrape or an alert sets itself. */
const RESERVED: ReadonlySet<string> = wordSet(`
  alertname alertstate budget cause code exported_instance exported_job instance job le name node outcome per phase
  quantile quota reason severity state upstream vantage version window`);

const freeNames: Rule = {
  check: (labels, refuse) => {
    for (const label of Object.keys(mappingOf(labels))) {
      // Links are labels too.
      if (!RESERVED.has(label) && !label.startsWith(LINK_LABEL)) continue;
      refuse([label], "is a label that metrics, scrapes or alerts set themselves: choose another name", []);
    }
  },
};

const LABEL_NAME_PATTERN = /^(?!__)[A-Za-z_][A-Za-z0-9_]{0,63}$/;

const labelsSchema: z.ZodType<Readonly<Record<string, string>>, Readonly<Record<string, string>>> = noted(
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
          not: { anyOf: [{ enum: [...RESERVED] }, { pattern: `^${LINK_LABEL}` }] },
        },
      }),
    freeNames,
  ),
  { isNeeded: true, isMerged: true },
);
