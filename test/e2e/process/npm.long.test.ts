import { expect, it } from "vitest";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { NpmScript, isListening } from "../../support/processes/npm.ts";

it.each([
  { how: "SIGTERM to npm", end: (script: NpmScript) => script.kill("SIGTERM") },
  // npm passes on what the terminal has sent to everybody.
  { how: "Ctrl-C", end: (script: NpmScript) => script.killGroup("SIGINT") },
])("npm start ends with its daemon, which waits for the poll in flight: $how", async ({ end }) => {
  await using upstream = await startSimulatedUpstream({ name: "api", latency: { minMs: 900, maxMs: 900 } });
  await using folder = await openConfigFolder({
    budgets: { api: { rate: { requests: 600, per: "1m" } } },
    upstreams: [rawUpstream("email", upstream.url)],
  });
  await using script = new NpmScript(["start", "--", "--config", folder.path, "--listen", "127.0.0.1:0"]);
  const url = await script.said(/"url":"([^"]+)"/);
  await eventually("a poll is in flight", () => upstream.seen.length);
  end(script);
  await script.exited;
  expect(await isListening(url)).toBe(false);
  await script.said(/"msg":"stopped"/);
});
