import type { Caller, Claimed } from "../../core/fleet/board.ts";
import type { BoardView } from "../../core/fleet/board-view.ts";
import { readView } from "../../core/fleet/fleet-status.ts";
import { budgetNamed, budgetOnBoard, type Group, upstreamNamed } from "../../core/fleet/groups.ts";
import type { MemberInfo } from "../../core/fleet/member.ts";
import { type FleetConfig, type MembershipParts, NO_CONFIG } from "./parts.ts";

/** What replicas of different configs know each other by. */
export type OwnConfig = Pick<MemberInfo, "groups" | "configSinceMs">;

/**
 * What this replica holds. It claims the groups assigned to it, and hands over those assigned to others.
 *
 * The way of a name: free, claimed, handed over while its last poll ends, released. Besides:
 * - the session ends by our own clock: all is lost at once;
 * - the board has lost its data: the next session retakes what is held;
 * - a release has no answer, and may arrive later: a new session begins, and retakes the rest;
 * - a reload changes the terms of budgets: what is held is retaken, in the same session.
 */
export class Ownership {
  readonly #parts: MembershipParts;
  readonly #view: BoardView;
  readonly #held: Set<string>;
  /** By hand-over: a name that is lost meanwhile is not part of it any more. */
  readonly #handedOver = new Map<string, object>();
  readonly moves: { gained: number; lost: number } = { gained: 0, lost: 0 };
  /** Since when the config has each upstream; from the start on: always, as far as is known. Monotonic. */
  #knownSinceMs: ReadonlyMap<string, number> | undefined;
  #config = NO_CONFIG;
  #mustTellTerms = false;
  /** A release was not answered: it may still arrive, when what it names is held again. A new session is safe from it. */
  isDoubtful = false;
  /** Names of groups that replicas of an older config hold a part of: nobody can poll the rest. */
  asks: readonly string[] = [];
  /** As the view stood when there was nothing to do. */
  #settledIn: string | undefined;

  constructor(parts: MembershipParts, view: BoardView) {
    this.#parts = parts;
    this.#view = view;
    this.#held = parts.holdings.claimed;
  }

