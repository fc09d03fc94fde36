import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { AI_ROUTER_DEMO_SCRIPT, startDemoUpstreams } from "../../../src/simulator/demo-upstreams.ts";
import { ALWAYS_HEALTHY } from "../../../src/simulator/faults.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleValue } from "../../support/metrics/exposition-parser.ts";
import { startDaemon } from "../../support/processes/daemon.ts";

const DEMO_CONFIG = fileURLToPath(new URL("../../../config/demo.yaml", import.meta.url));

it.concurrent("where completions of one model fail, its list and the other model are up", async () => {
  await using upstreams = await startDemoUpstreams({
    seed: 1,
    scripts: { email: ALWAYS_HEALTHY, aiRouter: ALWAYS_HEALTHY },
  });
  const away = AI_ROUTER_DEMO_SCRIPT.entries.find(({ model }) => model !== undefined);
  upstreams.aiRouter.setFault(away?.fault, away?.model);
  await using daemon = await startDaemon({
    configPath: DEMO_CONFIG,
    environment: { ...upstreams.environment },
  });
  const families = await eventually(
    "the model is down",
    () => daemon.metrics(),
    (shown) => sampleValue(shown, "pacewatch_upstream_up", { upstream: "completion-large-chat-2" }) === 0,
  );
  for (const upstream of ["ai-router", "completion-small-chat-1"]) {
    expect(sampleValue(families, "pacewatch_upstream_up", { upstream })).toBe(1);
  }
  const page = await daemon.get("/api/v1/upstreams/completion-large-chat-2");
  expect(page.body).toContain("answered 200");
  expect(sampleValue(families, "pacewatch_upstream_up", { upstream: "ai-router" })).toBe(1);
});
