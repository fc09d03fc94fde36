import { Command, CommanderError, InvalidArgumentError, Option } from "commander";

import type { CommandIo } from "./commands/command-io.ts";
import { parseListen, type ListenAddress } from "./config/schema/listen.ts";
import { VERSION } from "./version.ts";

const DONE = 0;
const WRONG_USAGE = 2;
const LAST_WORDS_MS = 2_000;

type ConfigOption = { readonly config: string };
type JsonOption = { readonly json: boolean };
type RunbooksOption = { readonly runbooks?: string };
type ListenOption = { readonly listen: ListenAddress | undefined };

const out = (text: string): void => void process.stdout.write(text);
const err = (text: string): void => void process.stderr.write(text);

// A reader that leaves early, such as head, is no fault of ours and nothing to die of.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

/** Ours alone. A diagnostic report and every child are given what the process itself has. */
const environment: Readonly<Record<string, string | undefined>> = { ...process.env };
process.report.excludeEnv = true;
// By itself Node.js answers this signal with a debugger that every user of this machine can talk to.
process.on("SIGUSR1", () => {});
process.title = "pacewatch";
process.exitCode = await main(process.argv);
// Everything is closed: what still holds the process, such as a pipe that nobody reads, must not hold it for ever.
setTimeout(() => process.exit(), LAST_WORDS_MS).unref();

async function main(argv: readonly string[]): Promise<number> {
  let code = DONE;
  const program = programWith((command) => async (...received) => {
    code = await command(...received);
  });
  try {
    await program.parseAsync(argv);
    return code;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? DONE : WRONG_USAGE;
  }
}

type Action<Received extends readonly unknown[]> = (...received: Received) => number | Promise<number>;
type Acting = <Received extends readonly unknown[]>(
  action: Action<Received>,
) => (...received: Received) => Promise<void>;

function programWith(acting: Acting): Command {
  const program = new Command("pacewatch")
    .description("Watches third-party HTTP APIs, and is never the reason that they throttle you.")
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError("(--help tells what there is)");
  const command = (usage: string, description: string): Command =>
    program.command(usage).description(description).version(VERSION);

  command("run", "the daemon: polls, and serves /metrics and the status page")
    .addOption(configOption())
    .addOption(listenOption("in place of the config's web.listen"))
    .action(
      acting(async ({ config, listen }: ConfigOption & ListenOption) => {
        const { run } = await import("./commands/run.ts");
        const { createLogger } = await import("./adapters/log/logger.ts");
        const log = createLogger({ level: "info" });
        return run({ configPath: config, listen, environment, withdraw, log, events: process, err });
      }),
    );
  command("check", "validates the config, and proves that it fits the limits")
    .addOption(configOption())
    .addOption(jsonOption())
    .action(
      acting(async (options: ConfigOption & JsonOption) => {
        const { check } = await import("./commands/check.ts");
        return check(ioOf(options));
      }),
    );
  command("probe [names...]", "polls once, now: all upstreams, or those named")
    .addOption(configOption())
    .addOption(jsonOption())
    .option("--force", "also where the budget's share is over 50%", false)
    .action(
      acting(async (names: string[], options: ConfigOption & JsonOption & { readonly force: boolean }) => {
        const { probe } = await import("./commands/probe.ts");
        return probe({ ...ioOf(options), names, force: options.force });
      }),
    );
  command("rules", "prints Prometheus rules for this config: recordings and alerts")
    .addOption(configOption())
    .addOption(runbooksOption())
    .action(
      acting(async (options: ConfigOption & RunbooksOption) => {
        const { rules } = await import("./commands/rules.ts");
        return rules({ ...ioOf({ ...options, json: false }), ...runbooksOf(options) });
      }),
    );
  command("dashboard", "prints the Grafana dashboard")
    .addOption(configOption())
    .addOption(runbooksOption())
    .option("--status-page <url>", "where the panels link to")
    .action(
      acting(async (options: ConfigOption & RunbooksOption & { readonly statusPage?: string }) => {
        const { dashboard } = await import("./commands/dashboard.ts");
        const { statusPage } = options;
        const links = { ...runbooksOf(options), ...(statusPage === undefined ? {} : { statusPage }) };
        return dashboard({ ...ioOf({ ...options, json: false }), ...links });
      }),
    );
  command("schema", "prints the config's JSON Schema").action(
    acting(async () => {
      const { schema } = await import("./commands/schema.ts");
      return schema({ out });
    }),
  );
  command("demo", "everything at once on this machine: two simulated APIs, and the daemon watching them")
    .addOption(listenOption("in place of the config's web.listen"))
    .option("--seed <number>", "decides every latency of the simulation", parseSeed, 1)
    .action(
      acting(async ({ listen, seed }: ListenOption & { readonly seed: number }) => {
        const { demo } = await import("./commands/demo.ts");
        return demo({ listen, seed, events: process, out, err });
      }),
    );
  return program;
}

function withdraw(variables: readonly string[]): void {
  for (const name of variables) delete process.env[name];
}

function ioOf({ config, json }: ConfigOption & JsonOption): CommandIo {
  return { configPath: config, json, environment, out, err };
}

function configOption(): Option {
  return new Option("--config <file>", "the config file").default("config/pacewatch.yaml");
}

function runbooksOption(): Option {
  return new Option(
    "--runbooks <url>",
    "where the runbooks are kept, in place of Prometheus's own user assets",
  );
}

function runbooksOf({ runbooks }: RunbooksOption): RunbooksOption {
  return runbooks === undefined ? {} : { runbooks };
}

function jsonOption(): Option {
  return new Option("--json", "for programs").default(false);
}

function listenOption(description: string): Option {
  return new Option("--listen <host:port>", description).argParser((text): ListenAddress => {
    const address = parseListen(text);
    if (address === undefined) throw new InvalidArgumentError('It must be like "127.0.0.1:10429".');
    return address;
  });
}

function parseSeed(text: string): number {
  const seed = Number(text);
  if (!Number.isSafeInteger(seed)) throw new InvalidArgumentError("It must be a whole number.");
  return seed;
}
