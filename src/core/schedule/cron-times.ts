/** The seconds of a day at which a cron expression has slots, in order and numbered from 0. */
export class CronTimes {
  readonly #times: Uint32Array;

  /** Each of them in ascending order. */
  constructor(hours: readonly number[], minutes: readonly number[], seconds: readonly number[]) {
    const ofHour = minutes.flatMap((minute) => seconds.map((second) => minute * 60 + second));
    this.#times = Uint32Array.from(hours.flatMap((hour) => ofHour.map((time) => hour * 3600 + time)));
  }

  /** How many there are. */
  get count(): number {
    return this.#times.length;
  }

  /** Undefined past the last one. */
  at(index: number): number | undefined {
    return this.#times[index];
  }

  /** How many come before this second of the day, which may lie before its start or past its end. */
  before(second: number): number {
    let [from, to] = [0, this.#times.length];
    while (from < to) {
      const middle = (from + to) >>> 1;
      if ((this.#times[middle] ?? Infinity) < second) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
