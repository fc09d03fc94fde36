import { readdir, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { type Socket, connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hashSync } from "bcryptjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type SimulatedUpstream, startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import {
  type ConfigFolder,
  openConfigFolder,
  rawUpstream,
  type RawConfig,
} from "../../support/config-folder.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { openAccounts } from "../../support/metrics/slot-accounts.ts";

const WATCHED = 20;
const PERIOD_MS = 1_000;
const SIEGE_MS = 2_500;
const GUESSING_MS = 3_000;
/** Of the polls that are due; on a machine that is busy with other things as well, some are late by themselves. */
const LEAST_PUNCTUAL = 0.5;

let upstream: SimulatedUpstream;

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ name: "api", keepSeen: 1_000 });
});

afterAll(() => upstream[Symbol.asyncDispose]());

function configOf(changes: Partial<RawConfig> = {}): RawConfig {
  return {
    budgets: { api: { rate: { requests: 1_000_000, per: "1m" } } },
    upstreams: Array.from({ length: WATCHED }, (_, index) => rawUpstream(`api-${index}`, upstream.url)),
    ...changes,
  };
}

const asking = (path: string, host: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`;

/** What a siege is made of: it goes on until it is told to end, and leaves nothing open. */
type Siege = (daemon: Daemon, signal: AbortSignal) => Promise<void>;

const SIEGES: Readonly<Record<string, Siege>> = {
  "fifty scrapers that read slowly": async (daemon, signal) => {
    await crowd(daemon, signal, 50, async (socket) => {
      socket.write(asking("/metrics", "localhost").replace("Connection: close\r\n", "").repeat(2));
      while (!socket.destroyed && !signal.aborted) {
        socket.read(512);
        await sleep(100);
      }
    });
  },
  "fifteen hundred connections that say nothing": async (daemon, signal) => {
    await crowd(daemon, signal, 1_500, async () => {});
    const open = await readdir(`/proc/${daemon.pid}/fd`);
    expect(open.length).toBeLessThan(400);
  },
  "three hundred connections that drip a head": async (daemon, signal) => {
    await crowd(daemon, signal, 300, async (socket) => {
      socket.write("GET / HTTP/1.1\r\n");
      while (!socket.destroyed && !signal.aborted) {
        socket.write("X-A: 1\r\n");
        await sleep(200);
      }
    });
  },
  "thousands of requests on each connection, without waiting for answers": async (daemon, signal) => {
    while (!signal.aborted) {
      await crowd(daemon, AbortSignal.any([signal, AbortSignal.timeout(500)]), 5, async (socket) => {
        socket.write(asking("/metrics", "localhost").replace("Connection: close\r\n", "").repeat(1_000));
      });
    }
  },
  "two hundred connections that ask for everything at once": async (daemon, signal) => {
    while (!signal.aborted) {
      await crowd(daemon, AbortSignal.any([signal, AbortSignal.timeout(1_000)]), 200, async (socket) => {
        socket.resume();
        socket.write(
          ["/", "/metrics", "/api/v1/upstreams", "/nowhere"]
            .map((path) => asking(path, "localhost"))
            .join(""),
        );
      });
    }
  },
  "heads without end": async (daemon, signal) => {
    await crowd(daemon, signal, 20, async (socket) => {
      socket.write("GET / HTTP/1.1\r\nX-A: ");
      while (!socket.destroyed && !signal.aborted) {
        socket.write("x".repeat(8_192));
        await sleep(20);
      }
    });
  },
};

async function crowd(
  daemon: Daemon,
  signal: AbortSignal,
  size: number,
  behave: (socket: Socket) => Promise<void>,
): Promise<void> {
  const port = Number(new URL(daemon.url).port);
  const sockets = Array.from({ length: size }, () => {
    const socket = connect({ port, host: "127.0.0.1" });
    socket.on("error", () => {}).pause();
    return socket;
  });
  await Promise.all([...sockets.map((socket) => behave(socket)), untilAborted(signal)]);
  for (const socket of sockets) socket.destroy();
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
}

describe("under siege polls go on in time, and whoever means well is served:", () => {
  let folder: ConfigFolder;
  let daemon: Daemon;

  beforeAll(async () => {
    folder = await openConfigFolder(configOf());
    daemon = await startDaemon({ configPath: folder.path });
  });

  afterAll(async () => {
    await daemon[Symbol.asyncDispose]();
    await folder[Symbol.asyncDispose]();
  });

  it.each(Object.entries(SIEGES))("%s", async (_, siege) => {
    const before = seenBy(upstream);
    const startedAtMs = performance.now();
    const besieged = siege(daemon, AbortSignal.timeout(SIEGE_MS));
    await sleep(SIEGE_MS / 2);
    expect((await daemon.get("/-/healthy")).status).toBe(200);
    await besieged;
    const polls = seenBy(upstream) - before;
    const due = (WATCHED * (performance.now() - startedAtMs)) / PERIOD_MS;
    expect(polls / due).toBeGreaterThan(LEAST_PUNCTUAL);
    expect(openAccounts(await daemon.metrics())).toEqual([]);
  });
});

/** By its own count. */
function seenBy({ requests }: SimulatedUpstream): number {
  return requests;
}

describe("passwords", () => {
  const web = {
    basic_auth_users: { prometheus: hashSync("test-password-right", 8) },
  };

  async function guarded(): Promise<AsyncDisposable & { readonly daemon: Daemon }> {
    const folder = await openConfigFolder(configOf({ web: { config_file: "web.yaml" } }));
    await writeFile(join(folder.folder, "web.yaml"), JSON.stringify(web));
    const daemon = await startDaemon({ configPath: folder.path });
    return {
      daemon,
      [Symbol.asyncDispose]: async () => {
        await daemon[Symbol.asyncDispose]();
        await folder[Symbol.asyncDispose]();
      },
    };
  }

  const saying = (user: string, password: string): RequestInit => ({
    headers: { Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}` },
  });

  it("are guessed at slowly, while polls go on and who is known comes in", async () => {
    await using guard = await guarded();
    const { daemon } = guard;
    const right = saying("prometheus", "test-password-right");
    expect((await fetch(`${daemon.url}/metrics`, right)).status).toBe(200);

    const before = seenBy(upstream);
    let guesses = 0;
    const statuses = new Map<number, number>();
    const over = AbortSignal.timeout(GUESSING_MS);
    const guess = async (): Promise<void> => {
      while (!over.aborted) {
        guesses += 1;
        const answer = await fetch(`${daemon.url}/metrics`, saying("prometheus", `test-guess-${guesses}`));
        await answer.arrayBuffer();
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      }
    };
    const guessing = Promise.all(Array.from({ length: 20 }, guess));
    await sleep(1_000);
    const known = await fetch(`${daemon.url}/metrics`, right);
    expect(known.status).toBe(200);
    await known.arrayBuffer();
    await guessing;
    // Each has a place, and waits.
    expect([...statuses.keys()]).toEqual([401]);
    // Each check takes some twenty milliseconds and is followed by as long a rest, however many ask.
    expect(statuses.get(401) ?? 0).toBeLessThan(150);

    const due = (WATCHED * GUESSING_MS) / PERIOD_MS;
    expect((seenBy(upstream) - before) / due).toBeGreaterThan(LEAST_PUNCTUAL);
  });

  it("that are wrong are refused in the same words, whether the name exists or not", async () => {
    await using guard = await guarded();
    const { daemon } = guard;
    const answerTo = async (request: RequestInit): Promise<readonly unknown[]> => {
      const answer = await fetch(`${daemon.url}/api/v1/config`, request);
      const headers = [...answer.headers].filter(([name]) => name !== "date");
      return [answer.status, headers, await answer.text()];
    };
    const wrong = await answerTo(saying("prometheus", "test-password-wrong"));
    expect(wrong[0]).toBe(401);
    expect(await answerTo(saying("nobody", "test-password-wrong"))).toEqual(wrong);
    expect(await answerTo(saying("", ""))).toEqual(wrong);
    expect(await answerTo(saying("__proto__", "test-password-right"))).toEqual(wrong);
    expect(await answerTo({ headers: { Authorization: "Bearer test-password-right" } })).toEqual(wrong);
    expect(await answerTo({})).toEqual(wrong);
    // Every path but those of a supervisor.
    for (const path of ["/", "/metrics", "/-/reload", "/nowhere", "/-/healthy/", "//-/healthy"]) {
      expect((await daemon.get(path)).status).toBe(401);
    }
    expect((await daemon.get("/-/healthy")).status).toBe(200);
  });
});
