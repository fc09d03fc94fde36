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
  /** By name, until when: known here, so that a board that was emptied learns it again. Monotonic. */
  readonly #pauses = new Map<string, number>();
  #unknown: ReadonlyMap<string, number> = new Map();
  readonly #resumed = new Map<string, number>();
  #memory = "";
  #tellAllMs = Number.NEGATIVE_INFINITY;

  constructor(parts: MembershipParts) {
    this.#parts = parts;
  }

  pause(name: string, forMs: number): void {
    this.#pauses.set(name, this.#parts.clock.now() + forMs);
    this.#resumed.delete(name);
    void this.#tell({ pauses: new Map([[name, forMs]]) }).catch(this.#parts.onBug);
  }

  resumed(name: string): void {
    this.#pauses.delete(name);
    this.#resumed.set(name, Infinity);
    const told = async (): Promise<void> => {
      const isTold = await this.#tell({ resumed: [name] });
      if (isTold && this.#resumed.has(name)) this.#resumed.set(name, this.#parts.clock.now());
    };
    void told().catch(this.#parts.onBug);
  }

  /** Others' pauses hold here too. What the board does not know any more is told again with the changes. */
  heard({ version, pauses }: Beat, sentAt: Moment): void {
    const { clock, budgets, events } = this.#parts;
    const [memory = ""] = version.split(" ");
    if (memory !== this.#memory) this.#tellAll();
    this.#memory = memory;
    const nowMs = clock.now();
    for (const [name, untilMs] of this.#pauses) if (untilMs <= nowMs) this.#pauses.delete(name);
    this.#unknown = new Map([...this.#pauses].filter(([name]) => !pauses.has(name)));
    for (const [name, forMs] of pauses) {
      // This beat was sent before the board knew that the operator ended the pause.
      if ((this.#resumed.get(name) ?? Number.NEGATIVE_INFINITY) >= sentAt.nowMs) continue;
      const budget = budgetNamed(name);
      const upstream = upstreamNamed(name);
      if (budget !== undefined) budgets.pause(budget, forMs);
      else if (upstream !== undefined) events.onPaused(upstream, forMs);
    }
  }

  async tellChanges(): Promise<void> {
    const { clock, events, budgets } = this.#parts;
    const nowMs = clock.now();
    const pauses = new Map([...this.#unknown].map(([name, untilMs]) => [name, untilMs - nowMs]));
    const resumed = [...this.#resumed].filter(([, atMs]) => atMs === Infinity).map(([name]) => name);
    if (pauses.size + resumed.length > 0 && (await this.#tell({ pauses, resumed })))
      for (const name of resumed) this.#resumed.set(name, clock.now());
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

  #tell({ pauses = new Map(), resumed = [], records = new Map() }: Partial<News>): Promise<boolean> {
    const { board, ttlMs } = this.#parts;
    const positive = new Map([...pauses].filter(([, forMs]) => forMs > 0));
    return board.tell({ ttlMs, pauses: positive, resumed, records });
  }
}
