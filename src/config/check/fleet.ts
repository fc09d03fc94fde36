import { type Tree, textAt, treeAt } from "../read/tree.ts";
import { type Complaint, complainOfKey } from "./complaint.ts";
import { checkCertificateAndKey, checkExactlyOne, checkSource } from "./keys.ts";
import { nameOfPath } from "./wording.ts";

const PATH = ["fleet", "redis"];
const TLS_KEYS = ["ca_file", "cert_file", "key_file", "server_name"];

/** Rules between the keys of a fleet. */
export function checkFleet(tree: Tree): readonly Complaint[] {
  const redis = treeAt(tree, PATH);
  return [
    ...checkExactlyOne(redis, PATH, ["url", "sentinel", "cluster"]),
    ...checkSource(treeAt(tree, [...PATH, "password"]), [...PATH, "password"]),
    ...(redis?.kind === "map" ? checkTls(redis, [...redis.entries.keys()]) : []),
    ...checkCertificateAndKey(redis, PATH),
  ];
}

function checkTls(redis: Tree, keys: readonly string[]): readonly Complaint[] {
  const complaints: Complaint[] = [];
  const hasUrl = keys.includes("url");
  if (hasUrl && keys.includes("tls")) {
    const path = [...PATH, "tls"];
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
  const first = TLS_KEYS.find((key) => keys.includes(key));
  if (!isEncrypted && first !== undefined) {
    const path = [...PATH, first];
    const condition = hasUrl ? "url is rediss://" : "tls is true";
    complaints.push(complainOfKey(path, `"${nameOfPath(path)}" must be set only where ${condition}`));
  }
  return complaints;
}
