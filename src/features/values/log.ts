import type { Poll } from "../../kernel/poll/poll.ts";
import type { Log } from "../../kernel/text/log.ts";
import { VALUES } from "./values.ts";

const UNREADABLE_IS_TOLD_AFTER = 3;

/** One answer without a value may be of a server that lags behind: the log hears of three in a row. */
export function valueLog(): (poll: Pick<Poll, "said">, log: Pick<Log, "info" | "warn">) => void {
  /** By name, in how many answers in a row. */
  const unreadableFor = new Map<string, number>();
  return ({ said }, log) => {
    const { values = [], unreadable = [] } = VALUES.of(said) ?? {};
    for (const { name, found = "nothing" } of unreadable) {
      const inARow = (unreadableFor.get(name) ?? 0) + 1;
      unreadableFor.set(name, inARow);
      if (inARow === UNREADABLE_IS_TOLD_AFTER) log.warn({ name, found }, "value cannot be read");
    }
    for (const { name, value } of values) {
      const inARow = unreadableFor.get(name) ?? 0;
      unreadableFor.delete(name);
      if (inARow >= UNREADABLE_IS_TOLD_AFTER) log.info({ name, value }, "value can be read again");
    }
  };
}
