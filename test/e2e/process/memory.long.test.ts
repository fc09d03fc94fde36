import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeStateFile } from "../../support/past-hours.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { answer, openRawUpstream, type RawUpstream } from "../../support/raw-upstream.ts";

const FEW = 100;
const MANY = 2_100;
/** 31,000 when this was written. It was 58,000 while each had native memory of its own, which no heap snapshot shows. */
const MOST_BYTES_AN_UPSTREAM = 45_000;

/** 73,000 when this was written, 32,000 of them the hours. It was a million while each hour was read as an object. */
const MOST_BYTES_A_MONTH = 150_000;
const HAVE_A_MONTH = 500;

/** What it holds for itself, libraries and their files left out, once each upstream was polled. */
async function privateBytes(upstreams: number, url: string, days?: number): Promise<number> {
  await using folder = await openConfigFolder({
    ...(days !== undefined && { state: { path: "pacewatch.db" } }),
    budgets: { api: { rate: { requests: 1_000_000, per: "1m" } } },
    // A first poll that is worth nothing, as this machine stood still meanwhile, is followed by another one soon.
    upstreams: namesOf(upstreams).map((name) => rawUpstream(name, url, { every: "1m", timeout: "30s" })),
  });
  if (days !== undefined) writeStateFile(join(folder.folder, "pacewatch.db"), namesOf(upstreams), days);
  await using daemon = await startDaemon({
    configPath: folder.path,
    environment: { NODE_OPTIONS: "--max-semi-space-size=2" },
  });
  await daemon.until(({ stdout }) => stdout.split('"health changed"').length > upstreams);
  const status = await readFile(`/proc/${daemon.pid}/status`, "utf8");
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}

function namesOf(upstreams: number): readonly string[] {
  return Array.from({ length: upstreams }, (_, number) => `api-${number}`);
}

function openUpstream(): Promise<RawUpstream> {
  return openRawUpstream(async (connection) => {
    if ((await connection.request()) !== undefined) connection.end(answer("{}", ["Connection: close"]));
  });
}

test.runIf(process.platform === "linux")("one more upstream takes little memory, heap or not", async () => {
  const upstream = await openUpstream();
  const few = await privateBytes(FEW, upstream.url);
  const many = await privateBytes(MANY, upstream.url);
  await upstream.close();
  expect((many - few) / (MANY - FEW)).toBeLessThan(MOST_BYTES_AN_UPSTREAM);
  expect(many).toBeGreaterThan(few);
});

test.runIf(process.platform === "linux")(
  "a month in the state file takes little more than its numbers",
  async () => {
    const upstream = await openUpstream();
    const fresh = await privateBytes(HAVE_A_MONTH, upstream.url, 0);
    const old = await privateBytes(HAVE_A_MONTH, upstream.url, 31);
    await upstream.close();
    expect((old - fresh) / HAVE_A_MONTH).toBeLessThan(MOST_BYTES_A_MONTH);
    expect(old).toBeGreaterThan(fresh);
  },
);
