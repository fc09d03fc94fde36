import type { VirtualClock } from "../../../support/virtual/clock.ts";
import type { Dice } from "../../generate/dice.ts";
import type { LifeClock } from "../../world/life-clock.ts";
import type { StoreServer, StoreStep } from "./server.ts";
import type { StoreWeather } from "./weather.ts";

export type StoreRouteParts<Memory> = {
  readonly world: VirtualClock;
  readonly clock: LifeClock;
  readonly server: StoreServer<Memory>;
  readonly weather: StoreWeather;
  readonly replica: number;
  readonly dice: Dice;
  readonly wayMs: number;
};

/** What became of a question. Where it is `away`, it may have been heard all the same, or may yet be. */
export type Reply<Answer> =
  | { readonly kind: "answered"; readonly answer: Answer }
  | { readonly kind: "away" };

type Ask<Answer> = {
  readonly end: (reply: Reply<Answer>) => void;
  readonly arrive: () => Answer;
};

const AWAY = { kind: "away" } as const;
const DEADLINE_MS = 500;
const LOOK_EVERY_MS = 1_000;
/** A connection on which nothing is answered for so long is given up. */
const SILENCE_MS = 2_000;
/** The kernel sends again what was written, also when nobody waits for it any more. */
const LATE_MS = 2_000;
const [SLOW_MS, LOSS, LATE] = [700, 0.2, 0.3];

/** How one life of a replica reaches the store: late, in vain, or without hearing the answer. */
export class StoreRoute<Memory> {
  readonly #parts: StoreRouteParts<Memory>;
  readonly #listeners: (() => void)[] = [];
  #isConnected = false;
  #silentSinceMs: number | undefined;
  #arrivesAtMs = 0;
  #returnsAtMs = 0;

  constructor(parts: StoreRouteParts<Memory>) {
    this.#parts = parts;
    this.#lookEvery();
  }

  onBack(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** `observe` hears it when it is done, whether or not the answer gets back. */
  ask<Answer>(
    step: StoreStep<Memory, Answer>,
    observe: (answer: Answer) => void = () => {},
  ): Promise<Reply<Answer>> {
    if (!this.#isConnected) return Promise.resolve(AWAY);
    return this.#send(step, observe);
  }

  #send<Answer>(step: StoreStep<Memory, Answer>, observe: (answer: Answer) => void): Promise<Reply<Answer>> {
    const { clock, server } = this.#parts;
    return new Promise((resolve) => {
      const deadline = clock.after(DEADLINE_MS, () => end(AWAY));
      const end = (reply: Reply<Answer>): void => {
        deadline.cancel();
        this.#heard(reply.kind === "answered");
        resolve(reply);
      };
      const arrive = (): Answer => {
        const answer = server.run(step);
        observe(answer);
        return answer;
      };
      this.#travel({ end, arrive });
    });
  }

  #travel<Answer>({ end, arrive }: Ask<Answer>): void {
    const { world, weather, replica, dice, clock } = this.#parts;
    if (weather.isRefusing) return void clock.after(1, () => end(AWAY));
    if (weather.isAway || (weather.isLossy && dice.chance(LOSS))) return;
    if (weather.isCut(replica)) {
      const healsInMs = weather.cutUntilMs(replica) - world.now();
      if (dice.chance(LATE)) world.after(healsInMs + dice.between(0, LATE_MS), () => void arrive());
      return;
    }
    this.#arrivesAtMs = Math.max(this.#arrivesAtMs, world.now() + this.#drawnMs());
    world.after(this.#arrivesAtMs - world.now(), () => {
      if (weather.isAway) return;
      const answer = arrive();
      if (weather.isCut(replica) || (weather.isLossy && dice.chance(LOSS))) return;
      this.#returnsAtMs = Math.max(this.#returnsAtMs, world.now() + this.#drawnMs());
      world.after(this.#returnsAtMs - world.now(), () => {
        // The process may stand still: then it reads this when it goes on.
        clock.after(0, () => end({ kind: "answered", answer }));
      });
    });
  }

  #drawnMs(): number {
    const { dice, wayMs, weather } = this.#parts;
    return dice.between(0, weather.isSlow ? SLOW_MS : wayMs);
  }

  #heard(isAnswer: boolean): void {
    const nowMs = this.#parts.clock.now();
    if (isAnswer) {
      this.#silentSinceMs = undefined;
      return;
    }
    this.#silentSinceMs ??= nowMs;
    if (this.#parts.weather.isRefusing || nowMs - this.#silentSinceMs >= SILENCE_MS)
      this.#isConnected = false;
  }

  #lookEvery(): void {
    void this.#look();
    this.#parts.clock.after(LOOK_EVERY_MS, () => this.#lookEvery());
  }

  async #look(): Promise<void> {
    const wasConnected = this.#isConnected;
    const { kind } = await this.#send(
      () => undefined,
      () => {},
    );
    if (kind === "away" || wasConnected) return;
    this.#isConnected = true;
    for (const listener of this.#listeners) listener();
  }
}
