import type { z } from "zod";
import { type Complaint, complain, complainOfKey, complainOfValue, type Fault } from "../read/fault.ts";
import { type Path, type Tree, nearestTo, treeAt } from "../read/tree.ts";
import { type NameOf, nameOfPath, probablyMeant, received, shownKey } from "../read/wording.ts";
import type { YamlReading } from "../read/yaml.ts";
import { hasKey, knownOf, notesAt, type Refuse, type Schema, schemaAt, walk } from "../keys/notes.ts";
import { mappingOf } from "../keys/rules.ts";

/**
 * Nothing more is said about a value that was refused already, nor of what is missing as its key is misspelt, and of a
 * shared value everything once.
 */
export function faultsOf(
  complaints: readonly Complaint[],
  { tree, file, placeOf }: YamlReading,
  writtenAt: readonly number[] = [],
): readonly Fault[] {
  if (tree === undefined) return [];
  const said = new Set<string>();
  const meant = new Set(
    complaints.flatMap((each) => (each.meant === undefined ? [] : [nameOfPath(each.meant)])),
  );
  return complaints.flatMap(({ path, atKey, sentence, exposesKey, lacks = [] }) => {
    if (lacks.some((key) => meant.has(nameOfPath(key)))) return [];
    const nearest = nearestTo(tree, path);
    const isScalar = nearest.kind === "scalar";
    // What stands in a value's place is never wrong, but its key may be, or a secret beside the variable.
    const isExample = isScalar && nearest.standsFor !== undefined && !atKey && exposesKey !== true;
    if (nearest.kind === "void" || isExample) return [];
    const isMissing = treeAt(tree, path) === undefined;
    const isEmpty = isScalar && nearest.value === null;
    const offset = atKey || isMissing || isEmpty ? nearest.keyOffset : nearest.offset;
    const says = (nameOf: NameOf): string => (typeof sentence === "string" ? sentence : sentence(nameOf));
    const what = `${offset} ${says((named) => nameOfPath(inUpstream(named)))}`;
    if (said.has(what)) return [];
    said.add(what);
    const message = says((named) => nameOfPath(asWritten(named, writtenAt)));
    return [{ file, ...placeOf(offset), message, ...(exposesKey && { exposesKey }) }];
  });
}

/** A template stands once in the file, and each upstream that it makes is one of the tree. */
function asWritten(path: Path, writtenAt: readonly number[]): Path {
  const [list, index, ...rest] = path;
  const written = list === "upstreams" ? writtenAt[Number(index)] : undefined;
  return written === undefined ? path : [list ?? "", written, ...rest];
}

/** An alias, a merge key (<<) or `defaults` shows one value in many upstreams: its name is the same in all of them. */
function inUpstream(path: Path): Path {
  if (path[0] === "defaults") return path.slice(1);
  return path[0] === "upstreams" ? path.slice(2) : path;
}

/** Asks all rules of a schema about what is written. */
export function ruleComplaints(schema: Schema, written: unknown, tree: Tree): readonly Complaint[] {
  const complaints: Complaint[] = [];
  walk(schema, written, (path, value, { rules = [] }) => {
    const refuse: Refuse = (below, sentence, key, lacking = []) => {
      const at = [...path, ...below];
      const shown = received(treeAt(tree, at), isSecretAt(schema, at));
      const says = (nameOf: NameOf): string =>
        `"${nameOf(at)}" ${typeof sentence === "string" ? sentence : sentence(shown, nameOf)}`;
      const lacks = lacking.map((name) => [...at, name]);
      complaints.push({
        ...(key === undefined ? complain(at, says) : complainOfKey([...at, ...key], says)),
        lacks,
      });
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

/** These say of a whole value that it is of another kind. */
const ANOTHER_KIND: ReadonlySet<Issue["code"]> = new Set(["invalid_type", "invalid_value", "invalid_union"]);

/** The only alternative of a union that accepts this kind of value: it knows what is wrong inside. */
function meantBranch(
  branches: readonly (readonly Issue[])[],
  tree: Tree | undefined,
): readonly Issue[] | undefined {
  if (tree?.kind !== "list" && tree?.kind !== "map") return undefined;
  const [meant, another] = branches.filter(
    (issues) => !issues.some((issue) => issue.path.length === 0 && ANOTHER_KIND.has(issue.code)),
  );
  return another === undefined ? meant : undefined;
}

function complaintsOf(issue: Issue, path: Path, schema: Schema, tree: Tree): readonly Complaint[] {
  const isSecret = isSecretAt(schema, path);
  if (issue.code === "unrecognized_keys") {
    const at = schemaAt(schema, path);
    const gone = { ...GONE, ...(at && knownOf(at).notes.gone) };
    const allowed = issue.message.split(", ");
    return issue.keys.map((key) =>
      unknownKey(key, path, allowed, isSecret, gone[key] ?? placeOf(key, path, allowed, schema)),
    );
  }
  if (issue.code === "invalid_key") {
    const key = shownKey(String(path.at(-1) ?? ""), isSecret);
    const phrase = issue.issues[0]?.message ?? "a valid name";
    const section = path.slice(0, -1);
    return [complainOfKey(path, (nameOf) => `key ${key} in "${nameOf(section)}" must be ${phrase}`)];
  }
  const value = treeAt(tree, path);
  if (value === undefined) {
    return [{ ...complainOfValue(path, `is missing: it must be ${issue.message}`), lacks: [path] }];
  }
  const must = `must be ${issue.message}, received ${received(value, isSecret)}`;
  return [path.length === 0 ? complain(path, `the config ${must}`) : complainOfValue(path, must)];
}

function isSecretAt(schema: Schema, path: Path): boolean {
  return notesAt(schema, path).isSecret === true;
}

/** By a key that is gone, wherever it stood: write this instead. Sections note those of their own. */
const GONE: Readonly<Record<string, string>> = {
  also: "write each path as an upstream of its own, such as - { <<: *first, name: balance, path: /balance } where this one has the anchor &first; ",
};

/** The only section around this one, or in it, that has this key: it may be indented wrongly. */
function placeOf(key: string, path: Path, allowed: readonly string[], schema: Schema): Path | undefined {
  const around = path.slice(1).map((_, index) => path.slice(0, index + 1));
  const [place, another] = [...around, ...allowed.map((name) => [...path, name])].filter((each) =>
    hasKey(schemaAt(schema, each), key),
  );
  return another === undefined ? place : undefined;
}

function unknownKey(
  key: string,
  path: Path,
  allowed: readonly string[],
  isSecret: boolean,
  instead: string | Path | undefined,
): Complaint {
  const meant = instead === undefined ? probablyMeant(key, allowed) : undefined;
  const complaint = complainOfKey([...path, key], (nameOf) => {
    const where = path.length === 0 ? "" : ` in "${nameOf(path)}"`;
    const hint =
      typeof instead === "object"
        ? `it is a key of "${nameOf(instead)}"`
        : meant === undefined
          ? `${instead ?? ""}allowed are ${allowed.join(", ")}`
          : `did you mean "${meant}"?`;
    return `unknown key ${shownKey(key, isSecret)}${where}: ${hint}`;
  });
  return meant === undefined ? complaint : { ...complaint, meant: [...path, meant] };
}
