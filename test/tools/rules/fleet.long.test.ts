import { describe, expect, test } from "vitest";
import type { FleetMode } from "../../../src/core/config/config.ts";
import { isAlert } from "../../../tools/rules/rule.ts";
import { ruleGroups, rulesText } from "../../../tools/rules/rules.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { runWith } from "../promtool.ts";

const promtool = requireBinary("promtool");

/** Three vantages; each has its own story, in a value a minute. */
function seriesOf(metric: string, values: Readonly<Record<string, string>>, labels = ""): string {
  return Object.entries(values)
    .map(
      ([vantage, story]) =>
        `      - series: 'pacewatch_${metric}{job="pw",instance="${vantage}:1",vantage="${vantage}",upstream="email"${labels}}'\n        values: "${story}"`,
    )
    .join("\n");
}

/** The vantage has no network after 10 minutes: it cannot reach two upstreams. */
function offlineFrom10m(vantage: string): string {
  const of = `job="pw",instance="${vantage}:1",vantage="${vantage}"`;
  const ups = ["email", "ai-router"].map(
    (upstream) =>
      `      - { series: 'pacewatch_upstream_up{${of},upstream="${upstream}"}', values: "1x10 0x30" }`,
  );
  return [`      - { series: 'pacewatch_offline_upstreams{${of}}', values: "0x10 2x30" }`, ...ups].join("\n");
}

const TESTS = `
rule_files: [rules.yml]
evaluation_interval: 1m
group_eval_order: [pacewatch-upstreams]
tests:
  - interval: 1m
    input_series:
${seriesOf("upstream_up", { eu: "1 0 0 0 0 1 _ _", us: "1 1 0 0 1 1 _ _", asia: "1 1 1 0 1 1 1 0" })}
${seriesOf("polls_total", { eu: "0 0 4 4 4", us: "0 0 2 2 2" }, ',outcome="failed"')}
${seriesOf("poll_reasons_total", { eu: "_ _ 4 4 4", us: "_ _ 2 2 2" }, ',outcome="failed",reason="timeout"')}
${seriesOf("polls_total", { eu: "0 4 4 4 4", us: "0 4 4 4 4", asia: "0 4 4 4 4" }, ',outcome="ok"')}
    promql_expr_test:
      - expr: pacewatch:upstream_up:quorum
        eval_time: 1m
        exp_samples: [{ labels: 'pacewatch:upstream_up:quorum{job="pw",upstream="email"}', value: 1 }]
      - expr: pacewatch:upstream_up:quorum
        eval_time: 2m
        exp_samples: [{ labels: 'pacewatch:upstream_up:quorum{job="pw",upstream="email"}', value: 0 }]
    alert_rule_test:
      # One of three says so.
      - { eval_time: 1m, alertname: PacewatchUpstreamDown }
      # Two do.
      - eval_time: 2m
        alertname: PacewatchUpstreamDown
        exp_alerts:
          - exp_labels: { job: pw, severity: page, upstream: email }
            exp_annotations:
              summary: "email is down"
              description: "email is down from 2 of 3 vantages: eu, us. Failures in the last 5 minutes, by reason: timeout (6). Availability from all vantages in that time: 66.67%."
              runbook_url: ""
      - { eval_time: 4m, alertname: PacewatchUpstreamDown }
  # Whoever is throttled reaches it: no vote for down.
  - interval: 1m
    input_series:
${seriesOf("upstream_up", { eu: "0x5", us: "0x5", asia: "1x5" })}
${seriesOf("upstream_state", { us: "1x5" }, ',state="throttled"')}
    alert_rule_test:
      - { eval_time: 3m, alertname: PacewatchUpstreamDown }
  # Of two, both must say so; of one alone, that one.
  - interval: 1m
    input_series:
${seriesOf("upstream_up", { eu: "0x5", us: "1x5" })}
    alert_rule_test:
      - { eval_time: 3m, alertname: PacewatchUpstreamDown }
  # Vantages that are offline know nothing: one that answers decides, and nobody where all are.
  - interval: 1m
    input_series:
${["eu", "us"].map(offlineFrom10m).join("\n")}
      - { series: 'pacewatch_upstream_up{job="pw",instance="asia:1",vantage="asia",upstream="email"}', values: "1x40" }
    promql_expr_test:
      - expr: pacewatch:upstream_up:quorum
        eval_time: 15m
        exp_samples: [{ labels: 'pacewatch:upstream_up:quorum{job="pw",upstream="email"}', value: 1 }]
    alert_rule_test:
      - { eval_time: 11m, alertname: PacewatchUpstreamDown }
      - { eval_time: 15m, alertname: PacewatchUpstreamDown }
  # Redis is away for longer than a failover takes.
  - interval: 1m
    input_series:
      - series: 'pacewatch_redis_up{job="pw",instance="a:1"}'
        values: "1 1 0 0 0 0 0 1"
      - series: 'pacewatch_fleet_upstreams_held{job="pw",instance="a:1"}'
        values: "7x8"
    alert_rule_test:
      - { eval_time: 3m, alertname: PacewatchRedisAway }
      - eval_time: 6m
        alertname: PacewatchRedisAway
        exp_alerts:
          - exp_labels: { instance: "a:1", job: pw, severity: ticket }
            exp_annotations:
              summary: "Pacewatch at a:1 cannot reach Redis"
              description: "a:1 has had no answer from Redis for 5m 0s of the last hour. In mode everywhere it polls slowly from its reserve. In mode shard it polls only the upstreams that it still holds: 7."
              runbook_url: ""
      - { eval_time: 8m, alertname: PacewatchRedisAway }
`;

