import { HEALTH_STATES, type HealthChange, type HealthState } from "../../kernel/poll/health.ts";
import type { PollOutcome } from "../../kernel/exchange/outcome.ts";
import { type Outcome, REASON_NAMES } from "../../kernel/exchange/reasons.ts";
import type { Hindsight } from "./own-network.ts";
import { type Left, type Note, type NoteKind, notesOf } from "../../kernel/text/notes.ts";
import {
  count,
  flag,
  number,
  numbersOf,
  objectOf,
  oneOf,
  optional,
  type Row,
  text,
} from "../../kernel/text/rows.ts";
import { HOUR_MS } from "../../kernel/time/duration.ts";
import type { PollStatus } from "./kept-poll.ts";

export const INCIDENTS_KEPT = 50;

export type Incident = {
  readonly upstream: string;
  /** The worst state that was reached. */
  readonly state: HealthState;
  readonly reason: string;
  readonly startedAtMs: number;
  /** Undefined while it is ongoing. */
  readonly endedAtMs: number | undefined;
  /** It was seen last when it ended: nobody knows how long it went on. */
  readonly isUnwatched?: true;
  /** How many polls belong to it. */
  readonly polls: number;
  /** How many of them for each reason, where there were several. */
  readonly reasons?: Reasons | undefined;
  /** An upstream on another host that answered after this one had failed on the way. */
  readonly answeredBy?: string | undefined;
};

/** How many polls had each. */
export type Reasons = Readonly<Record<string, number>>;

export function reasonsOf(incident: Pick<Incident, "reason" | "polls" | "reasons">): Reasons {
  return incident.reasons ?? { [incident.reason]: incident.polls };
}

/** Of the polls that led to a state. */
export const OUTCOME_OF: Readonly<Partial<Record<HealthState, Outcome>>> = {
  down: "failed",
  throttled: "throttled",
  unauthorized: "rejected",
};

/** The worst is last. Other states are no incident. */
const SEVERITY: readonly HealthState[] = ["throttled", "unauthorized", "down"];

/** As long as a pause, unless the config says otherwise. */
const PAUSED_MS = HOUR_MS;

/** Where nobody has looked for long since, an open incident lasted until it was seen last: what came then is unknown. */
export function seenUntil(
  incidents: readonly Incident[],
  lastPollAtMs: number | undefined,
): readonly Incident[] {
  const [newest, ...older] = incidents;
  if (newest === undefined || newest.endedAtMs !== undefined) return incidents;
  const seenAtMs = Math.max(newest.startedAtMs, lastPollAtMs ?? 0);
  return [{ ...newest, endedAtMs: seenAtMs, isUnwatched: true }, ...older];
}

/** For so long that nobody has looked. */
export function isUnseen(knownUntilMs: number, nowMs: number): boolean {
  return nowMs >= knownUntilMs + PAUSED_MS;
}

/** How an earlier process saw an upstream last. Wall clock. */
export type SeenBefore = {
  readonly state: HealthState;
  readonly isUp: boolean | undefined;
  readonly sinceMs: number | undefined;
  readonly lastPollAtMs: number | undefined;
  /** If nobody has polled it by then, its state is not known any more. */
  readonly knownUntilMs: number;
  /** The one that is open. */
  readonly incident?: Omit<Incident, "upstream" | "endedAtMs" | "isUnwatched"> | undefined;
};

/** By upstream. Only a register has them: the state file has its polls and incidents. */
const SEEN: NoteKind<SeenBefore> = {
  name: "upstream",
  read: objectOf(seenBeforeIn),
  merge: (_, other) => other,
};

export function seenIn(homes: readonly Left[]): ReadonlyMap<string, SeenBefore> {
  return notesOf(SEEN, homes);
}

export function seenNote(upstream: string, seen: SeenBefore): Note {
  return { kind: SEEN.name, key: upstream, json: seen };
}

