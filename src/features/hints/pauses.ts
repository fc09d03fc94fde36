import type { Clock } from "../../kernel/time/clock.ts";
import type { Note, NoteKind } from "../../kernel/text/notes.ts";
import { number } from "../../kernel/text/rows.ts";

/** When the pause of an upstream alone ends, by its name. Wall clock. */
export const PAUSES: NoteKind<number> = {
  name: "pause",
  read: number,
  merge: Math.max,
  later: (untilMs, byMs) => untilMs + byMs,
};

/** An upstream may ask for a pause of itself alone. It outlives its place in the config, and this process. */
export class UpstreamPauses {
  readonly #clock: Clock;
  readonly #keep: (note: Note) => void;
  readonly #untilMs = new Map<string, number>();
  /** Restored, and not capped yet. */
  readonly #uncapped: Set<string>;

  constructor(
    clock: Clock,
    restored: ReadonlyMap<string, number> = new Map(),
    keep: (note: Note) => void = () => {},
  ) {
    this.#clock = clock;
    this.#keep = keep;
    this.#uncapped = new Set(restored.keys());
    const sinceWallMs = clock.now() - clock.wallNow();
    for (const [upstream, untilMs] of restored) this.#untilMs.set(upstream, untilMs + sinceWallMs);
  }

  /** Monotonic; in the past if there is no pause. */
  untilMs(upstream: string): number {
    return this.#untilMs.get(upstream) ?? Number.NEGATIVE_INFINITY;
  }

  /** Where a wall clock was wrong, what is restored may lie anywhere. What began here was capped when it began. */
  capAt(upstream: string, maxPauseMs: number): void {
    if (!this.#uncapped.delete(upstream) || !this.#untilMs.has(upstream)) return;
    this.#untilMs.set(upstream, Math.min(this.untilMs(upstream), this.#clock.now() + maxPauseMs));
  }

  /** A longer pause may have begun while the poll that asks for this one was on its way. */
  pause(upstream: string, forMs: number): void {
    const nowMs = this.#clock.now();
    for (const [name, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(name);
    const untilMs = Math.max(this.untilMs(upstream), nowMs + forMs);
    this.#untilMs.set(upstream, untilMs);
    this.#keep(this.#noteOf(upstream, untilMs));
  }

  /** The file must hold all of these. */
  get notes(): readonly Note[] {
    return [...this.#untilMs].map(([upstream, untilMs]) => this.#noteOf(upstream, untilMs));
  }

  #noteOf(upstream: string, untilMs: number): Note {
    const json = Math.ceil(untilMs - this.#clock.now() + this.#clock.wallNow());
    return { kind: PAUSES.name, key: upstream, json };
  }
}
