import type { Clock } from "../time/clock.ts";
import type { PauseRecord } from "../../features/hints/record.ts";

/** The port of the file that pauses of upstreams are kept in. */
export type KeepPause = (upstream: string, record: PauseRecord) => void;

/** An upstream may ask for a pause of itself alone. It outlives its place in the config, and this process. */
export class UpstreamPauses {
  readonly #clock: Clock;
  readonly #keep: KeepPause;
  readonly #untilMs = new Map<string, number>();

  constructor(
    clock: Clock,
    restored: ReadonlyMap<string, PauseRecord> = new Map(),
    keep: KeepPause = () => {},
  ) {
    this.#clock = clock;
    this.#keep = keep;
    const sinceWallMs = clock.now() - clock.wallNow();
    for (const [upstream, { pausedUntilMs }] of restored)
      this.#untilMs.set(upstream, pausedUntilMs + sinceWallMs);
  }

  /** Monotonic; in the past if there is no pause. */
  untilMs(upstream: string): number {
    return this.#untilMs.get(upstream) ?? Number.NEGATIVE_INFINITY;
  }

  /** Where a wall clock was wrong, what is restored may lie anywhere. */
  capAt(upstream: string, maxPauseMs: number): void {
    const untilMs = this.#untilMs.get(upstream);
    if (untilMs !== undefined) this.#untilMs.set(upstream, Math.min(untilMs, this.#clock.now() + maxPauseMs));
  }

  /** A longer pause may have begun while the poll that asks for this one was on its way. */
  pause(upstream: string, forMs: number): void {
    const nowMs = this.#clock.now();
    for (const [name, untilMs] of this.#untilMs) if (untilMs <= nowMs) this.#untilMs.delete(name);
    const untilMs = Math.max(this.untilMs(upstream), nowMs + forMs);
    this.#untilMs.set(upstream, untilMs);
    this.#keep(upstream, this.#recordOf(untilMs));
  }

  /** The file must hold all of these. */
  get records(): ReadonlyMap<string, PauseRecord> {
    return new Map([...this.#untilMs].map(([name, untilMs]) => [name, this.#recordOf(untilMs)]));
  }

  #recordOf(untilMs: number): PauseRecord {
    return { pausedUntilMs: Math.ceil(untilMs - this.#clock.now() + this.#clock.wallNow()) };
  }
}
