import type { Path } from "./tree.ts";

type Unset = "needed" | "omitted" | { readonly placeholder: string };

/** What rules and dashboards are made of. */
const NEEDED = new Set(["name", "budget", "every", "cron", "confirm", "timeout", "objective", "labels"]);

/**
 * What becomes of a value whose variable is not set, in a config that is read for its names and schedules:
 * what rules are made of must be there, the rest may be missing.
 */
export function unsetInStructure(path: Path): Unset {
  const [section, second, key] = path;
  if (section === "fleet") return unsetInFleet(second, path);
  if (section === "budgets") return "needed";
  if (section !== "upstreams") return "omitted";
  if (path.length < 3 || (typeof key === "string" && NEEDED.has(key))) return "needed";
  if (key === "base_url") return { placeholder: "https://unset.invalid" };
  return key === "auth" ? { placeholder: "UNSET" } : "omitted";
}

/** Of a fleet, rules are made of its mode alone. */
function unsetInFleet(key: Path[number] | undefined, path: Path): Unset {
  if (key !== "redis")
    return key === "mode" || key === "replicas" || key === "reserve" ? "needed" : "omitted";
  if (path.at(-1) === "url") return { placeholder: "redis://unset.invalid" };
  return { placeholder: typeof path.at(-1) === "number" ? "unset.invalid:6379" : "UNSET" };
}
