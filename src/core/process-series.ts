import type { ProcessMetric } from "./catalogue.ts";
import { FLEET_SERIES } from "./fleet-series.ts";
import { flag, labelText, one, seconds, type SeriesOf } from "./series.ts";
import type { MetricsSnapshot } from "./snapshot.ts";

/** The type asks for every metric of the catalogue that belongs to no upstream and no budget, and for no other. */
export const PROCESS_SERIES: Readonly<Record<ProcessMetric, SeriesOf<MetricsSnapshot>>> = {
  ...FLEET_SERIES,
  pacewatch_state_store_up: one((snapshot) => flag(snapshot.stateStoreUp)),
  pacewatch_config_last_reload_successful: one(({ reload }) => flag(reload.successful)),
  pacewatch_config_last_reload_success_timestamp_seconds: one(({ reload }) =>
    seconds(reload.lastSuccessAtMs),
  ),
  pacewatch_build_info: ({ build }) => [
    { suffix: "", labels: labelText(Object.entries(build)), read: () => 1 },
  ],
};
