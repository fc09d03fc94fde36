import { setTimeout as sleep } from "node:timers/promises";
import { ask } from "../../test/support/http-ask.ts";
import { findProgram } from "../../tools/stack/find-program.ts";
import { Child } from "../programs/child.ts";
import type { FloorClient } from "../programs/floor.ts";
import type { LoadAnswer, LoadQuestion } from "../programs/load.ts";
import type { Scheme } from "../programs/nginx-config.ts";
import { PEERS, type Peer } from "../programs/peers.ts";
import { figureOf, ratioOf, type Figure } from "../report/figure.ts";
import type { Stage } from "../stage.ts";
import {
  AS_MOST_RUN_IT,
  startBare,
  startPacewatch,
  usedIn,
  WAYS,
  type Running,
  type Used,
  type Way,
} from "./floor.ts";

/** Gatus starts its endpoints 222 ms apart: 300 of them take more than a minute. */
const ALL_RUN_WITHIN_S = 120;
const LOOK_EVERY_S = 5;
/** So long each has run before it is measured: Node.js compiles what runs often, and Go did so before. */
const WARM_UP_S = 120;
const LONGER_THAN_ALL_S = 600;

/** It is not started where it is not installed. */
type Prober = {
  readonly id: string;
  readonly name: string;
  readonly start: ((way: Way) => Promise<Running>) | undefined;
};

/** CPU and RSS next to other programs that poll, each alone, in turn. */
export async function measurePeers(stage: Stage, scheme: Scheme): Promise<readonly Figure[]> {
  if (stage.depth.peerRounds === 0) return [];
  const others = [blackbox(stage), ...PEERS.map((peer) => selfScheduled(stage, peer)), ...floors(stage)];
  const figures: Figure[] = [];
  for (const way of WAYS.filter((each) => each.connection === "fresh" && each.scheme === scheme)) {
    const ours = await used(stage, way, pacewatch(stage));
    figures.push(rssOf(pacewatch(stage), way, ours));
    for (const other of others) {
      const theirs = await used(stage, way, other);
      figures.push(cpuOf(other, way, ours, theirs), rssOf(other, way, theirs));
    }
  }
  return figures;
}

function cpuOf({ id, name }: Prober, way: Way, ours: readonly Used[], theirs: readonly Used[]): Figure {
  const says = `CPU per poll at ${AS_MOST_RUN_IT.perSecond} a second, ${way.says}, to ${name}`;
  if (theirs.length === 0) return figureOf(`cpu-${id}-${way.id}`, says, "ratio", []);
  const cpu = { ours: ours.map(({ us }) => us), theirs: theirs.map(({ us }) => us) };
  return ratioOf(`cpu-${id}-${way.id}`, says, "µs", cpu);
}

function rssOf({ id, name }: Prober, way: Way, measured: readonly Used[]): Figure {
  const says = `RSS of ${name} at ${AS_MOST_RUN_IT.perSecond} a second, ${way.says}, alone`;
  return figureOf(
    `rss-${id}-${way.id}`,
    says,
    "MB",
    measured.map(({ rssMb }) => rssMb),
  );
}

async function used(stage: Stage, way: Way, { name, start }: Prober): Promise<readonly Used[]> {
  if (start === undefined) return [];
  stage.progress(`next to other programs that poll: ${name}, ${way.says}`);
  await using running = await start(way);
  await Promise.all([allRun(stage, name, running), sleep(WARM_UP_S * 1_000)]);
  const rounds: Used[] = [];
  while (rounds.length < stage.depth.peerRounds) rounds.push(await usedIn(AS_MOST_RUN_IT, running));
  return rounds;
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

function pacewatch(stage: Stage): Prober {
  const start = (way: Way): Promise<Running> => startPacewatch(stage, AS_MOST_RUN_IT, way);
  return { id: "pacewatch", name: "Pacewatch", start };
}

/** What no program on Node.js can do without, and none with undici. */
function floors(stage: Stage): readonly Prober[] {
  const start =
    (client: FloorClient) =>
    (way: Way): Promise<Running> =>
      startBare(stage, AS_MOST_RUN_IT, way, client);
  return [
    { id: "node", name: "bare Node.js", start: start("node") },
    { id: "undici", name: "undici's client alone", start: start("undici") },
  ];
}

/** It polls when it is asked to, here by a process that asks as often as the others poll. */
function blackbox(stage: Stage): Prober {
  const start = async (way: Way): Promise<Running> => {
    const load = new Child<LoadQuestion, LoadAnswer>("load-main.ts");
    const asked = load.ask({
      origin: stage.blackbox.url,
      path: stage.blackbox.probePath(stage.nginx.url(way.scheme)),
      firstNumber: 0,
      manner: { kind: "rate", perSecond: AS_MOST_RUN_IT.perSecond, seconds: LONGER_THAN_ALL_S },
    });
    return {
      pid: stage.blackbox.pid,
      polls: () => stage.nginx.requests(),
      // Each of its probes was read already.
      read: async () => undefined,
      [Symbol.asyncDispose]: async () => {
        await load[Symbol.asyncDispose]();
        // It was ended before all was asked, as it should be.
        await asked.catch(() => undefined);
      },
    };
  };
  return { id: "blackbox", name: "blackbox_exporter", start };
}

function selfScheduled(stage: Stage, other: Peer): Prober {
  const { program, name } = other;
  const path = findProgram(program);
  if (path === undefined) return { id: program, name, start: undefined };
  const start = async (way: Way): Promise<Running> => {
    const { upstreams, every } = AS_MOST_RUN_IT;
    const peer = await other.start(path, {
      url: (number) => stage.nginx.url(way.scheme, number),
      upstreams,
      every,
      caFile: stage.caFile,
    });
    return {
      pid: peer.pid,
      polls: () => stage.nginx.requests(),
      read: async () => {
        const { status } = await ask(`${peer.url}/metrics`);
        if (status !== 200) stage.note(`the metrics of ${name} were answered with ${status}`);
      },
      [Symbol.asyncDispose]: () => peer[Symbol.asyncDispose](),
    };
  };
  return { id: program, name, start };
}
