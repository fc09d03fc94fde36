import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hashSync } from "bcryptjs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type SimulatedUpstream, startSimulatedUpstream } from "../../../src/simulator/upstream.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import { type Daemon, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { type Answer, ask } from "../../support/http-ask.ts";
import { type Attack, loadAttacks, type Target } from "../../../tools/attack/attack.ts";
import { Polled } from "../../../tools/attack/polled.ts";
import { Prober } from "../../../tools/attack/prober.ts";
import { parseExposition } from "../../support/metrics/exposition-parser.ts";
import { openAccounts } from "../../support/metrics/slot-accounts.ts";

const WATCHED = 20;
const PERIOD_MS = 1_000;
const SIEGE_MS = 2_500;
const GUESSING_MS = 3_000;
/** Of the polls that are due; on a machine that is busy with other things as well, some are late by themselves. */
const LEAST_PUNCTUAL = 0.5;

const NAMES = Array.from({ length: WATCHED }, (_, index) => `api-${index}`);
const ATTACKS = await loadAttacks();

let upstream: SimulatedUpstream;

beforeAll(async () => {
  upstream = await startSimulatedUpstream({ name: "api", keepSeen: 1_000 });
});

afterAll(() => upstream[Symbol.asyncDispose]());

function configOf(changes: Partial<RawConfig> = {}): RawConfig {
  return {
    budgets: { api: { rate: { requests: 1_000_000, per: "1m" } } },
    upstreams: NAMES.map((name) => rawUpstream(name, upstream.url)),
    ...changes,
  };
}

describe("under siege polls go on in time, and whoever means well is served:", () => {
  /** In a process of its own: the attack keeps this one busy. */
  let polled: Polled;
  /** One for all attacks that need no config of their own. */
  let shared: Besieged;

  beforeAll(async () => {
    polled = await Polled.start();
    shared = await besieged(polled);
  });

  afterAll(async () => {
    await shared[Symbol.asyncDispose]();
    await polled[Symbol.asyncDispose]();
  });

  it.each(ATTACKS)("$name", async ({ run, config, user }) => {
    await using own = config && (await besieged(polled, config));
    const { daemon, target } = own ?? shared;
    const scrape = (): Promise<Answer> => ask(`${daemon.url}/metrics`, "GET", user);
    // A scraper whose password is known.
    if (user !== undefined) await scrape();
    await using prober = new Prober(`${target.probesUrl}/-/healthy`);
    const before = await polled.tell();
    const startedAtMs = performance.now();
    const attacked = run(target, AbortSignal.timeout(SIEGE_MS));
    await sleep(SIEGE_MS / 5);
    // Only what is asked while the attack goes on counts.
    await prober.tell();
    await sleep((SIEGE_MS * 3) / 5);
    const { answered, failed } = await prober.tell();
    // In a flood of that very address, one that is still silent makes room for others.
    expect(answered).toBeGreaterThan(failed);
    expect((await readdir(`/proc/${daemon.pid}/fd`)).length).toBeLessThan(400);
    await attacked;
    const polls = (await polled.tell()).requests - before.requests;
    const due = (WATCHED * (performance.now() - startedAtMs)) / PERIOD_MS;
    expect(polls / due).toBeGreaterThan(LEAST_PUNCTUAL);
    // What was asked before is answered first.
    const accounts = await eventually(
      "it is scraped",
      async () => {
        const answer = await scrape().catch(reset);
        return answer?.status === 200 && openAccounts(parseExposition(answer.body));
      },
      (open) => open !== false,
    );
    expect(accounts).toEqual([]);
  });
});

/** While the last of a crowd still come in, one whose request was not read yet may have to make room: it comes again. */
function reset(thrown: unknown): undefined {
  if ((thrown as NodeJS.ErrnoException).code !== "ECONNRESET") throw thrown;
}

type Besieged = AsyncDisposable & { readonly daemon: Daemon; readonly target: Target };

async function besieged(polled: Polled, config?: Attack["config"]): Promise<Besieged> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await openConfigFolder(""));
  const upstreams = NAMES.map((name) => rawUpstream(name, polled.url));
  const changes = (await config?.(folder.folder)) ?? { web: { probe_listen: "127.0.0.1:0" } };
  await folder.write(configOf({ ...changes, upstreams }));
  const daemon = stack.use(await startDaemon({ configPath: folder.path }));
  const probesUrl = String(daemon.logs.find(({ msg }) => msg === "listening")?.["probesUrl"]);
  const target = { url: daemon.url, probesUrl, upstreams: NAMES, folder: folder.folder };
  const owned = stack.move();
  return { daemon, target, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

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
