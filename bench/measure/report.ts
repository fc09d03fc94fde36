import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { inTransaction, makeWritable } from "../../src/features/state/database.ts";
import { addUpDay } from "../../src/features/state/retention.ts";
import { incidentRow } from "../../src/features/state/tables.ts";
import { StateWriter } from "../../src/features/state/writing.ts";
import { REPORT_FORMATS, type ReportFormat } from "../../src/features/report/question.ts";
import { dayText } from "../../src/kernel/time/civil-day.ts";
import { DAY_MS, HOUR_MS, hourOf, MINUTE_MS } from "../../src/kernel/time/duration.ts";
import { imageCommand } from "../../tools/image-command.ts";
import { writeHours } from "../../test/support/past-hours.ts";
import { figureOf, type Figure } from "../report/figure.ts";
import type { Stage } from "../stage.ts";

const NAMES = Array.from({ length: 100 }, (_, place) => `upstream-${place}`);
const DAYS = 365;
const INCIDENTS = 20;

/** A year of a hundred upstreams that fail each day, half of them with prices. */
export async function measureReport({ depth, progress }: Stage): Promise<readonly Figure[]> {
  const folder = await mkdtemp(join(tmpdir(), "pacewatch-bench-"));
  try {
    progress("report: a state file of a year");
    const nowMs = Date.now();
    writeYear(join(folder, "pacewatch.db"), nowMs);
    const config = join(folder, "pacewatch.json");
    await writeFile(config, JSON.stringify(configOf(join(folder, "pacewatch.db"))));
    const figures: Figure[] = [];
    for (const format of REPORT_FORMATS) {
      progress(`report: ${format}, ${depth.startUps} times`);
      const runs: Run[] = [];
      for (let round = 0; round < depth.startUps; round += 1) runs.push(await run(config, format, nowMs));
      const says = `report of a year of ${NAMES.length} upstreams, ${format}`;
      figures.push(
        figureOf(
          `report-${format}-ms`,
          says,
          "ms",
          runs.map(({ ms }) => ms),
        ),
        figureOf(
          `report-${format}-rss`,
          `${says}: RSS`,
          "MB",
          runs.map(({ rssMb }) => rssMb),
        ),
      );
    }
    return figures;
  } finally {
    await rm(folder, { recursive: true });
  }
}

function configOf(path: string): object {
  const upstreams = NAMES.map((name, place) => ({
    name,
    base_url: `http://${name}.example.test`,
    every: "15s",
    auth: { none: true },
    sla: { at_least: "99.9%", bad_unit: place % 2 === 0 ? "all_failed" : "any_failed" },
  }));
  const budgets = { api: { rate: { requests: 6_000, per: "1m" } } };
  return { state: { path }, budgets, defaults: { budget: "api" }, upstreams };
}

/** Hour after hour, as the daemon writes it: so its rows lie in the file. */
function writeYear(path: string, nowMs: number): void {
  using database = new DatabaseSync(path);
  makeWritable(database);
  const failed = (bucket: number, place: number): number => ((bucket + place) % 3 === 0 ? 4 : 0);
  writeHours(database, NAMES, { days: DAYS, nowMs, failed });
  const cost = database.prepare("INSERT INTO tally_hours VALUES (?, ?, 'EUR', 240, 29629440)");
  inTransaction(database, () => {
    for (let bucket = hourOf(nowMs) - DAYS * 24; bucket <= hourOf(nowMs); bucket += 1)
      for (const [place, name] of NAMES.entries()) if (place % 2 === 0) cost.run(bucket, name);
    const today = Math.floor(nowMs / DAY_MS);
    for (let day = today - DAYS; day < today; day += 1) addUpDay(database, day);
  });
  const poll = (atMs: number) => ({
    id: `life-${atMs}`,
    outcome: "failed" as const,
    origin: "schedule" as const,
    atMs,
    reason: "server_error",
    degraded: false,
    durationMs: 81.234567,
    phasesMs: { dns: 1.234567, connect: 2.345678, tls: 20.123456, wait: 55.512345 },
    status: 503,
    detail: "answered 503 Service Unavailable",
    excerpt: "upstream connect error or disconnect/reset before headers",
    headers: [{ name: "x-request-id", bytes: 36, value: "0198f1c2-77aa-7c1e-9d1a-0242ac120002" }],
  });
  const rows = NAMES.flatMap((upstream) =>
    Array.from({ length: INCIDENTS }, (_, place) => {
      const startedAtMs = nowMs - Math.round(((place + 0.5) * DAYS * DAY_MS) / INCIDENTS);
      const endedAtMs = startedAtMs + HOUR_MS;
      const polls = [startedAtMs - MINUTE_MS, startedAtMs, endedAtMs - MINUTE_MS].map(poll);
      const incident = { upstream, state: "down" as const, reason: "server_error", polls: 240 };
      return incidentRow({ ...incident, startedAtMs, endedAtMs }, polls, endedAtMs);
    }),
  );
  new StateWriter(database).write({ polls: [], rows });
}

/** At its end, the process tells the most memory that it had. */
const PRINTS_PEAK = `data:text/javascript,${encodeURIComponent(
  'process.on("exit", () => console.error(process.resourceUsage().maxRSS))',
)}`;

type Run = { readonly ms: number; readonly rssMb: number };

async function run(config: string, format: ReportFormat, nowMs: number): Promise<Run> {
  const { program, args, env } = await imageCommand();
  const bin = args.findIndex((arg) => arg.endsWith(".mjs"));
  const from = dayText(Math.floor(nowMs / DAY_MS) - DAYS + 1);
  const startedMs = performance.now();
  const asked = ["report", "--config", config, "--from", from, "--format", format];
  const child = spawn(program, ["--import", PRINTS_PEAK, ...args.slice(0, bin + 1), ...asked], {
    env: { ...process.env, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let said = "";
  child.stderr.on("data", (text: Buffer) => void (said += text.toString()));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`cannot measure the report: ${said}`);
  return { ms: performance.now() - startedMs, rssMb: (Number(said) * 1_024) / 1e6 };
}