const UNHELD = `
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - { series: 'pacewatch_fleet_upstreams{job="pw",instance="a:1"}', values: "1x7" }
      - { series: 'pacewatch_fleet_upstreams{job="pw",instance="b:1"}', values: "1x7" }
      - { series: 'pacewatch_fleet_upstreams_held{job="pw",instance="a:1"}', values: "1 0 0 0 0 0 1" }
      - { series: 'pacewatch_fleet_upstreams_held{job="pw",instance="b:1"}', values: "0 0 0 0 0 0 0" }
      - { series: 'pacewatch_redis_up{job="pw",instance="a:1"}', values: "1 0 0 0 0 0 1" }
      - { series: 'pacewatch_redis_up{job="pw",instance="b:1"}', values: "1x7" }
      - { series: 'process_start_time_seconds{job="pw",instance="a:1"}', values: "-3600x7" }
      - { series: 'process_start_time_seconds{job="pw",instance="b:1"}', values: "0 0 0 120 120 120 120" }
    alert_rule_test:
      - { eval_time: 2m, alertname: PacewatchUpstreamsUnheld }
      - eval_time: 4m
        alertname: PacewatchUpstreamsUnheld
        exp_alerts:
          - exp_labels: { job: pw, severity: page }
            exp_annotations:
              summary: "Some upstreams are not polled by any replica"
              description: "The replicas of pw hold 0 of 1 upstreams. The state of the others is unknown. Replicas that reach Redis: 1 of 2 that are scraped. Started in the last 10 minutes: b:1."
              runbook_url: ""
      - { eval_time: 6m, alertname: PacewatchUpstreamsUnheld }
`;

