import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { silent } from "../silent.ts";
import type { ProcessOptions } from "./upstream-process.ts";

// The other end of upstream-process.ts. It goes with its parent.
const options = JSON.parse(process.argv[2] ?? "") as ProcessOptions;
const upstream = await startSimulatedUpstream({ ...options, dialect: silent });

function report(): void {
  const worst = upstream.worstWindow()[0]?.requests ?? 0;
  process.send?.({ url: upstream.url, requests: upstream.requests, worst });
}

process.on("message", report);
process.on("disconnect", () => process.exit());
report();
