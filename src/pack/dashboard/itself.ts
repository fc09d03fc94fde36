import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import * as common from "@grafana/grafana-foundation-sdk/common";
import * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import * as stat from "@grafana/grafana-foundation-sdk/stat";
import { facts } from "./facts.ts";
import { dress, lines, newest, PROCESS, UPSTREAM } from "./panel.ts";

const OK_IF_1: grafana.ValueMap = {
  type: grafana.MappingType.ValueToText,
  options: { 0: { text: "no", color: "red", index: 0 }, 1: { text: "yes", color: "green", index: 1 } },
};

export function itselfPanels(): readonly cog.Builder<grafana.Panel>[] {
  return [wellness(), accounts(), lastLooks(), delays(), work(), memory(), facts()];
}

function wellness(): cog.Builder<grafana.Panel> {
  return dress(
    new stat.PanelBuilder(),
    {
      title: "Is Pacewatch well?",
      description:
        "Whether it can be scraped, whether the config in its file is the one that runs, and whether it can write its state (where it has a state file).",
      unit: "none",
      thresholds: { below: "red", from: [[1, "green"]] },
      runbook: "PacewatchDown",
      span: 8,
    },
    [
      { expr: `min(up{${PROCESS}})`, legend: "scraped", instant: true },
      {
        expr: `min(pacewatch_config_last_reload_successful{${PROCESS}})`,
        legend: "config loaded",
        instant: true,
      },
      { expr: `min(pacewatch_state_store_up{${PROCESS}})`, legend: "state written", instant: true },
    ],
  )
    .mappings([OK_IF_1])
    .reduceOptions(newest())
    .graphMode(common.BigValueGraphMode.None)
    .textMode(common.BigValueTextMode.ValueAndName)
    .colorMode(common.BigValueColorMode.Background);
}

function accounts(): cog.Builder<grafana.Panel> {
  return dress(
    new stat.PanelBuilder(),
    {
      title: "Slots unaccounted for",
      description: "slots − polls − in flight − skipped. Anything but 0 is a bug in Pacewatch.",
      unit: "none",
      thresholds: { below: "green", from: [[1, "red"]] },
      runbook: "PacewatchInternalErrors",
      span: 4,
    },
    [
      {
        expr: `sum(abs(pacewatch_slots_total{${UPSTREAM}}
  - sum without (outcome, reason) (pacewatch_polls_total{${UPSTREAM}})
  - pacewatch_polls_in_flight{${UPSTREAM}}
  - sum without (cause) (pacewatch_polls_skipped_total{${UPSTREAM}})))`,
        legend: "slots",
        instant: true,
      },
    ],
  )
    .reduceOptions(newest())
    .graphMode(common.BigValueGraphMode.None)
    .colorMode(common.BigValueColorMode.Background);
}

function lastLooks(): cog.Builder<grafana.Panel> {
  return lines(
    {
      title: "Periods since the last poll",
      description: "1 is usual; above 3 somebody should know why (a pause shows here too).",
      unit: "suffix:×",
      thresholds: { below: "green", from: [[3, "orange"]] },
      runbook: "PacewatchPollsStalled",
      span: 12,
    },
    [
      {
        expr: `(time() - pacewatch_last_poll_timestamp_seconds{${UPSTREAM}}) / pacewatch_schedule_period_seconds{${UPSTREAM}}`,
        legend: "{{upstream}}",
      },
    ],
  );
}

function delays(): cog.Builder<grafana.Panel> {
  return lines(
    {
      title: "Delay from slot to sending",
      description: "95th percentile: spreading, pacing, and waiting for the right to send.",
      unit: "s",
      thresholds: { below: "green", from: [[30, "orange"]] },
      runbook: "PacewatchSlotsSkipped",
      span: 8,
    },
    [
      {
        expr: `histogram_quantile(0.95, sum by (upstream, le) (rate(pacewatch_poll_delay_seconds_bucket{${UPSTREAM}}[$__rate_interval])))`,
        legend: "{{upstream}}",
      },
    ],
  );
}

function work(): cog.Builder<grafana.Panel> {
  return lines(
    {
      title: "Work in hand",
      description: "Polls in flight, slots that wait for a lease, and how busy one CPU is.",
      unit: "short",
      thresholds: { below: "text" },
      runbook: "PacewatchSlotsSkipped",
      span: 8,
    },
    [
      { expr: `sum(pacewatch_polls_in_flight{${UPSTREAM}})`, legend: "polls in flight" },
      { expr: `sum(pacewatch_slots_waiting{${UPSTREAM}})`, legend: "slots waiting" },
      {
        expr: `rate(process_cpu_seconds_total{${PROCESS}}[$__rate_interval]) and on (job, instance) pacewatch_build_info`,
        legend: "CPUs, {{instance}}",
      },
    ],
  );
}

function memory(): cog.Builder<grafana.Panel> {
  return lines(
    {
      title: "Memory",
      description: "Resident memory of the process, and its JavaScript heap.",
      unit: "bytes",
      thresholds: { below: "green", from: [[512 * 1024 * 1024, "orange"]] },
      runbook: "PacewatchDown",
      span: 8,
    },
    ["process_resident_memory_bytes", "nodejs_heap_size_used_bytes"].map((metric) => ({
      expr: `${metric}{${PROCESS}} and on (job, instance) pacewatch_build_info`,
      legend: `{{instance}} ${metric.startsWith("process") ? "resident" : "heap"}`,
    })),
  );
}
