/**
 * A quota and a spend, through 200 lives of leaders that are killed with a request on its way or not: the upstream's own
 * count is what its bill would be.
 */

import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "../../test/support/eventually.ts";
import { type Fleet, startFleet } from "../../test/support/fleet/fleet.ts";
import type { Replica } from "../../test/support/fleet/replica.ts";

const KILLS = 200;
const TTL = "1s";
/** Killed so long after it began to lead, at most. */
const LONGEST_LIFE_MS = 800;
const QUOTA = 400;
const PRICE = 0.01;
const SPEND = 3;
/** What a life had reserved, and did not send, counts as used: it may not be all. */
const LEAST_USED = 0.4;

type Result = { readonly said: readonly string[]; readonly faults: readonly string[] };

export async function killedAgainAndAgain(say: (text: string) => void): Promise<Result> {
  const rate = { requests: 60, per: "1s" };
  const spend = { at_most: SPEND, per: "1d", on_exhaust: "stop" };
  await using fleet = await startFleet({
    replicas: ["k1", "k2", "k3"],
    fleet: { ttl: TTL },
    budgets: {
      counted: { rate, quota: { requests: QUOTA, per: "1d", on_exhaust: "stop" } },
      paid: { rate, spend, price: { per_request: PRICE, currency: "EUR" } },
    },
    upstreams: { counted: ["counted-1", "counted-2"], paid: ["paid-1", "paid-2"] },
    upstream: { every: "1s", timeout: "1s", confirm: 0 },
    slowestMs: 300,
    isScraped: false,
  });
  let starting: Promise<unknown> = Promise.resolve();
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const leader = await eventually("one process leads", () => leaderOf(fleet));
    await sleep(Math.random() * LONGEST_LIFE_MS);
    await starting;
    await leader.kill();
    starting = fleet.start(leader.name);
    if (kill % 20 === 0) say(`  ${kill} kills: ${(await usedIn(fleet)).said}`);
  }
  await starting;
  const { said, counted, paid } = await usedIn(fleet);
  const faults = [
    ...(counted > QUOTA ? [`kills: ${counted} requests, of a quota of ${QUOTA}`] : []),
    ...(paid * PRICE > SPEND + 1e-9 ? [`kills: ${paid * PRICE} EUR spent, of ${SPEND}`] : []),
    ...(counted < LEAST_USED * QUOTA ? [`kills: only ${counted} requests, of a quota of ${QUOTA}`] : []),
    ...(paid * PRICE < LEAST_USED * SPEND ? [`kills: only ${paid * PRICE} EUR spent, of ${SPEND}`] : []),
  ];
  return { said: [`  ${KILLS} kills: ${said}`], faults };
}

async function usedIn(
  fleet: Fleet,
): Promise<{ readonly said: string; readonly counted: number; readonly paid: number }> {
  const seen = await fleet.seen();
  const [counted, paid] = ["counted", "paid"].map(
    (budget) => seen.filter((request) => request.budget === budget).length,
  );
  const money = ((paid ?? 0) * PRICE).toFixed(2);
  const said = `${counted} requests of a quota of ${QUOTA}, ${money} EUR of ${SPEND}`;
  return { said, counted: counted ?? 0, paid: paid ?? 0 };
}

/** By its log, as it is younger than any scrape. */
function leaderOf(fleet: Fleet): Replica | undefined {
  return fleet.current.find(({ daemon, hasEnded }) => {
    const last = daemon.logs.findLast(({ msg }) => /^(?:not )?leading\b/.test(msg));
    return !hasEnded && last?.msg.startsWith("leading") === true;
  });
}
