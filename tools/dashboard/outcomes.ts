import type * as cog from "@grafana/grafana-foundation-sdk/cog";
import type * as grafana from "@grafana/grafana-foundation-sdk/dashboard";
import { stacked, UPSTREAM } from "./panel.ts";

export function outcomePanels(): readonly cog.Builder<grafana.Panel>[] {
  return [
    stacked(
      {
        title: "Polls by outcome",
        description:
          "How polls ended. throttled asks us to slow down, rejected is about our key, token or permission, and ours is a bug in Pacewatch or its own network.",
        unit: "suffix:/min",
        runbook: "PacewatchUpstreamDown",
        span: 12,
      },
      [
        {
          expr: `60 * sum by (outcome) (rate(pacewatch_polls_total{${UPSTREAM}}[$__rate_interval]))`,
          legend: "{{outcome}}",
          hasExemplars: true,
        },
      ],
    ),
    stacked(
      {
        title: "Polls that were not ok, by reason",
        description:
          "In each step, also the first of its reason. unauthorized and forbidden are about our key, auth is the token endpoint, blocked is a firewall or bot protection that blocks us, assertion is an answer that is not what the config expects.",
        unit: "short",
        runbook: "PacewatchUpstreamDown",
        span: 12,
      },
      [{ expr: grown("pacewatch_poll_reasons_total", "outcome, reason"), legend: "{{outcome}} {{reason}}" }],
    ),
    stacked(
      {
        title: "Answers by status code",
        description: "In each step: the status codes of all answers whose head arrived.",
        unit: "short",
        runbook: "PacewatchUpstreamDown",
        span: 12,
      },
      [{ expr: grown("pacewatch_responses_total", "code"), legend: "{{code}}" }],
    ),
    stacked(
      {
        title: "Skipped slots by cause",
        description:
          "In each step: slots without a poll. backoff and yield are intended; budget, overlap, missed and ledger mean that less is polled than planned.",
        unit: "short",
        runbook: "PacewatchSlotsSkipped",
        span: 12,
      },
      [{ expr: grown("pacewatch_polls_skipped_total", "cause"), legend: "{{cause}}" }],
    ),
  ];
}

/**
 * `rate` does not see what a counter is born with, and these appear when they first count. Where a scrape failed when the
 * step began, the one before it counts; where the counter fell, it began at 0.
 */
function grown(counter: string, labels: string): string {
  const now = `${counter}{${UPSTREAM}}`;
  return `sum by (${labels}) (${now} - last_over_time(${now}[5m] offset $__interval) >= 0 or ${now})`;
}
