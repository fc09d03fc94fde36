import { rulesText, type RulesOptions } from "../pack/rules/rules.ts";
import { type CommandIo, loadOrRefuse } from "./loading.ts";

/** Prints Prometheus rules for this config. They need names, schedules and objectives; a key that is not set is no fault. */
export async function rules(options: CommandIo & RulesOptions): Promise<number> {
  const loaded = await loadOrRefuse(options, "structure");
  if (loaded === undefined) return 1;
  options.out(rulesText(loaded.config, options));
  return 0;
}
