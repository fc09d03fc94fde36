import type { Claimed } from "../../core/fleet/board.ts";
import type { BoardView } from "../../core/fleet/board-view.ts";
import type { Assignment } from "../../core/fleet/rendezvous.ts";
import type { SessionValidity } from "../../core/fleet/session-validity.ts";
import type { BoardCalls } from "./board-calls.ts";
import type { MembershipParts } from "./parts.ts";

/** The upstreams this replica holds. It claims those assigned to it, and hands over those assigned to others. */
export class Ownership {
  readonly #parts: MembershipParts;
  readonly #validity: SessionValidity;
  readonly #calls: BoardCalls;
  readonly #view: BoardView;
  readonly #held: Set<string>;
  /** By hand-over: an upstream that is lost meanwhile is not part of it any more. */
  readonly #handedOver = new Map<string, object>();
  readonly #moves = { gained: 0, lost: 0 };
  /** Since when the config has each; from the start on: always, as far as is known. Monotonic. */
  #knownSinceMs: ReadonlyMap<string, number> | undefined;
  #assignment: Assignment = new Map();
  #mustAssign = true;
  #mustAct = true;

  constructor(parts: MembershipParts, calls: BoardCalls, view: BoardView) {
    this.#parts = parts;
    this.#held = parts.holdings.claimed;
    this.#validity = parts.holdings.session;
    this.#calls = calls;
    this.#view = view;
  }

  get moves(): { readonly gained: number; readonly lost: number } {
    return this.#moves;
  }

  /** Some claim or release has not succeeded yet. */
  get isPending(): boolean {
    return this.#mustAct;
  }

  /** All upstreams of the current config. */
  know(upstreams: readonly string[]): void {
    const before = this.#knownSinceMs;
    const addedMs = before === undefined ? Number.NEGATIVE_INFINITY : this.#parts.clock.now();
    this.#knownSinceMs = new Map(upstreams.map((name) => [name, before?.get(name) ?? addedMs]));
  }

  /** The next `act` works out anew who should hold what. */
  reassign(): void {
    this.#mustAssign = true;
  }

  lose(upstreams: readonly string[]): void {
    if (upstreams.length === 0) return;
    this.#forget(upstreams);
    this.#parts.events.onLost(upstreams);
  }

  /** The board lost its data. This replica's session is still valid, and no other may claim its upstreams yet. */
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
    if (!this.#mustAssign && !this.#mustAct) return;
    if (this.#mustAssign) this.#assignment = this.#view.assignmentOf(upstreams, config);
    this.#mustAssign = false;
    this.#mustAct = false;
    const isMine = (upstream: string): boolean => this.#assignment.get(upstream) === this.#parts.name;
    const toHandOver = [...this.#held].filter(
      (upstream) => !isMine(upstream) && !this.#handedOver.has(upstream),
    );
    if (toHandOver.length > 0) void this.#handOver(toHandOver).catch(this.#parts.onBug);
    const { session } = this.#validity;
    const unheld = upstreams.filter((upstream) => !this.#held.has(upstream));
    // Ours on the board but not held here: the answer to a claim was lost, or a release did not arrive.
    const isOwn = (upstream: string): boolean => this.#view.holderOf(upstream) === session;
    const left = unheld.filter((upstream) => !isMine(upstream) && isOwn(upstream));
    if (left.length > 0) await this.#release(left);
    const isFree = (upstream: string): boolean => this.#view.holderOf(upstream) === undefined;
    await this.#claim(unheld.filter((upstream) => isMine(upstream) && (isFree(upstream) || isOwn(upstream))));
  }

  /** Releases everything and ends the session. */
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
      if (answer.kind !== "claimed" || !this.#parts.holdings.isSessionValid) {
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
    this.#parts.events.onGained(claimed.map((each) => this.#withinConfig(each)));
  }

  /** While an upstream was not in the config, nobody missed its slots. */
  #withinConfig({ upstream, unheldMs }: Claimed): Claimed {
    if (unheldMs === undefined) return { upstream, unheldMs };
    const knownMs = this.#parts.clock.now() - (this.#knownSinceMs?.get(upstream) ?? Number.NEGATIVE_INFINITY);
    return { upstream, unheldMs: Math.min(unheldMs, knownMs) };
  }

  async #handOver(upstreams: readonly string[]): Promise<void> {
    const handOver = {};
    for (const upstream of upstreams) this.#handedOver.set(upstream, handOver);
    await this.#parts.events.drain(upstreams);
    const drained = upstreams.filter((upstream) => this.#handedOver.get(upstream) === handOver);
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
    this.#mustAssign = true;
  }

  #forget(upstreams: readonly string[]): void {
    for (const upstream of upstreams) {
      this.#held.delete(upstream);
      this.#handedOver.delete(upstream);
    }
    this.#moves.lost += upstreams.length;
    this.#mustAct = true;
  }
}

/** Upstreams per call, so that no call keeps Redis busy for long. */
const BATCH = 256;

function batchesOf(upstreams: readonly string[]): readonly (readonly string[])[] {
  const count = Math.ceil(upstreams.length / BATCH);
  return Array.from({ length: count }, (_, index) => upstreams.slice(index * BATCH, (index + 1) * BATCH));
}
