import type { CommandLine, Said } from "../../config/command-line.ts";
import type { ReportOptions } from "./command.ts";

export function reportCommand({ configured, withIo, exit }: CommandLine): void {
  configured("report", "write what was seen of each upstream in a month, as evidence for its provider")
    .option("--upstream <name...>", "only these", [])
    .option("--month <month>", "such as 2026-10; the last one that is over unless said otherwise")
    .option("--from <day>", "the first day, such as 2026-10-01, in place of a month")
    .option("--to <day>", "the last day; today unless said otherwise")
    .option("--format <format>", "html, json or csv", "html")
    .option(
      "--state <file...>",
      "state files in place of the config's own: of a fleet, that of each process",
      [],
    )
    .action(async (options: Said<ReportOptions>) => {
      const { report } = await import("./command.ts");
      exit(await report(withIo(options)));
    });
}
