import type { BeatAnswer } from "./board.ts";
import { memberOf, nameOf, type FleetMember } from "./member.ts";
import { assign, type Assignment } from "./rendezvous.ts";

type Beat = Extract<BeatAnswer, { readonly kind: "beat" }>;

/** Several times what the largest fleet has: a board that invents upstreams takes no more memory than that. */
const MOST_HOLDERS = 50_000;
const LONGEST_NAME = 300;

/** What one replica knows of the board: live sessions and holders. Each beat brings the changes. */
export class BoardView {
  #epoch = "";
  #version = 0;
  #members: readonly FleetMember[] = [];
  #live = new Set<string>();
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

  /** How long this session's replica is given no upstreams, because others are past their trial and it is not. */
  trialOf(session: string): number {
    const own = this.#members.find((member) => member.session === session);
    const isAnyProven = this.#members.some((member) => member.trialEndsInMs === 0 && !member.isLeaving);
    return own !== undefined && isAnyProven ? own.trialEndsInMs : 0;
  }

  /** Returns whether upstreams may be assigned differently now. */
  update(beat: Beat): boolean {
    const before = assigneesOf(this.#members);
    if (beat.isWhole) this.#holders.clear();
    for (const { upstream, holder } of beat.changes) this.note(upstream, holder);
    this.#epoch = beat.epoch;
    this.#version = beat.version;
    this.#members = beat.sessions.map(memberOf).sort((a, b) => (a.session < b.session ? -1 : 1));
    this.#live = new Set(beat.sessions.map(({ session }) => session));
    return beat.isWhole || beat.changes.length > 0 || assigneesOf(this.#members) !== before;
  }

  /** A change that is known before the next beat. */
  note(upstream: string, holder: string | undefined): void {
    if (holder === undefined) {
      this.#holders.delete(upstream);
      return;
    }
    const isBounded = this.#holders.size < MOST_HOLDERS && upstream.length + holder.length <= LONGEST_NAME;
    if (isBounded || this.#holders.has(upstream)) this.#holders.set(upstream, holder);
  }

  /** The live session that holds it. */
  holderOf(upstream: string): string | undefined {
    const session = this.#holders.get(upstream);
    return session !== undefined && this.#live.has(session) ? session : undefined;
  }

  /**
   * Who should hold what, among replicas that have the same config and stay. Upstreams held by others stay there. A
   * replica that restarted under the same name is assigned what its old session still holds. One on trial keeps what
   * it holds, and is given no more as long as any other is past its trial: a replica that crashes again and again
   * would take upstreams with it each time.
   */
  assignmentOf(upstreams: readonly string[], config: string): Assignment {
    const candidates = this.#members.filter((member) => member.config === config && !member.isLeaving);
    const proven = candidates.filter((member) => member.trialEndsInMs === 0);
    const names = new Set((proven.length > 0 ? proven : candidates).map((member) => member.name));
    const holderNameOf = (upstream: string): string | undefined => {
      const holder = this.holderOf(upstream);
      return holder === undefined ? undefined : nameOf(holder);
    };
    const within = upstreams.filter((upstream) => {
      const holder = holderNameOf(upstream);
      return holder === undefined || names.has(holder);
    });
    const onTrial = new Set(candidates.map((member) => member.name).filter((name) => !names.has(name)));
    const kept = upstreams.flatMap((upstream) => {
      const holder = holderNameOf(upstream);
      return holder !== undefined && onTrial.has(holder) ? [[upstream, holder] as const] : [];
    });
    return new Map([...assign(within, [...names], holderNameOf), ...kept]);
  }
}

function assigneesOf(members: readonly FleetMember[]): string {
  return members
    .map((member) => `${member.session} ${member.config} ${member.isLeaving} ${member.trialEndsInMs > 0}`)
    .join("\n");
}
