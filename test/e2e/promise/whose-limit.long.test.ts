/**
 * A router counts a completion against the limit of its model and that of the account, and seldom says for which of them it
 * refuses. Both truths are tried at once, each beside a twin to which all budgets are one: there a refusal silences all.
 * What is judged is what the router counted.
 */

import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { xRatelimit } from "../../../src/simulator/dialects.ts";
import { type Algorithm, type Limit, slidingLog } from "../../../src/simulator/meters.ts";
import {
  type SeenRequest,
  type SimulatedUpstream,
  startSimulatedUpstream,
} from "../../../src/simulator/upstream.ts";
import { type ConfigFolder, openConfigFolder, type RawUpstream } from "../../support/config-folder.ts";
import { eventually } from "../../support/eventually.ts";
import { type Families, sumOfSamples } from "../../support/metrics/exposition-parser.ts";
import { silent } from "../../support/silent.ts";
import { type Daemon, launch, type LogLine, startDaemon } from "../../support/processes/daemon.ts";

const WINDOW_MS = 5_000;
const WATCHED_MS = 30_000;
const PERIOD_MS = 6_000;
const ANSWERED_IN_MS = 100;
/** What came so soon after a refused request was sent before its answer was there. Slots are a second apart. */
const IN_FLIGHT_MS = 500;

/** As the plan says, and as production leaves of it. */
const MODEL: Limit = { requests: 60, perMs: WINDOW_MS };
const ACCOUNT: Limit = { requests: 600, perMs: WINDOW_MS };
const LEFT = new Map([
  [MODEL.requests, 1],
  [ACCOUNT.requests, 3],
]);
const besideProduction: Algorithm = (limit, windowStartMs) =>
  slidingLog({ ...limit, requests: LEFT.get(limit.requests) ?? limit.requests }, windowStartMs);

const MODELS = ["gpt", "claude", "llama", "mistral", "qwen"];
/** Each is asked at this second of its period. */
const COMPLETIONS = [
  { name: "gpt-short", model: "gpt", second: 0 },
  { name: "claude", model: "claude", second: 1 },
  { name: "llama", model: "llama", second: 2 },
  { name: "mistral", model: "mistral", second: 2 },
  { name: "gpt-long", model: "gpt", second: 3 },
  { name: "qwen", model: "qwen", second: 4 },
];
const LIST_SECOND = 5;

type Truth = { readonly of: "model" | "account"; readonly says: "nothing" | "its limit" | "another limit" };

const TRUTHS: readonly Truth[] = [
  { of: "model", says: "nothing" },
  { of: "model", says: "its limit" },
  { of: "model", says: "another limit" },
  { of: "account", says: "nothing" },
  { of: "account", says: "its limit" },
];

function wordFor({ of, says }: Truth): string {
  return `${of}-says-${says.replaceAll(" ", "-")}`;
}

async function routerOf({ of, says }: Truth): Promise<SimulatedUpstream> {
  const dialect = says === "nothing" ? silent : xRatelimit;
  // A limit that the config does not know: production uses none of it.
  const modelLimit = says === "another limit" ? { requests: 1, perMs: WINDOW_MS } : MODEL;
  return startSimulatedUpstream({
    name: "router",
    dialect,
    algorithm: besideProduction,
    latency: { minMs: ANSWERED_IN_MS, maxMs: ANSWERED_IN_MS },
    limits: of === "account" ? [ACCOUNT] : [],
    models: MODELS.map((id) => ({ id, ...(of === "model" && id === "gpt" && { limits: [modelLimit] }) })),
  });
}

