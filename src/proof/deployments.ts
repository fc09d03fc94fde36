/** Who outgrows one process runs several deployments, which know nothing of each other. So nothing may stand in two of them. */

import { type Config, SAFE_METHODS } from "../kernel/config/config.ts";
import { slotsOf } from "../kernel/schedule/schedule.ts";
import { DAY_MS } from "../kernel/time/duration.ts";

export type Deployment = {
  readonly file: string;
  readonly budgets: readonly string[];
  /** By upstream: what is asked of whom. */
  readonly requests: ReadonlyMap<string, string>;
  /** By upstream, as far as they are known: only to be compared, never to be shown. */
  readonly keys: ReadonlyMap<string, string>;
};

/** Nothing of it may stand in one of those before it: a sentence for each that does. */
export function alsoElsewhere(
  { budgets, requests, keys }: Deployment,
  others: readonly Deployment[],
): readonly string[] {
  const holders = new Map<string, string>();
  for (const other of others) {
    const owned = (upstream: string): string => `"${upstream}" of ${other.file}`;
    for (const budget of other.budgets) holders.set(`budget ${budget}`, other.file);
    for (const [upstream, request] of other.requests) holders.set(`request ${request}`, owned(upstream));
    for (const [upstream, key] of other.keys) holders.set(`key ${key}`, owned(upstream));
  }
  const taken = budgets.flatMap((budget) => {
    const file = holders.get(`budget ${budget}`);
    return file === undefined
      ? []
      : [`budget "${budget}" stands in ${file} too: each deployment has budgets of its own`];
  });
  const asked = [...requests].flatMap(([upstream, request]) => {
    const asker = holders.get(`request ${request}`);
    if (asker !== undefined)
      return [
        `upstream "${upstream}" asks ${request}, and so does ${asker}: only one deployment may poll it`,
      ];
    const user = holders.get(`key ${keys.get(upstream)}`);
    if (user !== undefined)
      return [
        `upstream "${upstream}" uses the same key as ${user}: what one key may send is one budget, of one deployment`,
      ];
    return [];
  });
  return [...taken, ...asked];
}

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
