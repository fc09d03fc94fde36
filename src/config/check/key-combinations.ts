/** Rules between the keys of one section. */

import type { Path, Tree } from "../read/tree.ts";
import { type Complaint, complainOfKey } from "./complaint.ts";
import { nameOfPath } from "./wording.ts";

/** If several are set, it points at the second. */
export function checkExactlyOne(
  section: Tree | undefined,
  path: Path,
  keys: readonly string[],
): readonly Complaint[] {
  if (section?.kind !== "map") return [];
  const found = keys.filter((key) => section.entries.has(key));
  if (found.length === 1) return [];
  const isPair = keys.length === 2;
  const allowed = isPair ? keys.join(" or ") : `exactly one of ${keys.join(", ")}`;
  const none = isPair ? "neither" : "none of them";
  const shown = found.length === 0 ? none : isPair ? "both" : found.join(" and ");
  const at = found[1] === undefined ? path : [...path, found[1]];
  return [complainOfKey(at, `"${nameOfPath(path)}" must have ${allowed}, received ${shown}`)];
}

/** A secret is in the environment or in a file. */
export function checkSource(section: Tree | undefined, path: Path): readonly Complaint[] {
  return checkExactlyOne(section, path, ["env", "file"]);
}

/** A certificate needs its key, and a key its certificate. */
export function checkCertificateAndKey(section: Tree | undefined, path: Path): readonly Complaint[] {
  if (section?.kind !== "map") return [];
  const has = (key: string): boolean => section.entries.has(key);
  if (has("cert_file") === has("key_file")) return [];
  const [present, missing] = has("cert_file") ? ["cert_file", "key_file"] : ["key_file", "cert_file"];
  const at = [...path, present];
  return [complainOfKey(at, `"${nameOfPath(at)}" must come with ${missing}`)];
}
