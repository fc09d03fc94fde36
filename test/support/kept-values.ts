import { FOLLOWERS } from "../../src/app/features/shown.ts";
import type { ValuePoint } from "../../src/features/history/credit.ts";
import { History } from "../../src/features/history/history.ts";
import type { SavedValue } from "../../src/features/history/tracks.ts";
import { quotasKnown } from "../../src/features/quota/tracked.ts";
import type { Value } from "../../src/features/values/config.ts";
import { valuesKnown } from "../../src/features/values/tracked.ts";
import type { Poll } from "../../src/kernel/poll/poll.ts";

/** The values and quotas that the answers of one upstream tell. */
export class KeptValues {
  readonly #history: History;

  constructor(restored: readonly SavedValue[] = []) {
    this.#history = new History("email", 0, { values: restored });
  }

  polled(poll: Poll): void {
    for (const follow of FOLLOWERS) follow(poll, this.#history);
  }

  read(wanted: readonly Value[], periodMs: number, nowMs: number): ReturnType<typeof valuesKnown> {
    return valuesKnown(this.#history, wanted, periodMs, nowMs);
  }

  quotas(periodMs: number, nowMs: number): ReturnType<typeof quotasKnown> {
    return quotasKnown(this.#history.tracks, periodMs, nowMs);
  }

  points(name: string): readonly ValuePoint[] {
    return this.#history.tracks.of(name)?.points ?? [];
  }

  newest(name: string): ValuePoint | undefined {
    return this.points(name).at(-1);
  }
}
