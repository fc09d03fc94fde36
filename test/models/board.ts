import type {
  Beat,
  BeatRequest,
  Claimed,
  ClaimedBudget,
  ClaimRequest,
  Counted,
  CountRequest,
  Granted,
  News,
  ReleaseRequest,
} from "../../src/core/fleet/board.ts";
import { nameOf } from "../../src/core/fleet/member.ts";
import { DAY_MS } from "../../src/core/time/duration.ts";

export type BoardTime = { readonly nowMs: number; readonly runId: string };

type Start = { earliest: number; sent: number; readonly cold: number; readonly terms: string };
type Part = {
  readonly seat: number;
  readonly rest: number;
  seatUntil: number;
  restUntil: number;
  readonly process: string;
  readonly grants: number;
};

const STEP = 0.19;
const TRUSTED = 0.8;
const LIVES = 30;

/** What the board's scripts do, on paper: tests compare the two, and worlds in virtual time run on this one. */
export class BoardModel {
  #run: string | undefined;
  #at = 0;
  #seen = 0;
  #opens = 0;
  #memory = "";
  #version = 0;
  #grants = 0;
  #sessions = new Map<string, number>();
  #members = new Map<string, { proven: number; info: string }>();
  #holders = new Map<string, string>();
  #starts = new Map<string, Start>();
  readonly #pauses = new Map<string, number>();
  readonly #records = new Map<string, { readonly at: number; readonly text: string }>();
  readonly #parts = new Map<string, Part>();
  readonly #counts = new Map<string, Map<string, number>>();
  #opensIn = 0;

  /** A copy as a replica of the server has it. */
  holdersNow(): ReadonlyMap<string, string> {
    return this.#holders;
  }

