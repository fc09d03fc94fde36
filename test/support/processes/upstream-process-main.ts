import { startSimulatedUpstream, type UpstreamOptions } from "../../../src/simulator/upstream.ts";

// The other end of upstream-process.ts. It goes with its parent.
const options = JSON.parse(process.argv[2] ?? "") as UpstreamOptions;
const upstream = await startSimulatedUpstream(options);

function report(): void {
  const worst = upstream.worstWindow()[0]?.requests ?? 0;
  process.send?.({ url: upstream.url, requests: upstream.requests, worst });
}

process.on("message", report);
process.on("disconnect", () => process.exit());
report();
