import { stringify } from "yaml";
import { CREDIT_ALERTS, QUOTA_ALERTS } from "./alerts-credit.ts";
import { DOWN_BY_QUORUM, fleetAlerts, QUORUM_RECORDINGS, UP_BY_QUORUM } from "./alerts-fleet.ts";
import { objectiveAlerts } from "./alerts-objective.ts";
import { PACEWATCH_ALERTS } from "./alerts-pacewatch.ts";
import { DOWN_BY_HOLDER, upstreamAlerts } from "./alerts-upstream.ts";
import { watchingAlerts } from "./alerts-watching.ts";
import { guardGroup, type Watched } from "./guards.ts";
import { recordingGroups } from "./recordings.ts";
import { aboutUpstream, byAnyHolder, IS_UP_BY_HOLDER, ONE, REPLICAS, UP_BY_HOLDER } from "./replicas.ts";
import { type Alert, folderUrl, isAlert, type RuleGroup, SHIPPED_RUNBOOKS } from "./rule.ts";

const HEADER = `# Written by "pacewatch rules" from the config. Run it again when upstreams, schedules or objectives change.
# Only the guards depend on this config. All other rules read metrics, under any job name.
`;

export type RulesOptions = {
  /** The URL of the folder with the runbooks. It may contain Prometheus templates. */
  readonly runbooks?: string | undefined;
  /** The URL of Pacewatch's status page, for alerts to link to. */
  readonly statusPage?: string | undefined;
};

export function ruleGroups(config: Watched): readonly RuleGroup[] {
  return [
    ...rulesAboutUpstreams(config),
    watchingAlerts(config.fleet?.mode === "shard" ? REPLICAS : ONE),
    QUOTA_ALERTS,
    CREDIT_ALERTS,
    PACEWATCH_ALERTS,
    ...(config.fleet === undefined ? [] : [fleetAlerts(config.fleet.mode, config.upstreams.length)]),
  ];
}

/** What one Pacewatch says of an upstream, its holder of the moment, or a majority of vantages. */
function rulesAboutUpstreams(config: Watched): readonly RuleGroup[] {
  if (config.fleet?.mode === "shard") {
    const { rules, ...group } = objectiveAlerts(UP_BY_HOLDER, REPLICAS);
    return [
      guardGroup(config, REPLICAS),
      upstreamAlerts([IS_UP_BY_HOLDER], DOWN_BY_HOLDER, byAnyHolder),
      ...recordingGroups(REPLICAS),
      { ...group, rules: rules.map((rule) => (isAlert(rule) ? aboutUpstream(rule) : rule)) },
    ];
  }
  const isEverywhere = config.fleet?.mode === "everywhere";
  return [
    guardGroup(config),
    isEverywhere ? upstreamAlerts(QUORUM_RECORDINGS, DOWN_BY_QUORUM) : upstreamAlerts(),
    ...recordingGroups(),
    objectiveAlerts(isEverywhere ? UP_BY_QUORUM : undefined),
  ];
}

/** A rule file for Prometheus. */
export function rulesText(
  config: Watched,
  { runbooks = SHIPPED_RUNBOOKS, statusPage }: RulesOptions = {},
): string {
  const groups = ruleGroups(config).map(({ rules, ...group }) => ({
    ...group,
    rules: rules.map((rule) => (isAlert(rule) ? alertOf(rule, runbooks, statusPage) : rule)),
  }));
  return HEADER + stringify({ groups }, { lineWidth: 0, blockQuote: "literal" });
}

function alertOf(
  rule: Alert,
  runbooks: string,
  statusPage: string | undefined,
): Readonly<Record<string, unknown>> {
  const page = rule.summary.includes("$labels.upstream") ? "upstreams/{{ $labels.upstream }}" : "";
  const { alert, expr, holdsFor, lastsFor, labels, severity, summary, description } = rule;
  return {
    alert,
    expr,
    ...(holdsFor === undefined ? {} : { for: holdsFor }),
    ...(lastsFor === undefined ? {} : { keep_firing_for: lastsFor }),
    labels: { severity, ...labels },
    annotations: {
      summary,
      description,
      runbook_url: `${folderUrl(runbooks)}${alert}.md`,
      ...(statusPage === undefined ? {} : { status_page_url: `${folderUrl(statusPage)}${page}` }),
    },
  };
}
