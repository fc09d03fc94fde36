import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openConfigFolder } from "../../test/support/config-folder.ts";
import { lostSlots, total, unheard, type Accounts } from "./accounts.ts";
import { restingConfig, soakConfig } from "./config.ts";
import { SoakedProcess } from "./process.ts";
import { reload } from "./reloads.ts";
import { UpstreamsProcess } from "./upstreams.ts";
import { visit } from "./visitors.ts";
import { countsIn, cpuShare, meanDelayMs, scrape, watchUntil, type Sight } from "./watch.ts";

export type SoakOptions = {
  readonly upstreams: number;
  readonly minutes: number;
  /** First looks and warm code come before what is measured. */
  readonly settlesMs: number;
  readonly sightEveryMs: number;
  readonly visitEveryMs: number;
  readonly reloadEveryMs: number;
  readonly onSight?: (sight: Sight) => void;
};

export type Soaked = {
  readonly minutes: number;
  readonly sights: readonly Sight[];
  readonly lost: readonly string[];
  readonly unheard: readonly string[];
  /** All of it at the end, when nobody is polled any more: by the program's word, and by the upstreams'. */
  readonly polls: number;
  readonly sent: number;
  readonly requests: number;
  readonly counts: ReadonlyMap<string, number>;
  readonly meanDelayMs: number;
  /** Of one core. */
  readonly cpuShare: number;
  readonly reloads: number;
  readonly visits: number;
  readonly refused: readonly string[];
  readonly logLines: number;
  readonly exitCode: number | null;
  /** What it wrote to standard error. */
  readonly errors: string;
};

const SIGHTS_COMPARED = 5;
const GOLDEN_RATIO = 0.618;

export async function soak(options: SoakOptions): Promise<Soaked> {
  await using stack = new AsyncDisposableStack();
  const upstreams = stack.use(new UpstreamsProcess());
  const state = await mkdtemp(join(tmpdir(), "pacewatch-soak-"));
  stack.defer(() => rm(state, { recursive: true, force: true }));
  const statePath = join(state, "state.db");
  const plan = { upstreams: options.upstreams, address: await upstreams.address, statePath };
  const folder = stack.use(await openConfigFolder(soakConfig(plan, 0)));
  const soaked = stack.use(await SoakedProcess.start(folder.path));
  const url = await soaked.url;
  await sleep(options.settlesMs);

  const ending = new AbortController();
  stack.defer(() => ending.abort());
  const visiting = visit(url, options.visitEveryMs, ending.signal);
  const reloading = reload(folder, plan, options.reloadEveryMs, ending.signal);
  const watching = watchAll(soaked, options).finally(() => ending.abort());
  const [sights, visits, reloads] = await Promise.all([watching, visiting, reloading]);

  const { families } = await scrape(url);
  await folder.write(restingConfig(plan));
  const rest = await countsAtRest(url, upstreams);
  await soaked.end();
  return {
    minutes: options.minutes,
    sights,
    lost: lostSlots(accountsOf(sights.slice(0, SIGHTS_COMPARED)), accountsOf(sights.slice(-SIGHTS_COMPARED))),
    unheard: unheard(rest.accounts, rest.heard),
    polls: total(rest.accounts, "polls"),
    sent: total(rest.accounts, "sent"),
    requests: requestsIn(rest),
    counts: countsIn(families),
    meanDelayMs: meanDelayMs(families),
    cpuShare: cpuShare(families),
    reloads,
    visits: visits.answered,
    refused: visits.refused,
    logLines: soaked.logLines,
    exitCode: soaked.exitCode,
    errors: soaked.errors,
  };
}

async function watchAll(soaked: SoakedProcess, options: SoakOptions): Promise<readonly Sight[]> {
  const { minutes, sightEveryMs, onSight } = options;
  const sights: Sight[] = [];
  const startedMs = performance.now();
  const endsMs = startedMs + minutes * 60_000;
  for (let atMs = startedMs + sightEveryMs; atMs <= endsMs; atMs += sightEveryMs) {
    // Each at another moment of the second: the same upstreams have their slot then.
    const sight = await watchUntil(soaked, atMs + 1_000 * ((sights.length * GOLDEN_RATIO) % 1));
    sights.push(sight);
    onSight?.(sight);
  }
  return sights;
}

function accountsOf(sights: readonly Sight[]): readonly Accounts[] {
  return sights.map(({ accounts }) => accounts);
}

type Rest = { readonly accounts: Accounts; readonly heard: ReadonlyMap<string, number> };

/** Both sides' counts of one moment: neither has counted anything between two looks at both. */
async function countsAtRest(url: string, upstreams: UpstreamsProcess): Promise<Rest> {
  let before = await countsOf(url, upstreams);
  for (;;) {
    await sleep(1_000);
    const now = await countsOf(url, upstreams);
    const isResting = total(now.accounts, "inFlight") + total(now.accounts, "waiting") === 0;
    const slots = total(now.accounts, "slots");
    if (isResting && slots === total(before.accounts, "slots") && requestsIn(now) === requestsIn(before))
      return now;
    before = now;
  }
}

async function countsOf(url: string, upstreams: UpstreamsProcess): Promise<Rest> {
  const { accounts } = await scrape(url);
  return { accounts, heard: await upstreams.heard() };
}

/** Guests that have left are in nobody's accounts any more. */
function requestsIn({ accounts, heard }: Rest): number {
  return [...accounts.keys()].reduce((sum, upstream) => sum + (heard.get(upstream) ?? 0), 0);
}
