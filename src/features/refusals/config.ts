import type { RefusalMeaning } from "../../kernel/exchange/outcome.ts";

/** How one upstream refuses, told by its operator. All that is given must hold. */
export type RefusalRule = {
  /** Absent for any. */
  readonly status?: readonly number[] | undefined;
  /** Its name in lower case. */
  readonly header?: string | undefined;
  /** A JSON pointer. */
  readonly json?: string | undefined;
  /** A part of what stands there, or without a place of the body, in lower case; absent for anything at all. */
  readonly text?: string | undefined;
  /** `status`: what its status says, whatever else it looks like. */
  readonly means: RefusalMeaning | "status";
};

declare module "../../kernel/config/config.ts" {
  interface Expectation {
    readonly refusals?: readonly RefusalRule[] | undefined;
  }
}
