import { parseDuration } from "../../core/time/duration.ts";
import { type Complaint, complain, complainOfKey } from "./complaint.ts";
import { checkCertificateAndKey, checkExactlyOne, checkSource } from "./key-combinations.ts";
import { type Tree, childOf, entriesOf, itemsOf, textAt, treeAt } from "../read/tree.ts";
import { checkUpstream } from "./upstream.ts";
import { didYouMean, nameOfPath, received } from "./wording.ts";

/** Rules between the parts of a config. Each is checked as far as it can be, whatever else is wrong. */
export function checkConfig(tree: Tree): readonly Complaint[] {
  const budgets = childOf(tree, "budgets");
  const upstreams = itemsOf(childOf(tree, "upstreams"));
  return [
    ...checkFleet(tree),
    ...entriesOf(budgets).flatMap(([name, budget]) => checkRates(name, budget)),
    ...upstreams.flatMap((upstream, index) => checkUpstream(upstream, ["upstreams", index])),
    ...checkNames(upstreams),
    ...(budgets?.kind === "map" ? checkBudgetNames(upstreams, [...budgets.entries.keys()]) : []),
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

function checkBudgetNames(upstreams: readonly Tree[], known: readonly string[]): readonly Complaint[] {
  const places = [["budget"], ["auth", "oauth2", "budget"]];
  return upstreams.flatMap((upstream, index) =>
    places.flatMap((place) => {
      const budget = textAt(upstream, ...place);
      if (budget === undefined || known.includes(budget)) return [];
      const path = ["upstreams", index, ...place];
      const shown = received(treeAt(upstream, place), path);
      const allowed = known.length === 0 ? "there are no budgets" : `allowed are ${known.join(", ")}`;
      const hint = `${didYouMean(budget, known)}${allowed}`;
      return [complain(path, `"${nameOfPath(path)}" must name a budget, received ${shown}: ${hint}`)];
    }),
  );
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
  const tls = treeAt(redis, ["tls"]);
  const isEncrypted = hasUrl
    ? textAt(redis, "url")?.startsWith("rediss:") === true
    : tls?.kind === "scalar" && tls.value === true;
  const first = REDIS_TLS_KEYS.find((key) => keys.includes(key));
  if (!isEncrypted && first !== undefined) {
    const path = [...REDIS_PATH, first];
    const condition = hasUrl ? "url is rediss://" : "tls is true";
    complaints.push(complainOfKey(path, `"${nameOfPath(path)}" must be set only where ${condition}`));
  }
  return complaints;
}
