import { dirname } from "node:path";
import type { Budget, Upstream } from "../core/config/config.ts";
import { type Proof, prove } from "../core/proof/proof.ts";
import type { Finding, Subject } from "../core/proof/findings.ts";
import type { General } from "./schema/schema.ts";
import { type Complaint, complain } from "./check/complaint.ts";
import type { Environment } from "./read/interpolate.ts";
import { checkFleetFiles, checkWebFile, openResources } from "./check/files-and-keys.ts";
import { type Path, type Tree, treeAt } from "./read/tree.ts";
import type { Validated } from "./check/validate.ts";
import { warningsOf } from "./check/warnings.ts";

/** All of a config that could be understood. */
export type Parts = {
  readonly general: General | undefined;
  readonly budgets: readonly Budget[];
  /** By their place in the list. */
  readonly upstreams: ReadonlyMap<number, Upstream>;
};

export function buildParts(validated: Validated, configPath: string): Parts {
  const directory = dirname(configPath);
  const general = validated.general?.(directory);
  const fleet = general?.fleet;
  const vantage = fleet?.mode === "everywhere" ? fleet.name : undefined;
  const upstreams = new Map<number, Upstream>();
  for (const [index, build] of validated.upstreams) {
    const upstream = build(directory, vantage);
    if (upstream !== undefined) upstreams.set(index, upstream);
  }
  return { general, budgets: [...validated.budgets].map(([name, terms]) => ({ name, ...terms })), upstreams };
}

export type Opened = {
  readonly complaints: readonly Complaint[];
  /** The upstreams' keys by their names: only to be compared, never to be shown. */
  readonly keys: ReadonlyMap<string, string>;
};

export async function openParts({ general, upstreams }: Parts, environment: Environment): Promise<Opened> {
  const keys = new Map<string, string>();
  const web = general === undefined ? [] : await checkWebFile(general.web);
  const fleet = general?.fleet === undefined ? [] : await checkFleetFiles(general.fleet, environment);
  const opened = await Promise.all(
    [...upstreams].map(async ([index, upstream]) => {
      const { complaints, key } = await openResources(upstream, ["upstreams", index], environment);
      if (key !== undefined) keys.set(upstream.name, key);
      return complaints;
    }),
  );
  return { complaints: [...web, ...fleet, ...opened.flat()], keys };
}

/** An upstream that could not be understood is missing from the sums: what does not fit now, never will. */
export function proveParts({ general, budgets, upstreams }: Parts, keys: Opened["keys"]): Proof {
  return prove({ budgets, upstreams: [...upstreams.values()], fleet: general?.fleet }, (upstream) =>
    keys.get(upstream.name),
  );
}

export function warningsAbout(parts: Parts, proof: Proof, tree: Tree): readonly Complaint[] {
  return [
    ...[...parts.upstreams].flatMap(([index, upstream]) => warningsOf(upstream, ["upstreams", index])),
    ...complaintsAbout(proof.warnings, parts, tree),
  ];
}

export function complaintsAbout(
  findings: readonly Finding[],
  parts: Parts,
  tree: Tree,
): readonly Complaint[] {
  return findings.map(({ subject, message }) => complain(pathOf(subject, parts, tree), message));
}

function pathOf(subject: Subject, { upstreams }: Parts, tree: Tree): Path {
  switch (subject.kind) {
    case "rate": {
      const path = ["budgets", subject.budget, "rate"];
      return treeAt(tree, path)?.kind === "list" ? [...path, subject.index] : path;
    }
    case "quota":
      return ["budgets", subject.budget, "quota"];
    case "budget":
      return ["budgets", subject.budget];
    case "upstream": {
      const index = [...upstreams].find(([, { name }]) => name === subject.upstream)?.[0] ?? 0;
      return ["upstreams", index, "budget"];
    }
    default:
      return subject satisfies never;
  }
}
