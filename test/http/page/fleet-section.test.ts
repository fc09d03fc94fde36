import { expect, test } from "vitest";
import type { FleetStatus } from "../../../src/core/fleet/fleet-status.ts";
import type { Status } from "../../../src/core/status/status.ts";
import { routesToAsk } from "../../support/routes-to-ask.ts";
import { sampleFleetStatus, sampleFleetView, sampleRoutesDeps, sampleStatus } from "../../support/samples.ts";
import { textOf } from "./reading.ts";

async function page(fleet: FleetStatus | undefined, path = "/"): Promise<string> {
  const routes = routesToAsk(sampleRoutesDeps({ fleet: () => Promise.resolve(fleet) }));
  return (await (await routes.request(path)).text()).replaceAll(/\s+/g, " ");
}

test("the page tells of the whole fleet: who is there, and what others poll, with a way to their pages", async () => {
  const text = await page(sampleFleetStatus());
  expect(text).toContain("<title>Both upstreams are up");
  expect(text).toContain('<a href="http://10.0.0.8:10429/">b</a>');
  expect(text).toContain('<a href="http://10.0.0.8:10429/upstreams/email">email</a>');
  expect(text).toContain("This is <b>a</b>, with 1 other replica.");
});

test("the page tells which replica was started lately and holds nothing yet", async () => {
  const { replicas } = sampleFleetStatus();
  const told = replicas.map((replica) => ({ ...replica, isNew: replica.name === "b" }));
  expect(await page(sampleFleetStatus({ replicas: told }))).toContain(
    "http://10.0.0.8:10429/, new: takes nothing yet",
  );
});

test("the headline knows what others see, too", async () => {
  const [own] = sampleFleetStatus().upstreams;
  if (own === undefined) throw new Error("no upstream");
  const down = { name: "email", holder: "b", views: [sampleFleetView({ vantage: "b", state: "down" })] };
  expect(await page(sampleFleetStatus({ upstreams: [own, down] }))).toContain("<title>email is down");
});

test("what nobody polls is not known, whatever it was before", async () => {
  const [own] = sampleFleetStatus().upstreams;
  if (own === undefined) throw new Error("no upstream");
  const text = await page(
    sampleFleetStatus({ upstreams: [own, { name: "email", holder: undefined, views: [sampleFleetView()] }] }),
  );
  expect(text).toContain("<title>email is in an unknown state");
  expect(text).toContain("nobody now");
});

test("without Redis the page says that it tells old news", async () => {
  const text = await page(sampleFleetStatus({ redisUp: false, sessionValid: false }));
  expect(text).toContain("Redis does not answer");
  expect(text).toContain("no valid session in the fleet");
});

test("from everywhere, it tells from how many vantages each upstream is up", async () => {
  const slow = sampleFleetView({ vantage: "c", state: "degraded" });
  const views = [sampleFleetView(), sampleFleetView({ vantage: "b", state: "down" }), slow];
  const upstreams = [{ name: "ai-router", holder: undefined, views }];
  const text = await page(sampleFleetStatus({ mode: "everywhere", upstreams }));
  expect(text).toContain('<td class="number">2 of 3</td>');
  expect(text).toContain('<a href="http://10.0.0.8:10429/upstreams/ai-router">b</a>: <b>Down</b>');
});

test("the page of an upstream that another one polls leads there", async () => {
  const text = await page(sampleFleetStatus(), "/upstreams/email");
  expect(text).toContain("<h1>email is polled by b</h1>");
  expect(text).toContain('<a href="http://10.0.0.8:10429/upstreams/email">Its page on that replica</a>');
  expect(await page(sampleFleetStatus(), "/upstreams/nope")).toContain("No upstream has this name");
});

test("of thousands the page shows the sickest, and the rest is JSON", async () => {
  const upstreams = Array.from({ length: 5_000 }, (_, index) => ({
    name: `upstream-${index}`,
    holder: "b",
    views: [sampleFleetView({ vantage: "b", state: index === 4_999 ? ("down" as const) : ("up" as const) })],
  }));
  const text = await page(sampleFleetStatus({ upstreams }));
  expect(text).toContain("upstream-4999 is down");
  expect(text).toContain("4800 more");
  expect(text.length).toBeLessThan(300_000);
});

test("without a fleet there is no word of one", async () => {
  expect(await page(undefined)).not.toMatch(/fleet/i);
});

test("says that this replica polls nothing where Redis has been away since the start", async () => {
  const fleet = sampleFleetStatus({ redisUp: false, sessionValid: false, upstreams: [] });
  const status = (): Status => sampleStatus({ upstreams: [] });
  const routes = routesToAsk(sampleRoutesDeps({ fleet: () => Promise.resolve(fleet), status }));
  const text = textOf(await (await routes.request("/")).text());
  expect(text).toContain("This replica polls nothing: Redis does not answer");
  expect(text).toContain("it cannot tell whether others do");
  expect(text).not.toMatch(/first polls are running|other replicas do|None is configured\. Add/);
});
