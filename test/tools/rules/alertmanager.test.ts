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
const rules = ruleGroups("one")
  .flatMap((group) => group.rules)
  .filter(isAlert);
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
