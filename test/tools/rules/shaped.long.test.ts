import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { stringify } from "yaml";
import { AS_SHIPPED, shaped, type Shape } from "../../../src/commands/shape.ts";
import { ruleGroups } from "../../../tools/rules/rules.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { runWith } from "../promtool.ts";

const promtool = requireBinary("promtool");
const RULES = new URL("../../../config/prometheus/rules.yml", import.meta.url);

const STEP_S = 30;
const STEPS = 80;
const OWN = 'job="pw",instance="pw:1",upstream="a"';

/** Down for three of each ten steps, from the eighth on. */
function failedS(step: number): number {
  return STEP_S * (Math.floor(step / 10) * 3 + Math.max(0, (step % 10) - 7));
}

function inputOf(reason: string): Readonly<Record<string, (step: number) => number>> {
  return {
    [`pacewatch_upstream_watched_seconds_total{${OWN},outcome="failed"}`]: failedS,
    [`pacewatch_upstream_watched_seconds_total{${OWN},outcome="ok"}`]: (step) =>
      STEP_S * step - failedS(step),
    [`pacewatch_upstream_up{${OWN}}`]: (step) => (failedS(step) - failedS(Math.max(0, step - 1)) > 0 ? 0 : 1),
    [`pacewatch_poll_reasons_total{${OWN},outcome="failed",reason="${reason}"}`]: (step) =>
      failedS(step) / 15,
    [`pacewatch_slots_total{${OWN}}`]: (step) => step * 2,
    [`pacewatch_schedule_period_seconds{${OWN}}`]: () => 15,
    [`pacewatch_objective_ratio{${OWN}}`]: () => 0.995,
  };
}

test.skipIf(promtool === undefined).each<[string, string, Partial<Shape>, page: string]>([
  ["at once", "connect", {}, "PacewatchUpstreamDown"],
  ["after 0s", "connect", { for: { PacewatchUpstreamDown: "0s" } }, "PacewatchUpstreamDown"],
  [
    "after longer than it lasts",
    "connect",
    { for: { PacewatchUpstreamDown: "2m" } },
    "PacewatchErrorBudgetBurning",
  ],
  ["never", "connect", { without: ["PacewatchUpstreamDown"] }, "PacewatchErrorBudgetBurning"],
  ["as blocked", "blocked", {}, "PacewatchUpstreamBlocked"],
  [
    "as blocked after longer than it lasts",
    "blocked",
    { for: { PacewatchUpstreamBlocked: "2m" } },
    "PacewatchErrorBudgetBurning",
  ],
])(
  "one that is down for 90 s of each 5 minutes is paged, where being down is told %s",
  (_, reason, wanted, page) => {
    const steps = Array.from({ length: STEPS + 1 }, (_unused, step) => step);
    const tests = {
      rule_files: ["rules.yml"],
      evaluation_interval: `${STEP_S}s`,
      group_eval_order: ruleGroups("one").map(({ name }) => name),
      tests: [
        {
          interval: `${STEP_S}s`,
          input_series: Object.entries(inputOf(reason)).map(([series, valueAt]) => ({
            series,
            values: steps.map(valueAt).join(" "),
          })),
          promql_expr_test: [
            {
              expr: 'group by (alertname) (max_over_time(ALERTS{alertstate="firing",severity="page",upstream="a"}[1h:30s]))',
              eval_time: `${STEPS * STEP_S}s`,
              exp_samples: [{ labels: `{alertname="${page}"}`, value: 1 }],
            },
          ],
        },
      ],
    };
    const rules = shaped(readFileSync(RULES, "utf8"), { ...AS_SHIPPED, ...wanted });
    const files = { "rules.yml": rules, "test.yml": stringify(tests, { lineWidth: 0 }) };
    const ran = runWith(files, promtool ?? "", (at) => ["test", "rules", `${at}/test.yml`]);
    expect(ran.output).toContain("SUCCESS");
  },
);
