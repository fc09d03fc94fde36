/** From what is due to what is said: the page's own sentences, as plain text. Each kind of receiver makes its own of it. */

import { rowOf, reasonWords, type Side, type Verdict } from "../exchange/reasons.ts";
import { humanDuration } from "../status/humanize.ts";
import type { Status, UpstreamFacts } from "../status/status.ts";
import { diagnosisOf } from "../status/verdict.ts";
import { SIDE_WORDS } from "../status/words.ts";
import { capText, escapeText } from "../text/escape.ts";
import { dateTime } from "../time/civil-day.ts";
import { type Due, type Notice, type Scene, threadOf } from "./plan.ts";
import { replicaIn, type Trouble } from "./trouble.ts";

/** One trouble of a message. */
export type Member = {
  readonly incident: string;
  readonly subject: string;
  readonly upstream: string | undefined;
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

const NAMED = 10;
const LONGEST_LINE = 400;

/** What is alike is one message. */
export function tellingsOf(telled: Telled): readonly Telling[] {
  const { dues: all, notices, closesById } = telled;
  const alike = Map.groupBy(all, (due) => {
    const thread = closesById ? threadOf(due, notices) : undefined;
    return JSON.stringify([phrasesOf(due, notices).one, nounOf(due.trouble), due.isReminder, thread]);
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
  const path = isOne && upstream !== undefined ? `/upstreams/${encodeURIComponent(upstream)}` : "/";
  const said = isOne ? single(dues.at(-1) ?? first, telled) : several(dues, telled);
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
      title: titleOf(due, notices),
      sinceMs: due.trouble.startedAtMs,
      untilMs: due.event === "flapping" ? undefined : due.trouble.endedAtMs,
    })),
    of,
    side: said.side,
    title: isReminder ? `Still: ${said.title}` : said.title,
    lines: said.lines.filter((line) => line !== "").map((line) => capText(escapeText(line), LONGEST_LINE)),
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

function several(dues: readonly Due[], { scene, of, notices }: Telled): Said {
  const [first] = dues;
  if (first === undefined) return { title: "", lines: [], side: "open" };
  const { event, trouble } = first;
  const phrases = phrasesOf(first, notices);
  const names = [...new Set(dues.map((due) => nameOf(due.trouble)))];
  const shown = names.slice(0, NAMED).join(", ");
  const rest = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  const down = scene.troubles.filter((each) => each.kind === "down" && each.endedAtMs === undefined).length;
  const since = dateTime(Math.min(...dues.map((due) => due.trouble.startedAtMs)));
  const [name, other] = names;
  return {
    title:
      other === undefined
        ? `${name} ${phrases.one}`
        : `${names.length} ${nounOf(trouble)} ${phrases.several}`,
    lines: [
      `${shown}${rest}.`,
      event === "up" ? `It began at ${since}.` : `Since ${since}.`,
      trouble.upstream === undefined ? "" : `${down} of ${of} upstreams are down now.`,
    ],
    side: sideOf(trouble),
  };
}

type Phrases = { readonly one: string; readonly several: string };

/** After the name of an upstream, and after their number. Pacewatch's own have no upstream. */
const PHRASES: Readonly<Record<Due["event"], Phrases>> = {
  down: { one: "is down", several: "are down" },
  up: { one: "is up again", several: "are up again" },
  flapping: { one: "goes up and down", several: "go up and down" },
  unauthorized: { one: "rejects our key", several: "reject our key" },
  blocked: { one: "blocks us", several: "block us" },
  throttled: { one: "is throttling us", several: "are throttling us" },
  credit_ending: { one: "has little credit left", several: "have little credit left" },
  api_ending: { one: "announces the end of its API", several: "announce the end of their API" },
  offline: { one: "was offline", several: "were offline" },
  config_refused: { one: "refused its new config", several: "refused their new config" },
  state_lost: { one: "lost its state file", several: "lost their state file" },
};

/** What has ended is named by what it was, where it was no state of an upstream. */
const ENDED: Readonly<Partial<Record<Trouble["kind"], Phrases>>> = {
  throttled: { one: "throttles us no more", several: "throttle us no more" },
  unauthorized: { one: "accepts our key again", several: "accept our key again" },
  blocked: { one: "blocks us no more", several: "block us no more" },
  credit_ending: { one: "has credit again", several: "have credit again" },
  config_refused: {
    one: "has a config that it can use again",
    several: "have a config that they can use again",
  },
};
const UNWATCHED: Phrases = { one: "is no longer watched", several: "are no longer watched" };
const STEADY: Phrases = { one: "goes up and down no more", several: "go up and down no more" };

function phrasesOf({ event, trouble }: Due, notices: ReadonlyMap<string, Notice>): Phrases {
  const { id, kind, isUnwatched } = trouble;
  if (event === "flapping" && kind !== "down") {
    const { one, several: all } = PHRASES[kind];
    return { one: `${one} again and again`, several: `${all} again and again` };
  }
  if (event !== "up") return PHRASES[event];
  if (isUnwatched) return UNWATCHED;
  return kind === "down" && notices.get(id)?.event === "flapping" ? STEADY : (ENDED[kind] ?? PHRASES.up);
}

function titleOf(due: Due, notices: ReadonlyMap<string, Notice>): string {
  return `${nameOf(due.trouble)} ${phrasesOf(due, notices).one}`;
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
