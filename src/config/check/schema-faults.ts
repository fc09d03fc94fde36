import type { z } from "zod";
import { type Complaint, complain, complainOfKey } from "./complaint.ts";
import { type Path, type Tree, treeAt } from "../read/tree.ts";
import { didYouMean, nameOfPath, received, shownKey } from "./wording.ts";

type Issue = z.core.$ZodIssue;

/** One issue of the schema, unions resolved, at an absolute path. */
export type FlatIssue = { readonly issue: Issue; readonly path: Path };

export function flatten(issues: readonly Issue[], tree: Tree, base: Path = []): readonly FlatIssue[] {
  return issues.flatMap((issue) => {
    const path = [...base, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
    if (issue.code !== "invalid_union") return [{ issue, path }];
    const branch = meantBranch(issue.errors, treeAt(tree, path));
    return branch === undefined ? [{ issue, path }] : flatten(branch, tree, path);
  });
}

/** The alternative of a union that accepts this kind of value: it knows what is wrong inside. */
function meantBranch(
  branches: readonly (readonly Issue[])[],
  tree: Tree | undefined,
): readonly Issue[] | undefined {
  if (tree?.kind !== "list" && tree?.kind !== "map") return undefined;
  return branches.find(
    (issues) => !issues.some((issue) => issue.path.length === 0 && issue.code === "invalid_type"),
  );
}

export function schemaComplaints(issues: readonly Issue[], tree: Tree): readonly Complaint[] {
  return flatten(issues, tree).flatMap((issue) => complaintsOf(issue, tree));
}

function complaintsOf({ issue, path }: FlatIssue, tree: Tree): readonly Complaint[] {
  const name = nameOfPath(path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => unknownKey(key, path, issue.message));
  }
  if (issue.code === "invalid_key") {
    const key = shownKey(String(path.at(-1) ?? ""), path);
    const phrase = issue.issues[0]?.message ?? "a valid name";
    return [complainOfKey(path, `key ${key} in "${nameOfPath(path.slice(0, -1))}" must be ${phrase}`)];
  }
  const value = treeAt(tree, path);
  if (value === undefined) return [complain(path, `"${name}" is missing: it must be ${issue.message}`)];
  const what = path.length === 0 ? "the config" : `"${name}"`;
  return [complain(path, `${what} must be ${issue.message}, received ${received(value, path)}`)];
}

function unknownKey(key: string, path: Path, allowed: string): Complaint {
  if (key === "method" && (path[0] === "upstreams" ? path.length === 2 : path.join() === "defaults")) {
    const message = `"${nameOfPath([...path, key])}" cannot be set: Pacewatch sends only GET, because a poll must be safe to repeat`;
    return complainOfKey([...path, key], message);
  }
  const where = path.length === 0 ? "" : ` in "${nameOfPath(path)}"`;
  const hint = didYouMean(key, allowed.split(", "));
  const message = `unknown key ${shownKey(key, [...path, key])}${where}: ${hint}allowed are ${allowed}`;
  return complainOfKey([...path, key], message);
}
