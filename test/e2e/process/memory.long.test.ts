import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { answer, openRawUpstream } from "../../support/raw-upstream.ts";

const FEW = 100;
const MANY = 2_100;
/** 31,000 when this was written. It was 58,000 while each had native memory of its own, which no heap snapshot shows. */
const MOST_BYTES_AN_UPSTREAM = 45_000;

/** What it holds for itself, libraries and their files left out, once each upstream was polled. */
async function privateBytes(upstreams: number, url: string): Promise<number> {
  await using folder = await openConfigFolder({
    budgets: { api: { rate: { requests: 1_000_000, per: "1m" } } },
    upstreams: Array.from({ length: upstreams }, (_, number) =>
      // A first poll that is worth nothing, as this machine stood still meanwhile, is followed by another one soon.
      rawUpstream(`api-${number}`, url, { every: "1m", timeout: "30s" }),
    ),
  });
  await using daemon = await startDaemon({
    configPath: folder.path,
    environment: { NODE_OPTIONS: "--max-semi-space-size=2" },
  });
  await daemon.until(({ stdout }) => stdout.split('"health changed"').length > upstreams);
  const status = await readFile(`/proc/${daemon.pid}/status`, "utf8");
  return Number(/^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1]) * 1_024;
}

test.runIf(process.platform === "linux")("one more upstream takes little memory, heap or not", async () => {
  const upstream = await openRawUpstream(async (connection) => {
    if ((await connection.request()) !== undefined) connection.end(answer("{}", ["Connection: close"]));
  });
  const few = await privateBytes(FEW, upstream.url);
  const many = await privateBytes(MANY, upstream.url);
  await upstream.close();
  expect((many - few) / (MANY - FEW)).toBeLessThan(MOST_BYTES_AN_UPSTREAM);
  expect(many).toBeGreaterThan(few);
});
