import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { CATALOGUE } from "../../../tools/docs-metrics.ts";
import { isAlert } from "../../../tools/rules/rule.ts";
import { ruleGroups } from "../../../tools/rules/rules.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { metricsIn, queriesIn } from "../promql.ts";
import { run } from "../promtool.ts";
import { DENSITIES, guardsOf } from "./guards.ts";

const promtool = requireBinary("promtool");
const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const TEST_FILES = ["config/prometheus/rules.test.yml", "config/prometheus/rules-slow.test.yml"];

const RuleTests = z.object({
  group_eval_order: z.array(z.string()),
  tests: z.array(
    z.object({
      alert_rule_test: z.array(
        z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()).default([]) }),
      ),
    }),
  ),
});

const groups = ruleGroups("one");
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.filter(isAlert);
const recorded = new Set(rules.flatMap((rule) => (isAlert(rule) ? [] : [rule.record])));

/** What the catalogue knows, with the endings that a histogram and a summary have. */
function isShown(metric: string): boolean {
  return CATALOGUE.some(
    ({ name, type }) =>
      metric === name ||
      (["histogram", "summary"].includes(type) && metric.replace(/_(?:bucket|sum|count)$/, "") === name),
  );
}

describe("the rules", () => {
  test("read only metrics that Pacewatch shows, that they record themselves, up, and when a process began", () => {
    const exprs = rules.map(({ expr }) => expr);
    const queries = alerts.flatMap(({ summary, description }) => queriesIn(`${summary} ${description}`, {}));
    const unknown = [...exprs, ...queries]
      .flatMap((expr) => metricsIn(expr))
      .filter(
        (metric) =>
          !isShown(metric) &&
          !recorded.has(metric) &&
          metric !== "up" &&
          metric !== "process_start_time_seconds",
      );
    expect(unknown).toEqual([]);
    expect(queries.length).toBeGreaterThan(20);
  });

  test("record nothing that neither a rule nor the dashboard reads", () => {
    const dashboard = readFileSync(`${ROOT}config/grafana/dashboards/pacewatch.json`, "utf8");
    const texts = [
      ...rules.map(({ expr }) => expr),
      ...alerts.map(({ description }) => description),
      dashboard,
    ];
    const unread = [...recorded].filter((name) => !texts.some((text) => text.includes(name)));
    expect(unread).toEqual([]);
  });

  test("name no job, so that they fit any", () => {
    for (const { expr } of rules) expect(expr).not.toMatch(/job\s*=/);
  });

  test("tell of each alert how bad it is, what it means in numbers, and what to do", () => {
    for (const alert of alerts) {
      expect(["page", "ticket"]).toContain(alert.severity);
      expect(alert.summary).not.toBe("");
      expect(alert.description).toMatch(/\{\{|\d/);
      const runbook = readFileSync(`${ROOT}docs/runbooks/${alert.alert}.md`, "utf8");
      const headings = [...runbook.matchAll(/^#+ (.*)$/gm)].map(([, heading]) => heading);
      expect(headings).toEqual([
        alert.alert,
        "What it means",
        "How to confirm",
        "What to do",
        "How to silence",
      ]);
      expect(runbook).toContain(alert.severity);
    }
  });
});

describe.skipIf(promtool === undefined)("promtool", () => {
  const program = promtool ?? "";

  test.each(["rules.yml", "rules-fleet.yml", "rules-vantages.yml"])("accepts %s", (file) => {
    const ran = run(program, ["check", "rules", "--lint-fatal", `${ROOT}config/prometheus/${file}`]);
    expect(ran.output).not.toMatch(/FAILED/);
    expect(ran.code).toBe(0);
  });

  test("computes the guards that the proof speaks of", () => {
    const some = DENSITIES.filter((_, index) => index % 3 === 0);
    expect(some.length).toBeGreaterThan(20);
    expect(guardsOf("one", some, program)).toContain("SUCCESS");
  });

  test("accepts the scrape configs that ship", () => {
    expect(run(program, ["check", "config", `${ROOT}config/prometheus/prometheus.yml`])).toMatchObject({
      code: 0,
    });
    const compose = `${ROOT}deploy/compose/prometheus.yml`;
    expect(run(program, ["check", "config", "--syntax-only", compose])).toMatchObject({ code: 0 });
  });
});

test.each([
  "config/prometheus/prometheus.yml",
  "deploy/compose/prometheus.yml",
  "deploy/kubernetes/base/service-monitor.yaml",
  "deploy/kubernetes/single/service-monitor.yaml",
])("a label of an upstream is no other one where %s gives one of its name to the target", (file) => {
  expect(readFileSync(`${ROOT}${file}`, "utf8")).toMatch(/^ +honor_?labels: true$/im);
});

test("every alert has a case in which it fires, and one in which it does not", () => {
  const files = TEST_FILES.map((file) => RuleTests.parse(parse(readFileSync(`${ROOT}${file}`, "utf8"))));
  const cases = files.flatMap(({ tests }) => tests.flatMap(({ alert_rule_test }) => alert_rule_test));
  for (const { alert } of alerts) {
    const own = cases.filter(({ alertname }) => alertname === alert);
    expect(
      own.some(({ exp_alerts }) => exp_alerts.length > 0),
      `${alert} fires`,
    ).toBe(true);
    expect(
      own.some(({ exp_alerts }) => exp_alerts.length === 0),
      `${alert} does not fire`,
    ).toBe(true);
  }
  for (const { group_eval_order } of files) expect(group_eval_order).toEqual(groups.map(({ name }) => name));
});
