import * as common from "@grafana/grafana-foundation-sdk/common";
import * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import type { HealthState } from "../../src/kernel/poll/health.ts";
import { PROCESS, UPSTREAM } from "./panel.ts";

/** Grafana draws one number for each upstream, the worse the higher, and shows the word for it. */
const STATES: Readonly<Record<HealthState, { readonly code: number; readonly color: string }>> = {
  unknown: { code: 0, color: "text" },
  up: { code: 1, color: "green" },
  degraded: { code: 2, color: "yellow" },
  throttled: { code: 3, color: "blue" },
  unauthorized: { code: 4, color: "purple" },
  down: { code: 5, color: "red" },
};

export const STATE_CODE: string = `sum by (job, instance, upstream) (
  ${Object.entries(STATES)
    .map(([state, { code }]) => `${code} * pacewatch_upstream_state{state="${state}",${UPSTREAM}}`)
    .join("\n  or ")}
)`;

export const STATE_WORDS: grafana.ValueMap = {
  type: grafana.MappingType.ValueToText,
  options: Object.fromEntries(
    Object.entries(STATES).map(([text, { code, color }], index) => [String(code), { text, color, index }]),
  ),
};

const STATE = `pacewatch_upstream_state{${UPSTREAM}}`;

/** Marks each state that was not there a minute ago, where Pacewatch was. */
export function stateChanges(datasource: common.DataSourceRef): grafana.AnnotationQueryBuilder {
  return new grafana.AnnotationQueryBuilder()
    .name("State changes")
    .datasource(datasource)
    .enable(true)
    .hide(false)
    .iconColor("orange")
    .expr(
      `${STATE} unless ${STATE} offset 1m and on (job, instance) pacewatch_build_info{${PROCESS}} offset 1m`,
    )
    .step("60s")
    .titleFormat("{{upstream}}: {{state}}")
    .textFormat("{{instance}}")
    .tagKeys("state");
}
