import type {
  BeatAnswer,
  BeatRequest,
  Caller,
  ClaimAnswer,
  ClaimRequest,
  FleetBoard,
  ReleaseAnswer,
  ReleaseRequest,
} from "../../core/fleet/board.ts";
import type { Clock } from "../../core/time/clock.ts";
import { type Moment, momentOf } from "../../core/time/moment.ts";
import type { SessionValidity } from "../../core/fleet/session-validity.ts";

type Answered<Answer> = { readonly answer: Answer; readonly sentAt: Moment };
type Own<Request extends Caller> = Omit<Request, keyof Caller>;

/** Calls the board as this replica's session, and notes the board's clock from each answer. */
export class BoardCalls {
  readonly #board: FleetBoard;
  readonly #validity: SessionValidity;
  readonly #clock: Clock;

  constructor(board: FleetBoard, validity: SessionValidity, clock: Clock) {
    this.#board = board;
    this.#validity = validity;
    this.#clock = clock;
  }

  beat(request: Own<BeatRequest>): Promise<Answered<BeatAnswer>> {
    return this.#ask((caller) => this.#board.beat({ ...caller, ...request }));
  }

  async claim(request: Own<ClaimRequest>): Promise<ClaimAnswer> {
    return (await this.#ask((caller) => this.#board.claim({ ...caller, ...request }))).answer;
  }

  async release(request: Own<ReleaseRequest>): Promise<ReleaseAnswer> {
    return (await this.#ask((caller) => this.#board.release({ ...caller, ...request }))).answer;
  }

  /** A late message looks like a clock that was stepped forward. When asked again, only a real step still does. */
  async #ask<Answer extends BeatAnswer | ClaimAnswer | ReleaseAnswer>(
    call: (caller: Caller) => Promise<Answer>,
  ): Promise<Answered<Answer>> {
    const first = await this.#once(call, false);
    return first.answer.kind === "stepped" ? await this.#once(call, true) : first;
  }

  async #once<Answer extends BeatAnswer | ClaimAnswer | ReleaseAnswer>(
    call: (caller: Caller) => Promise<Answer>,
    isStepSure: boolean,
  ): Promise<Answered<Answer>> {
    const sentAt = momentOf(this.#clock);
    const answer = await call(this.#validity.callerAt(sentAt.nowMs, isStepSure));
    if (answer.kind !== "away" && answer.kind !== "stepped")
      this.#validity.noteClock(answer.serverMs, sentAt.nowMs);
    return { answer, sentAt };
  }
}
