import type { BeatAnswer, LiveSession } from "./board.ts";
import { memberOf, nameOf, type FleetMember } from "./member.ts";
import { assign, type Assignment } from "./rendezvous.ts";

type Told = Extract<BeatAnswer, { readonly kind: "beat" }>;

/** What one replica knows of the board: who lives, and who holds what. Each beat brings what has changed. */
export class BoardView {
  #epoch = "";
  #version = 0;
  #members: readonly FleetMember[] = [];
  #living = new Set<string>();
  readonly #holders = new Map<string, string>();

  get epoch(): string {
    return this.#epoch;
  }

  get version(): number {
    return this.#version;
  }

  get members(): readonly FleetMember[] {
    return this.#members;
  }

  /** Answers whether anybody's part may be another now. */
  hear(told: Told): boolean {
    const before = partsOf(this.#members);
    if (told.isWhole) this.#holders.clear();
    for (const { upstream, holder } of told.changes) {
      if (holder === undefined) this.#holders.delete(upstream);
      else this.#holders.set(upstream, holder);
    }
    this.#epoch = told.epoch;
    this.#version = told.version;
    this.#setMembers(told.sessions);
    return told.isWhole || told.changes.length > 0 || partsOf(this.#members) !== before;
  }

  /** What the board has answered already need not wait for the next beat. */
  note(upstream: string, holder: string | undefined): void {
    if (holder === undefined) this.#holders.delete(upstream);
    else this.#holders.set(upstream, holder);
  }

  /** The living session that holds it. */
  holderOf(upstream: string): string | undefined {
    const session = this.#holders.get(upstream);
    return session !== undefined && this.#living.has(session) ? session : undefined;
  }

  /**
   * Who should hold what, among those who know the same upstreams and stay. What others hold is left to them. A
   * replica that came back under its old name is due what its old session still has.
   */
  due(upstreams: readonly string[], config: string): Assignment {
    const peers = this.#members.filter((member) => member.config === config && !member.isLeaving);
    const names = new Set(peers.map((member) => member.name));
    const within = upstreams.filter((upstream) => {
      const holder = this.holderOf(upstream);
      return holder === undefined || names.has(nameOf(holder));
    });
    return assign(within, [...names], (upstream) => {
      const holder = this.holderOf(upstream);
      return holder === undefined ? undefined : nameOf(holder);
    });
  }

  #setMembers(sessions: readonly LiveSession[]): void {
    this.#members = sessions.map(memberOf).sort((a, b) => (a.session < b.session ? -1 : 1));
    this.#living = new Set(sessions.map(({ session }) => session));
  }
}

function partsOf(members: readonly FleetMember[]): string {
  return members.map(({ session, config, isLeaving }) => `${session} ${config} ${isLeaving}`).join("\n");
}
