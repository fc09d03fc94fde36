import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { answer } from "../../support/raw-upstream.ts";
import { replies, type Behaviour } from "../../support/behaviours/behaviour.ts";
import { BEHAVIOURS } from "../../support/behaviours/catalogue.ts";
import { configured, isConfigurable } from "../../support/behaviours/configured.ts";
import { PAYLOAD_MARK } from "../../support/behaviours/markup.ts";
import { serving, type Stage } from "../../support/behaviours/stage.ts";
import { openConfigFolder, rawUpstream, type RawConfig } from "../../support/config-folder.ts";
import { startDaemon, type Daemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { sampleValue, sumOfSamples, type Families } from "../../support/metrics/exposition-parser.ts";
import { accountOf, accountsOf, openAccounts } from "../../support/metrics/slot-accounts.ts";

type Watched = { readonly name: string; readonly behaviour: Behaviour; readonly stage: Stage };

/** No script of anybody's, and no picture but those that are drawn. */
const HARMLESS = /^(?!.*<(?:script|img)).*<main>/su;

/** What a reload adds waits for a whole window first: so a short one. */
const RATE = { rate: { requests: 20, per: "1s" }, share: "50%" };

async function openAll(stack: AsyncDisposableStack): Promise<readonly Watched[]> {
  const opened: Watched[] = [];
  for (const behaviour of BEHAVIOURS.filter(isConfigurable)) {
    const stage = await behaviour.open();
    stack.defer(() => stage.close());
    opened.push({ name: `b${opened.length}`, behaviour, stage });
  }
  return opened;
}

function configOf(neighbour: Stage, watched: readonly Watched[]): RawConfig {
  const misbehaving = watched.map(({ name, behaviour, stage }) => configured(name, behaviour, stage));
  return {
    web: { enable_lifecycle: true },
    budgets: Object.fromEntries(
      ["neighbour", ...watched.map(({ name }) => name)].map((name) => [name, RATE]),
    ),
    upstreams: [
      rawUpstream("neighbour", neighbour.url, { budget: "neighbour", every: "4s", timeout: "4s" }),
      // Some send megabytes each time: too much of it at once would be a fault of ours.
      ...misbehaving.map((upstream) => ({ ...upstream, every: "5s" })),
    ],
  };
}

/** What the metrics say that its polls met, each once. */
function meetingsIn(families: Families, upstream: string): readonly string[] {
  const ok = sumOfSamples(families, "pacewatch_polls_total", { upstream, outcome: "ok" });
  const others = families.get("pacewatch_poll_reasons_total")?.samples ?? [];
  const met = others
    .filter(({ labels }) => labels["upstream"] === upstream)
    .map(({ labels }) => `${labels["outcome"]} ${labels["reason"]}`);
  return ok > 0 ? ["ok", ...met] : met;
}

function unpolledOf(families: Families, watched: readonly Watched[]): readonly string[] {
  const polls = new Map(accountsOf(families).map((account) => [account.upstream, account.polls]));
  return watched
    .filter(({ name, behaviour }) => {
      const enough = behaviour.meets.startsWith("throttled") ? 1 : 2;
      return (polls.get(name) ?? 0) < enough;
    })
    .map(({ behaviour }) => behaviour.does);
}

/** Without those about the process: of these, some come with time. */
function ownSeriesIn(families: Families): number {
  const own = [...families.values()].filter(({ name }) => name.startsWith("pacewatch_"));
  return own.reduce((sum, { samples }) => sum + samples.length, 0);
}

/** How many slots of the neighbour were skipped, by cause. */
function neighbourSkips(families: Families): ReadonlyMap<string, number> {
  const samples = families.get("pacewatch_polls_skipped_total")?.samples ?? [];
  const own = samples.filter(({ labels }) => labels["upstream"] === "neighbour");
  return new Map(own.map(({ labels, value }) => [labels["cause"] ?? "", value]));
}

function openFilesOf({ pid }: Daemon): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

it("the whole program tells every fault by its name, keeps each text harmless, and is afterwards as it was before", async () => {
  await using stack = new AsyncDisposableStack();
  const neighbour = await serving(replies(answer("{}")))();
  stack.defer(() => neighbour.close());
  const watched = await openAll(stack);
  const folder = stack.use(await openConfigFolder(configOf(neighbour, [])));
  const daemon = stack.use(await startDaemon({ configPath: folder.path }));
  const before = await eventually(
    "the neighbour is polled twice",
    () => daemon.metrics(),
    (scrape) => accountOf(scrape, "neighbour").polls >= 2,
  );
  const openFiles = openFilesOf(daemon);

  await folder.write(configOf(neighbour, watched));
  expect(await daemon.post("/-/reload")).toMatchObject({ status: 200 });
  await eventually(
    "each upstream is polled often enough",
    async () => unpolledOf(await daemon.metrics(), watched),
    (unpolled) => unpolled.length === 0,
  );
  const during = await daemon.metrics();
  const met = watched.map(({ name, behaviour }) => [behaviour.does, meetingsIn(during, name)]);
  expect(met).toEqual(watched.map(({ behaviour }) => [behaviour.does, [behaviour.meets]]));
  expect(openAccounts(during)).toEqual([]);
  expect((await daemon.get("/")).body).toMatch(HARMLESS);
  for (const { name } of watched.filter(({ behaviour }) => behaviour.says.includes(PAYLOAD_MARK))) {
    const { body } = await daemon.get(`/upstreams/${name}`);
    expect(body).toMatch(HARMLESS);
    expect(body).toContain(PAYLOAD_MARK);
  }

  await folder.write(configOf(neighbour, []));
  expect(await daemon.post("/-/reload")).toMatchObject({ status: 200 });
  await Promise.all(watched.map(({ stage }) => stage.idle()));
  // A small scrape ends the thread that writes large ones.
  const { after } = await eventually(
    "no more files are open than before",
    async () => ({ after: await daemon.metrics(), openFiles: openFilesOf(daemon) }),
    (seen) => seen.openFiles <= openFiles,
  );
  expect(ownSeriesIn(after)).toBe(ownSeriesIn(before));
  expect(accountsOf(after).map(({ upstream }) => upstream)).toEqual(["neighbour"]);
  const { polls } = accountOf(after, "neighbour");
  // At its start it may have waited for its budget.
  expect(neighbourSkips(after)).toEqual(neighbourSkips(before));
  expect(sumOfSamples(after, "pacewatch_polls_total", { upstream: "neighbour", outcome: "ok" })).toBe(polls);
  expect(sampleValue(after, "pacewatch_upstream_up", { upstream: "neighbour" })).toBe(1);

  expect(daemon.stderr).toBe("");
  const lines = daemon.stdout.trimEnd().split("\n");
  expect(lines.length).toBe(daemon.logs.length);
  expect(daemon.logs.filter(({ msg }) => msg.includes(PAYLOAD_MARK) || msg === "a bug in pacewatch")).toEqual(
    [],
  );
  // oxlint-disable-next-line no-control-regex
  expect(daemon.stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});
