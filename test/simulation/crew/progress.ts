import type { Report } from "./crew-messages.ts";

const TELL_EVERY_MS = 5_000;

/** How far the seeds are. */
export class Progress {
  readonly #seeds: number;
  readonly #beganMs: number;
  #toldAtMs: number;
  #done = 0;
  #polls = 0;
  #lives = 0;
  #virtualMs = 0;
  #violations = 0;

  constructor(seeds: number, nowMs: number) {
    this.#seeds = seeds;
    this.#beganMs = nowMs;
    this.#toldAtMs = nowMs;
  }

  add({ polls, lives, virtualMs, violation }: Report): void {
    this.#done += 1;
    this.#polls += polls;
    this.#lives += lives;
    this.#virtualMs += virtualMs;
    if (violation !== undefined) this.#violations += 1;
  }

  /** Now and then one. */
  line(nowMs: number): string | undefined {
    if (nowMs - this.#toldAtMs < TELL_EVERY_MS) return undefined;
    this.#toldAtMs = nowMs;
    const perSecond = grouped(Math.round((this.#polls / (nowMs - this.#beganMs)) * 1_000));
    return `${grouped(this.#done)} of ${grouped(this.#seeds)} seeds, ${grouped(this.#polls)} polls, ${perSecond} polls/s`;
  }

  summary(nowMs: number): string {
    const hours = grouped(Math.round(this.#virtualMs / 3_600_000));
    const seconds = grouped(Math.round((nowMs - this.#beganMs) / 1_000));
    const result = this.#violations === 0 ? "no violation" : `${this.#violations} with a violation`;
    return [
      `${grouped(this.#polls)} polls in ${grouped(this.#done)} seeds`,
      `${hours} virtual hours and ${grouped(this.#lives)} lives of the process`,
      `in ${seconds} s: ${result}`,
    ].join(", ");
  }
}

function grouped(value: number): string {
  return value.toLocaleString("en");
}
