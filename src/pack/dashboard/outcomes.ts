import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import type * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import { stacked, UPSTREAM, type PanelText } from "./panel.ts";

const PER_MINUTE = "suffix:/min";
const COMMON = { unit: PER_MINUTE, thresholds: { below: "text" }, span: 8 } as const;

export function outcomePanels(): readonly cog.Builder<grafana.Panel>[] {
  return [
    perMinute("pacewatch_polls_total", "outcome, reason", "{{outcome}} {{reason}}", {
      ...COMMON,
      title: "Polls by outcome and reason",
      description:
        "How polls ended. A failure has a reason, a throttled poll a kind; unauthorized and forbidden are about our key, internal is a fault of Pacewatch itself.",
      runbook: "PacewatchUpstreamDown",
    }),
    perMinute("pacewatch_responses_total", "code", "{{code}}", {
      ...COMMON,
      title: "Answers by status code",
      description: "What the upstreams answered, where a head arrived at all.",
      runbook: "PacewatchUpstreamDown",
    }),
    perMinute("pacewatch_polls_skipped_total", "cause", "{{cause}}", {
      ...COMMON,
      title: "Skipped slots by cause",
      description:
        "Slots without a poll. backoff and yield are manners; budget, overlap, missed and ledger mean that less is seen than was planned.",
      runbook: "PacewatchSlotsSkipped",
    }),
  ];
}

function perMinute(
  metric: string,
  labels: string,
  legend: string,
  text: PanelText,
): cog.Builder<grafana.Panel> {
  const expr = `60 * sum by (${labels}) (rate(${metric}{${UPSTREAM}}[$__rate_interval]))`;
  return stacked(text, [{ expr, legend }]);
}
