import { InvalidArgumentError, Option } from "commander";
import type { CommandLine, Said } from "../../config/command-line.ts";
import type { QuotaOptions, Rewrite, Used } from "./command.ts";

/** `rewriting`: how notes of the state file are replaced, loaded only then. */
export function quotaCommand(rewriting: () => Promise<Rewrite>): (commandLine: CommandLine) => void {
  return ({ configured, withIo, exit }) =>
    void configured("quota <budget>", "say how much of a budget's quota was used; the daemon must not run")
      .addOption(
        new Option("--used <amount>", "so many requests, or money such as 3.20EUR, as of now")
          .argParser(parseUsed)
          .makeOptionMandatory(),
      )
      .action(async (budget: string, options: Said<QuotaOptions>) => {
        const { quota } = await import("./command.ts");
        exit(await quota({ ...withIo(options), budget, rewrite: await rewriting() }));
      });
}

function parseUsed(text: string): Used {
  const [, amount, currency] = /^(\d{1,13}(?:\.\d{1,9})?) ?([A-Z]{3})?$/.exec(text) ?? [];
  if (amount === undefined)
    throw new InvalidArgumentError("It must be a number from 0 on, or money such as 3.20EUR.");
  return { amount: Number(amount), currency };
}
