/** From what is due to what is said: the page's own sentences, as plain text. Each kind of receiver makes its own of it. */

import type { Side, Verdict } from "../../../kernel/exchange/reasons.ts";
import { counted } from "../../../kernel/exchange/json-value.ts";
import { humanDuration } from "../../../platform/humanize.ts";
import type { Status, UpstreamFacts } from "../../status/status.ts";
import { diagnosisOf, verdictOnIncident } from "../../status/verdict.ts";
import { SIDE_WERE, SIDE_WORDS, whyWords } from "../../history/words.ts";
import { oneLine } from "../../../kernel/text/escape.ts";
import { listing } from "../../../kernel/text/listing.ts";
import { dateTime } from "../../../kernel/time/civil-day.ts";
import type { Alert, AlertKind } from "./alert.ts";
import type { Outlook, Words } from "./outlook.ts";
import type { Due, Question } from "./plan.ts";
import { isOpen, type Notified } from "./transitions.ts";

/** One alert of a message. */
export type Member = {
  readonly incident: string;
  readonly subject: string;
  readonly upstream: string | undefined;
  /** As which it is told, also of its end. */
  readonly kind: AlertKind;
  /** Those that the config gives the upstream. */
  readonly labels: Readonly<Record<string, string>>;
  readonly title: string;
  readonly sinceMs: number;
  /** Undefined while it goes on. */
  readonly untilMs: number | undefined;
};

export type Message = {
  readonly event: Due["event"];
  /** Of its first alert, or what that was told under before. The same in all that is said of it. */
  readonly incident: string;
  /** What was opened by the incident may be closed. */
  readonly isOver: boolean;
  readonly isReminder: boolean;
  readonly atMs: number;
  readonly sinceMs: number;
  readonly untilMs: number | undefined;
  readonly members: readonly Member[];
  /** How many are watched in all. */
  readonly of: number;
  readonly side: Side;
  /** One line. Of the words of others, none are in it. */
  readonly title: string;
  /** A line each. They hold words of others: only escaped. */
  readonly lines: readonly string[];
  readonly link: string | undefined;
};

type Sources = Outlook & Pick<Question, "notified">;

const LONGEST_LINE = 400;
/** Ten names of upstreams are no longer. */
const LONGEST_LISTING = 1_000;

/** The first, and what is like it: this is one message. `closesById`: what was told under different ids is not alike. */
export function alikeOf(first: Due, dues: readonly Due[], closesById: boolean): readonly Due[] {
  const likeness = (due: Due): string =>
    JSON.stringify([phrasesOf(due), nounOf(due.alert), due.isReminder, closesById && due.notified?.thread]);
  const wanted = likeness(first);
  return dues.filter((due) => likeness(due) === wanted);
}

export function composeMessage(first: Due, dues: readonly Due[], sources: Sources): Message {
  const { notified, nowMs, of, pageUrl, vantage } = sources;
  const { alert, event, isReminder } = first;
  const { upstream } = alert;
  const incident = first.notified?.thread ?? alert.id;
  const started = dues.map((due) => due.alert.startedAtMs);
  const isOver = dues.every((due) => due.alert.endedAtMs !== undefined);
  const isOne = new Set(dues.map((due) => due.alert.subject)).size === 1;
  const path = isOne && upstream !== undefined ? `/upstreams/${upstream}` : "/";
  const said = isOne ? single(dues.at(-1) ?? first, sources) : several(first, dues, sources);
  return {
    event,
    incident,
    isOver: isOver && isLast(incident, dues, notified),
    isReminder,
    atMs: nowMs,
    sinceMs: Math.min(...started),
    untilMs: isOver ? Math.max(...dues.map((due) => due.alert.endedAtMs ?? 0)) : undefined,
    members: dues.map((due) => ({
      incident: due.alert.id,
      subject: due.alert.subject,
      upstream: due.alert.upstream,
      kind: kindOf(due),
      // Another vantage tells the same of itself, and must not end what this one told.
      labels: {
        ...(due.alert.upstream && sources.upstream(due.alert.upstream)?.labels),
        ...(vantage !== undefined && { vantage }),
      },
      title: titleOf(due),
      sinceMs: due.alert.startedAtMs,
      untilMs: due.alert.endedAtMs,
    })),
    of,
    side: said.side,
    title: isReminder ? `Still: ${said.title}` : said.title,
    lines: [...said.lines, vantage === undefined ? "" : `Seen from ${vantage}.`]
      .filter((line) => line !== "")
      .map((line) => oneLine(line, isOne ? LONGEST_LINE : LONGEST_LISTING)),
    link: pageUrl === undefined ? undefined : `${pageUrl}${path}`,
  };
}

