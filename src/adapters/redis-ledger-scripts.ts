import { type RedisScript, readLua, redisScript } from "./redis-script.ts";

type OnABudget = "take" | "settle" | "heed" | "look" | "contribute";

export type LedgerScripts = Readonly<Record<OnABudget | "sit" | "rise", RedisScript>>;

/** `clock` is another one for tests. */
export function ledgerScripts(clock?: string): LedgerScripts {
  const script = (call: string, ...files: readonly string[]): RedisScript =>
    redisScript(call, readLua(...files), clock);
  const onABudget = (call: OnABudget): RedisScript => script(call, "budget", call);
  return {
    take: onABudget("take"),
    settle: onABudget("settle"),
    heed: onABudget("heed"),
    look: onABudget("look"),
    contribute: onABudget("contribute"),
    sit: script("sit", "sit"),
    rise: script("rise", "rise"),
  };
}
