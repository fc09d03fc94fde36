import type { Budget, Upstream } from "../../kernel/config/config.ts";
import { type Tree, treeAt, type Path } from "../read/tree.ts";
import { itemsOf, mappingOf } from "../keys/rules.ts";
import { type ConfigKeys, type ConfigSchema, type General, vantageSchema } from "../schema/schema.ts";
import type { UpstreamKeys } from "../schema/upstream.ts";
import { literalKeysIn } from "./literal-keys.ts";
import { type Complaint, complain } from "../read/fault.ts";
import { ruleComplaints, schemaComplaints } from "./faults.ts";
import { asWritten, plainOf } from "./plain.ts";
import { slotsOf } from "../../kernel/schedule/schedule.ts";
import { joinTemplate, joinUrl, isCleartext } from "../keys/upstream-url.ts";
import { bodyOf } from "../schema/request.ts";
import type { Section } from "../schema/section.ts";
import { scheduleOf } from "../schema/schedule.ts";
import { Cron } from "../../kernel/schedule/cron.ts";
import { formatDuration } from "../../kernel/time/duration.ts";
import { variablesIn, withoutDefaults } from "../read/interpolate.ts";

/** The valid parts of a config: where one budget is wrong, the others can still be checked. */
export type SoundConfig = {
  /** All of it as plain values: see `plainOf`. */
  readonly written: unknown;
  readonly complaints: readonly Complaint[];
  /** Undefined where anything is wrong that its schema can tell. */
  readonly general: General | undefined;
  readonly budgets: readonly Budget[];
  /** By their place in the list. */
  readonly upstreams: ReadonlyMap<number, Upstream>;
};

export function validate(tree: Tree, directory: string, schema: ConfigSchema): SoundConfig {
  const written = plainOf(tree, schema.config, directory);
  // A key without a value was refused already: zod would take it for a fault of its own.
  const plain: unknown = JSON.parse(JSON.stringify(written));
  const { data, error } = schema.config.safeParse(plain);
  const keys: SoundKeys = data ?? soundKeys(mappingOf(plain), schema);
  const general = data && generalOf(data);
  const { sections } = schema;
  const budgets = new Map(
    Object.entries(keys.budgets).map(([name, terms]) => {
      const budget: Budget = { name, ...terms, ...(keys.vantage && { vantage: keys.vantage }) };
      for (const { ofBudget } of sections) Object.assign(budget, ofBudget?.(budget));
      return [name, budget] as const;
    }),
  );
  const around = { denyAddresses: general?.denyAddresses, budgets, sections };
  const requests = [["defaults"], ...[...keys.upstreams.keys()].map((index) => ["upstreams", index])];
  const inRequests = requests.flatMap((request) => [
    [...request, "path"],
    [...request, "body"],
  ]);
  return {
    written,
    complaints: [
      ...inRequests.flatMap((path) => literalKeysIn(treeAt(tree, path), path)),
      ...schemaComplaints(error?.issues ?? [], schema.config, tree),
      ...ruleComplaints(schema.config, written, tree),
    ],
    general,
    budgets: [...budgets.values()],
    upstreams: new Map(
      keys.upstreams.flatMap((upstream, index) => {
        const template = templateOf(treeAt(tree, ["upstreams", index, "path"]));
        const writtenBody = asWritten(treeAt(tree, ["upstreams", index, "body"]));
        const found = upstream && upstreamOf(upstream, { ...around, template, writtenBody });
        return found === undefined ? [] : [[index, found]];
      }),
    ),
  };
}

/** The upstreams have what `defaults` say. */
function generalOf({ defaults: _defaults, ...general }: ConfigKeys): General {
  return general;
}

type SoundKeys = Pick<ConfigKeys, "budgets" | "vantage"> & {
  readonly upstreams: readonly (UpstreamKeys | undefined)[];
};

function soundKeys(plain: Readonly<Record<string, unknown>>, schema: ConfigSchema): SoundKeys {
  const budgets = Object.entries(mappingOf(plain["budgets"])).flatMap(([name, budget]) => {
    const { data } = schema.budget.safeParse(budget);
    return data === undefined ? [] : [[name, data]];
  });
  const upstreams = itemsOf(plain["upstreams"]).map((upstream) => schema.upstream.safeParse(upstream).data);
  const vantage = vantageSchema.safeParse(plain["vantage"]).data;
  return { budgets: Object.fromEntries(budgets), upstreams, vantage };
}

/** A variable in a path may hold a secret: it is filled in only where the request is built. */
function templateOf(path: Tree | undefined): string | undefined {
  return path?.kind === "scalar" && path.interpolated ? path.written : undefined;
}

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
function upstreamOf(
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
      url: joinTemplate(base, withoutDefaults(template)),
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

/** Allowed, but probably not intended. */
export function warningsOf(upstream: Upstream, path: Path): readonly Complaint[] {
  const { name, auth, url, pathTemplate, tls, schedule, degradedAboveMs, timeoutMs, objective } = upstream;
  const warnings: Complaint[] = [];
  const warn = (key: Path, says: string): void =>
    void warnings.push(complain([...path, ...key], `upstream "${name}" ${says}`));
  const warnOfKey = (key: Path, says: string): void =>
    void warnings.push({ ...complain([...path, ...key], `upstream "${name}" ${says}`), exposesKey: true });
  if (pathTemplate !== undefined) {
    const variables = variablesIn(pathTemplate.path).map((variable) => `\${${variable}}`);
    const why = "treated as a secret here, but proxies and servers log URLs, so a key belongs into auth";
    warn(["path"], `has ${variables.join(" and ")} in its path: ${why}`);
  }
  if ((auth.kind !== "none" || pathTemplate !== undefined) && isCleartext(url))
    warnOfKey(["base_url"], "sends its key unencrypted: use https://");
  if (tls.insecureSkipVerify)
    warnOfKey(
      ["tls", "insecure_skip_verify"],
      "trusts any certificate, so anybody in between can read its key",
    );
  const slots = slotsOf(schedule);
  const { shortestGapMs } = slots;
  if (slots instanceof Cron && slots.restrictsBothDayFields)
    warn(["cron"], "is polled only on days that match both day-of-month and day-of-week");
  const timeout = formatDuration(timeoutMs);
  if (timeoutMs > shortestGapMs) {
    const gap = `only ${formatDuration(shortestGapMs)} between two slots`;
    warn(
      ["timeout"],
      `has a timeout of ${timeout}, and ${gap}: while a poll takes longer than that, slots are skipped`,
    );
  }
  if (degradedAboveMs >= timeoutMs && degradedAboveMs !== objective.latencyMs)
    warn(["degraded_above"], `can never be degraded: a poll ends after ${timeout}, its timeout`);
  return warnings;
}
