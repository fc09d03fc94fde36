import type { z } from "zod";
import type { Fault } from "../read/fault.ts";
import { type Path, type Tree, nearestTo, treeAt } from "../read/tree.ts";
import { didYouMean, nameOfPath, received, shownKey } from "../read/wording.ts";
import type { YamlReading } from "../read/yaml.ts";
import { type Refuse, type Schema, notesAt, walk } from "../keys/notes.ts";
import { mappingOf } from "../keys/rules.ts";

/** Something that is wrong at a path; its place is found in the tree. */
export type Complaint = {
  readonly path: Path;
  /** Whether to point at the key instead of its value. */
  readonly atKey: boolean;
  readonly message: string;
};

export function complain(path: Path, message: string): Complaint {
  return { path, atKey: false, message };
}

export function complainOfKey(path: Path, message: string): Complaint {
  return { path, atKey: true, message };
}

/** An alias, a merge key (<<), `defaults` or `also` shows one value in many upstreams. */
const UPSTREAM = /upstreams\[\d+\](?:\.also\[\d+\])?|defaults/g;
const IN_TREE = /(?<=^|[" ])upstreams\[(\d+)\]/g;

/** Nothing more is said about a value that was refused already, and of a shared value everything once. */
export function faultsOf(
  complaints: readonly Complaint[],
  { tree, file, placeOf }: YamlReading,
  writtenAt: readonly Path[] = [],
): readonly Fault[] {
  if (tree === undefined) return [];
  const said = new Set<string>();
  return complaints.flatMap(({ path, atKey, message: ofTree }) => {
    const nearest = nearestTo(tree, path);
    const isScalar = nearest.kind === "scalar";
    if (nearest.kind === "void" || (isScalar && nearest.isExample === true)) return [];
    const isMissing = treeAt(tree, path) === undefined;
    const isEmpty = isScalar && nearest.value === null;
    const offset = atKey || isMissing || isEmpty ? nearest.keyOffset : nearest.offset;
    const message = ofTree.replaceAll(IN_TREE, (name, index: string) => {
      const written = writtenAt[Number(index)];
      return written === undefined ? name : nameOfPath(written);
    });
    const what = `${offset} ${message.replaceAll(UPSTREAM, "")}`;
    if (said.has(what)) return [];
    said.add(what);
    return [{ file, ...placeOf(offset), message }];
  });
}

/** Asks all rules of a schema about what is written. */
export function ruleComplaints(schema: Schema, written: unknown, tree: Tree): readonly Complaint[] {
  const complaints: Complaint[] = [];
  walk(schema, written, (path, value, { rules = [] }) => {
    const refuse: Refuse = (below, sentence, key) => {
      const at = [...path, ...below];
      const says =
        typeof sentence === "string"
          ? sentence
          : sentence(received(treeAt(tree, at), isSecretAt(schema, at)));
      const message = `"${nameOfPath(at)}" ${says}`;
      complaints.push(key === undefined ? complain(at, message) : complainOfKey([...at, ...key], message));
    };
    for (const { check } of rules) check(value, refuse, mappingOf(written));
  });
  return complaints;
}

type Issue = z.core.$ZodIssue;

/** Turns the issues of zod into sentences, with what was received. */
export function schemaComplaints(
  issues: readonly Issue[],
  schema: Schema,
  tree: Tree,
  base: Path = [],
): readonly Complaint[] {
  return issues.flatMap((issue) => {
    const path = [...base, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
    const meant = issue.code === "invalid_union" ? meantBranch(issue.errors, treeAt(tree, path)) : undefined;
    return meant === undefined
      ? complaintsOf(issue, path, schema, tree)
      : schemaComplaints(meant, schema, tree, path);
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

function complaintsOf(issue: Issue, path: Path, schema: Schema, tree: Tree): readonly Complaint[] {
  const name = nameOfPath(path);
  const isSecret = isSecretAt(schema, path);
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((key) => unknownKey(key, path, issue.message, isSecret));
  }
  if (issue.code === "invalid_key") {
    const key = shownKey(String(path.at(-1) ?? ""), isSecret);
    const phrase = issue.issues[0]?.message ?? "a valid name";
    return [complainOfKey(path, `key ${key} in "${nameOfPath(path.slice(0, -1))}" must be ${phrase}`)];
  }
  const value = treeAt(tree, path);
  if (value === undefined) return [complain(path, `"${name}" is missing: it must be ${issue.message}`)];
  const what = path.length === 0 ? "the config" : `"${name}"`;
  return [complain(path, `${what} must be ${issue.message}, received ${received(value, isSecret)}`)];
}

function isSecretAt(schema: Schema, path: Path): boolean {
  return notesAt(schema, path).isSecret === true;
}

function unknownKey(key: string, path: Path, allowed: string, isSecret: boolean): Complaint {
  if (key === "method" && (path[0] === "upstreams" ? path.length === 2 : path.join() === "defaults")) {
    const message = `"${nameOfPath([...path, key])}" cannot be set: Pacewatch sends only GET, because a poll must be safe to repeat`;
    return complainOfKey([...path, key], message);
  }
  const where = path.length === 0 ? "" : ` in "${nameOfPath(path)}"`;
  const hint = didYouMean(key, allowed.split(", "));
  const message = `unknown key ${shownKey(key, isSecret)}${where}: ${hint}allowed are ${allowed}`;
  return complainOfKey([...path, key], message);
}
