import type { Budget, Upstream } from "../../kernel/config/config.ts";
import { type Tree, treeAt } from "../read/tree.ts";
import { itemsOf, mappingOf } from "../keys/rules.ts";
import { type ConfigKeys, type ConfigSchema, type General, vantageSchema } from "../schema/schema.ts";
import { upstreamOf } from "../schema/running-upstream.ts";
import type { UpstreamKeys } from "../schema/upstream.ts";
import { literalKeysIn } from "./literal-keys.ts";
import type { Complaint } from "../read/fault.ts";
import { ruleComplaints, schemaComplaints } from "./faults.ts";
import { asWritten, plainOf } from "./plain.ts";

/** The valid parts of a config: where one budget is wrong, the others can still be checked. */
export type Parts = {
  /** All of it as plain values: see `plainOf`. */
  readonly written: unknown;
  readonly complaints: readonly Complaint[];
  /** Undefined where anything is wrong that its schema can tell. */
  readonly general: General | undefined;
  readonly budgets: readonly Budget[];
  /** By their place in the list. */
  readonly upstreams: ReadonlyMap<number, Upstream>;
};

export function validate(tree: Tree, directory: string, schema: ConfigSchema): Parts {
  const written = plainOf(tree, schema.config, directory);
  // A key without a value was refused already: zod would take it for a fault of its own.
  const plain: unknown = JSON.parse(JSON.stringify(written));
  const { data, error } = schema.config.safeParse(plain);
  const keys: SoundParts = data ?? soundParts(mappingOf(plain), schema);
  const general = data && generalOf(data);
  const { sections } = schema;
  const budgets = new Map(
    Object.entries(keys.budgets).map(([name, terms]) => {
      const budget: Budget = { name, ...terms, ...(keys.vantage && { vantage: keys.vantage }) };
      for (const { ofBudget } of sections) Object.assign(budget, ofBudget?.(budget));
      return [name, budget] as const;
    }),
  );
  const around = { denyAddresses: general?.denyAddresses, budgets, sections };
  const bodies = [
    ["defaults", "body"],
    ...[...keys.upstreams.keys()].map((index) => ["upstreams", index, "body"]),
  ];
  return {
    written,
    complaints: [
      ...bodies.flatMap((path) => literalKeysIn(treeAt(tree, path), path)),
      ...schemaComplaints(error?.issues ?? [], schema.config, tree),
      ...ruleComplaints(schema.config, written, tree),
    ],
    general,
    budgets: [...budgets.values()],
    upstreams: new Map(
      keys.upstreams.flatMap((upstream, index) => {
        const template = templateOf(treeAt(tree, ["upstreams", index, "path"]));
        const writtenBody = asWritten(treeAt(tree, ["upstreams", index, "body"]));
        const found = upstream && upstreamOf(upstream, { ...around, template, writtenBody });
        return found === undefined ? [] : [[index, found]];
      }),
    ),
  };
}

/** What `defaults` say is in the upstreams. */
function generalOf({ defaults: _defaults, ...general }: ConfigKeys): General {
  return general;
}

type SoundParts = Pick<ConfigKeys, "budgets" | "vantage"> & {
  readonly upstreams: readonly (UpstreamKeys | undefined)[];
};

function soundParts(plain: Readonly<Record<string, unknown>>, schema: ConfigSchema): SoundParts {
  const budgets = Object.entries(mappingOf(plain["budgets"])).flatMap(([name, budget]) => {
    const { data } = schema.budget.safeParse(budget);
    return data === undefined ? [] : [[name, data]];
  });
  const upstreams = itemsOf(plain["upstreams"]).map((upstream) => schema.upstream.safeParse(upstream).data);
  const vantage = vantageSchema.safeParse(plain["vantage"]).data;
  return { budgets: Object.fromEntries(budgets), upstreams, vantage };
}

/** A variable in a path may hold a secret: it is filled in only where the request is built. */
function templateOf(path: Tree | undefined): string | undefined {
  return path?.kind === "scalar" && path.interpolated ? path.written : undefined;
}
