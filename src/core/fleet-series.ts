import { CATALOGUE, type MetricName } from "./catalogue.ts";
import type { HistogramReading } from "./histogram.ts";
import { REDIS_FAILURES } from "./redis-failure.ts";
import { each, flag, histogram, one, type Series, type SeriesOf } from "./series.ts";
import type { FleetSnapshot, MetricsSnapshot } from "./snapshot.ts";

export type FleetMetric = Extract<MetricName, `pacewatch_${"fleet" | "redis"}_${string}`>;

/** Absent without a fleet. */
export const FLEET_SERIES: Readonly<Record<FleetMetric, SeriesOf<MetricsSnapshot>>> = {
  pacewatch_fleet_replicas: inFleet((fleet) => fleet.replicas),
  pacewatch_fleet_upstreams_held: inFleet((fleet) => fleet.held),
  pacewatch_fleet_moves_total: eachInFleet("direction", ["gained", "lost"], (fleet, way) => fleet.moves[way]),
  pacewatch_fleet_session_valid: inFleet((fleet) => flag(fleet.sessionValid)),
  pacewatch_redis_up: inFleet((fleet) => flag(fleet.redisUp)),
  pacewatch_redis_request_duration_seconds: ({ fleet }) =>
    fleet === undefined
      ? []
      : [...fleet.redis.durations].flatMap(([call, reading]) => durations(call, reading)),
  pacewatch_redis_errors_total: eachInFleet("kind", REDIS_FAILURES, (fleet, kind) =>
    fleet.redis.errors(kind),
  ),
};

function durations(call: string, reading: HistogramReading): readonly Series<MetricsSnapshot>[] {
  return histogram(
    CATALOGUE.pacewatch_redis_request_duration_seconds.buckets,
    [["call", call]],
    () => reading,
  );
}

function inFleet(read: (fleet: FleetSnapshot) => number | undefined): SeriesOf<MetricsSnapshot> {
  return one(({ fleet }) => (fleet === undefined ? undefined : read(fleet)));
}

function eachInFleet<Value extends string>(
  label: string,
  values: readonly Value[],
  read: (fleet: FleetSnapshot, value: Value) => number,
): SeriesOf<MetricsSnapshot> {
  return each(label, values, ({ fleet }, value) => (fleet === undefined ? undefined : read(fleet, value)));
}
