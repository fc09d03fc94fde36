import { describe, expect, test } from "vitest";
import { isAlert } from "../../../tools/rules/rule.ts";
import { ruleGroups, rulesText } from "../../../tools/rules/rules.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { runWith } from "../promtool.ts";

const promtool = requireBinary("promtool");

/** It has no network after 10 minutes: it cannot reach two upstreams. */
function offlineFrom10m(name: string): string {
  const of = `job="pw",instance="${name}:1"`;
  const ups = ["email", "ai-router"].map(
    (upstream) =>
      `      - { series: 'pacewatch_upstream_up{${of},upstream="${upstream}"}', values: "1x10 0x30" }`,
  );
  return [`      - { series: 'pacewatch_offline_upstreams{${of}}', values: "0x10 2x30" }`, ...ups].join("\n");
}

const LED = `
rule_files: [rules.yml]
evaluation_interval: 1m
tests:
  # The leader dies, and the next one cannot reach the lock for a while.
  - interval: 1m
    input_series:
      - { series: 'pacewatch_leader{job="pw",instance="a:1"}', values: "1 0 0 0 0 0 0" }
      - { series: 'pacewatch_leader{job="pw",instance="b:1"}', values: "0 0 0 0 0 1 1" }
      - { series: 'pacewatch_lock_up{job="pw",instance="a:1"}', values: "1x7" }
      - { series: 'pacewatch_lock_up{job="pw",instance="b:1"}', values: "1 0 0 0 0 1 1" }
      - { series: 'process_start_time_seconds{job="pw",instance="a:1"}', values: "0 0 0 120 120 120 120" }
      - { series: 'process_start_time_seconds{job="pw",instance="b:1"}', values: "-3600x7" }
    alert_rule_test:
      - { eval_time: 2m, alertname: PacewatchUnled }
      - eval_time: 4m
        alertname: PacewatchUnled
        exp_alerts:
          - exp_labels: { job: pw, severity: page }
            exp_annotations:
              summary: "No process of pw leads: nothing is polled"
              description: "Of pw, 2 processes stand by, and none leads. The state of all upstreams is unknown. Processes that reach the lock: 1. Started in the last 10 minutes: a:1."
              runbook_url: ""
      - eval_time: 4m
        alertname: PacewatchLockAway
        exp_alerts:
          - exp_labels: { job: pw, instance: "b:1", severity: ticket }
            exp_annotations:
              summary: "Pacewatch at b:1 cannot reach its lock"
              description: "b:1 has had no answer from the lock for 4m 0s of the last hour. It cannot lead meanwhile. Leads now: nobody."
              runbook_url: ""
      - { eval_time: 6m, alertname: PacewatchUnled }
      - { eval_time: 6m, alertname: PacewatchLockAway }
      - { eval_time: 6m, alertname: PacewatchLedTwice }
  # For a moment at a takeover, both are seen; two that go on are another matter.
  - interval: 1m
    input_series:
      - { series: 'pacewatch_leader{job="pw",instance="a:1"}', values: "1 1 0 1 1 1 1" }
      - { series: 'pacewatch_leader{job="pw",instance="b:1"}', values: "0 1 1 1 1 1 1" }
    alert_rule_test:
      - { eval_time: 1m, alertname: PacewatchLedTwice }
      - { eval_time: 2m, alertname: PacewatchLedTwice }
      - eval_time: 5m
        alertname: PacewatchLedTwice
        exp_alerts:
          - exp_labels: { job: pw, severity: page }
            exp_annotations:
              summary: "2 processes of pw say that they lead"
              description: "All of these poll: a:1, b:1. Together they may exceed the limits."
              runbook_url: ""
  # Prometheus was away while a node was drained: the leader that went with it has no end, and has one in five minutes.
  - interval: 1m
    input_series:
      - { series: 'pacewatch_leader{job="pw",instance="a:1"}', values: "1x10" }
      - { series: 'pacewatch_leader{job="pw",instance="b:1"}', values: "_x11 1x20" }
    alert_rule_test: [${[12, 13, 14, 15, 16].map((minute) => `{ eval_time: ${minute}m, alertname: PacewatchLedTwice }`).join(", ")}]
  # One of two is gone; another job has nothing to do with it.
  - interval: 1m
    input_series:
      - { series: 'pacewatch_leader{job="pw",instance="a:1"}', values: "1x20" }
      - { series: 'up{job="pw",instance="a:1"}', values: "1x20" }
      - { series: 'pacewatch_build_info{job="pw",instance="a:1"}', values: "1x20" }
      - { series: 'up{job="pw",instance="b:1"}', values: "1 0x19" }
      - { series: 'pacewatch_build_info{job="pw",instance="b:1"}', values: "1 stale" }
      - { series: 'up{job="other",instance="c:1"}', values: "0x20" }
      # Other targets may share the job.
      - { series: 'up{job="pw",instance="a-database:1"}', values: "1x20" }
      - { series: 'up{job="pw",instance="c-database:1"}', values: "0x20" }
    alert_rule_test:
      - { eval_time: 10m, alertname: PacewatchFleetReduced }
      - eval_time: 12m
        alertname: PacewatchFleetReduced
        exp_alerts:
          - exp_labels: { job: pw, severity: ticket }
            exp_annotations:
              summary: "1 processes of pw cannot be scraped"
              description: "These cannot be scraped: b:1. Those that are left: a:1. If the last of them dies, nothing is polled."
              runbook_url: "http://a:1/runbooks/PacewatchFleetReduced"
  # All of them are gone.
  - interval: 1m
    input_series:
      - { series: 'pacewatch_leader{job="pw",instance="a:1"}', values: "1 stale" }
      - { series: 'pacewatch_build_info{job="pw",instance="a:1"}', values: "1 stale" }
      - { series: 'up{job="pw",instance="a:1"}', values: "1 0x19" }
    alert_rule_test:
      - eval_time: 5m
        alertname: PacewatchUnled
        exp_alerts:
          - exp_labels: { job: pw, severity: page }
            exp_annotations:
              summary: "No process of pw leads: nothing is polled"
              description: "Of pw, no processes stand by, and none leads. The state of all upstreams is unknown. Processes that reach the lock: none. Started in the last 10 minutes: none."
              runbook_url: ""
  - interval: 1m
    input_series:
      - { series: 'pacewatch_config_info{job="pw",instance="a:1",digest="x"}', values: "1x60" }
      - { series: 'pacewatch_config_info{job="pw",instance="b:1",digest="x"}', values: "1x10 stale" }
      - { series: 'pacewatch_config_info{job="pw",instance="b:1",digest="y"}', values: "_x11 1x50" }
      - { series: 'pacewatch_config_last_reload_successful{job="pw",instance="a:1"}', values: "1x10 0x50" }
    alert_rule_test:
      - { eval_time: 40m, alertname: PacewatchFleetConfigsDiffer }
      - eval_time: 42m
        alertname: PacewatchFleetConfigsDiffer
        exp_alerts:
          - exp_labels: { job: pw, severity: ticket }
            exp_annotations:
              summary: "The processes of pw run different configs"
              description: "The processes of pw run 2 different configs. What is polled, and by which limits, changes with the leader. Last reloads that failed: a:1."
              runbook_url: ""
`;

