import { quotasInFile } from "../../support/kept-quotas.ts";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";

const LIVES = 20;
const WRITER = fileURLToPath(new URL("writer.ts", import.meta.url));

type Life = {
  readonly recorded: readonly { readonly poll: number; readonly atMs: number }[];
  readonly restoredPolls: number;
  readonly restoredRequests: number;
  readonly restoredUnconfirmed: number;
  readonly sent: number;
  readonly logged: readonly string[];
  readonly killedAtMs: number;
};

async function liveUntilKilled(path: string, life: number, forMs: number): Promise<Life> {
  const child = spawn(process.execPath, [WRITER, path, String(life)], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => void (output += text));
  const ended = once(child, "close");
  await eventually(
    "its first poll is written",
    () => child.exitCode !== null || output,
    (seen) => seen === true || seen.includes("poll 1 "),
  );
  // It is killed at moments that are all different.
  await sleep(forMs);
  const killedAtMs = Date.now();
  child.kill("SIGKILL");
  await ended;
  const lines = output
    .split("\n")
    .slice(0, -1)
    .map((line) => line.split(" "));
  const [, restoredPolls, restoredRequests, restoredUnconfirmed] =
    lines.find(([kind]) => kind === "restored") ?? [];
  return {
    recorded: lines.flatMap(([kind, poll, at]) =>
      kind === "poll" ? [{ poll: Number(poll), atMs: Number(at) }] : [],
    ),
    restoredPolls: Number(restoredPolls),
    restoredRequests: Number(restoredRequests),
    restoredUnconfirmed: Number(restoredUnconfirmed),
    sent: lines.filter(([kind]) => kind === "sent").length,
    logged: lines.filter(([kind]) => kind === "log").map((words) => words.join(" ")),
    killedAtMs,
  };
}

function readAll(path: string): {
  readonly integrity: unknown;
  readonly polls: readonly string[];
  readonly minutes: number;
  readonly hours: number;
  readonly requests: number;
  readonly openIncidents: number;
} {
  const database = new DatabaseSync(path);
  const one = (sql: string): unknown => Object.values(database.prepare(sql).get() ?? {})[0];
  try {
    return {
      integrity: one("PRAGMA integrity_check"),
      polls: database
        .prepare("SELECT poll FROM polls ORDER BY id")
        .all()
        .map((row) => String(row["poll"])),
      minutes: Number(one("SELECT sum(polls) FROM minutes")),
      hours: Number(one("SELECT sum(polls) FROM hours")),
      requests: quotasInFile(database).reduce((sum, { requests }) => sum + requests, 0),
      openIncidents: Number(one("SELECT count(*) FROM incidents WHERE ended_at_ms IS NULL")),
    };
  } finally {
    database.close();
  }
}

test("killed twenty times while it writes, it opens each time, and holds all but the last second", async () => {
  const directory = await mkdtemp(join(tmpdir(), "pacewatch-kill-"));
  const path = join(directory, "data", "pacewatch.db");
  let sent = 0;
  let kept = 0;
  for (let life = 1; life <= LIVES; life += 1) {
    const { recorded, restoredPolls, restoredRequests, restoredUnconfirmed, logged, killedAtMs, ...ofLife } =
      await liveUntilKilled(path, life, (life * 397) % 1_500);
    expect(logged).toEqual([]);
    expect(restoredPolls).toBe(Math.min(60, kept));
    expect(restoredRequests).toBeGreaterThanOrEqual(sent);
    expect(restoredRequests - restoredUnconfirmed).toBeLessThanOrEqual(sent);
    sent += ofLife.sent;

    const file = readAll(path);
    expect(file.integrity).toBe("ok");
    const ofThisLife = file.polls.filter((poll) => poll.startsWith(`${life}/`));
    // No gap before the end, nothing twice.
    expect(ofThisLife).toEqual(ofThisLife.map((_, index) => `${life}/${index + 1}`));
    const due = recorded.filter(({ atMs }) => atMs < killedAtMs - 1_000).length;
    expect(ofThisLife.length).toBeGreaterThanOrEqual(due);
    kept += ofThisLife.length;
    expect(file).toMatchObject({ minutes: kept, hours: kept });
    // The oldest leave, once there are more than a thousand.
    expect(file.polls.length).toBeGreaterThanOrEqual(Math.min(1_000, kept));
    expect(file.polls.length).toBeLessThanOrEqual(kept);
    expect(file.openIncidents).toBeLessThanOrEqual(1);
    expect(file.requests).toBeGreaterThanOrEqual(sent);
    // One at a time, and one that is asked for meanwhile.
    expect(file.requests).toBeLessThanOrEqual(sent + 2 * life);
  }
  await rm(directory, { recursive: true, force: true });
}, 180_000);
