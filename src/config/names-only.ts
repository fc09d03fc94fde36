import type { WhenUnset } from "./read/yaml.ts";
import type { Path } from "./read/tree.ts";

/** What rules and dashboards are generated from. */
const NEEDED = new Set(["name", "budget", "every", "cron", "confirm", "timeout", "objective", "labels"]);

/** For a config that is read for its names and schedules only: the rest need not be set. */
export function whenUnset(path: Path): WhenUnset {
  const [section, second, key] = path;
  if (section === "fleet") return unsetInFleet(second, path);
  if (section === "budgets") return "needed";
  if (section !== "upstreams") return "omitted";
  if (path.length < 3 || (typeof key === "string" && NEEDED.has(key))) return "needed";
  if (key === "base_url") return { placeholder: "https://unset.invalid" };
  return key === "auth" ? { placeholder: "UNSET" } : "omitted";
}

/** Rules need only the mode of a fleet, and the proof its numbers. */
function unsetInFleet(key: Path[number] | undefined, path: Path): WhenUnset {
  if (key !== "redis")
    return key === "mode" || key === "replicas" || key === "reserve" ? "needed" : "omitted";
  if (path.at(-1) === "url") return { placeholder: "redis://unset.invalid" };
  return { placeholder: typeof path.at(-1) === "number" ? "unset.invalid:6379" : "UNSET" };
}
