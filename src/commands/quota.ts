import { setUsed } from "../adapters/sqlite/set-used.ts";
import { formatDuration } from "../core/time/duration.ts";
import { type CommandIo, loadOrRefuse } from "./loading.ts";

export type QuotaOptions = CommandIo & {
  readonly budget: string;
  readonly used: number;
  readonly wallNowMs: number;
};

/** Says what was used of a quota, by whoever knows it better than the state file: the provider's own page. */
export async function quota(options: QuotaOptions): Promise<number> {
  const { budget: name, used, wallNowMs, out, err } = options;
  const loaded = await loadOrRefuse(options, "structure");
  if (loaded === undefined) return 1;
  const { budgets, state } = loaded.config;
  const limit = budgets.find((budget) => budget.name === name)?.quota;
  const fault =
    limit === undefined
      ? `budget "${name}" must be in the config and have a quota`
      : state === undefined
        ? "state.path must be set: without it nothing is kept of a quota"
        : setUsed(state.path, { budget: name, used, nowMs: wallNowMs });
  if (fault !== undefined || limit === undefined) {
    err(`cannot set what was used: ${fault ?? ""}\n`);
    return 1;
  }
  out(
    `budget ${name}: ${used} of ${limit.requests} in ${formatDuration(limit.perMs)} count as used, as of now\n`,
  );
  return 0;
}
