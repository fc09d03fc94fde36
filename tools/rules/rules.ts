import { Document, isScalar, visit } from "yaml";
import { OF_JOB } from "./alert-text.ts";
import { CREDIT_ALERTS, QUOTA_ALERTS } from "./alerts-credit.ts";
import { FLEET_ALERTS } from "./alerts-fleet.ts";
import { objectiveAlerts } from "./alerts-objective.ts";
import { OF_ANY_PROCESS, PACEWATCH_ALERTS } from "./alerts-pacewatch.ts";
import { downBy, downInPart, upstreamAlerts } from "./alerts-upstream.ts";
import { WATCHING_ALERTS } from "./alerts-watching.ts";
import { guardGroup } from "./guards.ts";
import { recordingGroups } from "./recordings.ts";
import {
  aboutUpstream,
  byAnyLeader,
  byMajority,
  isUpBy,
  FLEET,
  upBy,
  VANTAGES,
  WATCHING,
} from "./processes.ts";
import { VANTAGE_ALERTS } from "./alerts-vantages.ts";
import { OFFLINE_ALERT } from "./offline.ts";
import { type Alert, isAlert, type RuleGroup } from "./rule.ts";

/** Who watches: one process, a fleet, or several of either from different places. */
export type Watchers = "one" | "fleet" | "vantages";

const WATCHED_BY: Readonly<Record<Watchers, string>> = {
  one: "one Pacewatch",
  fleet: "a fleet",
  vantages: "several vantages",
};

const OWN_ALERTS: Readonly<Record<Watchers, readonly RuleGroup[]>> = {
  one: [PACEWATCH_ALERTS],
  fleet: [FLEET_ALERTS, OF_ANY_PROCESS],
  vantages: [VANTAGE_ALERTS, OF_ANY_PROCESS],
};

/** What only one vantage sees may be its own network. What the owner says of the key is told to any. */
const BY_MAJORITY: ReadonlySet<string> = new Set([
  "PacewatchUpstreamBlocked",
  "PacewatchUpstreamDown",
  "PacewatchTokenUnavailable",
]);
/** Where one is, the others watch on. */
const OFFLINE_AT_ONE: Alert = { ...OFFLINE_ALERT, severity: "ticket" };

/** A Pacewatch serves them where Prometheus scrapes it: other targets of its job do not. While none can be scraped, there is no link. */
function runbookUrl(alert: string): string {
  return `{{ with printf \`pacewatch_build_info{${OF_JOB}}\` $labels.job | query }}http://{{ . | first | label "instance" }}/runbooks/${alert}{{ end }}`;
}

const LINE_CHARACTERS = 110;
/** What is longer, with its key before it, takes lines of its own. */
const SHORT_CHARACTERS = 80;

export function ruleGroups(watchers: Watchers): readonly RuleGroup[] {
  return [
    ...rulesAboutUpstreams(watchers),
    watchers === "vantages" ? stalledAtMost(WATCHING_ALERTS) : WATCHING_ALERTS,
    QUOTA_ALERTS,
    CREDIT_ALERTS,
    ...OWN_ALERTS[watchers],
  ];
}

/** What one Pacewatch says of an upstream, or the leader of the moment, or most vantages. */
function rulesAboutUpstreams(watchers: Watchers): readonly RuleGroup[] {
  if (watchers === "one") return [upstreamAlerts(), ...recordingGroups(), guardGroup(), objectiveAlerts()];
  const ofMany = watchers === "vantages";
  const processes = ofMany ? VANTAGES : FLEET;
  const down = downBy(processes);
  const { rules, ...group } = objectiveAlerts(upBy(processes), processes);
  const seen = (alert: Alert): Alert =>
    ofMany && BY_MAJORITY.has(alert.alert) ? byMajority(alert) : byAnyLeader(alert);
  const judged = ofMany ? byMajority : aboutUpstream;
  return [
    ofMany
      ? upstreamAlerts([isUpBy(processes), WATCHING], seen(down), seen, OFFLINE_AT_ONE, [
          downInPart(processes),
        ])
      : upstreamAlerts([isUpBy(processes)], down, seen),
    ...recordingGroups(processes),
    guardGroup(processes),
    { ...group, rules: rules.map((rule) => (isAlert(rule) ? judged(rule) : rule)) },
  ];
}

function stalledAtMost({ rules, ...group }: RuleGroup): RuleGroup {
  const isPage = (rule: RuleGroup["rules"][number]): rule is Alert =>
    isAlert(rule) && rule.severity === "page";
  return { ...group, rules: rules.map((rule) => (isPage(rule) ? byMajority(rule) : rule)) };
}

/** A rule file for Prometheus. */
export function rulesText(watchers: Watchers): string {
  const groups = ruleGroups(watchers).map(({ rules, ...group }) => ({
    ...group,
    rules: rules.map((rule) => (isAlert(rule) ? alertOf(rule) : rule)),
  }));
  return `# Prometheus rules for ${WATCHED_BY[watchers]}. They read metrics alone, under any job name, so they fit every config.
# "pacewatch rules" prints them with your URLs, labels and links in them. In the repository, tools/rules writes them.
${yamlText({ groups })}`;
}

/** In lines that one can read, and compare. */
export function yamlText(value: object): string {
  const document = new Document(value);
  visit(document, {
    Pair(_, { key, value: scalar }) {
      if (!isScalar(key) || !isScalar(scalar) || typeof scalar.value !== "string") return;
      const isText = key.value === "description";
      const text = isText ? scalar.value.replaceAll(BETWEEN_PARTS, "\n") : scalar.value;
      scalar.value = text;
      if (isText || text.includes("\n")) scalar.type = "BLOCK_LITERAL";
      else if (text.length > SHORT_CHARACTERS) scalar.type = "BLOCK_FOLDED";
    },
  });
  // Prometheus is to read the lines of a description as one.
  return document.toString({ lineWidth: LINE_CHARACTERS }).replaceAll("description: |-", "description: >-");
}

/** The space after a sentence, and the one before a number that is looked up. */
const BETWEEN_PARTS = /(?<=\.) (?=[A-Z{])| (?=\{\{ with )/g;

function alertOf(rule: Alert): Readonly<Record<string, unknown>> {
  const { alert, expr, holdsFor, lastsFor, labels, severity, summary, description } = rule;
  return {
    alert,
    expr,
    ...(holdsFor === undefined ? {} : { for: holdsFor }),
    ...(lastsFor === undefined ? {} : { keep_firing_for: lastsFor }),
    labels: { severity, ...labels },
    annotations: { summary, description, runbook_url: runbookUrl(alert) },
  };
}
