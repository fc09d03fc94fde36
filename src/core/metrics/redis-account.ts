import { CATALOGUE, type RedisFailure } from "./catalogue.ts";
import { Histogram, type HistogramReading } from "./histogram.ts";

/** How Redis has answered since the process began. */
export class RedisAccount {
  readonly #durations = new Map<string, Histogram>();
  readonly #errors = new Map<RedisFailure, number>();

  /** By the name of the call; in the order of their first. */
  get durations(): ReadonlyMap<string, HistogramReading> {
    return this.#durations;
  }

  errors(kind: RedisFailure): number {
    return this.#errors.get(kind) ?? 0;
  }

  observe(call: string, durationMs: number, failure: RedisFailure | undefined): void {
    if (failure !== undefined) this.#errors.set(failure, this.errors(failure) + 1);
    // Where nothing could be asked, nothing took any time.
    if (failure === "away") return;
    const known = this.#durations.get(call);
    const durations = known ?? new Histogram(CATALOGUE.pacewatch_redis_request_duration_seconds.buckets);
    if (known === undefined) this.#durations.set(call, durations);
    durations.observe(Math.max(0, durationMs) / 1000);
  }
}
