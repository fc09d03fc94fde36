import type { Beat } from "./board.ts";
import type { Group } from "./groups.ts";
import { memberOf, nameOf, type FleetMember } from "./member.ts";
import { assign, type Assignment } from "./assignment.ts";

/** Several times what the largest fleet has: a board that invents names takes no more memory than that. */
const MOST_HOLDERS = 50_000;
const LONGEST_NAME = 300;

/** What one replica knows of the board: live sessions and holders. */
export class BoardView {
  #version = "";
  #members: readonly FleetMember[] = [];
  #live = new Set<string>();
  #holders = new Map<string, string>();
  #notes = 0;

  get version(): string {
    return this.#version;
  }

  get members(): readonly FleetMember[] {
    return this.#members;
  }

  /** How far the wall clocks of most are ahead of Redis's. */
  get usualClockMs(): number {
    const aheadMs = this.#members.map(({ clockAheadMs }) => clockAheadMs).toSorted((a, b) => a - b);
    return aheadMs[Math.floor((aheadMs.length - 1) / 2)] ?? 0;
  }

  /** So many different configs run in the fleet. */
  get configs(): number {
    return Math.max(1, new Set(this.#members.map(({ config }) => config)).size);
  }

  update(beat: Beat): void {
    if (beat.holders !== undefined) {
      const short = [...beat.holders].filter(([name, holder]) => name.length + holder.length <= LONGEST_NAME);
      this.#holders = new Map(short.slice(0, MOST_HOLDERS));
    }
    this.#version = beat.version;
    this.#members = beat.sessions.map(memberOf).sort((a, b) => (a.session < b.session ? -1 : 1));
    this.#live = new Set(beat.sessions.map(({ session }) => session));
  }

  /** The session of the replica that has lived longest: also while it leaves, until it is gone. */
  get eldest(): string | undefined {
    let eldest: { readonly session?: string; readonly provenMs: number } = { provenMs: -1 };
    for (const { session, provenMs = -1 } of this.#members)
      if (provenMs > eldest.provenMs) eldest = { session, provenMs };
    return eldest.session;
  }

  /** A change that is known before the next beat. */
  note(name: string, holder: string | undefined): void {
    this.#notes += 1;
    if (holder === undefined) this.#holders.delete(name);
    else this.#holders.set(name, holder);
  }

  /** The live session that holds it. */
  holderOf(name: string): string | undefined {
    const session = this.#holders.get(name);
    return session !== undefined && this.#live.has(session) ? session : undefined;
  }

  /** What follows from the view for one config is the same as long as this is. */
  standingOf(own: Pick<FleetMember, "groups">, ttlMs: number): string {
    const members = this.#members.map(({ session, groups, configSinceMs, asks }) => [
      session,
      groups,
      configSinceMs,
      asks,
    ]);
    const able = this.#ableOf(own);
    return JSON.stringify([
      this.#version,
      this.#notes,
      members,
      [...able.keys()],
      [...provenOf(able, ttlMs)],
    ]);
  }

  /**
   * Who should hold what, among replicas that have the same groups and stay. What others hold stays there. One that is
   * new keeps what it holds, and is given no more while others have lived longer.
   */
  assignmentOf(groups: readonly Group[], own: Pick<FleetMember, "groups">, ttlMs: number): Assignment {
    const able = this.#ableOf(own);
    const proven = provenOf(able, ttlMs);
    const holders = new Map(
      groups.map(({ id, names }) => {
        const session = names.map((name) => this.holderOf(name)).find((each) => each !== undefined);
        return [id, session && nameOf(session)] as const;
      }),
    );
    const free = groups.filter(({ id }) => {
      const holder = holders.get(id);
      return holder === undefined || proven.has(holder);
    });
    const kept = [...holders].flatMap(([id, holder]) =>
      holder !== undefined && able.has(holder) && !proven.has(holder) ? [[id, holder] as const] : [],
    );
    return new Map([...assign(free, [...proven], (id) => holders.get(id)), ...kept]);
  }

  /** By name, how long each is proven that could hold any of these groups. */
  #ableOf({ groups }: Pick<FleetMember, "groups">): ReadonlyMap<string, number> {
    const lives = Map.groupBy(
      this.#members.filter((member) => member.groups === groups),
      ({ name }) => name,
    );
    return new Map(
      [...lives].flatMap(([name, sessions]) =>
        // Of one that was just started again, the session before may live still: that one proves nothing.
        sessions.every(isAble)
          ? [[name, Math.min(...sessions.map(({ provenMs = 0 }) => provenMs))] as const]
          : [],
      ),
    );
  }
}

/** One that does not hear the board's answers cannot claim. */
function isAble({ isLeaving, provenMs }: FleetMember): boolean {
  return !isLeaving && provenMs !== undefined;
}

/**
 * A replica that crashes again and again would take groups with it each time, and they would wait for the end of each of its
 * sessions. So nobody who is younger than one TTL is given any, unless nobody is older: then those have proven
 * themselves that lived longest.
 */
function provenOf(livedMs: ReadonlyMap<string, number>, ttlMs: number): ReadonlySet<string> {
  const leastMs = Math.min(ttlMs, Math.max(0, ...livedMs.values()) / 2);
  return new Set([...livedMs].flatMap(([name, ms]) => (ms >= leastMs ? [name] : [])));
}
