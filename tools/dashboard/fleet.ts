import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import * as common from "@grafana/grafana-foundation-sdk/common";
import type * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import { lines, numbers, PROCESS, YES_IF_1 } from "./panel.ts";

/** Empty where Pacewatch runs alone. */
export function fleetPanels(): readonly cog.Builder<grafana.Panel>[] {
  return [
    lines(
      {
        title: "Who leads",
        description:
          "1 for the process that polls, 0 for those that stand by. The sum is 1, but for a moment at a change.",
        unit: "short",
        runbook: "PacewatchUnled",
        span: 8,
      },
      [{ expr: `pacewatch_leader{${PROCESS}}`, legend: "{{instance}}" }],
    ),
    numbers(
      {
        title: "Is the lock reached?",
        description: "Whether the lock answers each process. Who does not reach it cannot lead.",
        unit: "none",
        thresholds: ["red", [1, "green"]],
        runbook: "PacewatchLockAway",
        span: 8,
      },
      [{ expr: `pacewatch_lock_up{${PROCESS}}`, legend: "{{instance}}", instant: true }],
    )
      .mappings([YES_IF_1])
      .textMode(common.BigValueTextMode.ValueAndName),
    lines(
      {
        title: "Different configs",
        description: "More than 1 while a change is rolled out; if for long, a reload has failed somewhere.",
        unit: "short",
        runbook: "PacewatchFleetConfigsDiffer",
        span: 8,
      },
      [{ expr: `count(count by (digest) (pacewatch_config_info{${PROCESS}}))`, legend: "configs" }],
    ),
  ];
}
