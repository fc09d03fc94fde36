import type { Upstream } from "../../kernel/config/config.ts";
import { outcomeOf } from "../../kernel/exchange/outcome.ts";
import { ON_THE_WAY, type Reason, rowOf } from "../../kernel/exchange/reasons.ts";
import { field, type Field } from "../../kernel/text/field.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import { slotsOf } from "../../kernel/schedule/schedule.ts";
import type { Slots } from "../../kernel/schedule/slots.ts";
import { MINUTE_MS } from "../../kernel/time/duration.ts";

const RECENT_MS = 5 * MINUTE_MS;
const LONGEST_AWAITED_MS = 60_000;
const POLL_WITHIN_MS = 30_000;
/** A large answer waits for its judge: failures that ended after it may be known before. */
const JUDGED_WITHIN_MS = MINUTE_MS;

type WatchedUpstream = Pick<Upstream, "name" | "url" | "schedule">;

type Watched = {
  readonly name: string;
  host: string;
  /** Of a calendar, nights and weekends are no gap that a poll is waited for: its slots tell when one is due. */
  slots: Slots;
  readonly sinceMs: number;
  /** Undefined until the first poll of this process: what is restored may be hours old. */
  newest: { readonly isAnswer: boolean; readonly atMs: number } | undefined;
  lastAnswerMs: number | undefined;
  /** The second slot after that, once it was asked for: a calendar takes long to find it. */
  missedMs: number | undefined;
};

/** What the others showed of a failure on the way, once it is judged. */
export type Hindsight = {
  /** One on another host answered after it. */
  readonly answeredBy?: string;
  /** We were offline: it seemed to be this. */
  readonly seemed?: Reason;
};

export const HINDSIGHT: Field<Hindsight> = field("hindsight");

type Answer = Pick<Watched, "name" | "host"> & { readonly atMs: number };

type Suspect = { readonly poll: Poll; readonly judged: (poll: Poll) => void };

/**
 * Whether we are offline: told by the polls of all upstreams together, as one alone cannot tell. Upstreams on one host
 * count as one. A failure that our own network may have caused gets its outcome here, once it is known.
 */
export class OwnNetwork {
  readonly #watched = new Map<string, Watched>();
  /** Failures in the network since the last answer of any upstream, the oldest first: ours or theirs, nobody knows yet. */
  readonly #suspects = new Map<Watched, Suspect[]>();
  #isOffline = false;
  #offlineSinceMs = Number.NEGATIVE_INFINITY;
  /** When it ended last. */
  #offlineUntilMs = Number.NEGATIVE_INFINITY;
  #lastAnswered: Watched | undefined;
  /** Undefined until it is asked for: upstreams come and go. */
  #knownToHaveSeveralHosts: boolean | undefined;