/** The holder of an upstream dies in the middle of its outage, and the next one confirms it a minute later. */
const HANDED_OVER = `
rule_files: [rules.yml]
evaluation_interval: 1m
group_eval_order: [pacewatch-upstreams, pacewatch-availability, pacewatch-guards, pacewatch-objectives]
tests:
  - interval: 1m
    input_series:
      - { series: 'pacewatch_upstream_up{job="pw",instance="a:1",upstream="email"}', values: "1 1 0 0 stale" }
      - { series: 'pacewatch_upstream_up{job="pw",instance="b:1",upstream="email"}', values: "_x4 0 0 0 1 1" }
      - { series: 'pacewatch_objective_ratio{job="pw",instance="a:1",upstream="email"}', values: "0.995x3 stale" }
      - { series: 'pacewatch_objective_ratio{job="pw",instance="b:1",upstream="email"}', values: "_x3 0.995x6" }
      - { series: 'pacewatch_upstream_state{job="pw",instance="b:1",upstream="email",state="down"}', values: "_x4 1 1 1 _ _" }
      - { series: 'pacewatch_polls_total{job="pw",instance="a:1",upstream="email",outcome="ok"}', values: "0 4 4 4 stale" }
      - { series: 'pacewatch_polls_total{job="pw",instance="b:1",upstream="email",outcome="ok"}', values: "_x4 0 0 0 4 8" }
      - { series: 'pacewatch_polls_total{job="pw",instance="a:1",upstream="email",outcome="failed"}', values: "0 0 4 8 stale" }
      - { series: 'pacewatch_poll_reasons_total{job="pw",instance="a:1",upstream="email",outcome="failed",reason="timeout"}', values: "_ _ 4 8 stale" }
      - { series: 'pacewatch_polls_total{job="pw",instance="b:1",upstream="email",outcome="failed"}', values: "_x4 2 6 10 10 10" }
      - { series: 'pacewatch_poll_reasons_total{job="pw",instance="b:1",upstream="email",outcome="failed",reason="reset"}', values: "_x4 2 6 10 10 10" }
    promql_expr_test:
      - expr: pacewatch:availability:ratio5m
        eval_time: 4m
        exp_samples: [{ labels: 'pacewatch:availability:ratio5m{job="pw",upstream="email"}', value: 0.3333333333333333 }]
    alert_rule_test:
      - { eval_time: 1m, alertname: PacewatchUpstreamDown }
${[3, 4]
  .map(
    (minute) => `      - eval_time: ${minute}m
        alertname: PacewatchUpstreamDown
        exp_alerts:
          - exp_labels: { job: pw, severity: page, upstream: email }
            exp_annotations:
              summary: "email is down"
              description: "No poll of email has succeeded for as long as this process has been running. Failures in the last 5 minutes, by reason: ${minute === 3 ? "timeout (8)" : "reset (2)"}. Availability in the last hour: 33.33%."
              runbook_url: ""`,
  )
  .join("\n")}
      - eval_time: 6m
        alertname: PacewatchUpstreamDown
        exp_alerts:
          - exp_labels: { job: pw, severity: page, upstream: email }
            exp_annotations:
              summary: "email is down"
              description: "No poll of email has succeeded for as long as this process has been running. Failures in the last 5 minutes, by reason: reset (10). Availability in the last hour: 19.44%."
              runbook_url: ""
      - { eval_time: 8m, alertname: PacewatchUpstreamDown }
  # A replica without a network holds it meanwhile, and knows nothing.
  - interval: 1m
    input_series:
      - { series: 'pacewatch_offline_upstreams{job="pw",instance="a:1"}', values: "0 2x7" }
      - { series: 'pacewatch_upstream_up{job="pw",instance="a:1",upstream="email"}', values: "0x8" }
      - { series: 'pacewatch_upstream_up{job="pw",instance="a:1",upstream="ai-router"}', values: "0x8" }
    alert_rule_test:
      - { eval_time: 6m, alertname: PacewatchUpstreamDown }
`;

/** A holder goes where its upstream is walled, throttled or paused, and the next one needs a while to see that. */
const EXCUSED = `
rule_files: [rules.yml]
evaluation_interval: 1m
group_eval_order: [pacewatch-upstreams, pacewatch-guards, pacewatch-watching]
tests:
  - interval: 1m
    input_series:
      - { series: 'pacewatch_slots_total{job="pw",instance="a:1",upstream="email"}', values: "9x24 stale" }
      - { series: 'pacewatch_slots_total{job="pw",instance="b:1",upstream="email"}', values: "_x25 1 2x10" }
      - { series: 'pacewatch_upstream_up{job="pw",instance="a:1",upstream="email"}', values: "1x3 0x20 stale" }
      - { series: 'pacewatch_polls_total{job="pw",instance="a:1",upstream="email",outcome="failed"}', values: "0x3 1+1x20 stale" }
      - { series: 'pacewatch_poll_reasons_total{job="pw",instance="a:1",upstream="email",outcome="failed",reason="blocked"}', values: "_x4 1+1x20 stale" }
      - { series: 'pacewatch_upstream_up{job="pw",instance="b:1",upstream="email"}', values: "_x26 0x10" }
      - { series: 'pacewatch_polls_total{job="pw",instance="b:1",upstream="email",outcome="failed"}', values: "_x25 1 2x10" }
      - { series: 'pacewatch_poll_reasons_total{job="pw",instance="b:1",upstream="email",outcome="failed",reason="blocked"}', values: "_x25 1 2x10" }
      - { series: 'pacewatch_upstream_up{job="pw",instance="a:1",upstream="ai-router"}', values: "0x23 stale" }
      - { series: 'pacewatch_upstream_state{job="pw",instance="a:1",upstream="ai-router",state="throttled"}', values: "1x23 stale" }
      - { series: 'pacewatch_upstream_state{job="pw",instance="b:1",upstream="ai-router",state="unknown"}', values: "_x25 1x10" }
    promql_expr_test:
${[20, 24, 25, 26, 28]
  .map(
    (
      minute,
    ) => `      - expr: count by (alertname, upstream) (ALERTS{upstream!="",severity="page",alertstate="firing"})
        eval_time: ${minute}m
        exp_samples: [{ labels: '{alertname="PacewatchUpstreamBlocked",upstream="email"}', value: 1 }]`,
  )
  .join("\n")}
    alert_rule_test:
      - { eval_time: 24m, alertname: PacewatchUpstreamDown }
  # The next holder has the pause of the last one, and owes its slots from then on.
  - interval: 1m
    input_series:
      - { series: 'pacewatch_last_poll_timestamp_seconds{job="pw",instance="a:1",upstream="email"}', values: "-2400x10 stale" }
      - { series: 'pacewatch_stalled_at_timestamp_seconds{job="pw",instance="a:1",upstream="email"}', values: "175+60x10 stale" }
      - { series: 'pacewatch_stalled_at_timestamp_seconds{job="pw",instance="b:1",upstream="email"}', values: "_x10 775+60x10 1375x40" }
    promql_expr_test:
      # A pause that is over explains nothing.
      - expr: sum by (alertname, upstream) (ALERTS{alertname="PacewatchPollsStalled",alertstate="firing"})
        eval_time: 30m
        exp_samples: [{ labels: '{alertname="PacewatchPollsStalled",upstream="email"}', value: 1 }]
    alert_rule_test:
      - { eval_time: 14m, alertname: PacewatchPollsStalled }
      - { eval_time: 20m, alertname: PacewatchPollsStalled }
`;

