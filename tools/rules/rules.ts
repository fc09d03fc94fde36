import { Document, isScalar, visit } from "yaml";
import { OF_JOB } from "./alert-text.ts";
import { CREDIT_ALERTS, QUOTA_ALERTS } from "./alerts-credit.ts";
import { FLEET_ALERTS } from "./alerts-fleet.ts";
import { objectiveAlerts } from "./alerts-objective.ts";
import { OF_ANY_PROCESS, PACEWATCH_ALERTS } from "./alerts-pacewatch.ts";
import { DOWN_BY_HOLDER, upstreamAlerts } from "./alerts-upstream.ts";
import { WATCHING_ALERTS } from "./alerts-watching.ts";
import { guardGroup } from "./guards.ts";
import { recordingGroups } from "./recordings.ts";
import { aboutUpstream, byAnyHolder, IS_UP_BY_HOLDER, REPLICAS, UP_BY_HOLDER } from "./replicas.ts";
import { type Alert, isAlert, type RuleGroup } from "./rule.ts";

/** Who watches: one process, or a fleet. */
export type Watchers = "one" | "fleet";

const WATCHED_BY: Readonly<Record<Watchers, string>> = {
  one: "one Pacewatch",
  fleet: "a fleet",
};

/** A Pacewatch serves them where Prometheus scrapes it. While none can be scraped, there is no link. */
function runbookUrl(alert: string): string {
  return `{{ with printf \`up{${OF_JOB}} == 1\` $labels.job | query }}http://{{ . | first | label "instance" }}/runbooks/${alert}{{ end }}`;
}

const LINE_CHARACTERS = 110;
/** What is longer, with its key before it, takes lines of its own. */
const SHORT_CHARACTERS = 80;

export function ruleGroups(watchers: Watchers): readonly RuleGroup[] {
  return [
    ...rulesAboutUpstreams(watchers),
    WATCHING_ALERTS,
    QUOTA_ALERTS,
    CREDIT_ALERTS,
    ...(watchers === "one" ? [PACEWATCH_ALERTS] : [FLEET_ALERTS, OF_ANY_PROCESS]),
  ];
}

/** What one Pacewatch says of an upstream, or the leader of the moment. */
function rulesAboutUpstreams(watchers: Watchers): readonly RuleGroup[] {
  if (watchers === "fleet") {
    const { rules, ...group } = objectiveAlerts(UP_BY_HOLDER, REPLICAS);
    return [
      upstreamAlerts([IS_UP_BY_HOLDER], DOWN_BY_HOLDER, byAnyHolder),
      ...recordingGroups(REPLICAS),
      guardGroup(REPLICAS),
      { ...group, rules: rules.map((rule) => (isAlert(rule) ? aboutUpstream(rule) : rule)) },
    ];
  }
  return [upstreamAlerts(), ...recordingGroups(), guardGroup(), objectiveAlerts()];
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
