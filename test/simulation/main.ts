import { parseArgs } from "node:util";

import { runSeeds } from "./crew.ts";
import type { Report } from "./crew-messages.ts";
import { scenarioOf } from "./generate.ts";
import { MUTANTS } from "./mutants.ts";
import { UNCHANGED, type Mutation } from "./mutation.ts";
import { Progress } from "./progress.ts";
import { shrink } from "./shrink.ts";
import { simulate } from "./simulate.ts";
import { tell } from "./tell.ts";

const USAGE = `Runs the whole engine in virtual time against upstreams that count by their own rules.

npm run simulate -- [options]
  --seeds N       how many worlds (default 4000)
  --hours H       virtual hours of each, at least (default 0.5)
  --first N       the first seed (default 1)
  --workers N     threads (default 2)
  --seed S        replays one seed, and tells its story
  --requests      with --seed: every step of every request
  --mutant NAME   builds a fault into the engine, to see it caught: ${MUTANTS.map(({ name }) => `\n                    "${name}"`).join("")}
`;

type Options = {
  readonly seeds: number;
  readonly hours: number;
  readonly first: number;
  readonly workers: number;
  readonly seed: string | undefined;
  readonly requests: boolean;
  readonly mutant: string | undefined;
};

function readOptions(): Options | string {
  try {
    return parsedOptions();
  } catch (error) {
    return `${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`;
  }
}

function parsedOptions(): Options | string {
  const { values } = parseArgs({
    options: {
      seeds: { type: "string", default: "4000" },
      hours: { type: "string", default: "0.5" },
      first: { type: "string", default: "1" },
      workers: { type: "string", default: "2" },
      seed: { type: "string" },
      requests: { type: "boolean", default: false },
      mutant: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return USAGE;
  const [seeds, hours, first, workers] = [values.seeds, values.hours, values.first, values.workers].map(
    Number,
  );
  const isUsable = isCount(seeds) && isCount(workers) && isCount(first) && hours !== undefined && hours > 0;
  if (!isUsable) return USAGE;
  if (values.mutant !== undefined && !MUTANTS.some(({ name }) => name === values.mutant)) return USAGE;
  const { seed, requests, mutant } = values;
  return { seeds, hours, first, workers, seed, requests, mutant };
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isInteger(value) && value >= 1;
}

async function replay(seed: string, { hours, requests }: Options, mutation: Mutation): Promise<boolean> {
  const scenario = scenarioOf(seed, hours * 3_600_000);
  const { violation } = await simulate(scenario, mutation);
  const shortest = violation === undefined ? scenario : await shrink(scenario, violation.kind, mutation);
  const { lines, outcome } = await tell(shortest, mutation, requests);
  const inWords = violation === undefined ? "no violation" : "the shortest story of the violation";
  console.log(`Seed ${seed}, ${hours} h: ${inWords}.\n`);
  console.log(lines.join("\n"));
  const lives = `${outcome.lives} ${outcome.lives === 1 ? "life" : "lives"}`;
  console.log(`\n${outcome.polls} polls, ${lives} of the process`);
  return violation === undefined;
}

async function explore(options: Options, mutation: Mutation): Promise<boolean> {
  const progress = new Progress(options.seeds, performance.now());
  let broken: Report | undefined;
  const { first, seeds: count, hours, workers, mutant } = options;
  await runSeeds({ first, count, hours, workers, mutant }, (report) => {
    progress.add(report);
    const line = progress.line(performance.now());
    if (line !== undefined) console.log(line);
    if (report.violation !== undefined && (broken === undefined || report.seed < broken.seed))
      broken = report;
    return broken === undefined ? "go on" : "stop";
  });
  console.log(progress.summary(performance.now()));
  if (broken === undefined) return true;
  console.log(`\nVIOLATION with seed ${broken.seed}: looking for its shortest story.\n`);
  await replay(String(broken.seed), options, mutation);
  const again = mutant === undefined ? "" : ` --mutant "${mutant}"`;
  console.log(`\nAgain: npm run simulate -- --seed ${broken.seed} --hours ${hours}${again}`);
  return false;
}

const options = readOptions();
if (typeof options === "string") {
  console.log(options);
  process.exitCode = process.argv.some((argument) => ["--help", "-h"].includes(argument)) ? 0 : 2;
} else {
  const mutation = MUTANTS.find(({ name }) => name === options.mutant) ?? UNCHANGED;
  const { seed } = options;
  const holds = seed === undefined ? await explore(options, mutation) : await replay(seed, options, mutation);
  process.exitCode = holds ? 0 : 1;
}
