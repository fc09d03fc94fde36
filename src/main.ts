import { fstatSync, writeFileSync } from "node:fs";
import { Command, CommanderError, Help, InvalidArgumentError, Option } from "commander";
import type { CheckOptions } from "./commands/check.ts";
import type { ExplainCommand } from "./commands/explain.ts";
import type { LinkOptions } from "./commands/links.ts";
import { COMMANDS } from "./app/features/commands.ts";
import type { ConfigOption, Io, Said } from "./config/command-line.ts";
import type { ProbeCommand } from "./commands/probe.ts";
import type { Shape } from "./commands/shape.ts";
import { messageOf } from "./kernel/text/escape.ts";
import type { Address } from "./kernel/config/config.ts";
import { parseListen } from "./config/keys/listen.ts";
import { VERSION_LINE } from "./version.ts";

const DONE = 0;
const FAILED = 1;
const WRONG_USAGE = 2;
const STDOUT_FD = 1;
const LAST_WORDS_MS = 2_000;

const EXIT_CODES = `
Exit codes:
  0                           done, or stopped by a signal
  1                           failed: the log or standard error says why
  2                           wrong usage
  78                          run: the config itself is refused, and no restart mends it
  130, 143                    a later SIGINT or SIGTERM ended it at once
`;

type DemoOption = { readonly seed: number };
type ListenOption = { readonly listen: Address | undefined };

let outputFault: string | undefined;

const out = (text: string): void => {
  if (!fstatSync(STDOUT_FD).isFile()) return void process.stdout.write(text);
  try {
    // process.stdout says nothing of a disk that fills up within a text.
    writeFileSync(STDOUT_FD, text);
  } catch (error) {
    outputFault = messageOf(error);
  }
};
const err = (text: string): void => void process.stderr.write(text);

for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    // A reader that leaves early, such as head, has all that it wanted.
    if (error.code !== "EPIPE") outputFault = error.message;
  });
}

/** A copy: a diagnostic report and every child are given what the process itself has. */
const environment: Readonly<Record<string, string | undefined>> = { ...process.env };
process.report.excludeEnv = true;
process.title = "pacewatch";
const ended = await main(process.argv);
process.exitCode = ended.code;
if (!ended.isDaemon) {
  // Whoever reads the output may be slow: it is written to its end.
  await Promise.all([process.stdout, process.stderr].map(written));
  if (outputFault !== undefined) {
    err(`cannot write all output: ${outputFault}\n`);
    if (ended.code === DONE) process.exitCode = FAILED;
  }
}
// Everything is closed. What still keeps the process alive, such as a log that nobody reads, must not do so for ever.
setTimeout(() => process.exit(), LAST_WORDS_MS).unref();

type Ended = { readonly code: number; readonly isDaemon: boolean };

async function main(argv: readonly string[]): Promise<Ended> {
  let ended: Ended = { code: DONE, isDaemon: false };
  const program = programWith((code, isDaemon = false) => void (ended = { code, isDaemon }));
  try {
    await program.parseAsync(argv);
    return ended;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return { code: error.exitCode === 0 ? DONE : WRONG_USAGE, isDaemon: false };
  }
}

/** Everything so far, or it failed. */
function written(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => void stream.write("", () => resolve()));
}

