import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { z } from "zod";
import { CATALOGUE } from "../../../tools/docs-metrics.ts";
import { isAlert } from "../../../tools/rules/rule.ts";
import { dashboardText } from "../../../tools/dashboard/dashboard.ts";
import { ruleGroups } from "../../../tools/rules/rules.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { metricsIn } from "../promql.ts";
import { runWith } from "../promtool.ts";

const promtool = requireBinary("promtool");

const Link = z.object({ title: z.string(), url: z.string() });
const Panel = z.object({
  id: z.number(),
  type: z.string(),
  title: z.string(),
  description: z.string(),
  gridPos: z.object({ x: z.number(), y: z.number(), w: z.number(), h: z.number() }),
  links: z.array(Link),
  fieldConfig: z.object({
    defaults: z.object({
      unit: z.string(),
      links: z.array(Link).optional(),
      thresholds: z.object({ steps: z.array(z.object({ value: z.number().nullable(), color: z.string() })) }),
    }),
  }),
  targets: z.array(
    z.object({
      expr: z.string(),
      refId: z.string(),
      datasource: z.object({ uid: z.string() }),
      exemplar: z.boolean().optional(),
    }),
  ),
});
const Dashboard = z.object({
  uid: z.string(),
  links: z.array(Link),
  annotations: z.object({ list: z.array(z.object({ name: z.string(), expr: z.string() })) }),
  templating: z.object({ list: z.array(z.object({ name: z.string(), type: z.string() })) }),
  panels: z.array(z.object({ id: z.number(), type: z.string(), title: z.string() }).loose()),
});

const dashboard = Dashboard.parse(JSON.parse(dashboardText()));
const panels = dashboard.panels.filter(({ type }) => type !== "row").map((panel) => Panel.parse(panel));
const rules = ruleGroups("one").flatMap((group) => group.rules);

describe("the dashboard", () => {
  test("has a row for each question", () => {
    const rows = dashboard.panels.filter(({ type }) => type === "row").map(({ title }) => title);
    expect(rows).toEqual([
      "Are my APIs fine?",
      "Latency",
      "Outcomes",
      "Budgets",
      "Values, credit and quotas",
      "Fleet",
      "Pacewatch itself",
    ]);
  });

  test("lets one choose the datasource, the job, the instance and the upstream", () => {
    const names = dashboard.templating.list.map(({ name }) => name);
    expect(names).toEqual(["datasource", "job", "instance", "upstream", "runbooks", "status_page"]);
  });

  test("shows only the chosen jobs and instances, in every panel", () => {
    for (const { title, targets } of panels) {
      for (const { expr } of targets) {
        const selectors = [
          ...expr.matchAll(/\b(?:pacewatch|ALERTS|up|process|nodejs)[\w:]*(\{[^}]*\})?/g),
        ].filter(
          ([text, labels = ""]) => labels !== "" || !/^\w+$/.test(text) || text.startsWith("pacewatch_"),
        );
        const open = selectors.filter(([, labels = ""]) => !labels.includes('instance=~"$instance"'));
        expect(open.map(([text]) => `${title}: ${text}`)).toEqual([]);
      }
    }
  });

  test("marks the changes of state", () => {
    const [changes] = dashboard.annotations.list;
    expect(changes?.name).toBe("State changes");
    expect(metricsIn(changes?.expr ?? "")).toEqual(["pacewatch_upstream_state"]);
  });

  test.each(panels)("$title: says what it shows, in which unit, and when to worry", (panel) => {
    const { unit, thresholds } = panel.fieldConfig.defaults;
    expect(panel.description.length).toBeGreaterThan(20);
    expect(unit).not.toBe("");
    expect(thresholds.steps[0]?.value).toBeNull();
    expect(panel.targets.length).toBeGreaterThan(0);
    for (const { datasource } of panel.targets) expect(datasource.uid).toBe("${datasource}");
  });

  test.each(panels)("$title: leads to a runbook that exists, and to the status page", (panel) => {
    const [runbook, statusPage] = panel.links.map(({ url }) => url);
    const page = runbook?.replace("${runbooks:raw}", "../../../docs/runbooks/") ?? "";
    expect(readFileSync(new URL(page, import.meta.url), "utf8")).toContain("# ");
    expect(statusPage).toBe("${status_page:raw}");
  });

  test("shows exemplars as dots, and the data source leads from a dot to its poll on the page of its upstream", () => {
    const withDots = panels.filter(({ targets }) => targets.some(({ exemplar }) => exemplar === true));
    expect(withDots.map(({ title }) => title)).toEqual(["How long polls take", "Polls by outcome"]);
    const path = "../../../config/grafana/provisioning/datasources/prometheus.yaml";
    const { datasources } = parse(readFileSync(new URL(path, import.meta.url), "utf8"));
    // Grafana replaces variables of the environment in this file first, and makes one sign of two.
    expect(datasources[0].jsonData.exemplarTraceIdDestinations).toEqual([
      {
        name: "poll_page",
        url: "${PACEWATCH_URL}/upstreams/$${__value.raw}",
        urlDisplayLabel: "This poll on the status page",
      },
    ]);
  });

  test("reads only metrics that exist", () => {
    const recorded = new Set(rules.flatMap((rule) => (isAlert(rule) ? [] : [rule.record])));
    const shown = CATALOGUE.flatMap(({ name, type }) =>
      type === "histogram" || type === "summary"
        ? ["_bucket", "_sum", "_count", ""].map((suffix) => `${name}${suffix}`)
        : [name],
    );
    const known = new Set([...shown, ...recorded, "ALERTS", "up"]);
    const library = /^(?:process|nodejs)_/;
    const unknown = panels
      .flatMap(({ targets }) => targets.flatMap(({ expr }) => metricsIn(expr)))
      .filter((metric) => !known.has(metric) && !library.test(metric));
    expect(unknown).toEqual([]);
  });

  test("no two panels lie on each other, and none has another's id", () => {
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { gridPos } of panels) expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
  });
});

test.skipIf(promtool === undefined)(
  "what an upstream with several budgets needs is told of each of them",
  () => {
    const expr = panels.find(({ title }) => title === "Quota and forecast")?.targets[0]?.expr ?? "";
    const of = 'job="pw",instance="pw:1",upstream="email"';
    const tests = {
      tests: [
        {
          input_series: [
            { series: `pacewatch_schedule_period_seconds{${of}}`, values: "1000x5" },
            { series: `pacewatch_upstream_info{${of},budget="account"}`, values: "1x5" },
            { series: `pacewatch_upstream_info{${of},budget="large"}`, values: "1x5" },
          ],
          promql_expr_test: [
            {
              expr: expr.replaceAll(/"\$\w+"/g, '".*"'),
              eval_time: "2m",
              exp_samples: ["account", "large"].map((budget) => ({
                labels: `{job="pw",instance="pw:1",budget="${budget}"}`,
                value: 2592,
              })),
            },
          ],
        },
      ],
    };
    const ran = runWith({ "test.yml": stringify(tests) }, promtool ?? "", (folder) => [
      "test",
      "rules",
      `${folder}/test.yml`,
    ]);
    expect(ran.output).toContain("SUCCESS");
  },
);
