import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { startDemoUpstreams } from "../../../src/simulator/demo-upstreams.ts";
import { ALWAYS_HEALTHY } from "../../../src/simulator/faults.ts";
import { launch, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import {
  parseExposition,
  sampleValue,
  sumOfSamples,
  type Families,
} from "../../support/metrics/exposition-parser.ts";
import { openAccounts } from "../../support/metrics/slot-accounts.ts";

const SHIPPED_CONFIG = fileURLToPath(new URL("../../../config/pacewatch.yaml", import.meta.url));
const SERVICES = ["email", "ai-router"];

const DEMO = [...SERVICES, "completion-small-chat-1", "completion-large-chat-2"];

function areAllPolled(families: Families): boolean {
  return DEMO.every((upstream) => sumOfSamples(families, "pacewatch_polls_total", { upstream }) > 0);
}

it.concurrent("the demo shows both services polled soon after its start, and ends with its upstreams' own word", async () => {
  const startedAtMs = performance.now();
  await using demo = launch(["demo", "--listen", "127.0.0.1:0"]);
  await demo.until(({ stdout }) => stdout.includes("Press Ctrl-C to stop."));
  const [address = ""] = /http:\/\/\S+\/metrics/.exec(demo.stdout) ?? [];
  const polled = await eventually(
    "both services are polled, and both models",
    async () => parseExposition(await (await fetch(address)).text()),
    areAllPolled,
  );
  const tookS = (performance.now() - startedAtMs) / 1_000;
  process.stdout.write(`demo: both services were polled ${tookS.toFixed(1)} s after its start\n`);
  expect(openAccounts(polled)).toEqual([]);
  for (const upstream of DEMO.slice(2)) {
    expect(sumOfSamples(polled, "pacewatch_stream_first_event_seconds_count", { upstream })).toBeGreaterThan(
      0,
    );
  }

  demo.kill("SIGINT");
  expect(await demo.exited).toEqual({ code: 0, signal: null });
  expect(demo.stderr).toBe("");
  expect(demo.stdout).not.toContain("\u001b");
  expect(demo.stdout).toMatch(/^email: at most \d+ of 1000 requests in any 60 s, by its own count$/m);
  expect(demo.stdout).toMatch(/^ai-router: at most \d+ of 60 requests in any 60 s, by its own count$/m);
  expect(demo.stdout).toMatch(/^ai-router: its completions cost 0\.0\d+ USD, by its own count$/m);
});

it.concurrent("the shipped config watches both services with nothing but addresses and keys in the environment", async () => {
  const scripts = { email: ALWAYS_HEALTHY, aiRouter: ALWAYS_HEALTHY };
  await using upstreams = await startDemoUpstreams({ seed: 1, scripts });
  await using daemon = await startDaemon({
    configPath: SHIPPED_CONFIG,
    environment: { ...upstreams.environment },
  });
  const first = await daemon.metrics();
  for (const upstream of SERVICES) {
    // There from the first second, so that a rate over them sees the very first failure.
    expect(sampleValue(first, "pacewatch_polls_total", { upstream, outcome: "failed" })).toBe(0);
  }
  const polled = await eventually(
    "both services are up",
    () => daemon.metrics(),
    (families) =>
      SERVICES.every((upstream) => sampleValue(families, "pacewatch_upstream_up", { upstream }) === 1),
  );
  for (const upstream of SERVICES) {
    expect(sumOfSamples(polled, "pacewatch_polls_total", { upstream, outcome: "ok" })).toBeGreaterThan(0);
  }
  for (const { seen } of [upstreams.email, upstreams.aiRouter]) {
    expect(seen.map(({ method, target, keyAccepted }) => ({ method, target, keyAccepted }))).toContainEqual({
      method: "GET",
      target: "/v1/resources",
      keyAccepted: true,
    });
    expect(seen[0]?.headers["content-type"]).toBe("application/json");
    expect(seen[0]?.headers["user-agent"]).toMatch(/^pacewatch\/\d/);
  }
  const secrets = Object.entries(upstreams.environment).flatMap(([name, value]) =>
    name.endsWith("KEY") ? [value] : [],
  );
  const told = (
    await Promise.all(
      ["/", "/metrics", "/api/v1/upstreams", "/api/v1/config"].map((path) => daemon.get(path)),
    )
  )
    .map(({ body }) => body)
    .join();
  expect(secrets.length).toBe(2);
  for (const secret of secrets) expect(told + daemon.stdout).not.toContain(secret);
});