function seenBeforeIn(row: Row): SeenBefore {
  return {
    state: row.get("state", oneOf(HEALTH_STATES)),
    isUp: row.get("isUp", optional(flag)),
    sinceMs: row.get("sinceMs", optional(number)),
    lastPollAtMs: row.get("lastPollAtMs", optional(number)),
    knownUntilMs: row.get("knownUntilMs", number),
    incident: row.get(
      "incident",
      optional(
        objectOf((incident) => ({
          state: incident.get("state", oneOf(HEALTH_STATES)),
          reason: incident.get("reason", text),
          startedAtMs: incident.get("startedAtMs", number),
          polls: incident.get("polls", count),
          ...whyIn(incident),
        })),
      ),
    ),
  };
}

/** Of an incident that was kept. */
export function whyIn(row: Row): Pick<Incident, "reasons" | "answeredBy"> {
  const reasons = row.get("reasons", optional(numbersOf(REASON_NAMES)));
  return { reasons, answeredBy: row.get("answeredBy", optional(text)) };
}

/** Undefined where what is left of that process does not tell: its last poll has failed, and nobody has confirmed it. */
export function seenLast({
  polls,
  incidents: [newest],
  knownUntilMs = 0,
}: {
  readonly polls: readonly PollStatus[];
  readonly incidents: readonly Incident[];
  readonly knownUntilMs?: number | undefined;
}): SeenBefore | undefined {
  const last = polls.at(-1);
  const open = newest?.endedAtMs === undefined ? newest : undefined;
  if (last === undefined || (last.outcome === "ok") !== (open === undefined)) return undefined;
  const known = { lastPollAtMs: last.atMs, knownUntilMs };
  if (open === undefined)
    return { ...known, state: last.degraded ? "degraded" : "up", isUp: true, sinceMs: undefined };
  const isUp = open.state === "down" ? false : undefined;
  const told = polls.findLast(({ outcome }) => outcome !== "ours");
  // An incident is known by its worst: that it was down before is no outage of now.
  return told?.outcome === "throttled" && open.state !== "throttled"
    ? { ...known, state: "throttled", isUp, sinceMs: told.atMs }
    : { ...known, state: open.state, isUp, sinceMs: open.startedAtMs };
}

/** Goes on with what another process saw since: the incident that is open there, or that none is. */
export function seenElsewhere(
  upstream: string,
  own: readonly Incident[],
  { incident, sinceMs = 0 }: Pick<SeenBefore, "incident" | "sinceMs">,
): readonly Incident[] {
  const past = own
    .filter(({ startedAtMs }) => startedAtMs !== incident?.startedAtMs)
    .map((each) => ({ ...each, endedAtMs: each.endedAtMs ?? Math.max(each.startedAtMs, sinceMs) }));
  return incident === undefined ? past : [{ upstream, ...incident, endedAtMs: undefined }, ...past];
}

type StartedAt = Pick<Incident, "startedAtMs">;

/** Its polls since the last ok. */
type Failing = StartedAt & { reasons: Reasons; answeredBy?: string | undefined };

type Open = Failing & {
  state: HealthState;
  reason: string;
  /** When the bad state was confirmed. */
  readonly confirmedAtMs: number;
};

/** The incidents of one upstream: each is known by a bad state, begins with its first failure and ends with the first ok. */
export class Incidents {
  readonly #upstream: string;
  /** The newest last. */
  readonly #ended: Incident[];
  #open: Open | undefined;
  /** Of the last failed poll: the change of health that it causes comes after it. */
  #lastReason = "";
  /** The failed polls since the last ok, while no incident is open. */
  #failing: Failing | undefined;
  #isUnwatched = false;
  #isUnknown = false;
  /** When a poll told something of the upstream last. */
  seenAtMs: number | undefined;
  /** When the health last changed. Of a bad one, also after a restart, with its first failure. */
  sinceMs: number;

