/** An upstream as it runs, made of its keys. */

import type { Budget, Upstream } from "../../kernel/config/config.ts";
import { slotsOf } from "../../kernel/schedule/schedule.ts";
import { mappingOf } from "../keys/rules.ts";
import { joinTemplate, joinUrl } from "../keys/upstream-url.ts";
import { bodyOf } from "./request.ts";
import type { Section } from "./section.ts";
import { scheduleOf } from "./schedule.ts";
import type { UpstreamKeys } from "./upstream.ts";

const DEFAULT_TIMEOUT_MS = 10_000;

/** An upstream depends on these besides its keys. */
export type Around = {
  readonly denyAddresses: Upstream["denyAddresses"];
  readonly budgets: ReadonlyMap<string, Budget>;
  readonly sections: readonly Section[];
  /** Its path as it is written, where it has variables. */
  readonly template: string | undefined;
  /** Its body as it is written: the variables in it are not filled in. */
  readonly writtenBody: unknown;
};

/** An upstream without a schedule, or with two, is refused by its rule, and is none. */
export function upstreamOf(
  keys: UpstreamKeys,
  { denyAddresses, budgets, sections, template, writtenBody }: Around,
): Upstream | undefined {
  const {
    baseUrl: base,
    path,
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
  const upstream: Upstream = {
    ...same,
    url: joinUrl(base, path),
    ...(template !== undefined && {
      url: joinTemplate(base, template),
      pathTemplate: { base, path: template },
    }),
    ...(same.body && !("file" in same.body) && { body: bodyOf(mappingOf(writtenBody)) }),
    schedule,
    confirm: confirm.polls,
    confirmOverMs: confirm.overMs,
    degradedAboveMs: same.degradedAboveMs ?? same.objective.latencyMs,
    timeoutMs: timeoutMs ?? Math.min(DEFAULT_TIMEOUT_MS, slotsOf(schedule).shortestGapMs),
    expect: { ...expect, json: expect.json ?? same.method !== "HEAD" },
    denyAddresses,
  };
  for (const { ofUpstream } of sections) Object.assign(upstream, ofUpstream?.(upstream, budgets));
  return upstream;
}