function kindOf({ event, alert, notified }: Due): AlertKind {
  return event === "up" || event === "flapping" ? (notified?.kind ?? alert.kind) : event;
}

/** Whether all that is open under this id ends now. */
function isLast(id: string, dues: readonly Due[], notified: ReadonlyMap<string, Notified>): boolean {
  const ends = new Set(dues.map(({ alert }) => alert.id));
  return !notified.values().some((each) => each.thread === id && isOpen(each) && !ends.has(each.alert));
}

type Said = Words & { readonly title: string };

function single(due: Due, { nowMs, words }: Sources): Said {
  const { alert, event } = due;
  const title = titleOf(due);
  const { upstream, says, startedAtMs, endedAtMs } = alert;
  if (event === "up" || endedAtMs !== undefined) return { title, ...ended(due) };
  const since = `Since ${dateTime(startedAtMs)}, for ${humanDuration(Math.max(0, nowMs - startedAtMs))}.`;
  const known = upstream === undefined || says !== "" ? undefined : words(upstream);
  const { side, lines } = known ?? { side: sideOf(alert), lines: [says] };
  return { title, lines: [since, ...lines], side };
}

/** What is Pacewatch's own is ours to mend. */
function sideOf({ upstream }: Alert): Side {
  return upstream === undefined ? "us" : "open";
}

/** What the page says of it, too. */
export function wordsOf(facts: UpstreamFacts, status: Status): Words {
  const { side, because, reason } = diagnosisOf(facts, status);
  return { side, lines: [verdictLine({ side, because }), reason, ...evidence(facts, status)] };
}

function ended({ alert, isGone }: Due): Words {
  const { incident, says, startedAtMs, endedAtMs = startedAtMs, isUnwatched } = alert;
  const span = `${dateTime(startedAtMs)} to ${dateTime(endedAtMs)}`;
  const lasted = isUnwatched
    ? `It was seen last at ${dateTime(endedAtMs)}: nobody ${isGone ? "watched it after that" : "saw when it ended"}.`
    : `It lasted ${humanDuration(endedAtMs - startedAtMs)}: ${span}.`;
  if (incident === undefined) return { lines: [says, lasted], side: sideOf(alert) };
  const side = verdictOnIncident(incident)?.side ?? sideOf(alert);
  return {
    lines: [says, lasted, `${counted(incident.polls, "poll")}: ${whyWords(incident)}. ${SIDE_WERE[side]}`],
    side,
  };
}

function verdictLine({ side, because }: Verdict): string {
  return [SIDE_WORDS[side], because].filter((part) => part !== "").join(" ");
}

/** What the newest failure said, and what the provider's support asks for. */
function evidence(facts: UpstreamFacts, status: Status): readonly string[] {
  const newest = facts.lastFailures.at(-1);
  if (newest === undefined) return [];
  const { detail, excerpt = "", headers = [] } = newest;
  const ids = headers.flatMap(({ name, value }) => (value === undefined ? [] : [`${name}: ${value}`]));
  return [
    // The line above has the status.
    /^answered \d+$/.test(detail) ? "" : detail.charAt(0).toUpperCase() + detail.slice(1),
    excerpt === "" ? "" : `They say: ${excerpt}`,
    ids.join(", "),
    ...status.remarksOn(facts),
  ];
}

