/** A JSON Schema that was checked: JSON, in memory that threads share, and the digest of its file. */
export type Contract = { readonly text: Uint8Array<SharedArrayBuffer>; readonly digest: string };

/** What libraries judge of an answer: not where polls run, as some answers take them very long. */
export interface Checks {
  /** By an expression in the syntax of RE2. */
  matches(expression: string, text: string): boolean;
  /** By a JSON Schema. Undefined where it is kept. */
  brokenBy(contract: Contract, value: unknown): Broken | Unchecked | undefined;
}

/** The first part of a value that breaks a JSON Schema. */
export type Broken = {
  readonly kind: "broken";
  /** The names and positions that lead to it. */
  readonly path: readonly string[];
  /** Whether it is about the name at the end of the path, not about what stands there. */
  readonly isName: boolean;
  /** Undefined where there is nothing. */
  readonly value: unknown;
  /** In words. */
  readonly expected: string;
};

export type Unchecked = { readonly kind: "unchecked"; readonly why: string };

/** For whoever judges answers that need none. */
export const NO_CHECKS: Checks = { matches: unopened, brokenBy: unopened };

function unopened(): never {
  throw new Error("an answer that libraries must check came to where there are none");
}
