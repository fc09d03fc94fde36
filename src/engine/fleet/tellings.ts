import type { Beat, News } from "../../core/fleet/board.ts";
import { budgetNamed, upstreamNamed } from "../../core/fleet/groups.ts";
import type { Moment } from "../../core/time/moment.ts";
import { MINUTE_MS } from "../../core/time/duration.ts";
import type { MembershipParts } from "./parts.ts";

/** In one call, so that none keeps Redis busy for long. */
const MOST_AT_ONCE = 1_000;
/** Some change by time alone, and the board forgets what nobody tells for a day. */
const TELL_ALL_MS = 5 * MINUTE_MS;

/** What this replica leaves on the board for others: pauses at once, the rest with its beats, where it has changed. */
export class Tellings {
  readonly #parts: MembershipParts;
  readonly #told = new Map<string, string>();
  /** By name, until when. Monotonic. */
  readonly #pauses = new Map<string, number>();
  /** The board does not know of these pauses, or that the operator ended them: told again with the next beat. */
  readonly #untold = new Set<string>();
  /** When the board knew that the operator ended it. */
  readonly #resumed = new Map<string, number>();
  #memory = "";
  #tellAllMs = Number.NEGATIVE_INFINITY;

  constructor(parts: MembershipParts) {
    this.#parts = parts;
  }

  pause(name: string, forMs: number): void {
    this.#pauses.set(name, this.#parts.clock.now() + forMs);
    this.#untold.add(name);
    void this.#tellPauses([name]).catch(this.#parts.onBug);
  }

  resumed(name: string): void {
    this.#pauses.delete(name);
    this.#untold.add(name);
    void this.#tellPauses([name]).catch(this.#parts.onBug);
  }

  /** Others' pauses hold here too. What the board does not know any more is told again with the changes. */
  heard({ version, pauses }: Beat, sentAt: Moment): void {
    const { clock, budgets, events } = this.#parts;
    const nowMs = clock.now();
    for (const [name, untilMs] of this.#pauses) {
      if (untilMs > nowMs) continue;
      this.#pauses.delete(name);
      this.#untold.delete(name);
    }
    const [memory = ""] = version.split(" ");
    if (memory !== this.#memory) {
      this.#tellAll();
      for (const name of this.#pauses.keys()) this.#untold.add(name);
    }
    this.#memory = memory;
    for (const [name, forMs] of pauses) {
      // This beat was sent before the board knew that the operator ended the pause.
      const isOver =
        this.#untold.has(name) || (this.#resumed.get(name) ?? Number.NEGATIVE_INFINITY) >= sentAt.nowMs;
      if (isOver && !this.#pauses.has(name)) continue;
      const budget = budgetNamed(name);
      const upstream = upstreamNamed(name);
      if (budget !== undefined) budgets.pause(budget, forMs);
      else if (upstream !== undefined) events.onPaused(upstream, forMs);
    }
  }

  async tellChanges(): Promise<void> {
    const { clock, events, budgets } = this.#parts;
    const nowMs = clock.now();
    if (this.#untold.size > 0) await this.#tellPauses([...this.#untold]);
    const tellsAll = nowMs >= this.#tellAllMs;
    if (tellsAll) {
      this.#told.clear();
      this.#tellAllMs = nowMs + TELL_ALL_MS;
    }
    const records = [...events.records(tellsAll), ...budgets.records(tellsAll)];
    const changed = records.filter(([name, text]) => this.#told.get(name) !== text);
    for (let from = 0; from < changed.length; from += MOST_AT_ONCE) {
      const some = new Map(changed.slice(from, from + MOST_AT_ONCE));
      // What is not told now would not be named as changed again.
      if (!(await this.#tell({ records: some }))) return this.#tellAll();
      for (const [name, text] of some) this.#told.set(name, text);
    }
  }

  #tellAll(): void {
    this.#tellAllMs = Number.NEGATIVE_INFINITY;
  }

  async #tellPauses(names: readonly string[]): Promise<void> {
    const { clock } = this.#parts;
    const nowMs = clock.now();
    const told = names.map((name) => [name, this.#pauses.get(name)] as const);
    const pauses = new Map<string, number>();
    for (const [name, untilMs = 0] of told) if (untilMs > nowMs) pauses.set(name, untilMs - nowMs);
    const resumed = told.flatMap(([name, untilMs]) => (untilMs === undefined ? [name] : []));
    if (!(await this.#tell({ pauses, resumed }))) return;
    for (const [name, untilMs] of told) if (this.#pauses.get(name) === untilMs) this.#untold.delete(name);
    for (const name of resumed) this.#resumed.set(name, clock.now());
  }

  #tell({ pauses = new Map(), resumed = [], records = new Map() }: Partial<News>): Promise<boolean> {
    const { board, ttlMs } = this.#parts;
    return board.tell({ ttlMs, pauses, resumed, records });
  }
}
