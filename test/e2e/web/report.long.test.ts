import { join } from "node:path";
import { expect, it } from "vitest";
import { FAILURES_KEPT } from "../../../src/features/history/kept-poll.ts";
import type { Report, UpstreamReport } from "../../../src/features/report/report.ts";
import { MINUTE_MS } from "../../../src/kernel/time/duration.ts";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { launch, startDaemon } from "../../support/processes/daemon.ts";

async function printed(parameters: readonly string[]): Promise<string> {
  await using command = launch(["report", ...parameters]);
  const { code } = await command.exited;
  if (code !== 0) throw new Error(command.stderr);
  return command.stdout;
}

it("a report, of the port and of the command beside the daemon, counts what the upstream counted", async () => {
  await using upstream = await startSimulatedUpstream({ name: "email", limits: [] });
  const today = new Date().toISOString().slice(0, 10);
  await using folder = await openConfigFolder({
    state: { path: "data/pacewatch.db" },
    budgets: { api: { rate: { requests: 6000, per: "1m" } } },
    upstreams: [rawUpstream("email", upstream.url, { sla: { at_least: "99.9%", bad_unit: "any_failed" } })],
  });
  await using daemon = await startDaemon({ configPath: folder.path });
  const failed = (): number => upstream.seen.filter(({ fault }) => fault.kind !== "none").length;
  await eventually(
    "it is polled",
    () => Promise.resolve(upstream.seen.length),
    (seen) => seen >= 2,
  );
  upstream.setFault({
    kind: "status",
    code: 503,
    headers: { "X-Request-Id": "req_7f3a" },
    body: "<b>=1+1</b>",
  });
  await eventually(
    "it has failed",
    () => Promise.resolve(failed()),
    (count) => count >= 2,
  );
  upstream.setFault(undefined);
  await eventually(
    "it is up again",
    () => daemon.get("/api/v1/upstreams/email"),
    ({ body }) => JSON.parse(body).upstream.health.state === "up",
  );
  expect(failed()).toBeLessThan(FAILURES_KEPT);

  // What is in flight at the end of the count is in the next one.
  const search = `from=${today}&format=json`;
  const told = await eventually(
    "all that was answered is in the file",
    async () => upstreamIn((await daemon.get(`/report?${search}`)).body),
    ({ ok, failed: bad }) => bad === failed() && ok > 3,
  );
  const answered = upstream.seen.length - failed();
  expect(told.ok).toBeLessThanOrEqual(answered);
  expect(told.ok).toBeGreaterThanOrEqual(answered - 3);
  expect(told.failedMs).toBeGreaterThan(0);
  expect(told.availability).toBe((told.watchedMs - told.failedMs) / told.watchedMs);
  expect(told.months[0]?.badMinutes).toBeGreaterThan(0);
  expect(told.watchedMinutes).toBeLessThanOrEqual(Math.ceil(told.lengthMs / MINUTE_MS));
  const [incident] = told.incidents;
  expect(told.incidents).toHaveLength(1);
  expect(incident).toMatchObject({ state: "down", reason: "server_error", isOutage: true });
  expect(incident?.evidence[0]).toMatchObject({ status: 503, reason: "server_error" });
  expect(incident?.evidence[0]?.headers).toContainEqual({
    name: "x-request-id",
    bytes: 8,
    value: "req_7f3a",
  });

  const beside = upstreamIn(await printed(["--config", folder.path, "--from", today, "--format", "json"]));
  expect(beside.failed).toBe(told.failed);
  expect(beside.ok).toBeGreaterThanOrEqual(told.ok);
  expect(beside.incidents).toEqual(told.incidents);
  await refusals(folder.path);
  const page = await daemon.get(`/report?from=${today}`);
  expect(page.body).toContain("req_7f3a");
  expect(page.body).not.toContain("<b>=1+1");
  expect(page.body).not.toContain("<script");
});

function upstreamIn(json: string): UpstreamReport {
  const { upstreams }: Report = JSON.parse(json);
  const [first] = upstreams;
  if (first === undefined) throw new Error("no upstream is in the report");
  return first;
}

async function refusals(path: string): Promise<void> {
  const refused = async (...parameters: readonly string[]): Promise<string> => {
    await using command = launch(["report", "--config", path, ...parameters]);
    expect((await command.exited).code).toBe(1);
    return command.stderr;
  };
  expect(await refused("--upstream", "emial")).toMatch(/^cannot report: .*"emial"\n$/);
  expect(await refused("--month", "2026-13")).toMatch(/^cannot report: .*"2026-13"\n$/);
  expect(await refused("--state", join(path, "../gone.db"))).toMatch(
    /^cannot report: .*gone\.db".*no such file/,
  );
  expect(await refused("--state", path)).toMatch(/^cannot report: .*not a database/);
}