/** The only holder cannot reach a thing, and so no token endpoint either. */
const NO_TOKEN_OFFLINE = `
rule_files: [rules.yml]
evaluation_interval: 1m
group_eval_order: [pacewatch-upstreams]
tests:
  - interval: 1m
    input_series:
${offlineFrom10m("a")}
      - { series: 'pacewatch_upstream_state{job="pw",instance="a:1",upstream="chat",state="unknown"}', values: "_x11 1x30" }
      - { series: 'pacewatch_polls_total{job="pw",instance="a:1",upstream="chat",outcome="rejected"}', values: "0x10 1+1x30" }
      - { series: 'pacewatch_poll_reasons_total{job="pw",instance="a:1",upstream="chat",outcome="rejected",reason="auth"}', values: "_x11 1+1x30" }
    promql_expr_test:
      - expr: pacewatch:upstream_without_token
        eval_time: 20m
        exp_samples: [{ labels: 'pacewatch:upstream_without_token{job="pw",instance="a:1",upstream="chat"}', value: 1 }]
    alert_rule_test:
      - { eval_time: 20m, alertname: PacewatchTokenUnavailable }
`;

const alertsOf = (mode: FleetMode): readonly string[] =>
  ruleGroups(mode).flatMap(({ rules }) => rules.filter(isAlert).map(({ alert }) => alert));

test("one alert says that an upstream is down, whoever decides on it", () => {
  for (const mode of ["shard", "everywhere"] as const) {
    expect(alertsOf(mode).filter((alert) => alert === "PacewatchUpstreamDown")).toHaveLength(1);
    expect(alertsOf(mode)).toContain("PacewatchRedisAway");
  }
});

test("where replicas take over from each other, no alert about an upstream names one of them", () => {
  const groups = ruleGroups("shard").filter(({ name }) =>
    ["pacewatch-upstreams", "pacewatch-objectives"].includes(name),
  );
  const alerts = groups.flatMap(({ rules }) => rules.filter(isAlert));
  expect(alerts.length).toBeGreaterThan(10);
  for (const { alert, description } of alerts.filter(({ alert }) => alert !== "PacewatchOffline")) {
    expect(description, `the text of ${alert}`).not.toContain("instance");
  }
});

test("without a fleet there are no rules about one", () => {
  expect(rulesText("one")).not.toMatch(/fleet|redis|quorum/i);
});

describe.skipIf(promtool === undefined)("promtool", () => {
  test.each([
    ["down is what a majority of the vantages says", "everywhere", TESTS],
    ["an outage is one page, however often the upstream is handed over", "shard", HANDED_OVER],
    ["what explains a 0 or a silence is handed over too", "shard", EXCUSED],
    ["without a network, there is no token, and nobody to tell about it", "shard", NO_TOKEN_OFFLINE],
    ["upstreams which nobody holds are told of", "shard", UNHELD],
  ] as const)("sees that %s", (_, mode, tests) => {
    const files = { "rules.yml": rulesText(mode), "rules.test.yml": tests };
    const { code, output } = runWith(files, promtool ?? "", (folder) => [
      "test",
      "rules",
      `${folder}/rules.test.yml`,
    ]);
    expect(output).toContain("SUCCESS");
    expect(code).toBe(0);
  });
});
