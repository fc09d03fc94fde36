import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { isAlert } from "../../../tools/rules/rule.ts";
import { ruleGroups, rulesText } from "../../../tools/rules/rules.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { runWith } from "../promtool.ts";

const promtool = requireBinary("promtool");

const PLACES = { a: "eu", b: "us", c: "ap" } as const;
type Instance = keyof typeof PLACES;

function series(instance: Instance, metric: string, labels: string, values: string): string {
  const vantage = PLACES[instance];
  return `      - { series: '${metric}{job="pw",instance="${instance}:1",vantage="${vantage}"${labels}}', values: "${values}" }`;
}

/** What a vantage shows of the upstream "email". */
function watching(instance: Instance, up: string, more: readonly string[] = []): string {
  const email = ',upstream="email"';
  return [
    series(instance, "pacewatch_slots_total", email, "4+4x60"),
    series(instance, "pacewatch_polls_in_flight", email, "0x60"),
    series(instance, "pacewatch_upstream_up", email, up),
    ...more,
  ].join("\n");
}

const DOWN = `
          - exp_labels: { job: pw, severity: page, upstream: email }
            exp_annotations:
              summary: "email is down"
              description: "No poll of email has succeeded for as long as this process has been running. Failures in the last 5 minutes, by reason: none. Availability in the last hour: unknown."
              runbook_url: ""`;

const MAJORITY = `
rule_files: [rules.yml]
evaluation_interval: 1m
group_eval_order: [pacewatch-upstreams, pacewatch-availability, pacewatch-guards, pacewatch-objectives]
tests:
  # One of three sees it down, then a second one, then one again.
  - interval: 1m
    input_series:
${watching("a", "1x3 0x20")}
${watching("b", "1x7 0x4 1x20")}
${watching("c", "1x30")}
    alert_rule_test:
      - { eval_time: 6m, alertname: PacewatchUpstreamDown }
      - eval_time: 9m
        alertname: PacewatchUpstreamDown
        exp_alerts:${DOWN}
      - { eval_time: 16m, alertname: PacewatchUpstreamDown }
      - eval_time: 16m
        alertname: PacewatchUpstreamDownInPart
        exp_alerts:
          - exp_labels: { job: pw, vantage: eu, severity: ticket, upstream: email }
            exp_annotations:
              summary: "email is down from eu, and not from elsewhere"
              description: "From eu, no poll of email succeeds, and from other vantages they do: ap, us. Failures there in the last 5 minutes, by reason: none."
              runbook_url: ""
  # One of them is gone, and one is offline: what is left decides.
  - interval: 1m
    input_series:
${watching("a", "0x30")}
${watching("b", "0x30", [series("b", "pacewatch_offline_upstreams", "", "2x30")])}
    alert_rule_test:
      - eval_time: 5m
        alertname: PacewatchUpstreamDown
        exp_alerts:${DOWN}
  # Of two, both must see it.
  - interval: 1m
    input_series:
${watching("a", "0x30")}
${watching("b", "1x30")}
    alert_rule_test:
      - { eval_time: 10m, alertname: PacewatchUpstreamDown }
  # What the owner says of the key need be told to one of them only.
  - interval: 1m
    input_series:
${watching("a", "1x30", [series("a", "pacewatch_upstream_state", ',upstream="email",state="unauthorized"', "1x30")])}
${watching("b", "1x30")}
    promql_expr_test:
      - expr: count by (alertname, upstream) (ALERTS{alertstate="firing",upstream!=""})
        eval_time: 5m
        exp_samples: [{ labels: '{alertname="PacewatchKeyRejected",upstream="email"}', value: 1 }]
`;

function burning(instance: Instance, failed: string, failedS: string): string {
  const email = ',upstream="email"';
  return [
    watching(instance, "1x120"),
    series(instance, "pacewatch_polls_total", `${email},outcome="ok"`, "0+4x120"),
    series(instance, "pacewatch_polls_total", `${email},outcome="failed"`, failed),
    series(instance, "pacewatch_upstream_watched_seconds_total", `${email},outcome="ok"`, "0+30x120"),
    series(instance, "pacewatch_upstream_watched_seconds_total", `${email},outcome="failed"`, failedS),
    series(instance, "pacewatch_objective_ratio", email, "0.99x120"),
    series(instance, "pacewatch_confirm_polls", email, "1x120"),
    series(instance, "pacewatch_schedule_period_seconds", email, "15x120"),
  ].join("\n");
}

const burnt = (value: number): string => `
    promql_expr_test:
      - expr: count by (upstream) (ALERTS{alertname="PacewatchErrorBudgetBurning",severity="page",window="1h",alertstate="firing"}) or vector(0)
        eval_time: 50m
        exp_samples: [{ labels: '${value === 0 ? "{}" : '{upstream="email"}'}', value: ${value} }${value === 0 ? "" : ", { labels: '{}', value: 0 }"}]`;

