import type { Expectation } from "../../kernel/config/config.ts";
import { type Checks, NO_CHECKS } from "./checks.ts";
import { openContracts } from "./contract/contracts.ts";
import { openExpressions } from "../../config/read/expressions.ts";

/** Each library is loaded with the first answer that needs it. */
export function lazyChecks(): (expect: Expectation) => Promise<Checks> {
  let expressions: ReturnType<typeof openExpressions> | undefined;
  let contracts: ReturnType<typeof openContracts> | undefined;
  return async ({ body = [], headers = [] }) => {
    if ([...body, ...headers].some(({ matches }) => matches !== undefined)) expressions ??= openExpressions();
    if (body.some(({ jsonSchema }) => jsonSchema !== undefined)) contracts ??= openContracts();
    return { ...NO_CHECKS, ...(await expressions), ...(await contracts) };
  };
}
