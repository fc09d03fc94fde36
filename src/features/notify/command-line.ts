import { Option } from "commander";
import type { NotifyOptions } from "./command.ts";
import type { CommandLine, ConfigOption } from "../../config/command-line.ts";

type NotifyOption = { readonly test?: string | true; readonly dryRun?: string | true };

/** What it needs of others, loaded only then. */
type LoadParts = () => Promise<Pick<NotifyOptions, "pageUrlOf" | "userAgent">>;

export function notifyCommand(loadParts: LoadParts): (commandLine: CommandLine) => void {
  return ({ configured, withIo, exit, refuse }) =>
    void configured("notify", "send a sample to the receivers of the config, and say what came back")
      .addOption(new Option("--test [name]", "send to all of them, or to this one").conflicts("dryRun"))
      .addOption(new Option("--dry-run [name]", "print the requests without their secrets, and send nothing"))
      .action(async (options: ConfigOption & NotifyOption) => {
        const { test, dryRun } = options;
        if (test === undefined && dryRun === undefined) refuse("notify needs --test or --dry-run");
        const { notify } = await import("./command.ts");
        const which = dryRun ?? test;
        const name = typeof which === "string" ? which : undefined;
        const parts = await loadParts();
        exit(await notify({ ...withIo(options), ...parts, name, isDry: dryRun !== undefined }));
      });
}
