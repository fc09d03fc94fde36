import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Incident, UpstreamStatus } from "../../src/core/status/status.ts";
import { Immutable, SmallDisk } from "../adapters/sqlite/disks.ts";
import {
  type ConfigFolder,
  openConfigFolder,
  rawUpstream,
  type RawConfig,
} from "../support/config-folder.ts";
import { type Daemon, launch, type LogLine, startDaemon } from "../support/daemon.ts";
import { eventually } from "../support/eventually.ts";
import { sampleValue } from "../support/exposition-parser.ts";

/** Answers well, or not at all well; counts what arrived. */
class Api implements AsyncDisposable {
  requests = 0;
  isWell = true;
  readonly #server = createServer((_, response) => {
    this.requests += 1;
    response.writeHead(this.isWell ? 200 : 503, {
      "Content-Type": "application/json",
      "X-Session": "test-session",
    });
    response.end(this.isWell ? "{}" : '{"error":"we are sorry"}');
  });

  static async open(): Promise<Api> {
    const api = new Api();
    api.#server.listen(0, "127.0.0.1");
    await once(api.#server, "listening");
    return api;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }
}

function configOf(url: string, path = "data/pacewatch.db", quota?: object): RawConfig {
  const budget = { rate: { requests: 10, per: "1s" }, share: "10%" };
  return {
    state: { path },
    budgets: { api: quota === undefined ? budget : { ...budget, quota } },
    upstreams: [rawUpstream("email", url)],
  };
}

type Detail = { readonly upstream: UpstreamStatus; readonly incidents: readonly Incident[] };

async function detailOf(daemon: Daemon): Promise<Detail> {
  return JSON.parse((await daemon.get("/api/v1/upstreams/email")).body) as Detail;
}

async function valueOf(daemon: Daemon, metric: string, labels = {}): Promise<number | undefined> {
  return sampleValue(await daemon.metrics(), metric, labels);
}

async function polled(daemon: Daemon, count: number): Promise<Detail> {
  return eventually(async () => {
    const detail = await detailOf(daemon);
    return detail.upstream.lastPolls.length >= count ? detail : undefined;
  });
}

function stateFileOf(folder: ConfigFolder): string {
  return join(folder.folder, "data", "pacewatch.db");
}

