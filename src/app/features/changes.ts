import { receiversOf } from "../../features/notify/config.ts";
import { fleetIn } from "../../features/fleet/config.ts";
import type { Config } from "../../kernel/config/config.ts";

type Of<What> = (config: Config) => What;

/** What the log names when it comes, goes or changes. */
export const NAMED: readonly (readonly [what: string, of: Of<readonly { readonly name: string }[]>])[] = [
  ["upstreams", ({ upstreams }) => upstreams],
  ["budgets", ({ budgets }) => budgets],
  ["receivers", receiversOf],
];

/** And what has no name of its own. */
export const SETTINGS: readonly (readonly [key: string, of: Of<unknown>])[] = [
  ["web", ({ web }) => web],
  ["log", ({ log }) => log],
  ["fleet", fleetIn],
  ["vantage", ({ vantage }) => vantage],
  ["deny_addresses", ({ denyAddresses }) => denyAddresses],
];

/** What stays as it is until a restart. */
export const FIXED: readonly (readonly [key: string, of: Of<unknown>])[] = [
  ["web.listen", ({ web }) => web.listen],
  ["web.probe_listen", ({ web }) => web.probeListen],
  ["web.config_file", ({ web }) => web.configFile],
  ["fleet", fleetIn],
  ["vantage.name", ({ vantage }) => vantage?.name],
  ["state.path", ({ state }) => state?.path],
];