  /** It may have been watched before, and have changed since. */
  watch({ name, url, schedule }: WatchedUpstream, nowMs: number): void {
    this.#knownToHaveSeveralHosts = undefined;
    const before = this.#watched.get(name) ?? {
      name,
      sinceMs: nowMs,
      newest: undefined,
      lastAnswerMs: undefined,
    };
    const now = { host: hostOf(url), slots: slotsOf(schedule), missedMs: undefined };
    this.#watched.set(name, Object.assign(before, now));
  }

  /** The others are no longer polled: what they failed in counts as it looks. */
  keep(upstreams: readonly WatchedUpstream[]): void {
    this.#knownToHaveSeveralHosts = undefined;
    for (const upstream of upstreams) if (this.#watched.has(upstream.name)) this.watch(upstream, 0);
    const kept = new Set(upstreams.map(({ name }) => name));
    for (const [name, watched] of this.#watched) {
      if (kept.has(name)) continue;
      this.#watched.delete(name);
      this.#tell(watched);
      if (this.#lastAnswered === watched) this.#lastAnswered = undefined;
    }
  }

  judge(upstream: string, poll: Poll, judged: (poll: Poll) => void): void {
    const watched = this.#watched.get(upstream);
    const { kind, reason } = poll.outcome;
    // A token endpoint may not have been reached either, and is no upstream.
    if (watched === undefined || kind === "ours" || reason === "auth") return judged(poll);
    if (rowOf(reason)?.verdict === ON_THE_WAY) return this.#failed(watched, { poll, judged });
    this.#answered(watched, poll.endedAtMs);
    judged(poll);
  }

  /** Whether a failure has no outcome yet: then `settle` is to be called every few seconds. */
  get isWaiting(): boolean {
    return this.#suspects.size > 0;
  }

  /**
   * A failure counts as it looks once nobody can tell otherwise soon: no poll of another host is due within five minutes,
   * or none has told for as long. A poll that is in flight is waited for.
   */
  settle(nowMs: number): void {
    const hosts = new Set<string>();
    for (const { host, newest, sinceMs, slots } of this.#watched.values()) {
      if (hosts.size > 1) break;
      const endsInMs = slots.next(newest?.atMs ?? sinceMs) + POLL_WITHIN_MS - nowMs;
      if (endsInMs >= 0 && endsInMs < RECENT_MS) hosts.add(host);
    }
    for (const [watched, suspects] of this.#suspects) {
      const isAnotherDue = hosts.size > (hosts.has(watched.host) ? 1 : 0);
      const waitMs = isAnotherDue ? RECENT_MS : POLL_WITHIN_MS;
      const first = suspects.findIndex(({ poll }) => {
        const ageMs = nowMs - poll.endedAtMs;
        return ageMs >= 0 && ageMs < waitMs;
      });
      const over = suspects.splice(0, first === -1 ? suspects.length : first);
      if (suspects.length === 0) this.#suspects.delete(watched);
      for (const { poll, judged } of over) judged(poll);
    }
  }

  /**
   * How many upstreams cannot be reached because we are offline; 0 while any answers. One that was not polled lately does
   * not count: nobody knows whether it would answer now.
   */
  unreachable(nowMs: number): number {
    if (!this.#isOffline) return 0;
    const lastAnswerMs = this.#lastAnswerMs;
    return this.#watched.values().reduce((count, watched) => {
      return isUnreachable(watched, lastAnswerMs, nowMs) ? count + 1 : count;
    }, 0);
  }

  /** Nobody knows yet whether its last failures are ours. */
  isSuspected(upstream: string): boolean {
    const watched = this.#watched.get(upstream);
    return watched !== undefined && this.#suspects.has(watched);
  }

  /** An error status is an answer too, and so is anything else that came over the network. */
  #answered(watched: Watched, atMs: number): void {
    watched.newest = { isAnswer: true, atMs };
    watched.lastAnswerMs = atMs;
    watched.missedMs = undefined;
    this.#lastAnswered = watched;
    for (const suspected of this.#suspects.keys()) this.#tell(suspected, undefined, { ...watched, atMs });
    if (!this.#isOffline || isBefore(atMs, this.#offlineSinceMs)) return;
    this.#offlineUntilMs = atMs;
    this.#isOffline = false;
  }

  #failed(watched: Watched, suspect: Suspect): void {
    const { sentAtMs, endedAtMs } = suspect.poll;
    watched.newest = { isAnswer: false, atMs: endedAtMs };
    const wasSentOffline = sentAtMs < this.#offlineUntilMs && endedAtMs >= this.#offlineUntilMs;
    if (this.#isOffline || wasSentOffline) return judgedOurs(suspect);
    const own = this.#suspects.get(watched) ?? [];
    this.#suspects.set(watched, own);
    own.push(suspect);
    this.#isOffline = this.#isOfflineAt(endedAtMs);
    if (this.#isOffline) {
      this.#offlineSinceMs = endedAtMs;
      for (const suspected of this.#suspects.keys()) this.#tell(suspected, endedAtMs);
    } else if (!this.#hasSeveralHosts) {
      this.#tell(watched);
    }
  }

  /** Its failures were ours where they are of the time before we were found offline, and otherwise what they look like. */
  #tell(watched: Watched, offlineAtMs?: number, answer?: Answer): void {
    const suspects = this.#suspects.get(watched) ?? [];
    const later = suspects.filter(
      ({ poll }) => answer !== undefined && isBefore(answer.atMs, poll.endedAtMs),
    );
    if (later.length === 0) this.#suspects.delete(watched);
    else this.#suspects.set(watched, later);
    for (const suspect of suspects) {
      if (later.includes(suspect)) continue;
      const { poll, judged } = suspect;
      if (offlineAtMs !== undefined && isRecent(watched, poll.endedAtMs, offlineAtMs)) judgedOurs(suspect);
      else if (answer === undefined || answer.host === watched.host) judged(poll);
      else judged(withHindsight(poll, { answeredBy: answer.name }));
    }
  }

  #isOfflineAt(nowMs: number): boolean {
    // Usually it is this one. Where thousands fail, not all are asked for each failure.
    if (this.#lastAnswered !== undefined && mayBeReached(this.#lastAnswered, nowMs)) return false;
    if (!this.#hasSeveralHosts) return false;
    for (const watched of this.#watched.values()) if (mayBeReached(watched, nowMs)) return false;
    const lastAnswerMs = this.#lastAnswerMs;
    let host: string | undefined;
    for (const watched of this.#watched.values()) {
      if (!isUnreachable(watched, lastAnswerMs, nowMs)) continue;
      host ??= watched.host;
      if (watched.host !== host) return true;
    }
    return false;
  }

  get #hasSeveralHosts(): boolean {
    this.#knownToHaveSeveralHosts ??= new Set([...this.#watched.values()].map(({ host }) => host)).size > 1;
    return this.#knownToHaveSeveralHosts;
  }

  /** When any upstream answered last. */
  get #lastAnswerMs(): number {
    return this.#watched
      .values()
      .reduce(
        (latest, { lastAnswerMs = latest }) => Math.max(latest, lastAnswerMs),
        Number.NEGATIVE_INFINITY,
      );
  }
}

/** Where it is long before, the wall clock was set back. */
function isBefore(atMs: number, otherMs: number): boolean {
  return atMs < otherMs && otherMs - atMs < JUDGED_WITHIN_MS;
}

function judgedOurs({ poll, judged }: Suspect): void {
  const { kind, reason } = poll.outcome;
  const told = kind === "ok" ? poll : withHindsight(poll, { seemed: reason });
  judged({ ...told, outcome: outcomeOf("offline") });
}

function withHindsight(poll: Poll, hindsight: Hindsight): Poll {
  return { ...poll, said: { ...poll.said, [HINDSIGHT.name]: hindsight } };
}

/** It answered, and need not have been polled again since; or it is new, and was not polled yet. */
function mayBeReached({ newest, sinceMs, slots }: Watched, nowMs: number): boolean {
  if (newest !== undefined && !newest.isAnswer) return false;
  const fromMs = newest?.atMs ?? sinceMs;
  return nowMs - fromMs < Math.min(slots.usualGapMs, LONGEST_AWAITED_MS) + POLL_WITHIN_MS;
}

/** Its newest poll failed, and it answered until about the last answer of any. One that is down for longer tells nothing. */
function isUnreachable(watched: Watched, lastAnswerMs: number, nowMs: number): boolean {
  const { newest, slots, lastAnswerMs: ownAnswerMs } = watched;
  if (newest === undefined || newest.isAnswer || !isRecent(watched, newest.atMs, nowMs)) return false;
  if (ownAnswerMs === undefined) return true;
  watched.missedMs ??= slots.next(slots.next(ownAnswerMs));
  return watched.missedMs + POLL_WITHIN_MS >= lastAnswerMs;
}

function isRecent({ slots }: Watched, atMs: number, nowMs: number): boolean {
  return nowMs - atMs < Math.max(RECENT_MS, 2 * slots.usualGapMs);
}

export function hostOf(url: string): string {
  return /^\w+:\/\/([^/]*)/.exec(url)?.[1] ?? url;
}
