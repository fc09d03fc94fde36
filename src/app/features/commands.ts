import type { CommandLine } from "../../config/command-line.ts";
import { notifyCommand } from "../../features/notify/command-line.ts";
import { quotaCommand } from "../../features/quota/command-line.ts";
import { reportCommand } from "../../features/report/command-line.ts";

/** What each feature adds to the command line, in the order of its help. */
export const COMMANDS: readonly ((commandLine: CommandLine) => void)[] = [
  notifyCommand,
  quotaCommand,
  reportCommand,
];
