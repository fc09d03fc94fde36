import type { Path } from "./tree.ts";

type Unset = "needed" | "omitted" | { readonly placeholder: string };

/** What rules and dashboards are made of. */
const NEEDED = new Set(["name", "budget", "every", "cron", "confirm", "timeout", "objective", "labels"]);

/**
 * What becomes of a value whose variable is not set, in a config that is read for its names and schedules:
 * what rules are made of must be there, the rest may be missing.
 */
export function unsetInStructure(path: Path): Unset {
  const [section, , key] = path;
  if (section === "budgets") return "needed";
  if (section !== "upstreams") return "omitted";
  if (path.length < 3 || (typeof key === "string" && NEEDED.has(key))) return "needed";
  if (key === "base_url") return { placeholder: "https://unset.invalid" };
  return key === "auth" ? { placeholder: "UNSET" } : "omitted";
}
