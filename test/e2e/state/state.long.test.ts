import { mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openConfigFolder } from "../../support/config-folder.ts";
import { launch, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { Api, configOf, detailOf, polled, stateFileOf, valueOf } from "./daemon.ts";

describe.concurrent("after a restart", () => {
  test("history, an incident that was open and availability are there; what the answer said is not in the file", async () => {
    await using api = await Api.open();
    await using folder = await openConfigFolder(configOf(api.url));
    const first = await startDaemon({ configPath: folder.path });
    await polled(first, 1);
    api.isWell = false;
    const before = await eventually(
      "there is an incident",
      () => detailOf(first),
      ({ incidents }) => incidents.length > 0,
    );
    first.kill("SIGTERM");
    expect(await first.exited).toEqual({ code: 0, signal: null });

    api.isWell = true;
    await using second = await startDaemon({ configPath: folder.path });
    const after = await eventually(
      "the incident is over",
      () => detailOf(second),
      ({ incidents }) => incidents[0]?.endedAtMs !== undefined,
    );
    const idsBefore = before.upstream.lastPolls.map((poll) => poll.id);
    const idsAfter = after.upstream.lastPolls.map((poll) => poll.id);
    expect(idsAfter.slice(0, idsBefore.length)).toEqual(idsBefore);
    expect(after.incidents).toMatchObject([{ state: "down", startedAtMs: before.incidents[0]?.startedAtMs }]);
    // The first failure may be another one: on a slow machine a poll runs out of time, and has no answer to keep.
    const kept = after.upstream.lastFailures.flatMap(({ headers = [] }) => headers);
    expect(kept).toContainEqual({ name: "x-session", bytes: 12 });
    const [hour] = after.upstream.availability;
    expect(hour?.failedMs).toBeGreaterThanOrEqual(before.upstream.availability[0]?.failedMs ?? 0);
    expect(hour?.ratio).toBeGreaterThan(before.upstream.availability[0]?.ratio ?? 0);
    expect(await valueOf(second, "pacewatch_state_store_up")).toBe(1);
    second.kill("SIGTERM");
    await second.exited;
    const file = readFileSync(stateFileOf(folder));
    expect([file.includes("x-session"), file.includes("test-session")]).toEqual([true, false]);
  });

  test("a killed process has counted every request of its quota: the next one sends no more than is left", async () => {
    await using api = await Api.open();
    const quota = { requests: 6, per: "30d", on_exhaust: "stop" };
    await using folder = await openConfigFolder(configOf(api.url, "data/pacewatch.db", quota));
    for (const sentByThen of [3, 5]) {
      await using daemon = await startDaemon({ configPath: folder.path });
      await eventually(
        `${sentByThen} requests were sent`,
        () => api.requests,
        (requests) => requests >= sentByThen,
      );
      daemon.kill("SIGKILL");
      await daemon.exited;
    }
    await using last = await startDaemon({ configPath: folder.path });
    const skipped = { upstream: "email", cause: "quota" };
    await eventually(
      "three slots were skipped for want of quota",
      () => valueOf(last, "pacewatch_polls_skipped_total", skipped),
      (slots = 0) => slots >= 3,
    );
    expect(api.requests).toBeLessThanOrEqual(6);
    const used = await valueOf(last, "pacewatch_budget_quota_used_requests", { budget: "api" });
    expect(used).toBe(6);
  });

  test("an orderly end counts exactly what was sent", async () => {
    await using api = await Api.open();
    const quota = { requests: 1_000_000, per: "30d", on_exhaust: "stop" };
    await using folder = await openConfigFolder(configOf(api.url, "data/pacewatch.db", quota));
    const first = await startDaemon({ configPath: folder.path });
    await polled(first, 3);
    first.kill("SIGTERM");
    await first.exited;
    const sent = api.requests;
    await using second = await startDaemon({ configPath: folder.path });
    const used = await valueOf(second, "pacewatch_budget_quota_used_requests", { budget: "api" });
    expect(used).toBeGreaterThanOrEqual(sent);
    expect(used).toBeLessThanOrEqual(sent + 2);
  });
});

test("a damaged file is kept aside and told, and the watching begins", async () => {
  await using api = await Api.open();
  await using folder = await openConfigFolder(configOf(api.url));
  await using before = await startDaemon({ configPath: folder.path });
  before.kill("SIGTERM");
  await before.exited;
  truncateSync(stateFileOf(folder), 5_000);
  await using daemon = await startDaemon({ configPath: folder.path });
  await polled(daemon, 1);
  const aside = `${stateFileOf(folder)}.corrupt-1`;
  expect(statSync(aside).size).toBe(5_000);
  expect(daemon.logs.find(({ level }) => level === "error")?.msg).toContain(`it was moved to "${aside}"`);
});

test("a file that is not ours stays where state.path names it by mistake, and the start is refused", async () => {
  await using folder = await openConfigFolder(configOf("http://127.0.0.1:9"));
  mkdirSync(join(folder.folder, "data"));
  writeFileSync(stateFileOf(folder), "keys of the house\n");
  await using daemon = launch(["run", "--config", folder.path, "--listen", "127.0.0.1:0"]);
  expect((await daemon.exited).code).toBe(1);
  expect(daemon.stderr).toMatch(
    /^cannot keep state: ".*" must be .*, received one that is not a database\n$/,
  );
  expect(readFileSync(stateFileOf(folder), "utf8")).toBe("keys of the house\n");
});
