import type { Clock } from "../../kernel/time/clock.ts";
import { Thread, type ThreadOptions } from "../../platform/thread.ts";
import type { PasswordChecker, PasswordQuestion, PasswordVerdict } from "./basic-auth.ts";

const CHECKING: ThreadOptions = {
  name: "passwords",
  module: new URL("./bcrypt-worker.ts", import.meta.url),
  canWait: true,
};
/** No fewer than there may be connections: each that waits has its place. */
const MAX_WAITING = 256;
/** When there are more, all of them are forgotten: guesses from so many addresses are not slowed down by this anyway. */
const MAX_SPENDERS = 10_000;
/** A check seems longer only if the process stood still meanwhile, as on SIGSTOP: so long a rest would stop all others. */
const LONGEST_REST_MS = 15_000;

type Asker = {
  readonly connection: PasswordQuestion["connection"];
  readonly settle: (verdict: PasswordVerdict) => void;
};

type Waiting = Omit<PasswordQuestion, "connection"> & {
  /** All who ask the same get one verdict. */
  readonly askers: Asker[];
};

/**
 * Checks one password at a time, in a thread that is started for the first check. Nobody can know beforehand which
 * password is right, so none may be kept out by wrong ones, wherever they come from:
 *
 * - Every connection has one place, and a check is done even if its client has gone: a right password is then known.
 * - In every second turn the one that waits longest is checked. In the others, the one whose address and user have cost
 *   least by wrong passwords: guesses from elsewhere, or of another user, delay it by one turn.
 */
export class PasswordChecks implements PasswordChecker, AsyncDisposable {
  readonly #thread: Pick<Thread, "ask" | "end">;
  readonly #clock: Pick<Clock, "sleep">;
  readonly #onWarning: (message: string) => void;
  readonly #maxWaiting: number;
  readonly #closing = new AbortController();
  /** Each of these has a place, and may have no other. */
  readonly #connections = new Set<PasswordQuestion["connection"]>();
  /** The key says what is asked. The oldest comes first. */
  readonly #waiting = new Map<string, Waiting>();
  /** How long wrong passwords took, by address and by hash. An unknown user has the hash of a real one. */
  readonly #spentMs = new Map<string, number>();
  #isOldestsTurn = false;
  #working = false;

  constructor(
    clock: Pick<Clock, "sleep">,
    onWarning: (message: string) => void,
    maxWaiting: number = MAX_WAITING,
    thread: Pick<Thread, "ask" | "end"> = new Thread(CHECKING),
  ) {
    this.#thread = thread;
    this.#clock = clock;
    this.#onWarning = onWarning;
    this.#maxWaiting = maxWaiting;
  }

  check({ id, password, hash, address, connection }: PasswordQuestion): Promise<PasswordVerdict> {
    if (this.#closing.signal.aborted || this.#connections.has(connection)) return Promise.resolve("busy");
    const known = this.#waiting.get(id);
    if (known === undefined && !this.#hasRoom()) return Promise.resolve("busy");
    return new Promise((settle) => {
      const waiting = known ?? { id, password, hash, address, askers: [] };
      this.#dropGone(waiting);
      waiting.askers.push({ connection, settle });
      this.#connections.add(connection);
      this.#waiting.set(id, waiting);
      if (!this.#working) void this.#work();
    });
  }

  isChecking(connection: PasswordQuestion["connection"]): boolean {
    return this.#connections.has(connection);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    for (const waiting of this.#waiting.values()) this.#settle(waiting, "busy");
    await this.#thread.end();
  }

  /** Who asks the same again and again, each time on another connection, would keep them all. */
  #dropGone({ askers }: Waiting): void {
    const gone = askers.filter(({ connection }) => connection.destroyed);
    for (const asker of gone) {
      askers.splice(askers.indexOf(asker), 1);
      this.#answer(asker, "busy");
    }
  }

  /** Whoever still waits takes the place of the last whose client has gone. */
  #hasRoom(): boolean {
    if (this.#waiting.size < this.#maxWaiting) return true;
    const gone = [...this.#waiting.values()].findLast(({ askers }) =>
      askers.every(({ connection }) => connection.destroyed),
    );
    if (gone !== undefined) this.#settle(gone, "busy");
    return gone !== undefined;
  }

  #settle(waiting: Waiting, verdict: PasswordVerdict): void {
    this.#waiting.delete(waiting.id);
    for (const asker of waiting.askers) this.#answer(asker, verdict);
  }

  #answer({ connection, settle }: Asker, verdict: PasswordVerdict): void {
    this.#connections.delete(connection);
    settle(verdict);
  }

  async #work(): Promise<void> {
    this.#working = true;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      const startedMs = performance.now();
      const verdict = await this.#compare(next);
      const tookMs = performance.now() - startedMs;
      if (verdict === "mismatch") this.#spend(next, tookMs);
      this.#settle(next, verdict);
      // After a wrong password the thread rests as long as it worked, so guessing uses at most half a core.
      if (verdict === "mismatch") {
        await this.#clock.sleep(Math.min(tookMs, LONGEST_REST_MS), this.#closing.signal);
      }
    }
    this.#spentMs.clear();
    this.#working = false;
  }

  #next(): Waiting | undefined {
    const [oldest, ...others] = this.#waiting.values();
    this.#isOldestsTurn = !this.#isOldestsTurn;
    if (oldest === undefined || this.#isOldestsTurn) return oldest;
    return others.reduce(
      (best, other) => (this.#spentBy(other) < this.#spentBy(best) ? other : best),
      oldest,
    );
  }

  #spentBy({ address, hash }: Waiting): number {
    return (this.#spentMs.get(address) ?? 0) + (this.#spentMs.get(hash) ?? 0);
  }

  #spend({ address, hash }: Waiting, ms: number): void {
    if (this.#spentMs.size > MAX_SPENDERS) this.#spentMs.clear();
    for (const spender of [address, hash]) this.#spentMs.set(spender, (this.#spentMs.get(spender) ?? 0) + ms);
  }

  async #compare({ password, hash }: Waiting): Promise<PasswordVerdict> {
    const matches = await this.#thread.ask<boolean>({ password, hash });
    if (typeof matches === "boolean") return matches ? "match" : "mismatch";
    const { error } = matches;
    if (error) this.#onWarning(`password check thread failed, a new one will be started: ${error.message}`);
    return "busy";
  }
}
