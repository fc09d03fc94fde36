/**
 * Steps forward of the store's clock that nobody has noticed yet. Whoever begins before somebody did cannot know of
 * it, and would believe that what others hold has ended: the one thing that is asked of the world here.
 */
export class UnseenSteps {
  readonly #forgottenMs: number;
  readonly #epochs = new Map<string, string>();
  /** By budget, when its leases of before are over anyhow. */
  readonly #untilMs = new Map<string, number>();

  constructor(forgottenMs: number) {
    this.#forgottenMs = forgottenMs;
  }

  stepped(nowMs: number): void {
    for (const budget of this.#epochs.keys()) this.#untilMs.set(budget, nowMs + this.#forgottenMs);
  }

  /** What the store answers about a budget names its epoch: another one, and it was noticed. */
  answered(budget: string, epoch: string): void {
    if (this.#epochs.get(budget) === epoch) return;
    this.#epochs.set(budget, epoch);
    this.#untilMs.delete(budget);
  }

  isUnseen(nowMs: number): boolean {
    return [...this.#untilMs.values()].some((untilMs) => nowMs < untilMs);
  }
}