/** The leader dies in the middle of an outage, and the next one confirms it a minute later. */
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
      - { series: 'pacewatch_upstream_watched_seconds_total{job="pw",instance="a:1",upstream="email",outcome="ok"}', values: "0 60 60 60 stale" }
      - { series: 'pacewatch_upstream_watched_seconds_total{job="pw",instance="b:1",upstream="email",outcome="ok"}', values: "_x4 0 0 0 60 120" }
      - { series: 'pacewatch_upstream_watched_seconds_total{job="pw",instance="a:1",upstream="email",outcome="failed"}', values: "0 0 60 120 stale" }
      - { series: 'pacewatch_poll_reasons_total{job="pw",instance="a:1",upstream="email",outcome="failed",reason="timeout"}', values: "_ _ 4 8 stale" }
      - { series: 'pacewatch_upstream_watched_seconds_total{job="pw",instance="b:1",upstream="email",outcome="failed"}', values: "_x4 30 90 150 150 150" }
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
              description: "No poll of email has succeeded for as long as this process has been running. Failures in the last 5 minutes, by reason: ${minute === 3 ? "timeout (8)" : "reset (2)"}. Availability in the last hour: 33.33% of ${minute}m 0s."
              runbook_url: ""`,
  )
  .join("\n")}
      - eval_time: 6m
        alertname: PacewatchUpstreamDown
        exp_alerts:
          - exp_labels: { job: pw, severity: page, upstream: email }
            exp_annotations:
              summary: "email is down"
              description: "No poll of email has succeeded for as long as this process has been running. Failures in the last 5 minutes, by reason: reset (10). Availability in the last hour: 19.44% of 3m 30s."
              runbook_url: ""
      - { eval_time: 8m, alertname: PacewatchUpstreamDown }
  # A process without a network leads meanwhile, and knows nothing.
  - interval: 1m
    input_series:
      - { series: 'pacewatch_offline_upstreams{job="pw",instance="a:1"}', values: "0 2x7" }
      - { series: 'pacewatch_upstream_up{job="pw",instance="a:1",upstream="email"}', values: "0x8" }
      - { series: 'pacewatch_upstream_up{job="pw",instance="a:1",upstream="ai-router"}', values: "0x8" }
    alert_rule_test:
      - { eval_time: 6m, alertname: PacewatchUpstreamDown }
`;

