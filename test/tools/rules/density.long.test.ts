import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import type { Upstream } from "../../../src/core/config/config.ts";
import { ruleGroups, rulesText } from "../../../tools/rules/rules.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { sampleSchedule, sampleUpstream } from "../../support/samples.ts";
import { runWith } from "../promtool.ts";

const promtool = requireBinary("promtool");
const INTERVAL_S = 15;

type Story = {
  readonly upstream: Upstream;
  readonly forMinutes: number;
  /** Whether a poll at this moment fails. */
  readonly fails: (atS: number) => boolean;
  /** From when until when it counts as down. */
  readonly down?: readonly [fromS: number, untilS: number];
};

type Fired = { readonly alertname: string; readonly window?: string };

/** What the real engine says to the claim that at the given moment this fires, and nothing else. */
function judge(story: Story, atS: number, expected: readonly Fired[]): string {
  const { name, schedule, objective } = story.upstream;
  const own = `job="pacewatch",instance="pw",upstream="${name}"`;
  const periodS = schedule.longestGapMs / 1000;
  const seen = Array.from(
    { length: (story.forMinutes * 60) / INTERVAL_S + 1 },
    (_, index) => index * INTERVAL_S,
  );
  const counted = (fails: boolean): string =>
    seen
      .map((untilS) => Array.from({ length: Math.ceil(untilS / periodS) }, (_, slot) => slot * periodS))
      .map((slots) => slots.filter((slotS) => story.fails(slotS) === fails).length)
      .join(" ");
  const [fromS, untilS] = story.down ?? [Infinity, Infinity];
  const input = {
    [`pacewatch_polls_total{${own},outcome="ok"}`]: counted(false),
    [`pacewatch_polls_total{${own},outcome="failed"}`]: counted(true),
    [`pacewatch_objective_ratio{${own}}`]: `${objective.availability}x${seen.length}`,
    [`pacewatch_schedule_period_seconds{${own}}`]: `${periodS}x${seen.length}`,
    [`pacewatch_confirm_polls{${own}}`]: `${story.upstream.confirm}x${seen.length}`,
    [`pacewatch_upstream_up{${own}}`]: seen.map((s) => (fromS <= s && s < untilS ? 0 : 1)).join(" "),
  };
  const tests = {
    rule_files: ["rules.yml"],
    evaluation_interval: `${INTERVAL_S}s`,
    group_eval_order: ruleGroups("one").map((group) => group.name),
    tests: [
      {
        interval: `${INTERVAL_S}s`,
        input_series: Object.entries(input).map(([series, values]) => ({ series, values })),
        promql_expr_test: [
          {
            expr: 'sum by (alertname, window) (ALERTS{alertstate="firing",upstream!=""})',
            eval_time: `${atS}s`,
            exp_samples: expected.map(({ alertname, window }) => ({
              labels:
                window === undefined
                  ? `{alertname="${alertname}"}`
                  : `{alertname="${alertname}",window="${window}"}`,
              value: 1,
            })),
          },
        ],
      },
    ],
  };
  const files = { "rules.yml": rulesText("one"), "tests.yml": stringify(tests, { lineWidth: 0 }) };
  return runWith(files, promtool ?? "", (folder) => ["test", "rules", `${folder}/tests.yml`]).output;
}

function upstream(periodMs: number, availability: number): Upstream {
  return sampleUpstream({
    schedule: sampleSchedule(periodMs),
    objective: { availability, latencyMs: 1000 },
  });
}

describe.skipIf(promtool === undefined)("at 99.9 %", () => {
  const minutely = upstream(60_000, 0.999);
  const dense = upstream(15_000, 0.999);

  test("one failed poll at one a minute pages nobody, though it burns at 16.7 over an hour", () => {
    const story: Story = { upstream: minutely, forMinutes: 70, fails: (atS) => atS === 3600 };
    expect(judge(story, 3600 + 120, [])).toContain("SUCCESS");
  });

  test("one failed poll in the first minutes of a process pages nobody either", () => {
    const story: Story = { upstream: dense, forMinutes: 10, fails: (atS) => atS === 120 };
    expect(judge(story, 180, [])).toContain("SUCCESS");
  });

  test("three failed polls in an hour at one a minute do page", () => {
    const story: Story = {
      upstream: minutely,
      forMinutes: 70,
      fails: (atS) => [3300, 3480, 3600].includes(atS),
    };
    expect(judge(story, 3600 + 60, [{ alertname: "PacewatchErrorBudgetBurning", window: "1h" }])).toContain(
      "SUCCESS",
    );
  });

  test("an outage of 60 s at one poll every 15 s pages before it is over", () => {
    // The first failing slot may come a period after the break; confirming takes a pace gap of a second or so.
    const story: Story = {
      upstream: dense,
      forMinutes: 65,
      fails: (atS) => atS >= 3600 && atS < 3660,
      down: [3600 + 15 + 15, 3660 + 15],
    };
    expect(judge(story, 3600 + 45, [{ alertname: "PacewatchUpstreamDown" }])).toContain("SUCCESS");
  });

  test("that outage of 60 s is told as burnt budget too, once it is over", () => {
    const story: Story = { upstream: dense, forMinutes: 65, fails: (atS) => atS >= 3600 && atS < 3660 };
    expect(judge(story, 3600 + 120, [{ alertname: "PacewatchErrorBudgetBurning", window: "1h" }])).toContain(
      "SUCCESS",
    );
  });

  test("where five minutes may pass without a poll, only the slower windows judge", () => {
    const slow = upstream(300_000, 0.999);
    const story: Story = { upstream: slow, forMinutes: 120, fails: (atS) => atS >= 4500 };
    const windows = ["6h", "1d", "3d"];
    expect(
      judge(
        story,
        7200,
        windows.map((window) => ({ alertname: "PacewatchErrorBudgetBurning", window })),
      ),
    ).toContain("SUCCESS");
  });
});
