import type { Budget, Upstream } from "../../core/config/config.ts";
import { type BudgetTerms, budgetSchema } from "../schema/budget.ts";
import type { Complaint } from "./complaint.ts";
import { type FlatIssue, flatten, schemaComplaints } from "./schema-faults.ts";
import { type General, configSchema } from "../schema/schema.ts";
import { type Path, type Tree, childOf, entriesOf, itemsOf, plainOf, textAt, treeAt } from "../read/tree.ts";
import { variablesIn } from "../read/interpolate.ts";
import { joinTemplate } from "../schema/upstream-url.ts";
import { type UpstreamIn, upstreamSchema } from "../schema/upstream.ts";

/** The valid parts of a config: where one budget is wrong, the others can still be checked. */
export type Parts = {
  readonly complaints: readonly Complaint[];
  readonly general: General | undefined;
  readonly budgets: readonly Budget[];
  /** By their place in the list. */
  readonly upstreams: ReadonlyMap<number, Upstream>;
};

export function validate(tree: Tree, directory: string): Parts {
  const plain = plainOf(tree);
  const parse = (): ReturnType<typeof configSchema.safeParse> => configSchema.safeParse(plain);
  let result = parse();
  if (!result.success && retypeVariables(flatten(result.error.issues, tree), tree, plain)) result = parse();
  const general = result.data?.general(directory);
  const vantage = general?.fleet?.mode === "everywhere" ? general.fleet.name : undefined;
  const upstreams = new Map<number, Upstream>();
  for (const [index, readOne] of (result.data?.upstreams ?? salvageUpstreams(tree, plain)).entries()) {
    const upstream = readOne?.(directory, vantage);
    if (upstream === undefined) continue;
    const denyAddresses = general?.denyAddresses;
    const path = pathTemplate(treeAt(tree, ["upstreams", index]));
    upstreams.set(index, { ...upstream, ...(denyAddresses && { denyAddresses }), ...path });
  }
  return {
    complaints: result.success ? [] : schemaComplaints(result.error.issues, tree),
    general,
    budgets: Object.entries(result.data?.budgets ?? salvageBudgets(tree, plain)).map(([name, terms]) => ({
      name,
      ...terms,
    })),
    upstreams,
  };
}

/** What a variable puts into a path is taken for a secret: it is filled in only where the request is built. */
function pathTemplate(upstream: Tree | undefined): Partial<Upstream> {
  const path = upstream === undefined ? undefined : childOf(upstream, "path");
  const base = textAt(upstream, "base_url");
  if (path?.kind !== "scalar" || !path.interpolated || base === undefined) return {};
  const written = path.written ?? "";
  return {
    url: joinTemplate(base, written),
    pathTemplate: { base, path: written },
    pathVariables: variablesIn(written),
  };
}

function salvageBudgets(tree: Tree, plain: unknown): Readonly<Record<string, BudgetTerms>> {
  const names = entriesOf(childOf(tree, "budgets")).map(([name]) => name);
  return Object.fromEntries(
    names.flatMap((name) => {
      const { data } = budgetSchema.safeParse(at(plain, ["budgets", name]));
      return data === undefined ? [] : [[name, data]];
    }),
  );
}

function salvageUpstreams(tree: Tree, plain: unknown): readonly (UpstreamIn | undefined)[] {
  return itemsOf(childOf(tree, "upstreams")).map(
    (_, index) => upstreamSchema.safeParse(at(plain, ["upstreams", index])).data,
  );
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
