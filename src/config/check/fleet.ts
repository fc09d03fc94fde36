import { type Complaint, complain, complainOfKey } from "./complaint.ts";
import { type Tree, treeAt } from "../read/tree.ts";
import { nameOfPath } from "./wording.ts";

const PATH = ["fleet", "redis"];
const WAYS = ["url", "sentinel", "cluster"] as const;
const TLS_KEYS = ["ca_file", "cert_file", "key_file", "server_name"] as const;

/** What the keys of a fleet have to do with each other. */
export function checkFleet(tree: Tree): readonly Complaint[] {
  const redis = treeAt(tree, PATH);
  if (redis?.kind !== "map") return [];
  const has = (key: string): boolean => redis.entries.has(key);
  return [...checkWay(has), ...checkPassword(redis.entries.get("password")), ...checkTls(redis, has)];
}

type Has = (key: string) => boolean;

function checkWay(has: Has): readonly Complaint[] {
  const ways = WAYS.filter(has);
  if (ways.length === 1) return [];
  const found = ways.length === 0 ? "none of them" : ways.join(" and ");
  const must = `"${nameOfPath(PATH)}" must have one of url, sentinel and cluster, received ${found}`;
  return [ways.length === 0 ? complain(PATH, must) : complainOfKey([...PATH, ways[1] ?? ""], must)];
}

function checkPassword(password: Tree | undefined): readonly Complaint[] {
  if (password?.kind !== "map") return [];
  const sources = ["env", "file"].filter((source) => password.entries.has(source));
  if (sources.length === 1) return [];
  const path = [...PATH, "password"];
  const found = sources.length === 0 ? "neither" : "both";
  return [complainOfKey(path, `"${nameOfPath(path)}" must have env or file, received ${found}`)];
}

function checkTls(redis: Tree, has: Has): readonly Complaint[] {
  const complaints: Complaint[] = [];
  if (has("url") && has("tls")) {
    const path = [...PATH, "tls"];
    complaints.push(
      complainOfKey(path, `"${nameOfPath(path)}" must not be set beside url: rediss:// says it already`),
    );
  }
  const isEncrypted = has("url")
    ? textOf(redis, "url").startsWith("rediss:")
    : valueOf(redis, "tls") === true;
  const first = TLS_KEYS.find(has);
  if (!isEncrypted && first !== undefined) {
    const path = [...PATH, first];
    const way = has("url") ? "url is rediss://" : "tls is true";
    complaints.push(complainOfKey(path, `"${nameOfPath(path)}" must be set only where ${way}`));
  }
  if (has("cert_file") !== has("key_file")) {
    const [present, missing] = has("cert_file") ? ["cert_file", "key_file"] : ["key_file", "cert_file"];
    const path = [...PATH, present];
    complaints.push(complainOfKey(path, `"${nameOfPath(path)}" must come with ${missing}`));
  }
  return complaints;
}

function valueOf(redis: Tree, key: string): unknown {
  const found = treeAt(redis, [key]);
  return found?.kind === "scalar" ? found.value : undefined;
}

function textOf(redis: Tree, key: string): string {
  const value = valueOf(redis, key);
  return typeof value === "string" ? value : "";
}
