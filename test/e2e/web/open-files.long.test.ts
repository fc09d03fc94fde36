import { spawn } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:net";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { ask } from "../../support/http-ask.ts";
import { eventually } from "../../support/eventually.ts";
import { endWithUs } from "../../support/processes/ends-with-us.ts";

const PROGRAM = fileURLToPath(new URL("../../../bin/pacewatch.mjs", import.meta.url));
const CLIENTS = 100;

it.skipIf(process.platform !== "linux")(
  "a hundred idle clients stop no poll where only 64 files may be open, and the log tells that it is too few",
  async () => {
    await using upstream = await startSimulatedUpstream({ name: "api", keepSeen: 1_000 });
    await using folder = await openConfigFolder({
      state: { path: "pacewatch.db" },
      budgets: { api: { rate: { requests: 600, per: "1m" } } },
      upstreams: [rawUpstream("email", upstream.url), rawUpstream("router", upstream.url)],
    });
    const run = `ulimit -n 64; exec "${process.execPath}" "${PROGRAM}" run --config "${folder.path}" --listen 127.0.0.1:0`;
    const daemon = spawn("sh", ["-c", run], { env: {}, stdio: ["ignore", "pipe", "inherit"] });
    endWithUs(daemon);
    const ended = once(daemon, "close");
    let log = "";
    daemon.stdout.setEncoding("utf8").on("data", (text: string) => (log += text));
    const port = await eventually("it listens", () => /"url":"http:\/\/127\.0\.0\.1:(\d+)"/.exec(log)?.[1]);
    expect(log).toContain("the limit of open files (ulimit -n) is too low for this config");

    const clients = Array.from({ length: CLIENTS }, () =>
      connect(Number(port), "127.0.0.1").on("error", () => {}),
    );
    // Whoever is sent away comes back at once. Some are sent away before they know that they were connected.
    for (const client of clients) client.on("close", () => void client.connect(Number(port), "127.0.0.1"));
    await Promise.allSettled(clients.map((client) => once(client, "connect")));
    const before = upstream.seen.length;
    await eventually(
      "both are polled five times more",
      () => upstream.seen.length,
      (seen) => seen >= before + 10,
    );
    for (const client of clients) client.removeAllListeners("close").destroy();
    const metrics = await eventually("clients have left", () =>
      ask(`http://127.0.0.1:${port}/metrics`).catch(() => undefined),
    );
    const failed = metrics.body
      .split("\n")
      .filter((line) => /^pacewatch_polls_total\{.*outcome="failed".* [^0]/.test(line));
    expect(failed).toEqual([]);
    daemon.kill("SIGTERM");
    expect((await ended)[0]).toBe(0);
  },
);
