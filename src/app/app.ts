import { systemClock } from "../platform/clock.ts";
import { openStateStore } from "../features/state/store.ts";
import type { App, AppOptions } from "./build.ts";
import { formatFault } from "../config/read/fault.ts";
import type { Opened } from "../platform/opened.ts";
import { load } from "./features/sections.ts";

/** Builds everything, owns everything, and closes it in reverse, also when the building fails half-way. */
export async function startApp(options: AppOptions): Promise<Opened<App>> {
  const { log } = options;
  const loaded = await load(options.configPath, { environment: options.environment });
  if (loaded.kind === "refused")
    return { kind: "refused", faults: loaded.faults.map(formatFault), isForGood: loaded.isForGood };
  const { config } = loaded;
  options.withdraw(loaded.secretVariables);
  log.level = config.log?.level ?? "info";
  for (const warning of loaded.warnings) log.warn({}, formatFault(warning));
  await using stack = new AsyncDisposableStack();
  const path = config.state?.path;
  // While a thread opens the state file, this one loads the rest of the program.
  const opening = path === undefined ? undefined : openStateStore({ path, clock: systemClock, log });
  const [state, { build }] = await Promise.all([opening, import("./build.ts")]);
  if (state?.kind === "refused") return state;
  // Without a state file, history and quotas live in memory.
  const store = state?.what;
  // Closed last, unless what polls has closed it by then.
  stack.defer(() => store?.close());
  return await build(loaded, store, options, stack);
}
