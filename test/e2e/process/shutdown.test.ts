import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream, type ConfigFolder } from "../../support/config-folder.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { type Families, parseExposition, sumOfSamples } from "../../support/metrics/exposition-parser.ts";
import { answer, openRawUpstream } from "../../support/raw-upstream.ts";
import { accountsOf, openAccounts } from "../../support/metrics/slot-accounts.ts";

const STOPPING = "stopping: waiting for polls in flight";

async function folderFor(
  url: string,
  upstreams: number,
  changes: { readonly timeout: string },
): Promise<ConfigFolder> {
  return openConfigFolder({
    log: { level: "debug" },
    budgets: { api: { rate: { requests: 6_000, per: "1m" }, share: "50%" } },
    upstreams: Array.from({ length: upstreams }, (_, index) =>
      rawUpstream(`upstream-${index}`, url, changes),
    ),
  });
}

function inFlight(families: Families): number {
  return sumOfSamples(families, "pacewatch_polls_in_flight");
}

/** Keeps its answers back until it is told to give them. */
async function openHolding(): Promise<
  { readonly url: string; readonly requests: number; answer(): void } & AsyncDisposable
> {
  const { promise: told, resolve: tell } = Promise.withResolvers<void>();
  const upstream = await openRawUpstream(async (connection) => {
    await connection.request();
    await told;
    connection.write(answer("{}"));
  });
  return {
    url: upstream.url,
    get requests() {
      return upstream.requests.length;
    },
    answer: tell,
    [Symbol.asyncDispose]: () => upstream.close(),
  };
}

/** With a poll in flight that nobody will ever answer. */
async function startHanging(folder: ConfigFolder): Promise<Daemon> {
  const daemon = await startDaemon({ configPath: folder.path });
  await eventually("a poll is in flight", async () => inFlight(await daemon.metrics()));
  return daemon;
}

/**
 * One after the other: ten seconds after the first signal polls are cut off, and five programs that start at the same
 * time on a busy machine leave too little of them.
 */
describe("a signal to end", () => {
  it("lets the polls in flight end, sends no new ones, keeps the accounts to the end, and ends with 0", async () => {
    await using upstream = await openHolding();
    await using folder = await folderFor(upstream.url, 30, { timeout: "30s" });
    await using daemon = await startDaemon({ configPath: folder.path });
    await eventually(
      "ten polls are in flight",
      async () => inFlight(await daemon.metrics()),
      (polls) => polls >= 10,
    );

    daemon.kill("SIGTERM");
    await daemon.logged(STOPPING);
    const first = parseExposition((await daemon.get("/metrics")).body);
    upstream.answer();
    for (;;) {
      const families = await daemon.metrics().catch(() => undefined);
      if (families === undefined) break;
      expect(openAccounts(families)).toEqual([]);
      await sleep(10);
    }
    expect(await daemon.exited).toEqual({ code: 0, signal: null });
    expect(daemon.stderr).toBe("");
    expect(inFlight(first)).toBeGreaterThanOrEqual(10);
    const sent = accountsOf(first).reduce((sum, { polls, inFlight }) => sum + polls + inFlight, 0);
    expect(upstream.requests).toBe(sent);
    const polled = daemon.logs.filter(({ msg }) => msg === "polled");
    expect(polled.length).toBe(upstream.requests);
    expect(new Set(polled.map((line) => line["outcome"]))).toEqual(new Set(["ok"]));
    expect(daemon.logs.at(-1)?.msg).toBe("stopped");
  });

  it("is answered by not being ready, and still alive, until the last poll has ended", async () => {
    await using upstream = await openHolding();
    await using folder = await folderFor(upstream.url, 1, { timeout: "30s" });
    await using daemon = await startHanging(folder);
    expect((await daemon.get("/-/ready")).status).toBe(200);
    daemon.kill("SIGINT");
    await daemon.logged(STOPPING);
    expect((await daemon.get("/-/ready")).status).toBe(503);
    expect((await daemon.get("/-/healthy")).status).toBe(200);
    upstream.answer();
    expect((await daemon.exited).code).toBe(0);
  });

  it("does not wait for clients that hold their connections open", async () => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    await using folder = await folderFor(upstream.url, 1, { timeout: "1s" });
    await using daemon = await startDaemon({ configPath: folder.path });
    const { hostname, port } = new URL(daemon.url);
    const idle = connect(Number(port), hostname);
    const halfway = connect(Number(port), hostname);
    for (const socket of [idle, halfway]) socket.on("error", () => {}).resume();
    idle.write("GET /-/healthy HTTP/1.1\r\nHost: localhost\r\n\r\n");
    halfway.write("GET /metrics HTTP/1.1\r\nHost: loc");
    await once(idle, "data");
    daemon.kill("SIGTERM");
    expect((await daemon.exited).code).toBe(0);
    for (const socket of [idle, halfway]) socket.destroy();
  });

  it.each([
    { signal: "SIGTERM", code: 143 },
    { signal: "SIGINT", code: 130 },
  ] as const)("ends it at once when it comes again: $signal is $code", async ({ signal, code }) => {
    await using upstream = await startSimulatedUpstream({ name: "api" });
    upstream.setFault({ kind: "hang", at: "before_head" });
    await using folder = await folderFor(upstream.url, 1, { timeout: "30s" });
    await using daemon = await startHanging(folder);
    daemon.kill(signal);
    await daemon.logged(STOPPING);
    await eventually("it has ended", () => {
      daemon.kill(signal);
      return daemon.hasEnded;
    });
    expect(await daemon.exited).toEqual({ code, signal: null });
  });
});
