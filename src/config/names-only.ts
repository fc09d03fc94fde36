import type { WhenUnset } from "./read/yaml.ts";
import type { Path } from "./read/tree.ts";

/** What rules and dashboards are made of. */
const NEEDED = new Set(["name", "budget", "every", "cron", "confirm", "timeout", "objective", "labels"]);

/** For a config that is read for its names and schedules: what rules are made of must be set, the rest need not be. */
export function whenUnset(path: Path): WhenUnset {
  const [section, second, key] = path;
  if (section === "fleet") return unsetInFleet(second, path);
  if (section === "budgets") return "needed";
  if (section !== "upstreams") return "omitted";
  if (path.length < 3 || (typeof key === "string" && NEEDED.has(key))) return "needed";
  if (key === "base_url") return { placeholder: "https://unset.invalid" };
  return key === "auth" ? { placeholder: "UNSET" } : "omitted";
}

/** Of a fleet, rules are made of its mode alone. */
function unsetInFleet(key: Path[number] | undefined, path: Path): WhenUnset {
  if (key !== "redis")
    return key === "mode" || key === "replicas" || key === "reserve" ? "needed" : "omitted";
  if (path.at(-1) === "url") return { placeholder: "redis://unset.invalid" };
  return { placeholder: typeof path.at(-1) === "number" ? "unset.invalid:6379" : "UNSET" };
}
