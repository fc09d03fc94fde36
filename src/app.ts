import { systemClock } from "./adapters/clock.ts";
import type { KnownKeys } from "./adapters/known-keys.ts";
import type { Logger } from "./adapters/pino.ts";
import { openState } from "./app-state.ts";
import { formatFault } from "./config/fault.ts";
import { load } from "./config/load.ts";
import { secretVariables } from "./config/secrets.ts";
import type { ReloadResult } from "./http/routes.ts";

export type AppOptions = {
  readonly configPath: string;
  /** In place of the config's own address. */
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Called with the variables that hold a secret: the process itself needs them no longer. */
  readonly withdraw: (variables: readonly string[]) => void;
  readonly keys: KnownKeys;
  readonly log: Logger;
};

export type App = {
  readonly url: string;
  reload(): Promise<ReloadResult>;
  /** No new polls; those in flight may end, and the metrics are there until they have. */
  stop(): Promise<void>;
};

export type Start =
  | { readonly kind: "started"; readonly app: App }
  | { readonly kind: "refused"; readonly faults: readonly string[] };

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
  const [state, { build }] = await Promise.all([opening, import("./app-build.ts")]);
  if (state.kind === "refused") return state;
  const { store } = state;
  // The last to close: what it hears of must be over.
  if (store !== undefined) stack.defer(() => store.close());
  const started = await build(loaded.config, loaded.digest, store, options, stack);
  if (started.kind === "refused") return started;
  const owned = stack.move();
  return { kind: "started", app: { ...started.app, stop: () => owned.disposeAsync() } };
}
