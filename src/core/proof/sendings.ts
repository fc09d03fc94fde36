import { type Config, SAFE_METHODS } from "../config/config.ts";
import { vantagesOf } from "../fleet/parts.ts";
import { cronOf } from "../schedule/schedule.ts";
import { DAY_MS } from "../time/duration.ts";

/** How often each request is sent at most that is not safe: it may do something, or cost something. */
export function unsafeSendings({ upstreams, fleet }: Pick<Config, "upstreams" | "fleet">): readonly string[] {
  return upstreams.flatMap(({ name, method = "GET", schedule, confirm }) => {
    if (SAFE_METHODS.has(method)) return [];
    const slots = cronOf(schedule).mostWithin(DAY_MS) * vantagesOf(fleet);
    const confirmed = confirm === 0 ? "none confirmed" : `each confirmed up to ${confirm} ×`;
    return [
      `upstream ${name} sends ${method} up to ${slots * (1 + confirm)} times a day: ${slots} slots, ${confirmed}`,
    ];
  });
}
