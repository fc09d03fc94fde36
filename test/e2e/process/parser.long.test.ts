import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { sumOfSamples } from "../../support/metrics/exposition-parser.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { answer, openRawUpstream } from "../../support/raw-upstream.ts";

/** V8 tells what it compiled, and how. */
const TELL = `
  import { setFlagsFromString } from "node:v8";
  setFlagsFromString("--trace-wasm-compilation-times");
  setFlagsFromString("--trace-opt");
`;

test("V8 compiles the parser of answers once, and nothing with Maglev: each would keep 10 MB", async () => {
  const upstream = await openRawUpstream(async (connection) => {
    if ((await connection.request()) !== undefined) connection.end(answer("{}", ["Connection: close"]));
  });
  const names = Array.from({ length: 10 }, (_, number) => `api-${number}`);
  await using folder = await openConfigFolder({
    budgets: { api: { rate: { requests: 100_000, per: "1m" } } },
    upstreams: names.map((name) => rawUpstream(name, upstream.url)),
  });
  const preload = join(folder.folder, "tell.mjs");
  await writeFile(preload, TELL);
  await using daemon = await startDaemon({
    configPath: folder.path,
    environment: { NODE_OPTIONS: `--import=${preload}` },
  });
  // Two or three would be enough.
  await eventually(
    "thirty answers were read",
    async () => sumOfSamples(await daemon.metrics(), "pacewatch_polls_total", { outcome: "ok" }),
    (polls) => polls >= 30,
  );
  expect(daemon.stdout).toContain("using Liftoff");
  expect(daemon.stdout).not.toContain("using TurboFan");
  // The flag is set by the first lines of the program: what Node.js itself had compiled before counts for nothing.
  const sinceListening = daemon.stdout.slice(daemon.stdout.indexOf("listening"));
  expect(sinceListening).toContain("target TURBOFAN_JS");
  expect(sinceListening).not.toContain("target MAGLEV");
  await upstream.close();
});
