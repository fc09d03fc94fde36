export type Reading<Value> =
  | { readonly kind: "read"; readonly value: Value }
  | { readonly kind: "unusable"; readonly problem: string };

/**
 * A value from files that change while the program runs. A half-written file is the usual failure: the last good value
 * stays until the next reading.
 */
export class Followed<Value> {
  readonly #read: () => Promise<Reading<Value>>;
  readonly #onProblem: (problem: string | undefined) => void;
  #value: Value;
  #problem: string | undefined = undefined;

  /** `onProblem` is called once for each change of the problem, not for each reading; with undefined when it is over. */
  constructor(
    first: Value,
    read: () => Promise<Reading<Value>>,
    onProblem: (problem: string | undefined) => void,
  ) {
    this.#value = first;
    this.#read = read;
    this.#onProblem = onProblem;
  }

  get value(): Value {
    return this.#value;
  }

  async reread(): Promise<Value> {
    const reading = await this.#read();
    const problem = reading.kind === "unusable" ? reading.problem : undefined;
    if (reading.kind === "read") this.#value = reading.value;
    if (problem !== this.#problem) {
      this.#problem = problem;
      this.#onProblem(problem);
    }
    return this.#value;
  }
}
