import { type Config, SAFE_METHODS } from "../kernel/config/config.ts";
import { slotsOf } from "../kernel/schedule/schedule.ts";
import { DAY_MS } from "../kernel/time/duration.ts";

/** How often each request is sent at most that is not safe: it may do something, or cost something. */
export function unsafeSendings({ upstreams }: Pick<Config, "upstreams">): readonly string[] {
  return upstreams.flatMap(({ name, method = "GET", schedule, confirm }) => {
    if (SAFE_METHODS.has(method)) return [];
    const slots = slotsOf(schedule).mostWithin(DAY_MS);
    const confirmed =
      confirm === 0
        ? "none confirmed"
        : confirm === 1
          ? "each confirmed at most once"
          : `each confirmed up to ${confirm} times`;
    return [
      `upstream ${name} sends ${method} up to ${slots * (1 + confirm)} times a day: ${slots} slots, ${confirmed}`,
    ];
  });
}
