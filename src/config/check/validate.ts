import type { z } from "zod";
import { type BudgetTerms, budgetSchema } from "../schema/budget.ts";
import type { Complaint } from "./complaint.ts";
import { type FlatIssue, complaintsOf, flatten } from "./issues.ts";
import { type ReadConfig, configSchema } from "../schema/schema.ts";
import { type Path, type Tree, childOf, entriesOf, itemsOf, plainOf, treeAt } from "../read/tree.ts";
import { type UpstreamIn, upstreamSchema } from "../schema/upstream.ts";

/** The valid parts: where one budget is wrong, the others can still be checked. */
export type Validated = {
  readonly complaints: readonly Complaint[];
  readonly general: ReadConfig["general"] | undefined;
  readonly budgets: ReadonlyMap<string, BudgetTerms>;
  /** By their place in the list. */
  readonly upstreams: ReadonlyMap<number, UpstreamIn>;
};

export function validate(tree: Tree): Validated {
  const plain = plainOf(tree);
  const parse = (): ReturnType<typeof configSchema.safeParse> => configSchema.safeParse(plain);
  let result = parse();
  if (!result.success && retypeVariables(flatten(result.error.issues, tree), tree, plain)) result = parse();
  if (result.success) {
    const { general, budgets, upstreams } = result.data;
    return {
      complaints: [],
      general,
      budgets: new Map(Object.entries(budgets)),
      upstreams: new Map(upstreams.entries()),
    };
  }
  return {
    complaints: flatten(result.error.issues, tree).flatMap((issue) => complaintsOf(issue, tree)),
    general: undefined,
    ...salvage(tree, plain),
  };
}

function salvage(tree: Tree, plain: unknown): Pick<Validated, "budgets" | "upstreams"> {
  const budgets = new Map<string, BudgetTerms>();
  for (const [name] of entriesOf(childOf(tree, "budgets"))) {
    const budget = parsed(budgetSchema, at(plain, ["budgets", name]));
    if (budget !== undefined) budgets.set(name, budget);
  }
  const upstreams = new Map<number, UpstreamIn>();
  for (const index of itemsOf(childOf(tree, "upstreams")).keys()) {
    const upstream = parsed(upstreamSchema, at(plain, ["upstreams", index]));
    if (upstream !== undefined) upstreams.set(index, upstream);
  }
  return { budgets, upstreams };
}

function parsed<Value>(schema: z.ZodType<Value>, value: unknown): Value | undefined {
  const result = schema.safeParse(value);
  return result.success ? result.data : undefined;
}

/** A variable is text; where a number or a flag is expected, it is read as one. */
function retypeVariables(issues: readonly FlatIssue[], tree: Tree, plain: unknown): boolean {
  let changed = false;
  for (const { issue, path } of issues) {
    const node = treeAt(tree, path);
    if (node?.kind !== "scalar" || !node.interpolated || typeof node.value !== "string") continue;
    const value = typedValue(node.value, issue);
    const holder = at(plain, path.slice(0, -1));
    const step = path.at(-1);
    if (value === undefined || typeof holder !== "object" || holder === null || step === undefined) continue;
    changed = Reflect.set(holder, step, value) || changed;
  }
  return changed;
}

function typedValue(text: string, issue: FlatIssue["issue"]): number | boolean | undefined {
  if (issue.code === "invalid_value" || (issue.code === "invalid_type" && issue.expected === "boolean")) {
    return text === "true" ? true : text === "false" ? false : undefined;
  }
  if (issue.code !== "invalid_type" || (issue.expected !== "number" && issue.expected !== "int"))
    return undefined;
  return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : undefined;
}

function at(value: unknown, path: Path): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== "object" || current === null) return undefined;
    current = Reflect.get(current, step);
  }
  return current;
}
