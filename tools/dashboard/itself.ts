import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import * as common from "@grafana/grafana-foundation-sdk/common";
import type * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import * as prometheus from "@grafana/grafana-foundation-sdk/prometheus";
import * as table from "@grafana/grafana-foundation-sdk/table";
import { dress, lines, numbers, PROCESS, refId, UPSTREAM, YES_IF_1 } from "./panel.ts";

export function itselfPanels(): readonly cog.Builder<grafana.Panel>[] {
  return [
    numbers(
      {
        title: "Is Pacewatch healthy?",
        description:
          "Whether it can be scraped, whether it runs the config that is in its file, and whether it can write its state file (if it has one).",
        unit: "none",
        thresholds: ["red", [1, "green"]],
        runbook: "PacewatchDown",
        span: 8,
      },
      [
        {
          // Of a Pacewatch: its job may have other targets.
          expr: `min(up{${PROCESS}} and on (job, instance) last_over_time(pacewatch_build_info{${PROCESS}}[7d]))`,
          legend: "scraped",
          instant: true,
        },
        {
          expr: `min(pacewatch_config_last_reload_successful{${PROCESS}})`,
          legend: "config loaded",
          instant: true,
        },
        { expr: `min(pacewatch_state_store_up{${PROCESS}})`, legend: "state written", instant: true },
      ],
    )
      .mappings([YES_IF_1])
      .textMode(common.BigValueTextMode.ValueAndName),
    numbers(
      {
        title: "Slots unaccounted for",
        description: "slots − polls − in flight − skipped. Anything but 0 is a bug in Pacewatch.",
        unit: "none",
        thresholds: ["green", [1, "red"]],
        runbook: "PacewatchInternalErrors",
        span: 4,
      },
      [
        {
          expr: `sum(abs(pacewatch_slots_total{${UPSTREAM}}
  - sum without (outcome) (pacewatch_polls_total{${UPSTREAM}})
  - pacewatch_polls_in_flight{${UPSTREAM}}
  - (sum without (cause) (pacewatch_polls_skipped_total{${UPSTREAM}}) or 0 * pacewatch_slots_total{${UPSTREAM}})))`,
          legend: "slots",
          instant: true,
        },
      ],
    ),
    lines(
      {
        title: "Until it counts as stalled",
        description: "Three slots and a margin. Below 0 they came, and no poll ended.",
        unit: "s",
        thresholds: ["orange", [0, "green"]],
        runbook: "PacewatchPollsStalled",
        span: 12,
      },
      [
        {
          expr: `pacewatch_stalled_at_timestamp_seconds{${UPSTREAM}} - time()`,
          legend: "{{upstream}}",
        },
      ],
    ),
    lines(
      {
        title: "Delay from slot to sending",
        description: "The longest of the last minute: spreading, pacing, and waiting for a lease.",
        unit: "s",
        thresholds: ["green", [30, "orange"]],
        runbook: "PacewatchSlotsSkipped",
        span: 8,
      },
      [
        {
          expr: `max by (upstream) (pacewatch_poll_delay_max_seconds{${UPSTREAM}})`,
          legend: "{{upstream}}",
        },
      ],
    ),
    lines(
      {
        title: "Work in progress",
        description: "Polls without an outcome yet, and CPU use (1 is one busy core).",
        unit: "short",
        runbook: "PacewatchSlotsSkipped",
        span: 8,
      },
      [
        { expr: `sum(pacewatch_polls_in_flight{${UPSTREAM}})`, legend: "polls in flight" },
        {
          expr: `rate(process_cpu_seconds_total{${PROCESS}}[$__rate_interval]) and on (job, instance) pacewatch_build_info{${PROCESS}}`,
          legend: "CPUs, {{instance}}",
        },
      ],
    ),
    lines(
      {
        title: "Memory",
        description: "Resident memory of the process, and its JavaScript heap.",
        unit: "bytes",
        thresholds: ["green", [512 * 1024 * 1024, "orange"]],
        runbook: "PacewatchDown",
        span: 8,
      },
      ["process_resident_memory_bytes", "nodejs_heap_size_used_bytes"].map((metric) => ({
        expr: `${metric}{${PROCESS}} and on (job, instance) pacewatch_build_info{${PROCESS}}`,
        legend: `{{instance}} ${metric.startsWith("process") ? "resident" : "heap"}`,
      })),
    ),
    facts(),
  ];
}

const FACTS: readonly (readonly [name: string, unit: string, expr: string])[] = [
  ["Polled every", "s", `pacewatch_schedule_period_seconds{${UPSTREAM}}`],
  ["Objective", "percentunit", `pacewatch_objective_ratio{${UPSTREAM}}`],
  ["Latency objective", "s", `pacewatch_objective_latency_seconds{${UPSTREAM}}`],
  ["Since the last ok", "s", `time() - pacewatch_last_success_timestamp_seconds{${UPSTREAM}}`],
  ["Malformed signals, 1 day", "short", `increase(pacewatch_signals_malformed_total{${UPSTREAM}}[1d])`],
  ["API ends in", "s", `pacewatch_upstream_sunset_timestamp_seconds{${UPSTREAM}} - time()`],
  ["Certificate left", "s", `pacewatch_tls_certificate_expiry_timestamp_seconds{${UPSTREAM}} - time()`],
];

function facts(): cog.Builder<grafana.Panel> {
  const panel = dress(
    new table.PanelBuilder(),
    {
      title: "Facts about each upstream",
      description:
        "From the config, and from the last polls. Only https has a certificate; with less than 14 days left, ask for a new one.",
      unit: "none",
      runbook: "PacewatchCertificateExpiring",
      span: 24,
      height: 7,
    },
    FACTS.map(([, , expr]) => ({
      expr: `max by (job, instance, upstream) (${expr})`,
      legend: "",
      instant: true,
      format: prometheus.PromQueryFormat.Table,
    })),
  )
    .withTransformation({ id: "merge", options: {} })
    .withTransformation({ id: "organize", options: { excludeByName: { Time: true } } });
  for (const [index, [name, unit]] of FACTS.entries()) {
    panel.overrideByName(`Value #${refId(index)}`, [
      { id: "displayName", value: name },
      { id: "unit", value: unit },
    ]);
  }
  return panel;
}
