import { load, type LoadOptions, type Loading } from "../config/load.ts";
import { formatFault } from "../config/read/fault.ts";

/** Every command is given these: its config, its environment, and where to write. */
export type CommandIo = {
  readonly configPath: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
};

/** Prints the faults of a config that is refused, and returns undefined. */
export async function loadOrRefuse(
  { configPath, environment, err }: CommandIo,
  resolve: NonNullable<LoadOptions["resolve"]>,
): Promise<Extract<Loading, { kind: "loaded" }> | undefined> {
  const loading = await load(configPath, { environment, resolve });
  if (loading.kind === "loaded") return loading;
  for (const fault of loading.faults) err(`${formatFault(fault)}\n`);
  return undefined;
}