/** `isOne`: all draw on both budgets, so each is as specific as the other. */
function upstreamsOf(prefix: string, url: string, isOne: boolean): readonly RawUpstream[] {
  const account = `${prefix}-account`;
  const common = (name: string, second: number, model?: string): RawUpstream => {
    const own = model === undefined ? account : [`${prefix}-${model}`, account];
    return {
      name: `${prefix}-${name}`,
      base_url: url,
      auth: { none: true },
      budget: isOne ? [account, `${prefix}-gpt`] : own,
      cron: `${second}-59/${PERIOD_MS / 1_000} * * * * *`,
      confirm: 0,
      // A start waits for a window and as long.
      timeout: "2s",
    };
  };
  return [
    { ...common("list", LIST_SECOND), path: "/v1/resources?by=list" },
    ...COMPLETIONS.map(({ name, model, second }) => ({
      ...common(name, second, model),
      path: `/v1/chat/completions?by=${name}`,
      method: "POST",
      body: { json: { model, max_tokens: 1, messages: [{ role: "user", content: "Say ok." }] } },
    })),
  ];
}

function budgetsOf(prefix: string, isOne: boolean): Readonly<Record<string, object>> {
  const budget = ({ requests, perMs }: Limit): object => ({
    rate: { requests, per: `${perMs}ms` },
    share: "50%",
    // So that what refusals teach of the account's limit is soon forgotten, and it is refused again.
    max_pause: "6s",
  });
  const models = isOne ? ["gpt"] : MODELS;
  return {
    [`${prefix}-account`]: budget(ACCOUNT),
    ...Object.fromEntries(models.map((model) => [`${prefix}-${model}`, budget(MODEL)])),
  };
}

/** What the two routers of one truth have counted. */
type Counted = { readonly now: readonly SeenRequest[]; readonly asOne: readonly SeenRequest[] };

const FEWEST = "the fewest upstreams draw on it";
const ITS_NUMBER = "the answer tells its limit";
const OTHERS = "upstreams of other budgets were refused within the same window";

const world = new AsyncDisposableStack();
const routers = new Map<Truth, { readonly now: SimulatedUpstream; readonly asOne: SimulatedUpstream }>();
const counted = new Map<string, Counted>();
/** `BUDGET: why it was paused`, of all that the API and the page have said. */
const reasons = { api: new Set<string>(), page: new Set<string>() };
let folder: ConfigFolder;
let daemon: Daemon;
let metrics: Families;

async function readReasons(): Promise<void> {
  const { body } = await daemon.get("/api/v1/upstreams");
  const { budgets }: { readonly budgets: readonly { name: string; pausedBecause?: string }[] } =
    JSON.parse(body);
  for (const { name, pausedBecause } of budgets) reasons.api.add(`${name}: ${pausedBecause ?? ""}`);
  const page = await daemon.get("/");
  for (const card of page.body.split('<li class="budget').slice(1)) {
    const name = /<h3>(.*?)<\/h3>/.exec(card)?.[1] ?? "";
    const because = /Why this budget: (.*?)\.</.exec(card)?.[1] ?? "";
    reasons.page.add(`${name}: ${because}`);
  }
}

beforeAll(async () => {
  for (const truth of TRUTHS) {
    const [now, asOne] = [world.use(await routerOf(truth)), world.use(await routerOf(truth))];
    routers.set(truth, { now, asOne });
  }
  const parts = [...routers].flatMap(([truth, { now, asOne }]) => [
    { prefix: wordFor(truth), url: now.url, isOne: false },
    { prefix: `${wordFor(truth)}-as-one`, url: asOne.url, isOne: true },
  ]);
  folder = world.use(
    await openConfigFolder({
      web: { listen: "127.0.0.1:0" },
      budgets: Object.assign({}, ...parts.map(({ prefix, isOne }) => budgetsOf(prefix, isOne))),
      upstreams: parts.flatMap(({ prefix, url, isOne }) => upstreamsOf(prefix, url, isOne)),
    }),
  );
  daemon = world.use(await startDaemon({ configPath: folder.path }));
  const all = [...routers.values()].flatMap(({ now, asOne }) => [now, asOne]);
  const firstMs = await eventually(
    "each router is asked",
    () => all.map(({ seen: [first] }) => first?.atMs ?? Infinity),
    (atMs) => atMs.every(Number.isFinite),
  );
  while (all.some(({ elapsedMs }, index) => elapsedMs - (firstMs[index] ?? 0) < WATCHED_MS)) {
    await readReasons();
    await sleep(200);
  }
  metrics = await daemon.metrics();
  for (const [truth, { now, asOne }] of routers)
    counted.set(wordFor(truth), { now: [...now.seen], asOne: [...asOne.seen] });
});

