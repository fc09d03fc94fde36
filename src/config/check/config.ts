import { parseDuration } from "../../core/time/duration.ts";
import { type Complaint, complain, complainOfKey } from "./complaint.ts";
import { checkCertificateAndKey, checkExactlyOne, checkSource } from "./key-combinations.ts";
import { type Path, type Tree, childOf, entriesOf, flagAt, itemsOf, textAt, treeAt } from "../read/tree.ts";
import { checkDefaults, checkUpstream } from "./upstream.ts";
import { didYouMean, nameOfPath, received } from "./wording.ts";

/** Rules between the parts of a config. Each is checked as far as it can be, whatever else is wrong. */
export function checkConfig(tree: Tree): readonly Complaint[] {
  const budgets = childOf(tree, "budgets");
  const upstreams = itemsOf(childOf(tree, "upstreams"));
  const defaults = childOf(tree, "defaults");
  return [
    ...checkFleet(tree),
    ...entriesOf(budgets).flatMap(([name, budget]) => checkRates(name, budget)),
    ...(defaults === undefined ? [] : checkDefaults(defaults, ["defaults"])),
    ...upstreams.flatMap((upstream, index) => checkUpstream(upstream, ["upstreams", index])),
    ...checkNames(upstreams),
    ...(budgets?.kind === "map" ? checkBudgetNames(tree, [...budgets.entries.keys()]) : []),
    ...checkBudgetLists(tree, treeAt(tree, [...REDIS_PATH, "cluster"]) !== undefined),
    ...checkLabelKeys(upstreams),
  ];
}

/** Two rates over the same window would be one metric series. */
function checkRates(name: string, budget: Tree): readonly Complaint[] {
  const seen = new Set<number>();
  return itemsOf(childOf(budget, "rate")).flatMap((rate, index) => {
    const perMs = parseDuration(textAt(rate, "per") ?? "");
    if (perMs === undefined) return [];
    const path = ["budgets", name, "rate", index, "per"];
    if (seen.has(perMs))
      return [complain(path, `"${nameOfPath(path)}" must differ from the other rates of its budget`)];
    seen.add(perMs);
    return [];
  });
}

function checkNames(upstreams: readonly Tree[]): readonly Complaint[] {
  const firstByName = new Map<string, number>();
  return upstreams.flatMap((upstream, index) => {
    const name = textAt(upstream, "name");
    if (name === undefined) return [];
    const first = firstByName.get(name);
    if (first === undefined) {
      firstByName.set(name, index);
      return [];
    }
    const path = ["upstreams", index, "name"];
    const shown = received(childOf(upstream, "name"), path);
    return [
      complain(path, `"${nameOfPath(path)}" must be unique, received ${shown} like upstreams[${first}]`),
    ];
  });
}

function checkBudgetNames(tree: Tree, known: readonly string[]): readonly Complaint[] {
  return [...budgetListsIn(tree).flat(), ...budgetsOfTokens(tree)].flatMap(({ name, node, path }) => {
    if (known.includes(name)) return [];
    const allowed = known.length === 0 ? "there are no budgets" : `allowed are ${known.join(", ")}`;
    const hint = `${didYouMean(name, known)}${allowed}`;
    const must = `"${nameOfPath(path)}" must name a budget, received ${received(node, path)}: ${hint}`;
    return [complain(path, must)];
  });
}

type NamedBudget = { readonly name: string; readonly node: Tree; readonly path: Path };

/** The budgets that the defaults and each upstream name, in a list or alone, where they are written. */
function budgetListsIn(tree: Tree): readonly (readonly NamedBudget[])[] {
  return ownersIn(tree).map((owner) => {
    const path = [...owner, "budget"];
    const named = treeAt(tree, path);
    if (named === undefined) return [];
    const nodes: readonly (readonly [Tree, Path])[] =
      named.kind === "list" ? named.items.map((node, at) => [node, [...path, at]]) : [[named, path]];
    return nodes.flatMap(([node, at]) => {
      const name = textAt(node);
      return name === undefined ? [] : [{ name, node, path: at }];
    });
  });
}