const BURN = `
rule_files: [rules.yml]
evaluation_interval: 1m
group_eval_order: [pacewatch-upstreams, pacewatch-availability, pacewatch-guards, pacewatch-objectives]
tests:
  - interval: 1m
    input_series:
${burning("a", "0+4x120", "0+30x120")}
${burning("b", "0x120", "0x120")}
${burning("c", "0x120", "0x120")}${burnt(0)}
  - interval: 1m
    input_series:
${burning("a", "0+4x120", "0+30x120")}
${burning("b", "0+4x120", "0+30x120")}
${burning("c", "0x120", "0x120")}${burnt(1)}
`;

const built = (instance: Instance, values: string): string =>
  series(instance, "pacewatch_build_info", "", values);

const SILENT = `
rule_files: [rules.yml]
evaluation_interval: 1m
group_eval_order: [pacewatch-upstreams, pacewatch-vantages]
tests:
  # One of two is gone.
  - interval: 1m
    input_series:
${watching("a", "1x30")}
${built("a", "1x30")}
${built("b", "1x3 stale")}
    alert_rule_test:
      - { eval_time: 4m, alertname: PacewatchVantageSilent }
      - { eval_time: 12m, alertname: PacewatchUnwatched }
      - eval_time: 12m
        alertname: PacewatchVantageSilent
        exp_alerts:
          - exp_labels: { job: pw, vantage: us, severity: ticket }
            exp_annotations:
              summary: "The vantage us of pw watches nothing"
              description: "us polls nothing, or is offline: 1 processes were seen there within a day. Vantages that poll: eu."
              runbook_url: "http://a:1/runbooks/PacewatchVantageSilent"
  # One is offline, and the process of the other one only stands by.
  - interval: 1m
    input_series:
${watching("a", "0x30", [series("a", "pacewatch_offline_upstreams", "", "0x4 1x30")])}
${built("a", "1x30")}
${built("b", "1x30")}
    alert_rule_test:
      - { eval_time: 3m, alertname: PacewatchUnwatched }
      - eval_time: 12m
        alertname: PacewatchUnwatched
        exp_alerts:
          - exp_labels: { job: pw, severity: page }
            exp_annotations:
              summary: "No vantage of pw watches"
              description: "No vantage of pw polls, or all of them are offline: 2 processes were seen within a day. The state of all upstreams is unknown. Processes that can be scraped: a:1, b:1."
              runbook_url: "http://a:1/runbooks/PacewatchUnwatched"
  # Two processes of one name.
  - interval: 1m
    input_series:
${watching("a", "1x30")}
      - { series: 'pacewatch_polls_in_flight{job="pw",instance="z:1",vantage="eu",upstream="email"}', values: "0x30" }
    alert_rule_test:
      - eval_time: 10m
        alertname: PacewatchLedTwice
        exp_alerts:
          - exp_labels: { job: pw, vantage: eu, severity: page }
            exp_annotations:
              summary: "2 processes of the vantage eu poll"
              description: "All of these poll from eu: a:1, z:1. Together they may exceed the limits."
              runbook_url: ""
`;

test("of vantages, no alert about an upstream names a process or one vantage", () => {
  const groups = ruleGroups("vantages").filter(({ name }) =>
    ["pacewatch-upstreams", "pacewatch-objectives"].includes(name),
  );
  for (const { alert, expr, description } of groups.flatMap(({ rules }) => rules.filter(isAlert))) {
    if (["PacewatchOffline", "PacewatchUpstreamDownInPart"].includes(alert)) continue;
    expect(description, `the text of ${alert}`).not.toContain("$labels.instance");
    expect(expr, `the condition of ${alert}`).toMatch(/^max by \(job, upstream\) \(/);
  }
});

test.each(["fleet", "vantages"] as const)("each alert about a %s has a runbook", (watchers) => {
  const alerts = ruleGroups(watchers).flatMap(({ rules }) => rules.filter(isAlert));
  const isWritten = (alert: string): boolean =>
    existsSync(new URL(`../../../docs/runbooks/${alert}.md`, import.meta.url));
  expect(alerts.filter(({ alert }) => !isWritten(alert))).toEqual([]);
});

describe.skipIf(promtool === undefined)("promtool", () => {
  test.each([
    ["an upstream is down once most vantages that watch it say so", MAJORITY],
    ["an error budget burns where it does for most vantages", BURN],
    ["a vantage that is silent, or runs twice, is told, and a page comes when all are", SILENT],
  ] as const)("sees that %s", (_, tests) => {
    const files = { "rules.yml": rulesText("vantages"), "rules.test.yml": tests };
    const { code, output } = runWith(files, promtool ?? "", (folder) => [
      "test",
      "rules",
      `${folder}/rules.test.yml`,
    ]);
    expect(output).toContain("SUCCESS");
    expect(code).toBe(0);
  });
});
