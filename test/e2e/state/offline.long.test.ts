import { expect, test } from "vitest";
import { type SimulatedUpstream, startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { type Detail, detailOf, polled } from "./daemon.ts";

/** Until this many of the last polls, the newest among them, failed because we were offline. */
async function offlinePolls(daemon: Daemon, count: number): Promise<Detail> {
  return eventually(
    `${count} polls failed while we were offline`,
    () => detailOf(daemon),
    ({ upstream }) => upstream.lastPolls.filter(({ reason }) => reason === "offline").length >= count,
  );
}

function failuresIn({ upstream }: Detail): readonly number[] {
  return upstream.availability.map(({ failedMs }) => failedMs);
}

async function pageOf(daemon: Daemon, path = "/"): Promise<string> {
  return (await daemon.get(path)).body.replaceAll(/\s+/g, " ");
}

test("our own outage is no failure of theirs on the page, in the API and after a restart; their next one is", async () => {
  await using email = await startSimulatedUpstream({ name: "email" });
  await using router = await startSimulatedUpstream({ name: "router" });
  const all: readonly SimulatedUpstream[] = [email, router];
  await using folder = await openConfigFolder({
    state: { path: "pacewatch.db" },
    budgets: { api: { rate: { requests: 6000, per: "1m" }, share: "50%" } },
    upstreams: [rawUpstream("email", email.url), rawUpstream("router", router.url)],
  });
  const first = await startDaemon({ configPath: folder.path });
  await polled(first, 1);
  await eventually(
    "both are up",
    () => pageOf(first),
    (page) => page.includes("<h1>Both upstreams are up</h1>"),
  );
  // On a busy machine the first poll may have timed out.
  const failedBefore = failuresIn(await detailOf(first));
  for (const upstream of all) upstream.setFault({ kind: "hang", at: "before_head" });
  const during = await offlinePolls(first, 3);
  expect(failuresIn(during)).toEqual(failedBefore);
  expect(during.incidents[0]).toMatchObject({ state: "down", reason: "offline" });
  expect(await pageOf(first)).toContain("<h1>No upstream can be reached: probably our own network</h1>");
  expect(await pageOf(first, "/upstreams/email")).toContain("It is us.");
  first.kill("SIGKILL");
  await first.exited;

  await using second = await startDaemon({ configPath: folder.path });
  await offlinePolls(second, during.upstream.lastPolls.filter(({ reason }) => reason === "offline").length);
  for (const upstream of all) upstream.setFault(undefined);
  const back = await eventually(
    "it is up again",
    () => detailOf(second),
    ({ upstream }) => upstream.health.state === "up",
  );
  expect(failuresIn(back)).toEqual(failedBefore);
  expect(back.incidents[0]).toMatchObject({
    state: "down",
    reason: "offline",
    endedAtMs: expect.any(Number),
  });
  const page = await pageOf(second, "/upstreams/email");
  expect(page).toContain("<b>We were offline</b>");
  expect(page).toMatch(/our own fault<\/b>: we were offline/);

  email.setFault({ kind: "hang", at: "before_head" });
  const theirs = await eventually(
    "its own failures count",
    () => detailOf(second),
    ({ upstream }) => (upstream.availability[0]?.failedMs ?? 0) > (failedBefore[0] ?? 0),
  );
  expect(theirs.upstream.lastPolls.at(-1)).toMatchObject({ outcome: "failed", reason: "timeout" });
  expect(theirs.incidents[0]).toMatchObject({ state: "down", reason: "timeout" });
});