function budgetsOfTokens(tree: Tree): readonly NamedBudget[] {
  return ownersIn(tree).flatMap((owner) => {
    const path = [...owner, "auth", "oauth2", "budget"];
    const node = treeAt(tree, path);
    const name = node === undefined ? undefined : textAt(node);
    return node === undefined || name === undefined ? [] : [{ name, node, path }];
  });
}

function ownersIn(tree: Tree): readonly Path[] {
  const upstreams = itemsOf(childOf(tree, "upstreams")).map((_, index): Path => ["upstreams", index]);
  return [["defaults"], ...upstreams];
}

/** Each budget once; and only one where their keys lie on different nodes, where nothing leases from two at once. */
function checkBudgetLists(tree: Tree, isCluster: boolean): readonly Complaint[] {
  return budgetListsIn(tree).flatMap((named) => {
    const complaints = named.flatMap(({ name, path }, at) => {
      if (!named.slice(0, at).some((other) => other.name === name)) return [];
      const must = `"${nameOfPath(path)}" must differ from the other budgets of its upstream, received "${name}" again`;
      return [complain(path, must)];
    });
    const path = named[0]?.path.slice(0, -1);
    if (!isCluster || named.length < 2 || path === undefined) return complaints;
    const must = `"${nameOfPath(path)}" must be a single budget where fleet.redis is a cluster, received a list of ${named.length}: the nodes of a cluster cannot lease from several budgets in one step, so use url or sentinel`;
    return [...complaints, complain(path, must)];
  });
}

/** One metric family has one set of label names. */
function checkLabelKeys(upstreams: readonly Tree[]): readonly Complaint[] {
  const keysOf = (upstream: Tree | undefined): string =>
    entriesOf(upstream === undefined ? undefined : childOf(upstream, "labels"))
      .map(([key]) => key)
      .sort()
      .join(", ");
  const expected = keysOf(upstreams[0]);
  return upstreams.flatMap((upstream, index) => {
    const found = keysOf(upstream);
    if (found === expected) return [];
    const path = ["upstreams", index, "labels"];
    const must = `"${nameOfPath(path)}" must have the same keys as on upstreams[0] (${expected || "none"}), received ${found || "none"}`;
    return [complainOfKey(path, must)];
  });
}

const REDIS_PATH = ["fleet", "redis"];
const REDIS_TLS_KEYS = ["ca_file", "cert_file", "key_file", "server_name"];

/** Rules between the keys of a fleet. */
function checkFleet(tree: Tree): readonly Complaint[] {
  const redis = treeAt(tree, REDIS_PATH);
  return [
    ...checkExactlyOne(redis, REDIS_PATH, ["url", "sentinel", "cluster"]),
    ...checkSource(treeAt(tree, [...REDIS_PATH, "password"]), [...REDIS_PATH, "password"]),
    ...(redis?.kind === "map" ? checkRedisTls(redis, [...redis.entries.keys()]) : []),
    ...checkCertificateAndKey(redis, REDIS_PATH),
  ];
}

function checkRedisTls(redis: Tree, keys: readonly string[]): readonly Complaint[] {
  const complaints: Complaint[] = [];
  const hasUrl = keys.includes("url");
  if (hasUrl && keys.includes("tls")) {
    const path = [...REDIS_PATH, "tls"];
    complaints.push(
      complainOfKey(
        path,
        `"${nameOfPath(path)}" must not be set together with url: for TLS, write rediss:// there`,
      ),
    );
  }
  // Its variable is not set: that is said already.
  if (childOf(redis, hasUrl ? "url" : "tls")?.kind === "void") return complaints;
  const isEncrypted = hasUrl
    ? textAt(redis, "url")?.startsWith("rediss:") === true
    : flagAt(redis, "tls") === true;
  const first = REDIS_TLS_KEYS.find((key) => keys.includes(key));
  if (!isEncrypted && first !== undefined) {
    const path = [...REDIS_PATH, first];
    const condition = hasUrl ? "url is rediss://" : "tls is true";
    complaints.push(complainOfKey(path, `"${nameOfPath(path)}" must be set only where ${condition}`));
  }
  return complaints;
}
