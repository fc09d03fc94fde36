import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import type * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import * as prometheus from "@grafana/grafana-foundation-sdk/prometheus";
import * as table from "@grafana/grafana-foundation-sdk/table";
import { dress, UPSTREAM } from "./panel.ts";

const COLUMNS: readonly (readonly [name: string, unit: string, expr: string])[] = [
  ["Polled every", "s", `pacewatch_schedule_period_seconds{${UPSTREAM}}`],
  ["Objective", "percentunit", `pacewatch_objective_ratio{${UPSTREAM}}`],
  ["Latency objective", "s", `pacewatch_objective_latency_seconds{${UPSTREAM}}`],
  ["Since the last ok", "s", `time() - pacewatch_last_success_timestamp_seconds{${UPSTREAM}}`],
  ["Next slot in", "s", `pacewatch_next_slot_timestamp_seconds{${UPSTREAM}} - time()`],
  ["Malformed signals, 1 day", "short", `increase(pacewatch_signals_malformed_total{${UPSTREAM}}[1d])`],
  ["Certificate left", "s", `pacewatch_tls_certificate_expiry_timestamp_seconds{${UPSTREAM}} - time()`],
];

export function facts(): cog.Builder<grafana.Panel> {
  const panel = dress(
    new table.PanelBuilder(),
    {
      title: "Facts about each upstream",
      description:
        "From the config, and what was seen last. A certificate shows for https only; under 14 days somebody should ask.",
      unit: "none",
      thresholds: { below: "text" },
      runbook: "PacewatchCertificateExpiring",
      span: 24,
      height: 7,
    },
    COLUMNS.map(([, , expr]) => ({
      expr: `max by (job, instance, upstream) (${expr})`,
      legend: "",
      instant: true,
      format: prometheus.PromQueryFormat.Table,
    })),
  )
    .withTransformation({ id: "merge", options: {} })
    .withTransformation({ id: "organize", options: { excludeByName: { Time: true } } });
  for (const [index, [name, unit]] of COLUMNS.entries()) {
    panel.overrideByName(`Value #${String.fromCharCode(65 + index)}`, [
      { id: "displayName", value: name },
      { id: "unit", value: unit },
    ]);
  }
  return panel;
}
