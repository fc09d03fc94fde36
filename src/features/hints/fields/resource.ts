/** Some limits are about one endpoint, model or bucket, and not about the whole budget. */

import type { Advice } from "./advice.ts";

/** All limits of an answer are about this; undefined if it does not say, or says more than one thing. */
export function onlyResourceOf({ families }: Advice): string | undefined {
  const [only, ...others] = new Set(families.map(({ resource }) => resource));
  return others.length > 0 ? undefined : only;
}

/**
 * Leaves out what would hold back who draws on other resources: the limits are not the budget's, and the pause
 * is the upstream's. But a pause that the resource's own limit does not explain is another one, of who knows whom.
 */
export function narrowed(advice: Advice): Advice {
  const { pause, families, throttled } = advice;
  const isSpent = families.some(({ remaining }) => remaining === 0);
  const asksForMore =
    (throttled || pause !== undefined) && !(isSpent && pause !== undefined && pause.forMs > 0);
  if (asksForMore) return advice;
  return {
    ...advice,
    throttled: false,
    remaining: undefined,
    isOfOneResource: true,
    pause: pause && { ...pause, scope: "upstream" },
  };
}
