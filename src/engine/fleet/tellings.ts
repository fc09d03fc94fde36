import { type Beat, type News, RECORDS_KEPT_MS } from "../../core/fleet/board.ts";
import { budgetNamed, upstreamNamed } from "../../core/fleet/groups.ts";
import type { Moment } from "../../core/time/moment.ts";
import { MINUTE_MS } from "../../core/time/duration.ts";
import type { MembershipParts } from "./parts.ts";

/** In one call, so that none keeps Redis busy for long. */
const MOST_AT_ONCE = 1_000;
/** Long before the board forgets it. */
const TELL_AGAIN_MS = RECORDS_KEPT_MS / 4;
/** So often all records are looked at: some change by time alone. */
const LOOK_AT_ALL_MS = MINUTE_MS;

/** What this replica leaves on the board for others: pauses at once, the rest with its beats, where it has changed. */
export class Tellings {
  readonly #parts: MembershipParts;
  readonly #told = new Map<string, { readonly text: string; readonly atMs: number }>();
  /** By name, until when: known here, so that a board that was emptied learns it again. Monotonic. */
  readonly #pauses = new Map<string, number>();
  #unknown: ReadonlyMap<string, number> = new Map();
  readonly #resumed = new Map<string, number>();
  #memory = "";
  #lookAtAllMs = Number.NEGATIVE_INFINITY;

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
    if (memory !== this.#memory) {
      this.#told.clear();
      this.#lookAtAll();
    }
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
    const looksAtAll = nowMs >= this.#lookAtAllMs;
    if (looksAtAll) this.#lookAtAllMs = nowMs + LOOK_AT_ALL_MS;
    const records = new Map([...events.records(looksAtAll), ...budgets.records(looksAtAll)]);
    if (looksAtAll) for (const name of this.#told.keys()) if (!records.has(name)) this.#told.delete(name);
    const changed = [...records].filter(([name, text]) => {
      const last = this.#told.get(name);
      return last === undefined || last.text !== text || nowMs >= last.atMs + TELL_AGAIN_MS;
    });
    for (let from = 0; from < changed.length; from += MOST_AT_ONCE) {
      const some = new Map(changed.slice(from, from + MOST_AT_ONCE));
      // What is not told now would not be named as changed again.
      if (!(await this.#tell({ records: some }))) return this.#lookAtAll();
      for (const [name, text] of some) this.#told.set(name, { text, atMs: nowMs });
    }
  }

  #lookAtAll(): void {
    this.#lookAtAllMs = Number.NEGATIVE_INFINITY;
  }

  #tell({ pauses = new Map(), resumed = [], records = new Map() }: Partial<News>): Promise<boolean> {
    const { board, ttlMs } = this.#parts;
    const positive = new Map([...pauses].filter(([, forMs]) => forMs > 0));
    return board.tell({ ttlMs, pauses: positive, resumed, records });
  }
}
