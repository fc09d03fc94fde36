import type { Command } from "commander";
import type { LoadOptions, Loading } from "./load.ts";
import { formatFault } from "./read/fault.ts";

/** Every command is given these: its config, its environment, and where to write. */
export type CommandIo = {
  readonly configPath: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly load: (configPath: string, options: LoadOptions) => Promise<Loading>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
};

/** A command is given these beside what its command line says. */
export type Io = CommandIo & { readonly wallNowMs: number };
export type ConfigOption = { readonly config: string };
/** The options that a command's line says. */
export type Said<Options> = ConfigOption & Omit<Options, keyof Io>;

/** With which a feature adds a command of its own. */
export type CommandLine = {
  /** One that reads the config. */
  readonly configured: (usage: string, description: string) => Command;
  readonly withIo: <Options extends ConfigOption>(options: Options) => Options & Io;
  readonly exit: (code: number) => void;
  /** For wrong usage. */
  readonly refuse: (why: string) => never;
};

/** Prints the faults of a config that is refused, and returns undefined. */
export async function loadOrRefuse(
  { configPath, environment, load, err }: CommandIo,
  resolve: NonNullable<LoadOptions["resolve"]>,
): Promise<Extract<Loading, { kind: "loaded" }> | undefined> {
  const loading = await load(configPath, { environment, resolve });
  if (loading.kind === "loaded") return loading;
  for (const fault of loading.faults) err(`${formatFault(fault)}\n`);
  return undefined;
}
