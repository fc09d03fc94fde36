import type { Claimed } from "../../core/fleet/board.ts";
import type { BoardView } from "../../core/fleet/board-view.ts";
import type { Assignment } from "../../core/fleet/rendezvous.ts";
import type { SessionValidity } from "../../core/fleet/session-validity.ts";
import type { BoardCalls } from "./board-calls.ts";
import { batchesOf, type MembershipParts } from "./parts.ts";

/** What this replica holds: it claims what it is due, and hands over what is due to others. */
export class Ownership {
  readonly #parts: MembershipParts;
  readonly #validity: SessionValidity;
  readonly #calls: BoardCalls;
  readonly #view: BoardView;
  readonly #held = new Set<string>();
  /** By the draining that they are part of: one that was lost meanwhile is not handed over any more. */
  readonly #draining = new Map<string, object>();
  readonly #moves = { gained: 0, lost: 0 };
  #due: Assignment = new Map();
  #mustWeigh = true;
  #mustAct = true;

  constructor(parts: MembershipParts, validity: SessionValidity, calls: BoardCalls, view: BoardView) {
    this.#parts = parts;
    this.#validity = validity;
    this.#calls = calls;
    this.#view = view;
  }

  get held(): ReadonlySet<string> {
    return this.#held;
  }

  get moves(): { readonly gained: number; readonly lost: number } {
    return this.#moves;
  }

  /** Something is due that could not be done yet. */
  get isPending(): boolean {
    return this.#mustAct;
  }

  /** Who should hold what is to be worked out anew. */
  weighAnew(): void {
    this.#mustWeigh = true;
  }

  lose(upstreams: readonly string[]): void {
    if (upstreams.length === 0) return;
    this.#forget(upstreams);
    this.#parts.events.onLost(upstreams);
  }

  /** The board forgot. What is held by its own clock still is, and nobody else may claim it yet. */
  async retake(): Promise<boolean> {
    const kept = new Set<string>();
    for (const upstreams of batchesOf([...this.#held])) {
      const answer = await this.#calls.claim({ upstreams, retakes: true, inherits: false });
      if (answer.kind !== "claimed") return false;
      for (const { upstream } of answer.claimed) kept.add(upstream);
    }
    for (const upstream of kept) this.#view.note(upstream, this.#validity.session);
    this.lose([...this.#held].filter((upstream) => !kept.has(upstream)));
    return true;
  }

  async act(upstreams: readonly string[], config: string): Promise<void> {
    if (!this.#mustWeigh && !this.#mustAct) return;
    if (this.#mustWeigh) this.#due = this.#view.due(upstreams, config);
    this.#mustWeigh = false;
    this.#mustAct = false;
    const isMine = (upstream: string): boolean => this.#due.get(upstream) === this.#parts.name;
    const foreign = [...this.#held].filter((upstream) => !isMine(upstream) && !this.#draining.has(upstream));
    if (foreign.length > 0) void this.#handOver(foreign).catch(this.#parts.onBug);
    const { session } = this.#validity;
    const unheld = upstreams.filter((upstream) => !this.#held.has(upstream));
    // Its own without being held: by a claim whose answer was lost, or a release that did not get there.
    const isOwn = (upstream: string): boolean => this.#view.holderOf(upstream) === session;
    const left = unheld.filter((upstream) => !isMine(upstream) && isOwn(upstream));
    if (left.length > 0) await this.#release(left);
    const isFree = (upstream: string): boolean => this.#view.holderOf(upstream) === undefined;
    await this.#claim(unheld.filter((upstream) => isMine(upstream) && (isFree(upstream) || isOwn(upstream))));
  }

  /** All that it holds is free from now on, and the session is over. */
  async end(): Promise<void> {
    const batches = batchesOf([...this.#held]);
    const last = batches.at(-1) ?? [];
    this.#held.clear();
    for (const upstreams of batches.slice(0, -1)) {
      const answer = await this.#calls.release({ upstreams, endsSession: false });
      if (answer.kind !== "released") return;
    }
    await this.#calls.release({ upstreams: last, endsSession: true });
  }

  async #claim(wanted: readonly string[]): Promise<void> {
    for (const upstreams of batchesOf(wanted)) {
      const inherits = this.#validity.inheritsAt(this.#parts.clock.now());
      const answer = await this.#calls.claim({ upstreams, retakes: false, inherits });
      const isSure = this.#validity.isValidAt(this.#parts.clock.now());
      if (answer.kind !== "claimed" || !isSure) {
        this.#mustAct = true;
        return;
      }
      if (answer.claimed.length < upstreams.length) this.#mustAct = true;
      this.#gain(answer.claimed);
    }
  }

  #gain(claimed: readonly Claimed[]): void {
    if (claimed.length === 0) return;
    for (const { upstream } of claimed) {
      this.#held.add(upstream);
      this.#view.note(upstream, this.#validity.session);
    }
    this.#moves.gained += claimed.length;
    this.#parts.events.onGained(claimed);
  }

  async #handOver(upstreams: readonly string[]): Promise<void> {
    const draining = {};
    for (const upstream of upstreams) this.#draining.set(upstream, draining);
    await this.#parts.events.drain(upstreams);
    const drained = upstreams.filter((upstream) => this.#draining.get(upstream) === draining);
    this.#forget(drained);
    await this.#release(drained);
  }

  async #release(released: readonly string[]): Promise<void> {
    for (const upstreams of batchesOf(released)) {
      const answer = await this.#calls.release({ upstreams, endsSession: false });
      if (answer.kind !== "released") {
        this.#mustAct = true;
        return;
      }
      for (const upstream of upstreams) this.#view.note(upstream, undefined);
    }
    this.#mustWeigh = true;
  }

  #forget(upstreams: readonly string[]): void {
    for (const upstream of upstreams) {
      this.#held.delete(upstream);
      this.#draining.delete(upstream);
    }
    this.#moves.lost += upstreams.length;
    this.#mustAct = true;
  }
}