afterAll(() => world.disposeAsync());

function countedIn(truth: Truth): Counted {
  const found = counted.get(wordFor(truth));
  if (found === undefined) throw new Error(`nothing was counted of ${wordFor(truth)}`);
  return found;
}

const refusedOf = (seen: readonly SeenRequest[]): readonly SeenRequest[] =>
  seen.filter(({ isRefused }) => isRefused === true);

const isOfGpt = ({ target }: SeenRequest): boolean => target.includes("by=gpt");

const within = (seen: readonly SeenRequest[], fromMs: number, untilMs: number): readonly SeenRequest[] =>
  seen.filter(({ atMs }) => atMs > fromMs && atMs < untilMs);

/** Refusals without a pause of everybody between them. */
function episodesOf(seen: readonly SeenRequest[]): readonly (readonly SeenRequest[])[] {
  const episodes: SeenRequest[][] = [];
  for (const refused of refusedOf(seen)) {
    const last = episodes.at(-1);
    const isNew = refused.atMs - (last?.at(-1)?.atMs ?? -Infinity) > WINDOW_MS - IN_FLIGHT_MS;
    if (isNew || last === undefined) episodes.push([refused]);
    else last.push(refused);
  }
  return episodes;
}

/** At most so many others were on their way when one of these was refused. */
function inFlightAt(refusals: readonly SeenRequest[], seen: readonly SeenRequest[]): number {
  return Math.max(...refusals.map(({ atMs }) => within(seen, atMs, atMs + IN_FLIGHT_MS).length));
}

test.each(TRUTHS)(
  "it is refused at most as often as where all budgets are one, and by what was in flight, and once: a limit of the $of, which says $says",
  (truth) => {
    const { now, asOne } = countedIn(truth);
    const before = episodesOf(asOne);
    const most = Math.max(0, ...before.map(({ length }) => length));
    const episodes = episodesOf(now);
    for (const refusals of episodes)
      expect(refusals.length).toBeLessThanOrEqual(most + inFlightAt(refusals, now) + 1);
    const more = episodes.reduce((sum, refusals) => sum + inFlightAt(refusals, now) + 1, 0);
    expect(refusedOf(now).length).toBeLessThanOrEqual(refusedOf(asOne).length + more);
  },
);

const OF_MODEL = TRUTHS.filter(({ of }) => of === "model");

test.each(OF_MODEL)("where a model's limit is used up, nobody else misses a poll: it says $says", (truth) => {
  const { now, asOne } = countedIn(truth);
  const askedOthers = (seen: readonly SeenRequest[]): number => seen.filter((each) => !isOfGpt(each)).length;
  const others = [...COMPLETIONS.map(({ name }) => name), "list"].filter((name) => !name.startsWith("gpt"));
  // A busy machine may skip some as late.
  const skippedForALimit = (prefix: string, name: string): number =>
    ["backoff", "yield", "budget"].reduce((sum, cause) => {
      const labels = { upstream: `${prefix}-${name}`, cause };
      return sum + sumOfSamples(metrics, "pacewatch_polls_skipped_total", labels);
    }, 0);
  const prefix = wordFor(truth);
  expect(others.filter((name) => skippedForALimit(prefix, name) > 0)).toEqual([]);
  expect(others.filter((name) => skippedForALimit(`${prefix}-as-one`, name) > 0)).not.toEqual([]);
  expect(askedOthers(now)).toBeGreaterThan(askedOthers(asOne));
});

