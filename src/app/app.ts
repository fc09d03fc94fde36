import { systemClock } from "../adapters/clock.ts";
import { openState, type Start, type AppOptions } from "./build.ts";
import { formatFault } from "../config/read/fault.ts";
import { load } from "../config/load.ts";
import { secretVariables } from "../config/read/secrets.ts";

/** Builds everything, owns everything, and closes it in reverse: also when the building fails half-way. */
export async function startApp(options: AppOptions): Promise<Start> {
  const { log } = options;
  const loaded = await load(options.configPath, { environment: options.environment });
  if (loaded.kind === "refused") return { kind: "refused", faults: loaded.faults.map(formatFault) };
  options.withdraw(secretVariables(loaded.config, options.environment));
  log.level = loaded.config.log.level;
  for (const warning of loaded.warnings) log.warn({}, formatFault(warning));
  await using stack = new AsyncDisposableStack();
  // While a thread opens the file, this one loads the rest of the program.
  const opening = openState(loaded.config, { clock: systemClock, log });
  const [state, { build }] = await Promise.all([opening, import("./build.ts")]);
  if (state.kind === "refused") return state;
  const { store } = state;
  // The last to close: what it hears of must be over.
  if (store !== undefined) stack.defer(() => store.close());
  const started = await build(loaded.config, loaded.digest, store, options, stack);
  if (started.kind === "refused") return started;
  const owned = stack.move();
  return { kind: "started", app: { ...started.app, stop: () => owned.disposeAsync() } };
}
