import { parseArgs } from "node:util";

import { runSeeds } from "./crew/crew.ts";
import type { Report } from "./crew/crew-messages.ts";
import { tellWorld } from "./crew/one-world.ts";
import { Progress } from "./crew/progress.ts";

const USAGE = `Runs the whole engine in virtual time against upstreams that count by their own rules.

npm run simulate -- [options]
  --seeds N       how many worlds (default 4000)
  --hours H       virtual hours of each, at least (default 0.5)
  --first N       the first seed (default 1)
  --workers N     threads (default 2)
  --seed S        replays one seed, and tells its story
  --requests      with --seed: every step of every request
`;

type Options = {
  readonly seeds: number;
  readonly hours: number;
  readonly first: number;
  readonly workers: number;
  readonly seed: string | undefined;
  readonly requests: boolean;
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
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return USAGE;
  const [seeds, hours, first, workers] = [values.seeds, values.hours, values.first, values.workers].map(
    Number,
  );
  const isUsable = isCount(seeds) && isCount(workers) && isCount(first) && hours !== undefined && hours > 0;
  if (!isUsable) return USAGE;
  const { seed, requests } = values;
  return { seeds, hours, first, workers, seed, requests };
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isInteger(value) && value >= 1;
}

async function replay(seed: string, options: Options): Promise<boolean> {
  const { hours, requests } = options;
  const { lines, outcome } = await tellWorld(seed, hours, requests);
  const { violation } = outcome;
  const inWords = violation === undefined ? "no violation" : "the shortest story of the violation";
  console.log(`Seed ${seed}, ${hours} h: ${inWords}.\n`);
  console.log(lines.join("\n"));
  const lives = `${outcome.lives} ${outcome.lives === 1 ? "life" : "lives"}`;
  console.log(`\n${outcome.polls} polls, ${lives} of the process`);
  return violation === undefined;
}

async function explore(options: Options): Promise<boolean> {
  const progress = new Progress(options.seeds, performance.now());
  let broken: Report | undefined;
  const { first, seeds: count, hours, workers } = options;
  await runSeeds({ first, count, hours, workers }, (report) => {
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
  await replay(String(broken.seed), options);
  console.log(`\nAgain: npm run simulate -- --seed ${broken.seed} --hours ${hours}`);
  return false;
}

const options = readOptions();
if (typeof options === "string") {
  console.log(options);
  process.exitCode = process.argv.some((argument) => ["--help", "-h"].includes(argument)) ? 0 : 2;
} else {
  const { seed } = options;
  const holds = seed === undefined ? await explore(options) : await replay(seed, options);
  process.exitCode = holds ? 0 : 1;
}