function programWith(exit: (code: number, isDaemon?: boolean) => void): Command {
  const program = new Command("pacewatch")
    .description("Watches third-party HTTP APIs, and is never the reason that they throttle you.")
    .version(VERSION_LINE)
    .addHelpText("after", EXIT_CODES)
    .exitOverride()
    .configureHelp({ optionDescription })
    .showHelpAfterError("(run with --help for usage)");
  const command = (usage: string, description: string): Command =>
    program.command(usage).description(description).version(VERSION_LINE);
  const configured = (usage: string, description: string): Command =>
    command(usage, description).option("--config <file>", "the config file", "config/pacewatch.yaml");

  const refuse = (why: string): never => program.error(`error: ${why}`, { exitCode: WRONG_USAGE });

  configured("run", "run the daemon: poll, and serve /metrics and the status page")
    .addOption(listenOption())
    .action(async ({ config, listen }: ConfigOption & ListenOption) => {
      const { run } = await import("./commands/run.ts");
      const { createLogger } = await import("./features/log/logger.ts");
      const log = createLogger({ level: "info" });
      exit(await run({ configPath: config, listen, environment, withdraw, log, events: process, err }), true);
    });
  configured("check [files...]", "validate the config, and prove that it fits the limits")
    .addHelpText(
      "after",
      "\nOf several files, each is of a deployment of its own: nothing may stand in two of them.",
    )
    .addOption(jsonOption())
    .option("--no-secrets", "read no key and no file that it names; a variable for them need not be set")
    .action(async (files: string[], options: Said<CheckOptions>, command: Command) => {
      const { check } = await import("./commands/check.ts");
      const isNamed = command.getOptionValueSource("config") === "cli";
      const [config = options.config, ...others] = isNamed ? [options.config, ...files] : files;
      exit(await check({ ...withIo({ ...options, config }), others }));
    });
  configured("probe [names...]", "poll once, now: all upstreams, or those named")
    .addOption(jsonOption())
    .option(
      "--force",
      "poll even where the budget's share is over 50%, or the upstream asked for a pause",
      false,
    )
    .action(async (names: string[], options: Said<ProbeCommand>) => {
      const { probe } = await import("./commands/probe.ts");
      exit(await probe({ ...withIo(options), names }));
    });
  configured("explain <file>", "say what a saved answer means, as curl -i prints it; - reads standard input")
    .addOption(jsonOption())
    .option("--upstream <name>", "judge it by what the config expects of this upstream")
    .action(async (file: string, options: Said<ExplainCommand>) => {
      const { explain } = await import("./commands/explain.ts");
      const { buffer } = await import("node:stream/consumers");
      exit(await explain({ ...withIo(options), file, standardInput: () => buffer(process.stdin) }));
    });
  for (const add of COMMANDS) add({ configured, withIo, exit, refuse });
  configured("rules", "print Prometheus rules for this config: recordings and alerts")
    .addOption(runbooksOption())
    .option("--status-page <url>", "where the alerts link to, with their runbooks, if not to web.page_url")
    .addOption(pairsOption("severity", "page=critical,ticket=warning", "what they are called here"))
    .addOption(pairsOption("label", "name=value", "a label of every alert"))
    .addOption(pairsOption("for", "alert=2m", "how long it must hold before it fires"))
    .option("--without <alert...>", "leave it out", [])
    .action(async (options: ConfigOption & LinkOptions & Shape) => {
      const { rules } = await import("./commands/rules.ts");
      exit(await rules(withIo(options)));
    });
  configured("dashboard", "print the Grafana dashboard")
    .addOption(runbooksOption())
    .option("--status-page <url>", "where the panels link to, if not to web.page_url")
    .action(async (options: ConfigOption & LinkOptions) => {
      const { dashboard } = await import("./commands/dashboard.ts");
      exit(await dashboard(withIo(options)));
    });
  command("schema", "print the config's JSON Schema").action(async () => {
    const { configJsonSchemaText } = await import("./config/schema/json-schema.ts");
    const { CONFIG_SCHEMA } = await import("./app/features/sections.ts");
    out(configJsonSchemaText(CONFIG_SCHEMA));
  });
  command("demo", "run everything on this machine: two simulated APIs, and the daemon watching them")
    .addOption(listenOption())
    .option("--seed <number>", "seed of the simulation's latencies", parseSeed, 1)
    .action(async ({ listen, seed }: ListenOption & DemoOption) => {
      const { demo } = await import("./commands/demo.ts");
      exit(await demo({ listen, seed, events: process, out, err }), true);
    });
  return program;
}

/** Nothing, by default, is what everybody expects. */
function optionDescription(this: Help, option: Option): string {
  const { defaultValue } = option;
  const isNothing =
    defaultValue === false || (typeof defaultValue === "object" && Object.keys(defaultValue).length === 0);
  return isNothing ? option.description : Help.prototype.optionDescription.call(this, option);
}

function withdraw(variables: readonly string[]): void {
  for (const name of variables) delete process.env[name];
}

/** What reads a config is large, and not every command does. */
async function load(...given: Parameters<Io["load"]>): ReturnType<Io["load"]> {
  const sections = await import("./app/features/sections.ts");
  return await sections.load(...given);
}

function withIo<Options extends ConfigOption>(options: Options): Options & Io {
  return { ...options, configPath: options.config, environment, load, out, err, wallNowMs: Date.now() };
}

function runbooksOption(): Option {
  return new Option(
    "--runbooks <url>",
    "a folder with PacewatchDown.md and so on, if the runbooks are not read at Pacewatch itself",
  );
}

/** May be given several times, and have several. */
function pairsOption(name: string, example: string, description: string): Option {
  const option = new Option(`--${name} <${example}>`, description).default({});
  return option.argParser((text, before: Readonly<Record<string, string>>) => {
    const pairs = text.split(/,(?=[^,=]+=)/).map((pair) => /^([^=]+)=(.*)$/.exec(pair) ?? []);
    if (pairs.some(({ length }) => length === 0))
      throw new InvalidArgumentError(`It must be like "${example}".`);
    return { ...before, ...Object.fromEntries(pairs.map(([, key = "", value = ""]) => [key, value])) };
  });
}

function jsonOption(): Option {
  return new Option("--json", "print JSON").default(false);
}

function listenOption(): Option {
  const description = "listen here instead of the config's web.listen; :PORT is all IPv4 addresses";
  return new Option("--listen <host:port>", description).argParser((text): Address => {
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