  #enter({ nowMs, runId }: BoardTime, ttlMs: number): void {
    if (this.#run === runId) {
      this.#at += Math.max(0, Math.min(nowMs - this.#seen, ttlMs * STEP));
    } else {
      this.#at = Math.max(this.#run === undefined ? 0 : this.#at, nowMs);
      this.#opens = this.#at + ttlMs;
      this.#memory = `${runId}@${nowMs}`;
      this.#sessions = new Map();
      this.#members = new Map();
      this.#holders = new Map();
      this.#starts = new Map();
    }
    this.#run = runId;
    this.#seen = nowMs;
    this.#opensIn = Math.max(0, this.#opens - this.#at);
  }

  #isAlive(session: string): boolean {
    return (this.#sessions.get(session) ?? 0) > this.#at;
  }

  #set(name: string, holder: string): void {
    this.#holders.set(name, holder);
    this.#version += 1;
  }

  beat(time: BoardTime, request: BeatRequest): Beat | "lost" {
    const { session, ttlMs, answeredAgoMs = -1, info, version } = request;
    this.#enter(time, ttlMs);
    let ends = this.#sessions.get(session);
    if (answeredAgoMs > ttlMs * TRUSTED && ends !== undefined) {
      this.#sessions.set(session, Math.min(ends, this.#at));
      ends = this.#at;
    }
    if (ends === undefined ? answeredAgoMs >= 0 : ends <= this.#at) return "lost";
    let proven = this.#members.get(session)?.proven ?? -1;
    if (proven < 0 && answeredAgoMs >= 0) {
      const died = [...this.#sessions].filter(
        ([other, end]) =>
          end >= this.#at - LIVES * ttlMs &&
          end <= this.#at &&
          nameOf(other) === nameOf(session) &&
          processOf(other) !== processOf(session),
      );
      proven = this.#at + died.length * ttlMs;
    }
    this.#sessions.set(session, this.#at + ttlMs);
    this.#members.set(session, { proven, info });
    for (const [old, end] of this.#sessions) {
      if (end > this.#at - DAY_MS) continue;
      this.#sessions.delete(old);
      this.#members.delete(old);
    }
    for (const [name, untilMs] of this.#pauses) if (untilMs <= this.#at) this.#pauses.delete(name);
    const known = `${this.#memory} ${this.#version}`;
    return {
      wallMs: time.nowMs,
      opensInMs: this.#opensIn,
      version: known,
      sessions: [...this.#sessions]
        .filter(([, end]) => end > this.#at)
        .map(([each, end]) => {
          const member = this.#members.get(each);
          const since = member?.proven ?? -1;
          return {
            session: each,
            endsInMs: end - this.#at,
            provenMs: since < 0 ? undefined : Math.max(0, this.#at - since),
            info: member?.info ?? "",
          };
        }),
      holders:
        version === known
          ? undefined
          : new Map([...this.#holders].filter(([, holder]) => !holder.startsWith("@"))),
      pauses: new Map([...this.#pauses].map(([name, untilMs]) => [name, untilMs - this.#at])),
      granted: this.#grant(request),
    };
  }

  #grant({ session, ttlMs, wants }: BeatRequest): Granted | undefined {
    if (wants === undefined) return undefined;
    const name = nameOf(session);
    const hasSize = (part: Part): boolean =>
      Math.abs(part.seat - wants.seat) + Math.abs(part.rest - wants.rest) < 1e-9;
    let isMixed = false;
    let taken = 0;
    let orphaned = 0;
    let others = 0;
    for (const [other, part] of this.#parts) {
      const counts = Math.max(part.seatUntil, part.restUntil) + wants.forgottenMs > this.#at;
      if (counts && !hasSize(part)) isMixed = true;
      if (other === name) continue;
      if (Math.max(part.seatUntil, part.restUntil) < this.#at - DAY_MS) this.#parts.delete(other);
      if (part.seatUntil > this.#at) taken += part.seat;
      if (part.restUntil > this.#at) {
        taken += part.rest;
        others += 1;
      } else if (part.seatUntil > this.#at) orphaned += part.rest;
    }
    const process = processOf(session);
    const found = this.#parts.get(name);
    const isOthers = found !== undefined && found.process !== process && found.restUntil > this.#at;
    const own = found ?? { ...wants, seatUntil: 0, restUntil: 0, process: "", grants: -1 };
    const isMine = hasSize(own) && own.process === process;
    const isUntouched = own.grants === this.#grants;
    const has = (untilMs: number): boolean => isMine && untilMs > 0 && (untilMs > this.#at || isUntouched);
    const hadSeat = has(own.seatUntil) || wants.has.seat > 0;
    const hadRest = has(own.restUntil) || wants.has.rest > 0;
    const room = 1.000000001 - taken;
    const isOpen = this.#opensIn <= 0 && !isOthers;
    const kept = hadSeat ? wants.seat : 0;
    const rest = hadRest || (isOpen && room - kept >= wants.rest) ? wants.rest : 0;
    const replicas = Math.floor(1 / (wants.seat + wants.rest) + 0.5);
    const missing = Math.max(0, replicas - others - 1) * wants.rest;
    const seat = hadSeat || (isOpen && rest > 0 && room - rest - missing >= wants.seat) ? wants.seat : 0;
    const isAnew = (seat > 0 && !hadSeat) || (rest > 0 && !hadRest);
    if (isAnew && room - seat - rest < orphaned) isMixed = true;
    if (isAnew) this.#grants += 1;
    if (!isOthers) {
      this.#parts.set(name, {
        seat: wants.seat,
        rest: wants.rest,
        process,
        grants: this.#grants,
        seatUntil: seat > 0 ? this.#at + DAY_MS : Math.min(own.seatUntil, this.#at),
        restUntil: rest > 0 ? this.#at + ttlMs : Math.min(own.restUntil, this.#at),
      });
    }
    return { seat, rest, isAnew, isMixed };
  }

  claim(time: BoardTime, { session, ttlMs, groups, retakes }: ClaimRequest): readonly Claimed[] | undefined {
    this.#enter(time, ttlMs);
    if (!this.#isAlive(session) || (this.#opensIn > 0 && !retakes)) return undefined;
    const isFree = (name: string): boolean => {
      const holder = this.#holders.get(name);
      const isNobodys = holder === undefined || holder === session || holder.startsWith("@");
      return isNobodys || processOf(holder) === processOf(session) || !this.#isAlive(holder);
    };
    return groups
      .filter(({ names }) => names.every(isFree))
      .flatMap(({ names, budgets }) => {
        const waits = new Map(
          budgets.map((each) => [`b:${each.budget}`, this.#begin(each, session, retakes)]),
        );
        return names.map((name) => {
          const unheldMs = this.#unheld(name, session, ttlMs);
          if (this.#holders.get(name) !== session) this.#set(name, session);
          const left = this.#records.get(name);
          const record = left && { text: left.text, agoMs: Math.max(0, this.#at - left.at) };
          return { name, unheldMs, waitMs: waits.get(name) ?? 0, record };
        });
      });
  }

  #begin({ budget, coldMs, terms, waitMs }: ClaimedBudget, session: string, retakes: boolean): number {
    const name = `b:${budget}`;
    const holder = this.#holders.get(name);
    const was = this.#starts.get(name);
    let earliest: number;
    let sent = this.#at;
    if (was === undefined) {
      earliest = this.#at + coldMs;
    } else {
      ({ earliest, sent } = was);
      if (holder !== undefined && holder !== session && !holder.startsWith("@")) {
        const last = Math.min(this.#sessions.get(holder) ?? this.#at, this.#at);
        if (last > earliest) [earliest, sent] = [last + was.cold, last];
      }
      if (was.terms !== terms) earliest = Math.max(earliest, sent + coldMs);
    }
    if (retakes) [earliest, sent] = [this.#at + waitMs, this.#at];
    this.#starts.set(name, { earliest, sent, cold: coldMs, terms });
    return Math.max(0, earliest - this.#at);
  }

  #unheld(name: string, session: string, ttlMs: number): number | undefined {
    const holder = this.#holders.get(name);
    if (holder === undefined) return undefined;
    if (holder === session) return 0;
    if (holder.startsWith("@")) {
      const unheldMs = this.#at - Number(holder.slice(1));
      return unheldMs > DAY_MS ? undefined : unheldMs;
    }
    const ends = this.#sessions.get(holder);
    return ends === undefined ? undefined : Math.max(0, this.#at - (ends - ttlMs));
  }

  release(time: BoardTime, { session, ttlMs, names, leasesEndInMs, endsSession }: ReleaseRequest): true {
    this.#enter(time, ttlMs);
    for (const name of names) {
      if (this.#holders.get(name) !== session) continue;
      const was = this.#starts.get(name);
      if (was !== undefined && was.earliest <= this.#at) {
        was.earliest = this.#at + Math.min(leasesEndInMs[name] ?? was.cold, was.cold);
        was.sent = this.#at;
      }
      this.#set(name, `@${this.#at}`);
    }
    if (endsSession) {
      this.#sessions.delete(session);
      this.#members.delete(session);
      const part = this.#parts.get(nameOf(session));
      if (part?.process === processOf(session)) [part.seatUntil, part.restUntil] = [this.#at, this.#at];
    }
    return true;
  }

  tell(time: BoardTime, { ttlMs, pauses, resumed, records }: News): true {
    this.#enter(time, ttlMs);
    for (const [name, forMs] of pauses)
      this.#pauses.set(name, Math.max(this.#pauses.get(name) ?? 0, this.#at + forMs));
    for (const name of resumed) this.#pauses.delete(name);
    for (const [name, text] of records) this.#records.set(name, { at: this.#at, text });
    return true;
  }

  records(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#records].filter(([name]) => !name.startsWith("b:")).map(([name, { text }]) => [name, text]),
    );
  }

  count({ quota, name, oldestHour, counts: told }: CountRequest): Counted {
    const key = JSON.stringify(quota);
    const counts = this.#counts.get(key) ?? new Map<string, number>();
    this.#counts.set(key, counts);
    for (const { hour, from, to } of told) {
      const before = counts.get(`${hour} ${name}`) ?? 0;
      counts.set(`${hour} ${name}`, from === before ? to : Math.max(before, to));
    }
    for (const each of counts.keys()) if (Number.parseInt(each, 10) < oldestHour) counts.delete(each);
    const own = [...counts].filter(([each]) => each.slice(each.indexOf(" ") + 1) === name);
    return {
      own: new Map(own.map(([each, count]) => [Number.parseInt(each, 10), count])),
      total: [...counts.values()].reduce((sum, count) => sum + count, 0),
    };
  }
}

function processOf(session: string): string {
  return session.slice(0, session.lastIndexOf("."));
}