test("while a model's refusal pauses it, all others of its account are asked", () => {
  const { now, asOne } = countedIn({ of: "model", says: "nothing" });
  const othersInPauses = (seen: readonly SeenRequest[]): readonly number[] => {
    const endMs = seen.at(-1)?.atMs ?? 0;
    const paused = refusedOf(seen).filter(({ atMs }) => atMs + WINDOW_MS < endMs);
    return paused.map(({ atMs }) => within(seen, atMs + IN_FLIGHT_MS, atMs + WINDOW_MS).length);
  };
  const [asked, silent] = [othersInPauses(now), othersInPauses(asOne)];
  expect(asked.length).toBeGreaterThanOrEqual(2);
  for (const many of asked) expect(many).toBeGreaterThan(0);
  expect(new Set(silent)).toEqual(new Set([0]));
});

test("where the account refuses without a word, nothing is sent for a window from the second refusal on", () => {
  const { now } = countedIn({ of: "account", says: "nothing" });
  const endMs = now.at(-1)?.atMs ?? 0;
  const seconds = episodesOf(now).flatMap(([, second]) => (second === undefined ? [] : [second.atMs]));
  expect(seconds).not.toEqual([]);
  for (const atMs of seconds) expect(within(now, atMs + IN_FLIGHT_MS, atMs + WINDOW_MS)).toEqual([]);
  expect(Math.min(...seconds) + WINDOW_MS).toBeLessThan(endMs);
});

/** The router refuses a completion of gpt to somebody else, as `curl -i` prints it. */
async function refusalOf(router: SimulatedUpstream): Promise<string> {
  for (;;) {
    const asking = request(`${router.url}/v1/chat/completions`, { method: "POST", agent: false });
    asking.end(JSON.stringify({ model: "gpt", max_tokens: 1 }));
    const [answer]: IncomingMessage[] = await once(asking, "response");
    const body = Buffer.concat(await Array.fromAsync(answer ?? [])).toString();
    if (answer?.statusCode !== 429) continue;
    const lines = Object.entries(answer.headers).map(([name, value]) => `${name}: ${String(value)}`);
    return ["HTTP/1.1 429 Too Many Requests", ...lines, "", body].join("\r\n");
  }
}

test.each([
  { of: "model", says: "nothing", explained: ["gpt", FEWEST], paused: ["gpt", FEWEST] },
  { of: "model", says: "its limit", explained: ["gpt", ITS_NUMBER], paused: ["gpt", ITS_NUMBER] },
  { of: "account", says: "nothing", explained: ["gpt", FEWEST], paused: ["account", OTHERS] },
  { of: "account", says: "its limit", explained: ["account", ITS_NUMBER], paused: ["account", ITS_NUMBER] },
] as const)(
  "explain, the log, the API and the page say whose limit it was taken for, and why: that of the $of, which says $says",
  async ({ of, says, explained, paused: [held, why] }) => {
    const prefix = wordFor({ of, says });
    const router = [...routers].find(([truth]) => wordFor(truth) === prefix)?.[1].now;
    if (router === undefined) throw new Error(`there must be a router that is ${prefix}`);
    const file = join(folder.folder, `${prefix}.txt`);
    await writeFile(file, await refusalOf(router));
    const upstream = ["--config", folder.path, "--upstream", `${prefix}-gpt-short`];
    await using explain = launch(["explain", ...upstream, file]);
    expect(await explain.exited).toMatchObject({ code: 0 });
    const [budget, because] = explained;
    expect(explain.stdout).toMatch(`whose      the limit of budget ${prefix}-${budget}: ${because}\n`);

    const isTold = (line: LogLine): boolean =>
      String(line["budget"]).split(", ").includes(`${prefix}-${held}`) &&
      String(line["because"]).split("; ").includes(why);
    await eventually("the log says so", () => daemon.logs.some(isTold));
    const paused = `${prefix}-${held}: ${why}`;
    await eventually("the API and the page say so", async () => {
      await readReasons();
      return reasons.api.has(paused) && reasons.page.has(paused);
    });
  },
);