describe.concurrent("after a restart", () => {
  test("history, an incident that was open and availability are there; what the answer said is not in the file", async () => {
    await using api = await Api.open();
    await using folder = await openConfigFolder(configOf(api.url));
    const first = await startDaemon({ configPath: folder.path });
    await polled(first, 1);
    api.isWell = false;
    const before = await eventually(async () => {
      const detail = await detailOf(first);
      return detail.incidents.length > 0 ? detail : undefined;
    });
    first.kill("SIGTERM");
    expect(await first.exited).toEqual({ code: 0, signal: null });

    api.isWell = true;
    await using second = await startDaemon({ configPath: folder.path });
    const after = await eventually(async () => {
      const detail = await detailOf(second);
      return detail.incidents[0]?.endedAtMs === undefined ? undefined : detail;
    });
    const idsBefore = before.upstream.lastPolls.map((poll) => poll.id);
    const idsAfter = after.upstream.lastPolls.map((poll) => poll.id);
    expect(idsAfter.slice(0, idsBefore.length)).toEqual(idsBefore);
    expect(after.incidents).toMatchObject([{ state: "down", startedAtMs: before.incidents[0]?.startedAtMs }]);
    expect(after.upstream.lastFailures[0]?.headers).toContainEqual({ name: "x-session", bytes: 12 });
    const [hour] = after.upstream.availability;
    expect(hour?.failed).toBeGreaterThanOrEqual(before.upstream.lastFailures.length);
    expect(hour?.ok).toBeGreaterThanOrEqual(2);
    expect(await valueOf(second, "pacewatch_state_store_up")).toBe(1);
    second.kill("SIGTERM");
    await second.exited;
    const file = readFileSync(stateFileOf(folder));
    expect([file.includes("x-session"), file.includes("test-session")]).toEqual([true, false]);
  });

  test("a killed process has counted every request of its quota: the next one sends no more than is left", async () => {
    await using api = await Api.open();
    const quota = { requests: 25, per: "30d", on_exhaust: "stop" };
    await using folder = await openConfigFolder(configOf(api.url, "data/pacewatch.db", quota));
    // Paced at one second, eleven are reserved: so the third life finds 3 + 11 + 3 + 11 counted, and may send nothing.
    for (const sentByThen of [3, 6]) {
      await using daemon = await startDaemon({ configPath: folder.path });
      await eventually(() => (api.requests >= sentByThen ? true : undefined));
      daemon.kill("SIGKILL");
      await daemon.exited;
    }
    const sent = api.requests;
    await using last = await startDaemon({ configPath: folder.path });
    await eventually(async () => {
      const skipped = await valueOf(last, "pacewatch_polls_skipped_total", {
        upstream: "email",
        cause: "quota",
      });
      return (skipped ?? 0) >= 3 ? true : undefined;
    });
    expect(api.requests).toBe(sent);
    const used = await valueOf(last, "pacewatch_budget_quota_used_requests", { budget: "api" });
    expect(used).toBeGreaterThanOrEqual(sent);
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

describe.concurrent("in trouble, polls go on, and metric and log tell", () => {
  /** What was logged meanwhile; three polls ended meanwhile, or this does not. */
  async function loggedDuring(daemon: Daemon, begin: () => Disposable): Promise<readonly LogLine[]> {
    await polled(daemon, 1);
    const trouble = begin();
    await storeIs(daemon, 0);
    const before = (await detailOf(daemon)).upstream.counts.polls;
    await eventually(async () =>
      (await detailOf(daemon)).upstream.counts.polls >= before + 3 ? true : undefined,
    );
    const logged = daemon.logs.filter(({ level }) => level === "error");
    trouble[Symbol.dispose]();
    await storeIs(daemon, 1);
    await daemon.logged("the state file can be written again");
    return logged;
  }

  async function storeIs(daemon: Daemon, up: 0 | 1): Promise<void> {
    await eventually(async () =>
      (await valueOf(daemon, "pacewatch_state_store_up")) === up ? true : undefined,
    );
  }

  const told = [
    { level: "error", msg: expect.stringMatching(/^the state file .* in memory until it can be written$/) },
  ];

  test("a disk that is full", async ({ skip }) => {
    await using api = await Api.open();
    await using folder = await openConfigFolder(configOf(api.url, "disk/pacewatch.db"));
    using disk = SmallDisk.mount(join(folder.folder, "disk"), "1m") ?? skip("needs the right to mount");
    await using daemon = await startDaemon({ configPath: folder.path });
    // What the files beside it have room for already may still be written.
    const logged = await loggedDuring(daemon, () => {
      disk.fill();
      return { [Symbol.dispose]: () => disk.empty() };
    });
    expect(logged).toMatchObject(told);
  });

  test("a file that is made read-only", async ({ skip }) => {
    await using api = await Api.open();
    await using folder = await openConfigFolder(configOf(api.url));
    await using daemon = await startDaemon({ configPath: folder.path });
    const path = stateFileOf(folder);
    const logged = await loggedDuring(
      daemon,
      () => Immutable.make(path, `${path}-wal`) ?? skip("needs the right to make files immutable"),
    );
    expect(logged).toMatchObject(told);
  });
});

describe.concurrent("does not start, and says why in one sentence", () => {
  async function refusalOf(folder: ConfigFolder): Promise<string> {
    await using daemon = launch(["run", "--config", folder.path, "--listen", "127.0.0.1:0"]);
    expect(await daemon.exited).toEqual({ code: 1, signal: null });
    return daemon.stderr;
  }

  test("a second daemon on the same file", async () => {
    await using api = await Api.open();
    await using folder = await openConfigFolder(configOf(api.url));
    await using first = await startDaemon({ configPath: folder.path });
    expect(await refusalOf(folder)).toBe(
      `cannot keep state: "${stateFileOf(folder)}" must be a file that can be read and written, received one that is in use by another pacewatch\n`,
    );
    await polled(first, 2);
  });

  test("a directory in the file's place", async () => {
    await using api = await Api.open();
    await using folder = await openConfigFolder(configOf(api.url));
    mkdirSync(stateFileOf(folder), { recursive: true });
    expect(await refusalOf(folder)).toBe(
      `cannot keep state: "${stateFileOf(folder)}" must be a file, received a directory\n`,
    );
  });
});

test("a damaged file is kept aside and told, and the watching begins", async () => {
  await using api = await Api.open();
  await using folder = await openConfigFolder(configOf(api.url));
  mkdirSync(join(folder.folder, "data"));
  writeFileSync(stateFileOf(folder), "this is no database".repeat(500));
  await using daemon = await startDaemon({ configPath: folder.path });
  await polled(daemon, 1);
  const aside = `${stateFileOf(folder)}.corrupt-1`;
  expect(readFileSync(aside, "utf8")).toMatch(/^this is no database/);
  expect(daemon.logs.find(({ level }) => level === "error")?.msg).toContain(`it was moved to "${aside}"`);
});
