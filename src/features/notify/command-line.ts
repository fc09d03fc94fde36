import { Option } from "commander";
import type { CommandLine, ConfigOption } from "../../config/command-line.ts";

type NotifyOption = { readonly test?: string | true; readonly dryRun?: string | true };

export function notifyCommand({ configured, withIo, exit, refuse }: CommandLine): void {
  configured("notify", "send a sample to the receivers of the config, and say what came back")
    .addOption(new Option("--test [name]", "send to all of them, or to this one").conflicts("dryRun"))
    .addOption(new Option("--dry-run [name]", "print the requests without their secrets, and send nothing"))
    .action(async (options: ConfigOption & NotifyOption) => {
      const { test, dryRun } = options;
      if (test === undefined && dryRun === undefined) refuse("notify needs --test or --dry-run");
      const { notify } = await import("./command.ts");
      const which = dryRun ?? test;
      const name = typeof which === "string" ? which : undefined;
      exit(await notify({ ...withIo(options), name, isDry: dryRun !== undefined }));
    });
}
