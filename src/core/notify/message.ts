/** From what is due to what is said: the page's own sentences, as plain text. Each kind of receiver makes its own of it. */

import { rowOf, reasonWords, type Side, type Verdict } from "../exchange/reasons.ts";
import { humanDuration } from "../status/humanize.ts";
import type { Status, UpstreamFacts } from "../status/status.ts";
import { diagnosisOf } from "../status/verdict.ts";
import { SIDE_WORDS } from "../status/words.ts";
import { capText, escapeText } from "../text/escape.ts";
import { dateTime } from "../time/civil-day.ts";
import type { Due, Notice, Scene } from "./plan.ts";
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
  /** Of its first trouble, or of the first one of those that it was told with. The same in all that is said of it. */
  readonly incident: string;
  /** The same while what a receiver has opened by it is open. */
  readonly thread: string;
  /** What was opened by the thread may be closed. */
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
};

const NAMED = 10;
const LONGEST_LINE = 400;

/** What is alike is one message. An end closes what was opened: by another message only if that opened something else. */
export function tellingsOf(telled: Telled): readonly Telling[] {
  const alike = Map.groupBy(telled.dues, ({ event, trouble, isReminder }) => {
    const thread = event === "up" ? telled.notices.get(trouble.id)?.thread : undefined;
    return JSON.stringify([event, isReminder, thread?.includes(GROUP) === true ? thread : ""]);
  });
  return [...alike.values()].flatMap((dues) => {
    const [first] = dues;
    return first === undefined ? [] : [{ message: messageOf(first, dues, telled), dues }];
  });
}

/** Ends the thread of a message about several. */
const GROUP = "/+";

function messageOf(first: Due, dues: readonly Due[], telled: Telled): Message {
  const { notices, nowMs, of, pageUrl } = telled;
  const { trouble, event, isReminder } = first;
  const { upstream } = trouble;
  const told = notices.get(trouble.id);
  const started = dues.map((due) => due.trouble.startedAtMs);
  const isOver = dues.every((due) => due.trouble.endedAtMs !== undefined && due.event !== "flapping");
  const isOne = new Set(dues.map((due) => due.trouble.subject)).size === 1;
  const thread =
    (event === "up" || isReminder ? told?.thread : undefined) ??
    (isOne ? trouble.subject : `${trouble.id}${GROUP}`);
  const path = isOne && upstream !== undefined ? `/upstreams/${encodeURIComponent(upstream)}` : "/";
  const said = isOne ? single(dues.at(-1) ?? first, told, telled) : several(dues, telled);
  return {
    event,
    incident: thread.endsWith(GROUP) ? thread.slice(0, -GROUP.length) : trouble.id,
    thread,
    isOver: isOver && isLast(thread, dues, notices),
    isReminder,
    atMs: nowMs,
    sinceMs: Math.min(...started),
    untilMs: isOver ? Math.max(...dues.map((due) => due.trouble.endedAtMs ?? 0)) : undefined,
    members: dues.map(({ trouble: each, event: what }) => ({
      incident: each.id,
      subject: each.subject,
      upstream: each.upstream,
      title: titleOf(what, each),
      sinceMs: each.startedAtMs,
      untilMs: what === "flapping" ? undefined : each.endedAtMs,
    })),
    of,
    side: said.side,
    title: isReminder ? `Still: ${said.title}` : said.title,
    lines: said.lines.filter((line) => line !== "").map((line) => capText(escapeText(line), LONGEST_LINE)),
    link: pageUrl === undefined ? undefined : `${pageUrl}${path}`,
  };
}

/** Whether all that is open under this thread ends now. */
function isLast(thread: string, dues: readonly Due[], notices: ReadonlyMap<string, Notice>): boolean {
  const ends = new Set(dues.map(({ trouble }) => trouble.id));
  return !notices.values().some((each) => each.thread === thread && each.isOpen && !ends.has(each.incident));
}

type Said = Words & { readonly title: string };

function single(due: Due, told: Notice | undefined, { nowMs, words }: Telled): Said {
  const { trouble, event } = due;
  const title = titleOf(event, trouble);
  const { upstream, says, startedAtMs, endedAtMs } = trouble;
  if (event === "up" || endedAtMs !== undefined) return { title, ...ended(trouble, told) };
  const since = `Since ${dateTime(startedAtMs)}, for ${humanDuration(Math.max(0, nowMs - startedAtMs))}.`;
  const known = upstream === undefined || says !== "" ? undefined : words(upstream);
  const { side, lines } = known ?? { side: "open", lines: [says] };
  return { title, lines: [since, ...lines], side };
}

/** What the page says of it, too. */
export function wordsOf(facts: UpstreamFacts, status: Status): Words {
  const { side, because, reason } = diagnosisOf(facts, status);
  return { side, lines: [verdictLine({ side, because }), reason, ...evidence(facts)] };
}

function ended(trouble: Trouble, told: Notice | undefined): Words {
  const { reason, polls, says, kind, startedAtMs, endedAtMs = startedAtMs, isUnwatched } = trouble;
  const row = rowOf(reason);
  const side = told?.side ?? (row === undefined ? "open" : row.verdict.side);
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

function several(dues: readonly Due[], { scene, of }: Telled): Said {
  const [first] = dues;
  if (first === undefined) return { title: "", lines: [], side: "open" };
  const { event, trouble } = first;
  const names = [...new Set(dues.map((due) => nameOf(due.trouble)))];
  const shown = names.slice(0, NAMED).join(", ");
  const rest = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  const down = scene.troubles.filter((each) => each.kind === "down" && each.endedAtMs === undefined).length;
  const since = `Since ${dateTime(Math.min(...dues.map((due) => due.trouble.startedAtMs)))}.`;
  return {
    title: `${names.length} ${trouble.upstream === undefined ? "replicas" : "upstreams"} ${TITLES[event === "up" ? "up" : event].several}`,
    lines: [
      `${shown}${rest}.`,
      event === "up" ? trouble.says : since,
      `${down} of ${of} upstreams are down now.`,
    ],
    side: "open",
  };
}

type Titles = { readonly one: string; readonly several: string };

/** After the name of an upstream, and after their number. Pacewatch's own have no upstream. */
const TITLES: Readonly<Record<Due["event"], Titles>> = {
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
const ENDED: Readonly<Partial<Record<Trouble["kind"], string>>> = {
  throttled: "throttles us no more",
  unauthorized: "accepts our key again",
  blocked: "blocks us no more",
  credit_ending: "has credit again",
  config_refused: "has a config that it can use again",
};

function titleOf(event: Due["event"], trouble: Trouble): string {
  const { kind, isUnwatched } = trouble;
  const ended = isUnwatched ? "is no longer watched" : (ENDED[kind] ?? TITLES.up.one);
  return `${nameOf(trouble)} ${event === "up" ? ended : TITLES[event].one}`;
}

function nameOf({ upstream, subject }: Trouble): string {
  const replica = replicaIn(subject);
  return upstream ?? (replica === undefined ? "Pacewatch" : `Pacewatch on ${replica}`);
}
