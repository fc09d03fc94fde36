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
    expect(metricsIn(changes?.expr ?? "")).toEqual(["pacewatch_upstream_state", "pacewatch_build_info"]);
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

const PW = 'job="pw",instance="pw:1"';
const EMAIL = `${PW},upstream="email"`;

/** What a query of a panel finds in these series, for all that there is, in steps of a minute. */
function sees(
  expr: string,
  series: Readonly<Record<string, string>>,
  evalTime: string,
  samples: Readonly<Record<string, number>>,
): string {
  const filled = expr.replaceAll(/"\$\w+"/g, '".*"').replaceAll("$__interval", "1m");
  const tests = {
    tests: [
      {
        interval: "1m",
        input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: [
          {
            expr: filled,
            eval_time: evalTime,
            exp_samples: Object.entries(samples).map(([labels, value]) => ({ labels, value })),
          },
        ],
      },
    ],
  };
  return runWith({ "test.yml": stringify(tests) }, promtool ?? "", (folder) => [
    "test",
    "rules",
    `${folder}/test.yml`,
  ]).output;
}

function queryOf(panel: string): string {
  return panels.find(({ title }) => title === panel)?.targets[0]?.expr ?? "";
}

describe.skipIf(promtool === undefined)("the queries of the panels", () => {
  test("what an upstream with several budgets needs is told of each of them", () => {
    const series = {
      [`pacewatch_schedule_period_seconds{${EMAIL}}`]: "1000x5",
      [`pacewatch_upstream_info{${EMAIL},budget="account"}`]: "1x5",
      [`pacewatch_upstream_info{${EMAIL},budget="large"}`]: "1x5",
    };
    const samples = { [`{${PW},budget="account"}`]: 2592, [`{${PW},budget="large"}`]: 2592 };
    expect(sees(queryOf("Quota and forecast"), series, "2m", samples)).toContain("SUCCESS");
  });

  test.each([
    ["a code that comes for the first time", "6m", 3],
    ["nothing in the minute after", "7m", 0],
    ["what came in the minutes of a scrape that failed, and not all that was ever counted", "10m", 2],
    ["all that a new process has counted", "13m", 4],
  ])("each step shows %s", (_, at, value) => {
    const series = {
      [`pacewatch_build_info{${PW}}`]: "1x8 stale 1x20",
      [`pacewatch_responses_total{${EMAIL},code="503"}`]: "_x6 3 3 3 stale 5 5 5 4 4",
    };
    expect(sees(queryOf("Answers by status code"), series, at, { '{code="503"}': value })).toContain(
      "SUCCESS",
    );
  });

  test.each([
    ["a change of state", "3m", 1],
    ["nothing after a scrape that failed", "6m", undefined],
  ])("%s is marked", (_, at, value) => {
    const series = {
      [`pacewatch_build_info{${PW}}`]: "1x4 stale 1x20",
      [`pacewatch_upstream_state{${EMAIL},state="up"}`]: "1 1 1 stale",
      [`pacewatch_upstream_state{${EMAIL},state="down"}`]: "_ _ _ 1 1 stale 1x20",
    };
    const samples = value === undefined ? {} : { [`pacewatch_upstream_state{${EMAIL},state="down"}`]: value };
    expect(sees(dashboard.annotations.list[0]?.expr ?? "", series, at, samples)).toContain("SUCCESS");
  });

  test("another target of its job does not make Pacewatch look unhealthy", () => {
    const series = {
      [`up{${PW}}`]: "1x5",
      [`pacewatch_build_info{${PW}}`]: "1x5",
      'up{job="pw",instance="other:1"}': "0x5",
    };
    expect(sees(queryOf("Is Pacewatch healthy?"), series, "2m", { "{}": 1 })).toContain("SUCCESS");
  });
});
