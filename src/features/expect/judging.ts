import { openExpressions } from "../../config/read/expressions.ts";
import type { JudgingPart } from "../../kernel/poll/judging.ts";
import { expectationsBy, needsChecks } from "./assertions.ts";
import { type Checks, NO_CHECKS } from "./checks.ts";
import { openContracts } from "./contract/contracts.ts";

declare module "../../kernel/poll/judging.ts" {
  interface Libraries {
    readonly checks?: Checks;
  }
}

let expressions: ReturnType<typeof openExpressions> | undefined;
let contracts: ReturnType<typeof openContracts> | undefined;

export const EXPECTATIONS: JudgingPart = {
  of: ({ expect: { body, headers } }, { checks = NO_CHECKS }) =>
    body === undefined && headers === undefined ? {} : { judges: [expectationsBy(checks)] },
  needsThread: ({ expect }) => needsChecks(expect),
  async load({ expect: { body = [], headers = [] } }) {
    if ([...body, ...headers].some(({ matches }) => matches !== undefined)) expressions ??= openExpressions();
    if (body.some(({ jsonSchema }) => jsonSchema !== undefined)) contracts ??= openContracts();
    return { checks: { ...NO_CHECKS, ...(await expressions), ...(await contracts) } };
  },
};
