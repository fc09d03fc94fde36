import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { isAlert } from "../../../tools/rules/rule.ts";
import { ruleGroups } from "../../../tools/rules/rules.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { run } from "../promtool.ts";

const amtool = requireBinary("amtool");
const CONFIG = fileURLToPath(new URL("../../../config/alertmanager/alertmanager.yml", import.meta.url));

const Alertmanager = z.object({
  inhibit_rules: z.array(
    z.object({
      source_matchers: z.array(z.string()),
      target_matchers: z.array(z.string()),
      equal: z.array(z.string()).default([]),
    }),
  ),
});

const config = Alertmanager.parse(parse(readFileSync(CONFIG, "utf8")));
const rules = (["one", "fleet", "vantages"] as const).flatMap((watchers) =>
  ruleGroups(watchers).flatMap((group) => group.rules.filter(isAlert)),
);
const alerts = new Set(rules.map(({ alert }) => alert));

test("inhibitions speak of alerts that exist", () => {
  const matchers = config.inhibit_rules.flatMap((rule) => [...rule.source_matchers, ...rule.target_matchers]);
  const names = matchers.flatMap((matcher) => matcher.match(/Pacewatch\w+/g) ?? []);
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => !alerts.has(name))).toEqual([]);
});

test("being offline silences all that is said about upstreams from there", () => {
  const offline = config.inhibit_rules.find(({ source_matchers }) =>
    source_matchers.includes('alertname="PacewatchOffline"'),
  );
  const [target = ""] = offline?.target_matchers ?? [];
  for (const name of [
    "PacewatchUpstreamDown",
    "PacewatchErrorBudgetBurning",
    "PacewatchLatencyObjectiveMissed",
  ]) {
    expect(target).toContain(name);
  }
});

type Labels = Readonly<Record<string, string>>;

/** As Alertmanager judges it: a label that both lack is equal. */
function isMutedBy(source: Labels, target: Labels): boolean {
  const fits = (labels: Labels, matcher: string): boolean => {
    const [, name = "", , pattern = ""] = /^(\w+)(=~?)"(.*)"$/.exec(matcher) ?? [];
    return new RegExp(`^(?:${pattern})$`).test(labels[name] ?? "");
  };
  return config.inhibit_rules.some(
    ({ source_matchers, target_matchers, equal }) =>
      source_matchers.every((matcher) => fits(source, matcher)) &&
      target_matchers.every((matcher) => fits(target, matcher)) &&
      equal.every((name) => (source[name] ?? "") === (target[name] ?? "")),
  );
}

const OF_A = { job: "pw", instance: "a:1" };

test.each<[string, Labels, Labels]>([
  [
    "nobody leads: nothing is polled",
    { alertname: "PacewatchUnled", job: "pw" },
    { alertname: "PacewatchPollsStalled", ...OF_A, upstream: "email" },
  ],
  [
    "nobody leads: the lock is away",
    { alertname: "PacewatchUnled", job: "pw" },
    { alertname: "PacewatchLockAway", ...OF_A },
  ],
  [
    "no vantage watches: each is silent",
    { alertname: "PacewatchUnwatched", job: "pw" },
    { alertname: "PacewatchVantageSilent", job: "pw", vantage: "eu" },
  ],
  [
    "a vantage is offline: it is silent",
    { alertname: "PacewatchOffline", ...OF_A, vantage: "eu" },
    { alertname: "PacewatchVantageSilent", job: "pw", vantage: "eu" },
  ],
  [
    "most vantages see it down: so does each of them",
    { alertname: "PacewatchUpstreamDown", job: "pw", upstream: "email" },
    { alertname: "PacewatchUpstreamDownInPart", job: "pw", upstream: "email", vantage: "eu" },
  ],
])("one cause is told once: %s", (_, source, target) => {
  expect(isMutedBy(source, target)).toBe(true);
  expect(isMutedBy({ ...source, job: "another" }, target)).toBe(false);
});

test("a page silences the ticket about the same thing, and none about another", () => {
  const { equal = [] } =
    config.inhibit_rules.find(({ source_matchers }) => source_matchers.includes('severity="page"')) ?? {};
  const told = rules.flatMap(({ summary }) =>
    [...summary.matchAll(/\$labels\.(\w+)/g)].map(([, label]) => label),
  );
  expect(told.length).toBeGreaterThan(10);
  expect(told.filter((label = "") => !equal.includes(label))).toEqual([]);
});

describe.skipIf(amtool === undefined)("amtool", () => {
  const program = amtool ?? "";

  test("accepts the config that ships", () => {
    const ran = run(program, ["check-config", CONFIG]);
    expect(ran.output).toContain("SUCCESS");
    expect(ran.code).toBe(0);
  });

  test.each([
    ["page", "pages"],
    ["ticket", "tickets"],
  ])("a %s goes to the %s", (severity, receiver) => {
    const args = [`--config.file=${CONFIG}`, `--verify.receivers=${receiver}`, `severity=${severity}`];
    expect(run(program, ["config", "routes", "test", ...args])).toMatchObject({ code: 0 });
  });
});
