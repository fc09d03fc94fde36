import { formatFault } from "../config/read/fault.ts";
import { load } from "../config/load.ts";
import { rulesText, type RulesOptions } from "../pack/rules/rules.ts";
import type { CommandIo } from "./command-io.ts";

export type RulesCommand = Omit<CommandIo, "json"> & RulesOptions;

/** Prints Prometheus rules for this config. They need names, schedules and objectives; a key that is not set is no fault. */
export async function rules(options: RulesCommand): Promise<number> {
  const { configPath, environment, out, err } = options;
  const loading = await load(configPath, { environment, resolve: "structure" });
  if (loading.kind === "refused") {
    for (const fault of loading.faults) err(`${formatFault(fault)}\n`);
    return 1;
  }
  out(rulesText(loading.config, options));
  return 0;
}
