import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import * as common from "@grafana/grafana-foundation-sdk/common";
import type * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import { lines, numbers, PROCESS, quantileOf, YES_IF_1 } from "./panel.ts";

/** Empty where Pacewatch runs alone. */
export function fleetPanels(): readonly cog.Builder<grafana.Panel>[] {
  return [
    numbers(
      {
        title: "Is the fleet whole?",
        description:
          "Whether each replica reaches Redis, and is sure of its place in the fleet. Without its place, a replica polls nothing in shard, and slowly in everywhere.",
        unit: "none",
        thresholds: ["red", [1, "green"]],
        runbook: "PacewatchRedisAway",
        span: 8,
      },
      [
        { expr: `pacewatch_redis_up{${PROCESS}}`, legend: "{{instance}} reaches Redis", instant: true },
        {
          expr: `pacewatch_fleet_session_valid{${PROCESS}}`,
          legend: "{{instance}} has its place",
          instant: true,
        },
      ],
    )
      .mappings([YES_IF_1])
      .textMode(common.BigValueTextMode.ValueAndName),
    lines(
      {
        title: "Upstreams that each replica polls",
        description:
          "In shard, the sum is the number of upstreams; below it, some are polled by nobody. In everywhere, each replica polls all of them.",
        unit: "short",
        runbook: "PacewatchUpstreamsUnheld",
        span: 8,
      },
      [{ expr: `pacewatch_fleet_upstreams_held{${PROCESS}}`, legend: "{{instance}}" }],
    ),
    lines(
      {
        title: "Replicas that live",
        description: "As each replica counts them. If they differ for long, one is cut off from Redis.",
        unit: "short",
        runbook: "PacewatchRedisAway",
        span: 8,
      },
      [{ expr: `pacewatch_fleet_replicas{${PROCESS}}`, legend: "{{instance}}" }],
    ),
    lines(
      {
        title: "Upstreams that moved",
        description:
          "In 5 minutes, by direction. A replica that starts again and again moves them all the time.",
        unit: "short",
        runbook: "PacewatchUpstreamsUnheld",
        span: 8,
      },
      [
        {
          expr: `increase(pacewatch_fleet_moves_total{${PROCESS}}[5m])`,
          legend: "{{instance}} {{direction}}",
        },
      ],
    ),
    lines(
      {
        title: "How long Redis takes",
        description: "95th percentile by call. No poll waits for it.",
        unit: "s",
        runbook: "PacewatchRedisAway",
        span: 8,
      },
      [
        {
          expr: quantileOf(0.95, "pacewatch_redis_request_duration_seconds", PROCESS, "call"),
          legend: "{{call}}",
        },
      ],
    ),
    lines(
      {
        title: "Calls to Redis that failed",
        description: "By kind: it was away, too late, or refused the call (read-only, out of memory).",
        unit: "suffix:/min",
        runbook: "PacewatchRedisAway",
        span: 8,
      },
      [
        {
          expr: `60 * sum by (kind) (rate(pacewatch_redis_errors_total{${PROCESS}}[$__rate_interval]))`,
          legend: "{{kind}}",
        },
      ],
    ),
  ];
}
