/** An upstream as it runs, made of its keys. */

import type { Auth, Expectation, Proxy, Upstream } from "../../kernel/config/config.ts";
import type { Price } from "../../features/money/price.ts";
import { slotsOf } from "../../kernel/schedule/schedule.ts";
import { mappingOf } from "../keys/rules.ts";
import { joinTemplate, joinUrl } from "../keys/upstream-url.ts";
import { bodyOf } from "./request.ts";
import { scheduleOf } from "./schedule.ts";
import type { UpstreamKeys } from "./upstream.ts";

const DEFAULT_TIMEOUT_MS = 10_000;

/** An upstream depends on these besides its keys. */
export type Around = {
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
  { denyAddresses, prices, template, writtenBody }: Around,
): Upstream | undefined {
  const {
    baseUrl: base,
    path,
    auth,
    every,
    cron,
    timeZone,
    each: _each,
    timeoutMs,
    expect,
    confirm,
    ...same
  } = keys;
  const schedule = scheduleOf(same.name, { every, cron, timeZone });
  if (schedule === undefined) return undefined;
  const { budgets } = same;
  const ofBudgets = budgets.map((each) => prices.get(each)).filter((each) => each !== undefined);
  // Where two have one, the upstream must have its own: `priceFaults` says so.
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
    schedule,
    confirm: confirm.polls,
    confirmOverMs: confirm.overMs,
    degradedAboveMs: same.degradedAboveMs ?? same.objective.latencyMs,
    timeoutMs: timeoutMs ?? Math.min(DEFAULT_TIMEOUT_MS, slotsOf(schedule).shortestGapMs),
    expect: {
      ...expect,
      json: expect.json ?? same.method !== "HEAD",
      body: expect.body && withCredits(expect.body, same.values ?? []),
    },
    ...(price && { price }),
    denyAddresses,
  };
}

/** A token request counts against its upstream's budgets where it names none, and takes the same proxy. */
function withTokenOf(auth: Auth, budgets: readonly string[], proxy: Proxy): Auth {
  if (auth.kind !== "oauth2") return auth;
  const { token } = auth;
  return { ...auth, token: { ...token, budgets: token.budgets.length > 0 ? token.budgets : budgets, proxy } };
}

/** An assertion of a credit's place, or of what holds it, knows it. */
function withCredits(
  body: NonNullable<Expectation["body"]>,
  values: NonNullable<Upstream["values"]>,
): Expectation["body"] {
  const credits = values.flatMap(({ credit, path }) => (credit && path !== undefined ? [`${path}/`] : []));
  return body.map((each) =>
    each.path !== undefined && credits.some((credit) => credit.startsWith(`${each.path}/`))
      ? { ...each, isCredit: true }
      : each,
  );
}