  get heldUpstreams(): readonly string[] {
    return upstreamsIn(this.#held);
  }

  know(config: FleetConfig): void {
    const before = this.#knownSinceMs;
    const addedMs = before === undefined ? Number.NEGATIVE_INFINITY : this.#parts.clock.now();
    this.#knownSinceMs = new Map(
      [...config.namesOf.keys()].map((name) => [name, before?.get(name) ?? addedMs]),
    );
    // Whoever draws on another budget now is not polled until that is held too.
    const wasClaimed = this.heldUpstreams.filter((upstream) => this.#parts.holdings.isClaimed(upstream));
    this.#config = config;
    this.#settledIn = undefined;
    const { holdings, events } = this.#parts;
    holdings.know(config.namesOf);
    const blocked = wasClaimed.filter(
      (upstream) => config.namesOf.has(upstream) && !holdings.isClaimed(upstream),
    );
    if (blocked.length > 0) events.onLost(blocked);
    this.#mustTellTerms = true;
  }

  /** At once, by this replica's own clock. */
  loseAll(): void {
    const upstreams = this.heldUpstreams;
    this.#handedOver.clear();
    this.#forget([...this.#held]);
    if (upstreams.length > 0) this.#parts.events.onLost(upstreams);
  }

  /**
   * What is held by this replica's own clock, under its present session: after the board lost its data, or where a
   * message of the session before may still arrive. Nobody else can have claimed it meanwhile.
   */
  async retake(): Promise<boolean> {
    const kept = new Set<string>();
    for (const batch of batchesOf(this.#groupsHeld())) {
      const claimed = await this.#ask(batch, true);
      if (claimed === undefined) return false;
      for (const { name } of claimed) kept.add(name);
    }
    for (const name of kept) this.#view.note(name, this.#parts.holdings.session);
    const lost = [...this.#held].filter((name) => !kept.has(name) && !this.#handedOver.has(name));
    this.#forget(lost);
    if (lost.length > 0) this.#parts.events.onLost(upstreamsIn(lost));
    this.#mustTellTerms = false;
    return true;
  }

  async act(own: OwnConfig): Promise<void> {
    const { ttlMs, name, holdings, onBug } = this.#parts;
    const standing = this.#view.standingOf(own, ttlMs);
    // Thousands of names need not be looked at with every beat.
    if (standing === this.#settledIn) return;
    const { groups } = this.#config;
    const assignment = this.#view.assignmentOf(groups, own, ttlMs);
    const asked = this.#askedOf(own);
    const mine = groups.filter(
      ({ id, names }) => assignment.get(id) === name && !names.some((each) => asked.has(each)),
    );
    const wanted = new Set(mine.flatMap(({ names }) => names));
    const toHandOver = [...this.#held].filter((each) => !wanted.has(each) && !this.#handedOver.has(each));
    // Ours on the board but not held here: the answer to a claim was lost, or a release did not arrive.
    const left = groups
      .flatMap(({ names }) => names)
      .filter((each) => !wanted.has(each) && this.#isLeft(each));
    const isFree = (each: string): boolean =>
      this.#held.has(each) || this.#view.holderOf(each) === undefined || this.#isLeft(each);
    const missing = mine.filter(
      ({ names }) => !names.every((each) => this.#held.has(each)) && names.every(isFree),
    );
    this.asks = this.#blocked(own).slice(0, MOST_ASKS);
    const toDo = [...toHandOver, ...this.#handedOver.keys(), ...left, ...missing];
    if (toDo.length === 0 && !this.#mustTellTerms) {
      this.#settledIn = standing;
      return;
    }
    if (toHandOver.length > 0) void this.#handOver(toHandOver).catch(onBug);
    if (left.length > 0) await this.#release(left);
    if (holdings.isSessionValid) await this.#claim(missing);
    if (this.#mustTellTerms) await this.retake();
  }

  /** Releases everything and ends the session. */
  async end(): Promise<void> {
    await this.#release([...this.#held]);
    const ending = { ...this.#caller, names: [], leasesEndInMs: {}, endsSession: true };
    await this.#parts.board.release(ending);
  }

  get #caller(): Caller {
    const { holdings, ttlMs } = this.#parts;
    return { session: holdings.session, ttlMs };
  }

  #isLeft(name: string): boolean {
    return (
      !this.#held.has(name) &&
      !this.#handedOver.has(name) &&
      this.#view.holderOf(name) === this.#parts.holdings.session
    );
  }

  async #claim(groups: readonly Group[]): Promise<void> {
    for (const batch of batchesOf(groups)) {
      const claimed = await this.#ask(batch, false);
      if (claimed === undefined || !this.#parts.holdings.isSessionValid) return;
      this.#gain(claimed);
    }
  }

  async #ask(groups: readonly Group[], retakes: boolean): Promise<readonly Claimed[] | undefined> {
    const { board, budgets } = this.#parts;
    const asked = groups.map(({ names, budgets: drawnOn }) => ({
      names,
      budgets: drawnOn.map((budget) => budgets.claimOf(budget)),
    }));
    return await board.claim({ ...this.#caller, groups: asked, retakes });
  }

  #gain(claimed: readonly Claimed[]): void {
    const { budgets, holdings, events, log } = this.#parts;
    const gained = claimed.filter(({ name }) => !this.#held.has(name));
    // One that was held already is polled only now where it draws on a budget that was not held yet.
    const unpolled = claimed.filter(({ name }) => !holdings.isClaimed(upstreamNamed(name) ?? ""));
    for (const { name, waitMs, record } of gained) {
      this.#view.note(name, holdings.session);
      const budget = budgetNamed(name);
      if (budget !== undefined) budgets.begin(budget, waitMs, record);
      if (waitMs > TOLD_WAIT_MS)
        log.info({ budget, waitMs }, "another replica may have used this budget: waiting");
    }
    for (const { name } of gained) this.#held.add(name);
    this.moves.gained += upstreamsIn(gained.map(({ name }) => name)).length;
    const upstreams = unpolled.flatMap(({ name, unheldMs, record }) => {
      const upstream = upstreamNamed(name);
      if (upstream === undefined || !holdings.isClaimed(upstream)) return [];
      return [
        { upstream, unheldMs: this.#withinConfig(upstream, unheldMs), view: record && readView(record.text) },
      ];
    });
    if (upstreams.length > 0) events.onGained(upstreams);
  }

  /** While an upstream was not in the config, nobody missed its slots. */
  #withinConfig(upstream: string, unheldMs: number | undefined): number | undefined {
    if (unheldMs === undefined) return undefined;
    const sinceMs = this.#knownSinceMs?.get(upstream) ?? Number.NEGATIVE_INFINITY;
    return Math.min(unheldMs, this.#parts.clock.now() - sinceMs);
  }

  async #handOver(names: readonly string[]): Promise<void> {
    const handOver = {};
    for (const name of names) this.#handedOver.set(name, handOver);
    await this.#parts.events.drain(upstreamsIn(names));
    await this.#release(names.filter((name) => this.#handedOver.get(name) === handOver));
    for (const name of names) if (this.#handedOver.get(name) === handOver) this.#handedOver.delete(name);
  }

  /** First it is not held here any more: no request leaves after its leases were looked at. */
  async #release(names: readonly string[]): Promise<void> {
    const { board, budgets } = this.#parts;
    this.#forget(names);
    const drawnOn = names.map(budgetNamed).filter((budget) => budget !== undefined);
    const endInMs = new Map(drawnOn.map((budget) => [budgetOnBoard(budget), budgets.leasesEndInMs(budget)]));
    await Promise.all(drawnOn.map((budget) => budgets.end(budget)));
    for (let from = 0; from < names.length; from += BATCH) {
      const slice = names.slice(from, from + BATCH);
      const leasesEndInMs = Object.fromEntries(slice.map((name) => [name, endInMs.get(name)]));
      const request = { ...this.#caller, names: slice, leasesEndInMs, endsSession: false };
      if (!(await board.release(request))) {
        this.isDoubtful = true;
        return;
      }
      for (const name of slice) this.#view.note(name, undefined);
    }
  }

  #forget(names: readonly string[]): void {
    this.moves.lost += upstreamsIn(names.filter((name) => this.#held.has(name))).length;
    for (const name of names) this.#held.delete(name);
    this.#settledIn = undefined;
  }

  #groupsHeld(): readonly Group[] {
    return this.#config.groups
      .map((group) => ({
        ...group,
        names: group.names.filter((name) => this.#held.has(name)),
        budgets: group.budgets.filter((budget) => this.#held.has(budgetOnBoard(budget))),
      }))
      .filter(({ names }) => names.length > 0);
  }

  /** Replicas of a newer config need these names: whoever has the older one gives way. */
  #askedOf({ groups, configSinceMs }: OwnConfig): ReadonlySet<string> {
    const newer = this.#view.members.filter(
      (member) => member.groups !== groups && member.configSinceMs > configSinceMs,
    );
    return new Set(newer.flatMap(({ asks }) => asks));
  }

  /** Partly held by others under another config, and partly free. */
  #blocked({ groups }: OwnConfig): readonly string[] {
    const foreign = new Set(
      this.#view.members.filter((member) => member.groups !== groups).map(({ session }) => session),
    );
    return this.#config.groups.flatMap(({ names }) => {
      const isForeign = (name: string): boolean => foreign.has(this.#view.holderOf(name) ?? "");
      const blocking = names.filter(isForeign);
      // All of it, or the older config would take back one part while the other is handed over.
      return blocking.length > 0 && blocking.length < names.length ? names : [];
    });
  }
}

/** A shorter one is not worth a line. */
const TOLD_WAIT_MS = 5_000;
const MOST_ASKS = 500;
/** Names per call, so that no call keeps Redis busy for long. */
const BATCH = 256;

function upstreamsIn(names: Iterable<string>): readonly string[] {
  return [...names].map(upstreamNamed).filter((upstream) => upstream !== undefined);
}

/** A group is never divided. */
function batchesOf<Part extends Pick<Group, "names">>(groups: readonly Part[]): readonly (readonly Part[])[] {
  const batches: Part[][] = [];
  let names = Infinity;
  for (const group of groups) {
    if (names + group.names.length > BATCH) {
      batches.push([]);
      names = 0;
    }
    batches.at(-1)?.push(group);
    names += group.names.length;
  }
  return batches;
}
