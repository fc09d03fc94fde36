/**
 * The seconds of a day at which a cron expression has slots, numbered from 0. They are worked out when asked for, as
 * one each second would be 86,400 to keep.
 */
export class CronTimes {
  /** How many there are. */
  readonly count: number;
  readonly #hours: Values;
  readonly #minutes: Values;
  readonly #seconds: Values;

  constructor(hours: readonly number[], minutes: readonly number[], seconds: readonly number[]) {
    this.#hours = new Values(hours, 24);
    this.#minutes = new Values(minutes, 60);
    this.#seconds = new Values(seconds, 60);
    this.count = hours.length * minutes.length * seconds.length;
  }

  /** Undefined past the last one. */
  at(index: number): number | undefined {
    if (index >= this.count) return undefined;
    const minute = Math.floor(index / this.#seconds.count);
    const hour = this.#hours.at(Math.floor(minute / this.#minutes.count));
    const minuteOfHour = this.#minutes.at(minute % this.#minutes.count);
    return hour * 3600 + minuteOfHour * 60 + this.#seconds.at(index % this.#seconds.count);
  }

  /** How many come before this second of the day, which may lie before its start or past its end. */
  before(second: number): number {
    if (second <= 0) return 0;
    const hour = Math.floor(second / 3600);
    if (hour >= 24) return this.count;
    const minute = Math.floor(second / 60) % 60;
    const seconds = this.#minutes.has(minute) ? this.#seconds.before(second % 60) : 0;
    const minutes = this.#minutes.before(minute) * this.#seconds.count + seconds;
    return (
      this.#hours.before(hour) * this.#minutes.count * this.#seconds.count +
      (this.#hours.has(hour) ? minutes : 0)
    );
  }
}

/** The values of one field, sorted, all less than `size`. */
class Values {
  readonly #values: readonly number[];
  /** For each number up to `size`: how many values are less. */
  readonly #before: Uint8Array;

  constructor(values: readonly number[], size: number) {
    this.#values = values;
    this.#before = Uint8Array.from(
      { length: size + 1 },
      (_, limit) => values.filter((value) => value < limit).length,
    );
  }

  get count(): number {
    return this.#values.length;
  }

  at(index: number): number {
    return this.#values[index] ?? 0;
  }

  has(value: number): boolean {
    return this.before(value + 1) > this.before(value);
  }

  before(value: number): number {
    return this.#before[value] ?? 0;
  }
}
