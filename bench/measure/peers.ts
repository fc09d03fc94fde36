import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "../../test/support/http-ask.ts";
import { findProgram } from "../../tools/stack/find-program.ts";
import { PEERS, type Peer } from "../programs/peers.ts";
import { figureOf, ratioOf, type Figure } from "../report/figure.ts";
import type { Stage } from "../stage.ts";
import { AS_MOST_RUN_IT, startPacewatch, usedIn, WAYS, type Running, type Used, type Way } from "./floor.ts";

/** Gatus starts its endpoints 222 ms apart: 300 of them take more than a minute. */
const ALL_RUN_WITHIN_S = 120;
const LOOK_EVERY_S = 5;
const SETTLE_S = 15;

/** CPU next to programs that poll by themselves, as Pacewatch does, each alone, in turn. */
export async function measurePeers(stage: Stage): Promise<readonly Figure[]> {
  const { floorRounds } = stage.depth;
  if (floorRounds === 0) return [];
  const here = PEERS.map((peer) => ({ peer, path: findProgram(peer.program) }));
  const figures: Figure[] = [];
  for (const way of WAYS.filter(({ connection }) => connection === "fresh")) {
    const ours = here.some(({ path }) => path !== undefined)
      ? await usedOnceAllRun(stage, "Pacewatch", await startPacewatch(stage, AS_MOST_RUN_IT, way))
      : [];
    for (const { peer, path } of here) {
      const theirs =
        path === undefined
          ? []
          : await usedOnceAllRun(stage, peer.name, await startPeer(stage, peer, path, way));
      figures.push(...figuresOf(peer, way, ours, theirs));
    }
  }
  return figures;
}

function figuresOf(
  { program, name }: Peer,
  way: Way,
  ours: readonly Used[],
  theirs: readonly Used[],
): readonly Figure[] {
  const id = `${program}-${way.id}`;
  const says = `at ${AS_MOST_RUN_IT.perSecond} a second, ${way.says}`;
  const rss = figureOf(
    `rss-${id}`,
    `RSS of ${name} ${says}`,
    "MB",
    theirs.map(({ rssMb }) => rssMb),
  );
  const cpuSays = `CPU per poll ${says}, to ${name}`;
  if (theirs.length === 0) return [figureOf(`cpu-${id}`, cpuSays, "ratio", []), rss];
  const cpu = { ours: ours.map(({ us }) => us), theirs: theirs.map(({ us }) => us) };
  return [ratioOf(`cpu-${id}`, cpuSays, "µs", cpu), rss];
}

async function usedOnceAllRun(stage: Stage, name: string, running: Running): Promise<readonly Used[]> {
  await using measured = running;
  stage.progress(`next to other programs that poll: ${name}`);
  await allRun(stage, name, measured);
  await sleep(SETTLE_S * 1_000);
  const used: Used[] = [];
  for (let round = 0; round < stage.depth.floorRounds; round++) {
    used.push(await usedIn(AS_MOST_RUN_IT, measured));
  }
  return used;
}

async function allRun({ note }: Stage, name: string, { polls }: Running): Promise<void> {
  const untilMs = performance.now() + ALL_RUN_WITHIN_S * 1_000;
  while (performance.now() < untilMs) {
    const [before, fromMs] = [await polls(), performance.now()];
    await sleep(LOOK_EVERY_S * 1_000);
    const perSecond = ((await polls()) - before) / ((performance.now() - fromMs) / 1_000);
    if (perSecond >= AS_MOST_RUN_IT.perSecond * 0.95) return;
  }
  note(`${name}: not all of its upstreams were asked on time within ${ALL_RUN_WITHIN_S} s`);
}

async function startPeer(stage: Stage, other: Peer, path: string, way: Way): Promise<Running> {
  const { nginx, caFile, note } = stage;
  const { upstreams, every } = AS_MOST_RUN_IT;
  const url = way.scheme === "http" ? nginx.httpUrl : nginx.httpsUrl;
  const peer = await other.start(path, { url, upstreams, every, caFile });
  return {
    pid: peer.pid,
    polls: () => nginx.requests(),
    read: async () => {
      const { status } = await ask(`${peer.url}/metrics`);
      if (status !== 200) note(`the metrics of ${other.name} were answered with ${status}`);
    },
    [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
  };
}
