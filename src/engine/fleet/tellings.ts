import type { Beat, News } from "../../core/fleet/board.ts";
import { budgetNamed, upstreamNamed } from "../../core/fleet/groups.ts";
import { MINUTE_MS } from "../../core/time/duration.ts";
import type { MembershipParts } from "./parts.ts";

/** In one beat, so that none keeps Redis or the connection busy for long. */
const MOST_AT_ONCE = 500;
/** Some change by time alone, and the board forgets what nobody tells for a day. */
const TELL_ALL_MS = 5 * MINUTE_MS;
/** Until then lasts a pause that the operator has ended. */
const ENDED = Number.NEGATIVE_INFINITY;

/** What this replica leaves on the board for others, with its beats: by name, its pause, and its record where it has changed. */
export class Tellings {
  readonly #parts: MembershipParts;
  readonly #beatSoon: () => void;
  readonly #records = new Map<string, string>();
  /** Until when: known here, so that a board that was emptied learns it again. Monotonic. */
  readonly #pauses = new Map<string, number>();
  #listed: Beat["pauses"] = new Map();
  #untold = new Set<string>();
  /** By the last beat. What changes while it is on its way is untold again. */
  #sent: ReadonlySet<string> = new Set();
  #memory = "";
  #tellAllMs = Number.NEGATIVE_INFINITY;

  constructor(parts: MembershipParts, beatSoon: () => void) {
    this.#parts = parts;
    this.#beatSoon = beatSoon;
  }

  /** At once: a takeover in the next second must know of it. */
  pause(name: string, forMs: number): void {
    this.#pauses.set(name, this.#parts.clock.now() + forMs);
    this.#untold.add(name);
    this.#beatSoon();
  }

  resumed(name: string): void {
    this.#pauses.set(name, ENDED);
    this.#untold.add(name);
    this.#beatSoon();
  }

  /** There is more to tell than one beat takes. */
  get hasMore(): boolean {
    return this.#untold.size > 0;
  }

  /** For the next beat. None after one that failed: they may have been too long for the connection. */
  news(isAgain: boolean): News {
    const nowMs = this.#parts.clock.now();
    this.#collect(nowMs);
    const unlisted = [...this.#pauses.keys()].filter((name) => !this.#listed.has(name));
    const all = [...this.#sent.union(this.#untold).union(new Set(unlisted))];
    const most = isAgain ? 0 : MOST_AT_ONCE;
    this.#sent = new Set(all.slice(0, most));
    this.#untold = new Set(all.slice(most));
    const pauses = new Map<string, number>();
    const records = new Map<string, string>();
    for (const name of this.#sent) {
      const untilMs = this.#pauses.get(name);
      if (untilMs === ENDED) pauses.set(name, 0);
      else if (untilMs !== undefined && untilMs > nowMs) pauses.set(name, untilMs - nowMs);
      const text = this.#records.get(name);
      if (text !== undefined) records.set(name, text);
    }
    return { pauses, records };
  }

  /** The answer to a beat with news. Others' pauses hold here too. */
  heard({ version, pauses }: Beat): void {
    const { clock, budgets, events } = this.#parts;
    const [memory = ""] = version.split(" ");
    if (memory !== this.#memory) this.#tellAllMs = Number.NEGATIVE_INFINITY;
    this.#memory = memory;
    this.#listed = pauses;
    this.#sent = new Set();
    const nowMs = clock.now();
    for (const [name, untilMs] of this.#pauses)
      if (untilMs <= nowMs && !this.#untold.has(name)) this.#pauses.delete(name);
    for (const [name, forMs] of pauses) {
      // The operator has ended it while this beat was on its way.
      if (this.#pauses.get(name) === ENDED) continue;
      const budget = budgetNamed(name);
      const upstream = upstreamNamed(name);
      if (budget !== undefined) budgets.pause(budget, forMs);
      else if (upstream !== undefined) events.onPaused(upstream, forMs);
    }
  }

  #collect(nowMs: number): void {
    const { events, budgets } = this.#parts;
    // One after the other, or a board that says each time that it is a new one would leave no rest.
    const isWhole = nowMs >= this.#tellAllMs && !this.hasMore;
    if (isWhole) {
      this.#records.clear();
      this.#tellAllMs = nowMs + TELL_ALL_MS;
    }
    for (const [name, text] of [...events.records(isWhole), ...budgets.records(isWhole)]) {
      if (this.#records.get(name) === text) continue;
      this.#records.set(name, text);
      this.#untold.add(name);
    }
  }
}
