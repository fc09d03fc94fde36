import type { CommandLine } from "../../config/command-line.ts";
import { notifyCommand } from "../../features/notify/command-line.ts";
import { quotaCommand } from "../../features/quota/command-line.ts";
import { USER_AGENT } from "../../version.ts";
import { reportCommand } from "../../features/report/command-line.ts";

/** Each feature adds these to the command line, in the order of its help. */
export const COMMANDS: readonly ((commandLine: CommandLine) => void)[] = [
  notifyCommand(async () => ({ ...(await import("./page-url.ts")), userAgent: USER_AGENT })),
  quotaCommand(async () => (await import("../../features/state/rewriting.ts")).rewriteNotes),
  reportCommand,
];