  /** Continues `restored`, the newest first: an open one stays open until the first ok. */
  constructor(upstream: string, restored: readonly Incident[] = [], sinceMs: number = 0) {
    this.#upstream = upstream;
    this.sinceMs = sinceMs;
    const [newest] = restored;
    this.#open =
      newest === undefined || newest.endedAtMs !== undefined
        ? undefined
        : { ...newest, reasons: reasonsOf(newest), confirmedAtMs: newest.startedAtMs };
    this.#ended = restored
      .filter((incident) => incident.endedAtMs !== undefined)
      .slice(0, INCIDENTS_KEPT)
      .reverse();
  }

  /** `isUnseen`: nobody looked for long before. Returns the incident that is over by then. */
  polled(outcome: PollOutcome, endedAtMs: number, isUnseen = false): StartedAt | undefined {
    const { kind, reason } = outcome;
    const former = kind === "ours" ? undefined : this.#endUnseen(endedAtMs, isUnseen);
    if (kind !== "ok") this.#lastReason = reason;
    if (kind === "ok") this.#failing = undefined;
    else if (former !== undefined && !this.#isUnknown) this.#beginAgain(endedAtMs, outcome, former);
    else if (this.#open !== undefined) add(this.#open, reason);
    else if (kind !== "ours") add((this.#failing ??= { startedAtMs: endedAtMs, reasons: {} }), reason);
    return former;
  }

  /** In the place of another one, without a change of health but to throttled, which needs no confirmation. */
  #beginAgain(atMs: number, { kind, reason }: PollOutcome, former: Open): void {
    const state = kind === "throttled" ? kind : former.state;
    this.#open = { state, reason, startedAtMs: atMs, confirmedAtMs: atMs, reasons: { [reason]: 1 } };
    this.sinceMs = atMs;
  }

  /** Where nobody looked, what failed before may have been over meanwhile. Returns what was open. */
  #endUnseen(nowMs: number, isUnseen: boolean): Open | undefined {
    const seenAtMs = this.seenAtMs ?? nowMs;
    this.seenAtMs = nowMs;
    if (!isUnseen) return undefined;
    const open = this.#open;
    this.#open = undefined;
    this.#failing = undefined;
    if (open !== undefined) this.#end(open, Math.max(open.startedAtMs, seenAtMs), true);
    return open;
  }

  /** What was ours makes an incident that it led to ours; one that began before is theirs. */
  judged(outcome: PollOutcome, endedAtMs: number, { answeredBy, seemed }: Hindsight = {}): void {
    const { kind, reason } = outcome;
    const open = this.#open;
    const failing = open ?? this.#failing;
    if (failing !== undefined && endedAtMs >= failing.startedAtMs) {
      failing.answeredBy = answeredBy ?? failing.answeredBy;
      if (seemed !== undefined && (failing.reasons[seemed] ?? 0) > 0) {
        add(failing, seemed, -1);
        add(failing, reason);
      }
    }
    if (reason === "offline") {
      this.#lastReason = reason;
      this.#failing = undefined;
      if (open !== undefined && open.confirmedAtMs >= endedAtMs) open.reason = reason;
    } else if (open?.reason === "offline" && kind !== "ok" && kind !== "ours") {
      // We are online again, and it still fails.
      add(open, reason, -1);
      this.#end(open, endedAtMs);
      this.#beginAgain(endedAtMs, outcome, open);
    }
  }

  healthChanged({ from, to, atMs }: HealthChange): void {
    this.sinceMs = atMs;
    if (this.#isUnwatched) return;
    const severity = SEVERITY.indexOf(to);
    this.#isUnknown = to === "unknown";
    // What failed before nobody looked may have been over meanwhile.
    if (to === "unknown") this.#failing = undefined;
    if (severity >= 0) {
      const reason = this.#lastReason;
      const failing = this.#failing ?? { startedAtMs: atMs, reasons: { [reason]: 1 } };
      this.#failing = undefined;
      const isNew = this.#open === undefined;
      this.#open ??= { ...failing, state: to, reason, confirmedAtMs: atMs };
      if (this.#open.state === to && (isNew || from === "unknown")) this.sinceMs = this.#open.startedAtMs;
      if (severity > SEVERITY.indexOf(this.#open.state) && reason !== "offline") {
        this.#open.state = to;
        this.#open.reason = reason;
      }
    } else if (to !== "unknown" && this.#open !== undefined) {
      this.#end(this.#open, atMs);
      this.#open = undefined;
    }
  }

  /** Nobody looks any more: what is open ends where it was seen last, and nothing begins. */
  unwatched(seenAtMs: number | undefined): void {
    this.#isUnwatched = true;
    if (this.#open === undefined) return;
    this.#end(this.#open, Math.max(this.#open.startedAtMs, seenAtMs ?? 0), true);
    this.#open = undefined;
  }

  #end(open: Open, endedAtMs: number, isUnwatched = false): void {
    this.#ended.push({ ...this.#shown(open), endedAtMs, ...(isUnwatched && { isUnwatched }) });
    if (this.#ended.length > INCIDENTS_KEPT) this.#ended.shift();
  }

  get newest(): Incident | undefined {
    return this.#open === undefined ? this.#ended.at(-1) : this.#shown(this.#open);
  }

  /** The newest first. */
  get all(): readonly Incident[] {
    const ended = this.#ended.toReversed();
    return this.#open === undefined ? ended : [this.#shown(this.#open), ...ended];
  }

  #shown({ state, reason, startedAtMs, reasons, answeredBy }: Open): Incident {
    const polls = Object.values(reasons).reduce((sum, each) => sum + each, 0);
    const why = { reasons: reasons[reason] === polls ? undefined : reasons, answeredBy };
    return { upstream: this.#upstream, state, reason, startedAtMs, endedAtMs: undefined, polls, ...why };
  }
}

/** What was shown before stays as it was. */
function add(failing: Failing, reason: string, polls = 1): void {
  const { [reason]: before = 0, ...others } = failing.reasons;
  failing.reasons = before + polls === 0 ? others : { ...failing.reasons, [reason]: before + polls };
}

/** The first ones confirm an incident. Of the rest the newest shows that it lasted. */
const FIRST_KEPT = 2;
export const EVIDENCE_POLLS: number = FIRST_KEPT + 1;

/** What shows an incident to the provider: polls that were not ok since the last ok one. Our own faults show nothing. */
export class Evidence {
  /** The oldest first. */
  polls: readonly PollStatus[];
  #isOver = false;
  /** Of the last incident that ended unseen: its end is saved only after the poll that found it over. */
  #former: (StartedAt & { readonly polls: readonly PollStatus[] }) | undefined;

  /** Continues `restored`, of an incident that is still open. */
  constructor(restored: readonly PollStatus[] = []) {
    this.polls = restored;
  }

  /** Of the newest incident. */
  of({ startedAtMs }: Incident): readonly PollStatus[] {
    return this.#former?.startedAtMs === startedAtMs ? this.#former.polls : this.polls;
  }

  /** After an ok poll it stays until the next failure, as the incident that just ended is still to be saved. */
  polled(poll: PollStatus): void {
    if (poll.outcome === "ok") this.#isOver = true;
    if (poll.outcome === "ok" || poll.outcome === "ours") return;
    this.polls = this.#isOver ? [poll] : [...this.polls.slice(0, FIRST_KEPT), poll];
    this.#isOver = false;
  }

  /** What fails next is another incident. */
  endUnseen({ startedAtMs }: StartedAt): void {
    this.#former = { startedAtMs, polls: this.polls };
    this.polls = [];
  }

  /** It was ours after all. */
  wasOurs(id: string): void {
    this.polls = this.polls.filter((poll) => poll.id !== id);
  }
}
