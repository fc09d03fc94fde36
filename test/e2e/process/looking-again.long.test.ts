import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { startDaemon } from "../../support/processes/daemon.ts";

test("that an outage is over is known long before the next slot, and it is looked at again after ten seconds", async () => {
  const askedAtMs: number[] = [];
  const server = createServer((_, response) => {
    askedAtMs.push(performance.now());
    response.writeHead(askedAtMs.length === 1 ? 500 : 200, { "Content-Type": "application/json" }).end("{}");
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await using folder = await openConfigFolder({
    budgets: { api: { rate: { requests: 600, per: "1m" } } },
    upstreams: [rawUpstream("email", `http://127.0.0.1:${port}`, { every: "12h" })],
  });
  {
    await using daemon = await startDaemon({ configPath: folder.path });
    const { upstream } = await eventually(
      "it is up again",
      async () => JSON.parse((await daemon.get("/api/v1/upstreams/email")).body),
      ({ upstream: { health } }) => health.state === "up",
    );
    const polls: readonly { readonly origin: string; readonly outcome: string }[] = upstream.lastPolls;
    expect(polls.map(({ origin, outcome }) => `${origin}: ${outcome}`)).toEqual([
      "first: failed",
      "again: ok",
    ]);
  }
  const [first = 0, second = 0] = askedAtMs;
  expect(second - first).toBeGreaterThanOrEqual(10_000);
  server.close();
});
