import { stringify } from "yaml";
import { expect } from "vitest";
import {
  BURN_PAIRS,
  type BurnPair,
  type Density,
  failuresThatBurn,
  fewestThatMean,
  guardFailures,
} from "../../../src/proof/objective-density.ts";
import { ROUND_PERIODS_MS } from "../../../src/proof/findings.ts";
import { formatDuration } from "../../../src/kernel/time/duration.ts";
import { ruleGroups, rulesText, type Watchers } from "../../../tools/rules/rules.ts";
import { runWith } from "../promtool.ts";

/** Every way to poll at least hourly towards an objective. */
export const DENSITIES: readonly Density[] = ROUND_PERIODS_MS.filter(
  (periodMs) => periodMs <= 3_600_000,
).flatMap((periodMs) =>
  [0.9, 0.99, 0.995, 0.999, 0.9999].map((availability) => ({ periodMs, availability })),
);

/** Where more failures are usual, those that burn fast enough are more than chance brings: the rules count to six. */
function ruleGuard(density: Density, pair: BurnPair): number {
  const fewest = fewestThatMean(density, pair);
  return fewest === Infinity ? Infinity : Math.min(fewest, 6);
}

/** What the real engine says to the claim that the rules compute the guards that the proof speaks of. */
export function guardsOf(watchers: Watchers, densities: readonly Density[], promtool: string): string {
  const of = (index: number): string => `job="pw",instance="pw:1",upstream="${index}"`;
  const tests = {
    rule_files: ["rules.yml"],
    evaluation_interval: "10m",
    group_eval_order: ruleGroups(watchers).map(({ name }) => name),
    tests: [
      {
        interval: "10m",
        input_series: densities.flatMap(({ periodMs, availability }, index) => [
          {
            series: `pacewatch_upstream_watched_seconds_total{${of(index)},outcome="ok"}`,
            values: "0+600x37",
          },
          { series: `pacewatch_objective_ratio{${of(index)}}`, values: `${availability}x37` },
          {
            series: `pacewatch_schedule_period_seconds{${of(index)}}`,
            values: `${periodMs / 1000}x37`,
          },
        ]),
        promql_expr_test: BURN_PAIRS.map((pair) => ({
          expr: `sum by (upstream) (pacewatch:guard_slots:${formatDuration(pair.longMs)})`,
          eval_time: "370m",
          exp_samples: densities.flatMap((density, index) => {
            const value = ruleGuard(density, pair);
            return value === Infinity ? [] : [{ labels: `{upstream="${index}"}`, value }];
          }),
        })),
      },
    ],
  };
  for (const density of densities)
    for (const pair of BURN_PAIRS)
      expect(Math.max(ruleGuard(density, pair), failuresThatBurn(density, pair))).toBe(
        guardFailures(density, pair),
      );
  const files = { "rules.yml": rulesText(watchers), "test.yml": stringify(tests) };
  return runWith(files, promtool, (folder) => ["test", "rules", `${folder}/test.yml`]).output;
}
