/**
 * What the board does, in plain words and without a server: the model that its Lua is tested against, and the board
 * of simulated fleets.
 */

import {
  STEP_TOLERANCE,
  TRIAL,
  type BeatAnswer,
  type BeatRequest,
  type Caller,
  type Claimed,
  type ClaimAnswer,
  type ClaimRequest,
  type HolderChange,
  type ReleaseAnswer,
  type ReleaseRequest,
} from "../../src/core/fleet/board.ts";
import { nameOf } from "../../src/core/fleet/member.ts";

/** The board's clock, and which server it is: one that was started anew or promoted has another id. */
export type BoardTime = { readonly nowMs: number; readonly runId: string };

/** That a session ended, or released something, is remembered for so long: since when what it held is unheld. */
const REMEMBERED_MS = 86_400_000;

type Session = { endsAtMs: number; info: string };
type Trial = { readonly session: string; readonly joinedAtMs: number; readonly lastsMs: number };
type Holder = { readonly session: string } | { readonly releasedAtMs: number };
type Epoch = { readonly runId: string; readonly beganAtMs: number; readonly opensAtMs: number };

export class BoardModel {
  #epoch: Epoch | undefined;
  #lastMs = 0;
  #version = 0;
  readonly #sessions = new Map<string, Session>();
  /** Of the last session of each name. */
  readonly #trials = new Map<string, Trial>();
  readonly #holders = new Map<string, Holder>();
  /** By upstream, when it last changed hands; in the order of the versions. */
  readonly #changes = new Map<string, number>();