/** A leader goes where its upstream is walled, throttled or paused, and the next one needs a while to see that. */
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
      - { series: 'pacewatch_poll_reasons_total{job="pw",instance="a:1",upstream="email",outcome="failed",reason="blocked"}', values: "_x4 1+1x20 stale" }
      - { series: 'pacewatch_upstream_up{job="pw",instance="b:1",upstream="email"}', values: "_x26 0x10" }
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
  # The next leader has the pause of the last one, and owes its slots from then on.
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

/** The leader cannot reach a thing, and so no token endpoint either. */
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

test("one alert says that an upstream is down, whoever decides on it", () => {
  const alerts = ruleGroups("fleet").flatMap(({ rules }) => rules.filter(isAlert).map(({ alert }) => alert));
  expect(alerts.filter((alert) => alert === "PacewatchUpstreamDown")).toHaveLength(1);
});

test("where processes take over from each other, no alert about an upstream names one of them", () => {
  const groups = ruleGroups("fleet").filter(({ name }) =>
    ["pacewatch-upstreams", "pacewatch-objectives"].includes(name),
  );
  const alerts = groups.flatMap(({ rules }) => rules.filter(isAlert));
  expect(alerts.length).toBeGreaterThan(10);
  for (const { alert, description } of alerts.filter(({ alert }) => alert !== "PacewatchOffline")) {
    expect(description, `the text of ${alert}`).not.toContain("$labels.instance");
  }
});

test("without a fleet there are no rules about one", () => {
  expect(rulesText("one")).not.toMatch(/fleet|lock_up|pacewatch_leader/i);
});

describe.skipIf(promtool === undefined)("promtool", () => {
  test.each([
    ["an outage is one page, however often the leader changes", HANDED_OVER],
    ["what explains a 0 or a silence is handed over too", EXCUSED],
    ["without a network, there is no token, and nobody to tell about it", NO_TOKEN_OFFLINE],
    ["who leads, and who could, is told of where it is wrong", LED],
  ] as const)("sees that %s", (_, tests) => {
    const files = { "rules.yml": rulesText("fleet"), "rules.test.yml": tests };
    const { code, output } = runWith(files, promtool ?? "", (folder) => [
      "test",
      "rules",
      `${folder}/rules.test.yml`,
    ]);
    expect(output).toContain("SUCCESS");
    expect(code).toBe(0);
  });
});
