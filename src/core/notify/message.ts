/** From what is due to what is said: the page's own sentences, as plain text. Each kind of receiver makes its own of it. */

import { rowOf, reasonWords, type Side, type Verdict } from "../exchange/reasons.ts";
import { humanDuration } from "../status/humanize.ts";
import type { Status, UpstreamFacts } from "../status/status.ts";
import { diagnosisOf } from "../status/verdict.ts";
import { SIDE_WORDS } from "../status/words.ts";
import { oneLine } from "../text/escape.ts";
import { listing } from "../text/listing.ts";
import { dateTime } from "../time/civil-day.ts";
import { type Due, type Notice, type Scene, threadOf } from "./plan.ts";
import { replicaIn, type Trouble } from "./trouble.ts";

/** One trouble of a message. */
export type Member = {
  readonly incident: string;
  readonly subject: string;
  readonly upstream: string | undefined;
  /** Those that the config gives the upstream. */
  readonly labels: Readonly<Record<string, string>>;
  readonly title: string;
  readonly sinceMs: number;
  /** Undefined while it goes on. */
  readonly untilMs: number | undefined;
};

export type Message = {
  readonly event: Due["event"];
  /** Of its first trouble, or what that was told under before. The same in all that is said of it. */
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

/** A message, and what is told once it has arrived. */
export type Telling = { readonly message: Message; readonly dues: readonly Due[] };

/** Whose fault it is, and by which evidence. Plain text, with words of others in it. */
export type Words = { readonly side: Side; readonly lines: readonly string[] };

export type Telled = {
  readonly dues: readonly Due[];
  readonly notices: ReadonlyMap<string, Notice>;
  readonly scene: Scene;
  readonly nowMs: number;
  /** How many are watched in all. */
  readonly of: number;
  /** Undefined where nobody polls it. */
  readonly words: (upstream: string) => Words | undefined;
  /** Of the page, without a slash at its end. */
  readonly pageUrl: string | undefined;
  /** What was told under different ids does not end together. */
  readonly closesById: boolean;
};
const LONGEST_LINE = 400;
/** Ten names of upstreams are no longer. */
const LONGEST_LISTING = 1_000;

/** What is alike is one message. */
export function tellingsOf(telled: Telled): readonly Telling[] {
  const { dues: all, notices, closesById } = telled;
  const alike = Map.groupBy(all, (due) => {
    const thread = closesById ? threadOf(due, notices) : undefined;
    return JSON.stringify([phrasesOf(due, notices), nounOf(due.trouble), due.isReminder, thread]);
  });
  return [...alike.values()].flatMap((dues) => {
    const [first] = dues;
    return first === undefined ? [] : [{ message: messageOf(first, dues, telled), dues }];
  });
}

function messageOf(first: Due, dues: readonly Due[], telled: Telled): Message {
  const { notices, nowMs, of, pageUrl } = telled;
  const { trouble, event, isReminder } = first;
  const { upstream } = trouble;
  const incident = threadOf(first, notices) ?? trouble.id;
  const started = dues.map((due) => due.trouble.startedAtMs);
  const isOver = dues.every((due) => due.trouble.endedAtMs !== undefined && due.event !== "flapping");
  const isOne = new Set(dues.map((due) => due.trouble.subject)).size === 1;
  const path = isOne && upstream !== undefined ? `/upstreams/${upstream}` : "/";
  const said = isOne ? single(dues.at(-1) ?? first, telled) : several(first, dues, telled);
  return {
    event,
    incident,
    isOver: isOver && isLast(incident, dues, notices),
    isReminder,
    atMs: nowMs,
    sinceMs: Math.min(...started),
    untilMs: isOver ? Math.max(...dues.map((due) => due.trouble.endedAtMs ?? 0)) : undefined,
    members: dues.map((due) => ({
      incident: due.trouble.id,
      subject: due.trouble.subject,
      upstream: due.trouble.upstream,
      labels: (due.trouble.upstream && telled.scene.upstream(due.trouble.upstream)?.labels) || {},
      title: titleOf(due, notices),
      sinceMs: due.trouble.startedAtMs,
      untilMs: due.event === "flapping" ? undefined : due.trouble.endedAtMs,
    })),
    of,
    side: said.side,
    title: isReminder ? `Still: ${said.title}` : said.title,
    lines: said.lines
      .filter((line) => line !== "")
      .map((line) => oneLine(line, isOne ? LONGEST_LINE : LONGEST_LISTING)),
    link: pageUrl === undefined ? undefined : `${pageUrl}${path}`,
  };
}

/** Whether all that is open under this id ends now. */
function isLast(id: string, dues: readonly Due[], notices: ReadonlyMap<string, Notice>): boolean {
  const ends = new Set(dues.map(({ trouble }) => trouble.id));
  return !notices.values().some((each) => each.thread === id && each.isOpen && !ends.has(each.incident));
}

type Said = Words & { readonly title: string };

function single(due: Due, { nowMs, words, notices }: Telled): Said {
  const { trouble, event } = due;
  const title = titleOf(due, notices);
  const { upstream, says, startedAtMs, endedAtMs } = trouble;
  if (event === "up" || endedAtMs !== undefined) return { title, ...ended(trouble, notices.get(trouble.id)) };
  const since = `Since ${dateTime(startedAtMs)}, for ${humanDuration(Math.max(0, nowMs - startedAtMs))}.`;
  const known = upstream === undefined || says !== "" ? undefined : words(upstream);
  const { side, lines } = known ?? { side: sideOf(trouble), lines: [says] };
  return { title, lines: [since, ...lines], side };
}

/** What is Pacewatch's own is ours to mend. */
function sideOf({ upstream }: Trouble): Side {
  return upstream === undefined ? "us" : "open";
}

/** What the page says of it, too. */
export function wordsOf(facts: UpstreamFacts, status: Status): Words {
  const { side, because, reason } = diagnosisOf(facts, status);
  return { side, lines: [verdictLine({ side, because }), reason, ...evidence(facts)] };
}

function ended(trouble: Trouble, told: Notice | undefined): Words {
  const { reason, polls, says, kind, startedAtMs, endedAtMs = startedAtMs, isUnwatched } = trouble;
  const row = rowOf(reason);
  const side = told?.side ?? (row === undefined ? sideOf(trouble) : row.verdict.side);
  const span = `${dateTime(startedAtMs)} to ${dateTime(endedAtMs)}`;
  const lasted = isUnwatched
    ? `It was seen last at ${dateTime(endedAtMs)}: nobody watched it after that.`
    : `It lasted ${humanDuration(endedAtMs - startedAtMs)}: ${span}.`;
  if (polls === 0) return { lines: [says, lasted], side };
  const count = polls === 1 ? "1 poll" : `${polls} polls`;
  const why = `${count}, ${reasonWords(reason)}. ${SIDE_WORDS[side].replace("It is", "It was")}`;
  return { lines: [says, lasted, kind === "offline" ? "" : why], side };
}

function verdictLine({ side, because }: Verdict): string {
  return [SIDE_WORDS[side], because].filter((part) => part !== "").join(" ");
}

/** What the newest failure said, and what the provider's support asks for. */
function evidence({ lastFailures, announcement }: UpstreamFacts): readonly string[] {
  const newest = lastFailures.at(-1);
  if (newest === undefined) return [];
  const { status, detail, excerpt = "", headers = [] } = newest;
  const ids = headers.flatMap(({ name, value }) => (value === undefined ? [] : [`${name}: ${value}`]));
  return [
    `${status === undefined ? "" : `Status ${status}. `}${detail}`,
    excerpt === "" ? "" : `They say: ${excerpt}`,
    ids.join(", "),
    announcement?.warning === undefined ? "" : `They warn: ${announcement.warning}`,
  ];
}

function several(first: Due, dues: readonly Due[], { scene, of, notices }: Telled): Said {
  const { event, trouble } = first;
  const [one, all] = phrasesOf(first, notices);
  const names = [...new Set(dues.map((due) => nameOf(due.trouble)))];
  const down = scene.troubles.filter((each) => each.kind === "down" && each.endedAtMs === undefined).length;
  const since = dateTime(Math.min(...dues.map((due) => due.trouble.startedAtMs)));
  const [name, other] = names;
  return {
    title: other === undefined ? `${name} ${one}` : `${names.length} ${nounOf(trouble)} ${all}`,
    lines: [
      `${listing(names)}.`,
      event === "up" ? `It began at ${since}.` : `Since ${since}.`,
      trouble.upstream === undefined ? "" : `${down} of ${of} upstreams are down now.`,
    ],
    side: sideOf(trouble),
  };
}

type Phrases = readonly [one: string, several: string];

/** After the name of an upstream, and after their number. Pacewatch's own have no upstream. */
const PHRASES: Readonly<Record<Due["event"], Phrases>> = {
  down: ["is down", "are down"],
  up: ["is up again", "are up again"],
  flapping: ["goes up and down", "go up and down"],
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
const ENDED: Readonly<Partial<Record<Trouble["kind"], Phrases>>> = {
  throttled: ["throttles us no more", "throttle us no more"],
  unauthorized: ["accepts our key again", "accept our key again"],
  blocked: ["blocks us no more", "block us no more"],
  credit_ending: ["has credit again", "have credit again"],
  config_refused: ["has a config that it can use again", "have a config that they can use again"],
};
const UNWATCHED: Phrases = ["is no longer watched", "are no longer watched"];
const STEADY: Phrases = ["goes up and down no more", "go up and down no more"];

function phrasesOf({ event, trouble }: Due, notices: ReadonlyMap<string, Notice>): Phrases {
  const { id, kind, isUnwatched } = trouble;
  if (event === "flapping" && kind !== "down") {
    const [one, all] = PHRASES[kind];
    return [`${one} again and again`, `${all} again and again`];
  }
  if (event !== "up") return PHRASES[event];
  if (isUnwatched) return UNWATCHED;
  return kind === "down" && notices.get(id)?.event === "flapping" ? STEADY : (ENDED[kind] ?? PHRASES.up);
}

function titleOf(due: Due, notices: ReadonlyMap<string, Notice>): string {
  return `${nameOf(due.trouble)} ${phrasesOf(due, notices)[0]}`;
}

function nameOf({ upstream, subject, kind }: Trouble): string {
  const replica = replicaIn(subject);
  if (upstream === undefined && kind === "credit_ending") return `Budget ${subject.split("/").at(-2)}`;
  return upstream ?? (replica === undefined ? "Pacewatch" : `Pacewatch on ${replica}`);
}

/** What there are several of. */
function nounOf({ upstream, kind }: Trouble): string {
  if (upstream !== undefined) return "upstreams";
  return kind === "credit_ending" ? "budgets" : "replicas";
}
