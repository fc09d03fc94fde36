import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import type * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import { stacked, UPSTREAM, type PanelText } from "./panel.ts";

export function outcomePanels(): readonly cog.Builder<grafana.Panel>[] {
  return [
    perMinute("pacewatch_polls_total", "outcome, reason", "{{outcome}} {{reason}}", {
      title: "Polls by outcome and reason",
      description:
        "How polls ended. A failure has a reason, a throttled poll a kind. unauthorized and forbidden are about our key, auth is the token endpoint, blocked is a firewall or bot protection that blocks us, assertion is an answer that is not what the config expects, internal is a bug in Pacewatch.",
      runbook: "PacewatchUpstreamDown",
    }),
    perMinute("pacewatch_responses_total", "code", "{{code}}", {
      title: "Answers by status code",
      description: "The status codes of all answers whose head arrived.",
      runbook: "PacewatchUpstreamDown",
    }),
    perMinute("pacewatch_polls_skipped_total", "cause", "{{cause}}", {
      title: "Skipped slots by cause",
      description:
        "Slots without a poll. backoff and yield are intended; budget, overlap, missed and ledger mean that less is polled than planned.",
      runbook: "PacewatchSlotsSkipped",
    }),
  ];
}

function perMinute(
  metric: string,
  labels: string,
  legend: string,
  text: Pick<PanelText, "title" | "description" | "runbook">,
): cog.Builder<grafana.Panel> {
  const expr = `60 * sum by (${labels}) (rate(${metric}{${UPSTREAM}}[$__rate_interval]))`;
  return stacked({ ...text, unit: "suffix:/min", span: 8 }, [{ expr, legend }]);
}