function several(first: Due, dues: readonly Due[], { alerts, of }: Sources): Said {
  const { event, alert } = first;
  const [one, all] = phrasesOf(first);
  const names = [...new Set(dues.map((due) => nameOf(due.alert)))];
  const down = alerts.filter((each) => each.kind === "down" && each.endedAtMs === undefined).length;
  const since = dateTime(Math.min(...dues.map((due) => due.alert.startedAtMs)));
  const [name, other] = names;
  return {
    title: other === undefined ? `${name} ${one}` : `${names.length} ${nounOf(alert)} ${all}`,
    lines: [
      `${listing(names)}.`,
      event === "up" ? `It began at ${since}.` : `Since ${since}.`,
      alert.upstream === undefined ? "" : `${down} of ${of} upstreams ${down === 1 ? "is" : "are"} down now.`,
    ],
    side: sideOf(alert),
  };
}

type Phrases = readonly [one: string, several: string];

/** After the name of an upstream, and after their number. Pacewatch's own have no upstream. */
const PHRASES: Readonly<Record<Due["event"], Phrases>> = {
  down: ["is down", "are down"],
  up: ["is up again", "are up again"],
  flapping: ["is flapping", "are flapping"],
  unauthorized: ["rejects our key", "reject our key"],
  blocked: ["blocks us", "block us"],
  throttled: ["is throttling us", "are throttling us"],
  credit_ending: ["has little credit left", "have little credit left"],
  api_ending: ["announces the end of its API", "announce the end of their API"],
  offline: ["was offline", "were offline"],
  config_refused: ["refused its new config", "refused their new config"],
  state_lost: ["lost its state file", "lost their state file"],
};

/** What has ended is named by what it was, where it was no state of an upstream. */
const ENDED: Readonly<Partial<Record<Alert["kind"], Phrases>>> = {
  throttled: ["no longer throttles us", "no longer throttle us"],
  unauthorized: ["accepts our key again", "accept our key again"],
  blocked: ["no longer blocks us", "no longer block us"],
  credit_ending: ["has credit again", "have credit again"],
  config_refused: ["has a config that it can use again", "have a config that they can use again"],
};
/** Nobody saw whether it has ended, or what came after it. */
const NOT_KNOWN: Readonly<Partial<Record<Alert["kind"], Phrases>>> = {
  down: ["is no longer known to be down", "are no longer known to be down"],
  throttled: ["is no longer known to throttle us", "are no longer known to throttle us"],
  unauthorized: ["is no longer known to reject our key", "are no longer known to reject our key"],
  blocked: ["is no longer known to block us", "are no longer known to block us"],
};
const UNWATCHED: Phrases = ["is no longer watched", "are no longer watched"];
const STEADY: Phrases = ["has stopped flapping", "have stopped flapping"];

function phrasesOf({ event, alert, notified, isGone, isUnclear }: Due): Phrases {
  const { kind } = alert;
  if (event === "flapping" && kind !== "down") {
    const [one, all] = PHRASES[kind];
    return [`${one} again and again`, `${all} again and again`];
  }
  if (event !== "up") return PHRASES[event];
  if (isGone) return UNWATCHED;
  if (kind === "down" && notified?.state === "flapping") return STEADY;
  return (isUnclear ? NOT_KNOWN[kind] : undefined) ?? ENDED[kind] ?? PHRASES.up;
}

function titleOf(due: Due): string {
  return `${nameOf(due.alert)} ${phrasesOf(due)[0]}`;
}

function nameOf({ upstream, subject, kind }: Alert): string {
  if (upstream === undefined && kind === "credit_ending") return `Budget ${subject.split("/").at(-2)}`;
  return upstream ?? "Pacewatch";
}

/** What there are several of. */
function nounOf({ upstream, kind }: Alert): string {
  if (upstream !== undefined) return "upstreams";
  return kind === "credit_ending" ? "budgets" : "processes";
}