  beat(time: BoardTime, request: BeatRequest): BeatAnswer {
    const place = this.#enter(time, request);
    if (place === undefined) return { kind: "stepped" };
    const { nowMs } = time;
    const known = this.#sessions.get(request.session);
    const isAlive = known !== undefined && known.endsAtMs > nowMs;
    if (!isAlive && !request.joins) return { kind: "lost", ...place };
    this.#begin(nowMs, request);
    this.#sessions.set(request.session, { endsAtMs: nowMs + request.ttlMs, info: request.info });
    for (const [name, { endsAtMs }] of this.#sessions) {
      if (endsAtMs <= nowMs - REMEMBERED_MS) this.#forget(name);
    }
    const isWhole = request.epoch !== place.epoch;
    const since = isWhole ? 0 : request.version;
    const later = [...this.#changes].filter(([, version]) => version > since);
    const told = later.slice(0, request.mostChanges);
    return {
      kind: "beat",
      ...place,
      opensInMs: Math.max(0, (this.#epoch?.opensAtMs ?? 0) - nowMs),
      sessions: [...this.#sessions]
        .filter(([, { endsAtMs }]) => endsAtMs > nowMs)
        .map(([session, { endsAtMs, info }]) => ({
          session,
          endsInMs: endsAtMs - nowMs,
          info,
          trialEndsInMs: this.#trialEndsInMs(session, nowMs),
        }))
        .sort((a, b) => a.endsInMs - b.endsInMs || (a.session < b.session ? -1 : 1)),
      isWhole,
      changes: told.map(([upstream]) => this.#holderOf(upstream)),
      version: told.at(-1)?.[1] ?? since,
      hasMore: later.length > told.length,
    };
  }

  claim(time: BoardTime, request: ClaimRequest): ClaimAnswer {
    const place = this.#enter(time, request);
    if (place === undefined) return { kind: "stepped" };
    const { nowMs } = time;
    if (!this.#isAlive(request.session, nowMs)) return { kind: "lost", ...place };
    const opensInMs = Math.max(0, (this.#epoch?.opensAtMs ?? 0) - nowMs);
    if (opensInMs > 0 && !request.retakes) return { kind: "settling", ...place, opensInMs };
    const claimed: Claimed[] = [];
    for (const upstream of request.upstreams) {
      const freedom = this.#freedomOf(upstream, nowMs, request);
      if (freedom === undefined) continue;
      if (!freedom.isOurs) this.#set(upstream, { session: request.session });
      claimed.push({ upstream, unheldMs: freedom.unheldMs });
    }
    return { kind: "claimed", ...place, claimed };
  }

  release(time: BoardTime, request: ReleaseRequest): ReleaseAnswer {
    const place = this.#enter(time, request);
    if (place === undefined) return { kind: "stepped" };
    for (const upstream of request.upstreams) {
      const holder = this.#holders.get(upstream);
      if (holder === undefined || !("session" in holder) || holder.session !== request.session) continue;
      this.#set(upstream, { releasedAtMs: time.nowMs });
    }
    if (request.endsSession) this.#forget(request.session);
    return { kind: "released", ...place };
  }

  /** Undefined where the clock seems stepped, and the caller is to ask again before all begins anew. */
  #enter({ nowMs, runId }: BoardTime, caller: Caller): { serverMs: number; epoch: string } | undefined {
    const toleranceMs = caller.ttlMs * STEP_TOLERANCE;
    const isAhead = caller.expectedMs !== undefined && nowMs > caller.expectedMs + toleranceMs;
    const isKnown = this.#epoch?.runId === runId && nowMs >= this.#lastMs - toleranceMs;
    if (isKnown && isAhead && !caller.isStepSure) return undefined;
    if (this.#epoch === undefined || !isKnown || isAhead) {
      this.#sessions.clear();
      this.#trials.clear();
      this.#holders.clear();
      this.#changes.clear();
      this.#version = 0;
      this.#epoch = { runId, beganAtMs: nowMs, opensAtMs: nowMs + caller.ttlMs };
    }
    this.#lastMs = nowMs;
    return { serverMs: nowMs, epoch: `${this.#epoch?.runId}@${this.#epoch?.beganAtMs.toFixed(3)}` };
  }

  #begin(nowMs: number, { session, ttlMs }: BeatRequest): void {
    const last = this.#trials.get(nameOf(session));
    if (last?.session === session) return;
    const opensInMs = Math.max(0, (this.#epoch?.opensAtMs ?? 0) - nowMs);
    let lastsMs = opensInMs > 0 ? opensInMs : ttlMs * TRIAL.first;
    const ended = last && this.#sessions.get(last.session);
    if (last !== undefined && ended !== undefined) {
      const servedMs = ended.endsAtMs - ttlMs - (last.joinedAtMs + last.lastsMs);
      const twiceMs = Math.max(ttlMs * TRIAL.first, 2 * last.lastsMs);
      if (servedMs < ttlMs * TRIAL.toServe) lastsMs = Math.min(ttlMs * TRIAL.most, twiceMs);
    }
    this.#trials.set(nameOf(session), { session, joinedAtMs: nowMs, lastsMs });
  }

  #trialEndsInMs(session: string, nowMs: number): number {
    const trial = this.#trials.get(nameOf(session));
    return trial === undefined ? 0 : Math.max(0, trial.joinedAtMs + trial.lastsMs - nowMs);
  }

  #forget(session: string): void {
    this.#sessions.delete(session);
    if (this.#trials.get(nameOf(session))?.session === session) this.#trials.delete(nameOf(session));
  }

  #isAlive(session: string, nowMs: number): boolean {
    return (this.#sessions.get(session)?.endsAtMs ?? 0) > nowMs;
  }

  #freedomOf(
    upstream: string,
    nowMs: number,
    { session, ttlMs, inherits }: ClaimRequest,
  ): { readonly unheldMs: number | undefined; readonly isOurs: boolean } | undefined {
    const holder = this.#holders.get(upstream);
    if (holder === undefined) return { unheldMs: undefined, isOurs: false };
    if ("releasedAtMs" in holder) {
      const unheldMs = Math.max(0, nowMs - holder.releasedAtMs);
      return { unheldMs: unheldMs < REMEMBERED_MS ? unheldMs : undefined, isOurs: false };
    }
    if (holder.session === session) return { unheldMs: 0, isOurs: true };
    // A former session of the same process: it knows by itself that it polls nothing by that any more.
    const isFormer = holder.session.startsWith(session.slice(0, session.lastIndexOf(".") + 1));
    const isOver = inherits && !this.#isAlive(holder.session, nowMs);
    if (!isFormer && !isOver) return undefined;
    const ended = this.#sessions.get(holder.session);
    // Its last beat: until then it may have polled.
    const unheldMs = ended === undefined ? undefined : Math.max(0, nowMs - (ended.endsAtMs - ttlMs));
    return { unheldMs, isOurs: false };
  }

  #holderOf(upstream: string): HolderChange {
    const holder = this.#holders.get(upstream);
    return {
      upstream,
      holder: holder !== undefined && "session" in holder ? holder.session : undefined,
    };
  }

  #set(upstream: string, holder: Holder): void {
    this.#holders.set(upstream, holder);
    this.#version += 1;
    this.#changes.delete(upstream);
    this.#changes.set(upstream, this.#version);
  }
}
