const SECONDS_PER_DAY = 86_400;

/** The seconds of a day at which a cron expression fires: every listed hour, minute and second, crossed. */
export class CronTimes {
  readonly perDay: number;
  readonly first: number;
  readonly last: number;
  readonly #hours: Ranks;
  readonly #minutes: Ranks;
  readonly #seconds: Ranks;

  constructor(hours: readonly number[], minutes: readonly number[], seconds: readonly number[]) {
    this.#hours = new Ranks(hours, 24);
    this.#minutes = new Ranks(minutes, 60);
    this.#seconds = new Ranks(seconds, 60);
    this.perDay = hours.length * minutes.length * seconds.length;
    this.first = secondOfDay(hours[0], minutes[0], seconds[0]);
    this.last = secondOfDay(hours.at(-1), minutes.at(-1), seconds.at(-1));
  }

  /** How many come before this second of the day. */
  before(second: number): number {
    const hour = Math.floor(second / 3600);
    const minute = Math.floor(second / 60) % 60;
    let count = this.#hours.before(hour) * this.#minutes.size * this.#seconds.size;
    if (!this.#hours.has(hour)) return count;
    count += this.#minutes.before(minute) * this.#seconds.size;
    return this.#minutes.has(minute) ? count + this.#seconds.before(second % 60) : count;
  }

  /** The first at this second or later in the day. */
  from(second: number): number | undefined {
    const rank = this.before(second);
    if (rank >= this.perDay) return undefined;
    const perHour = this.#minutes.size * this.#seconds.size;
    return secondOfDay(
      this.#hours.at(Math.floor(rank / perHour)),
      this.#minutes.at(Math.floor(rank / this.#seconds.size) % this.#minutes.size),
      this.#seconds.at(rank % this.#seconds.size),
    );
  }

  /** The gaps inside one day; with a single time there are none. */
  gaps(): { readonly longest: number; readonly shortest: number } {
    let [longest, shortest, previous] = [0, Infinity, this.first];
    for (let next = this.from(previous + 1); next !== undefined; next = this.from(previous + 1)) {
      longest = Math.max(longest, next - previous);
      shortest = Math.min(shortest, next - previous);
      previous = next;
    }
    return { longest, shortest };
  }

  /** The most in any half-open window of at most a day, which may reach over midnight. */
  mostWithin(seconds: number, overMidnight: boolean): number {
    let most = 0;
    for (let start: number | undefined = this.first; start !== undefined; start = this.from(start + 1)) {
      const end = start + seconds;
      let count = this.before(Math.min(end, SECONDS_PER_DAY)) - this.before(start);
      if (overMidnight && end > SECONDS_PER_DAY) count += this.before(end - SECONDS_PER_DAY);
      most = Math.max(most, count);
    }
    return most;
  }
}

class Ranks {
  readonly #values: readonly number[];
  readonly #before: readonly number[];

  constructor(values: readonly number[], size: number) {
    this.#values = values;
    this.#before = Array.from({ length: size + 1 }, (_, bound) => values.filter((v) => v < bound).length);
  }

  get size(): number {
    return this.#values.length;
  }

  at(rank: number): number {
    return this.#values[rank] ?? 0;
  }

  before(bound: number): number {
    return this.#before[bound] ?? this.#values.length;
  }

  has(value: number): boolean {
    return this.before(value + 1) > this.before(value);
  }
}

function secondOfDay(hour = 0, minute = 0, second = 0): number {
  return hour * 3600 + minute * 60 + second;
}
