/**
 * A fleet at full length, which no test has the time for: real processes, a real Redis, and an upstream in a process of
 * its own that remembers every request. It prints what was seen, and ends with 1 where a promise was broken.
 * `npm run fleet-trial`, or with words of some accidents, as in `npm run fleet-trial -- killed frozen`.
 * All of it takes 20 minutes. Where the bound of silence is broken, and its processes had to wait for a CPU for as
 * long as that, it says so, and blames the machine.
 */

import type { Fleet } from "../test/support/fleet/fleet.ts";
import { monotonicMs } from "../test/support/fleet/monotonic.ts";
import { openScene } from "../test/support/fleet/scene.ts";
import { judgeFleet } from "../test/support/fleet/verdict.ts";
import { REDIS_SERVER } from "../test/support/processes/redis-server.ts";
import {
  type Accident,
  ACCIDENTS,
  FAILOVERS,
  GENTLE,
  JUDGED,
  PERIOD_MS,
  SCENE,
  SLACK_MS,
} from "./fleet-trial/accidents.ts";
import { CpuWait } from "./fleet-trial/cpu-wait.ts";
import { killedAgainAndAgain } from "./fleet-trial/kills.ts";

process.exitCode = await fleetTrial(process.argv.slice(2));

async function fleetTrial(words: readonly string[]): Promise<number> {
  if (REDIS_SERVER === undefined) return 1;
  const isWanted = (name: string): boolean =>
    words.length === 0 || words.some((each) => name.startsWith(each));
  const faults = [
    ...(await happenAll(
      ACCIDENTS.filter(({ name }) => isWanted(name)),
      false,
    )),
    ...(await happenAll(
      FAILOVERS.filter(({ name }) => isWanted(name)),
      true,
    )),
    ...(isWanted("kills") ? await kills() : []),
  ];
  for (const fault of faults) say(`VIOLATION: ${fault}`);
  return faults.length === 0 ? 0 : 1;
}

async function kills(): Promise<readonly string[]> {
  say("kills: a leader is killed 200 times, with a quota and a spend");
  const { said, faults } = await killedAgainAndAgain(say);
  for (const line of said) say(line);
  return faults;
}

async function happenAll(accidents: readonly Accident[], hasSentinel: boolean): Promise<readonly string[]> {
  if (accidents.length === 0) return [];
  await using fleet = await openScene(SCENE, hasSentinel ? { hasSentinel } : {});
  await fleet.led();
  await fleet.allPolled();
  const late: string[] = [];
  for (const { name, what, happen, mostMs, silencesAll } of accidents) {
    const fromMs = monotonicMs();
    const fromWallMs = Date.now();
    const wait = new CpuWait(pidsOf(fleet));
    say(`${name}: ${what}`);
    const fault = await happen(fleet, await fleet.led());
    if (typeof fault === "string") late.push(`${name}: ${fault}`);
    const overMs = monotonicMs();
    await fleet.led();
    await fleet.allPolled();
    const seen = (await fleet.seen()).filter(({ atMs }) => atMs > fromMs - PERIOD_MS);
    const [gentle = 0, other = 0] = [GENTLE, "router"].map((budget) =>
      longestSilenceMs(seen.filter((request) => request.budget === budget)),
    );
    const waitedMs = wait.ms(pidsOf(fleet));
    say(
      `  over after ${inSeconds(overMs - fromMs)}; longest silence of an upstream ${inSeconds(gentle)}, where the next leader waits longer ${inSeconds(other)}; all waited ${inSeconds(waitedMs)} for a CPU`,
    );
    for (const line of changesOf(fleet, fromWallMs)) say(`  ${line}`);
    const allowedMs = mostMs + SLACK_MS + (silencesAll ? overMs - fromMs : 0);
    const told = `${name}: silent for ${inSeconds(gentle)}, of ${inSeconds(allowedMs)}`;
    if (gentle > allowedMs + waitedMs) late.push(told);
    else if (gentle > allowedMs)
      say(`  TOO BUSY A MACHINE: ${told}, and ${inSeconds(waitedMs)} without a CPU`);
  }
  const { summary, faults } = await judgeFleet(fleet, JUDGED);
  say(summary);
  return [...faults, ...late];
}

function pidsOf(fleet: Fleet): readonly number[] {
  return [process.pid, ...fleet.current.map(({ daemon }) => daemon.pid)];
}

/** Who began to lead, and who lost it, by their logs. */
function changesOf(fleet: Fleet, fromWallMs: number): readonly string[] {
  return fleet.lives
    .flatMap(({ life, daemon }) => daemon.logs.map(({ time, msg }) => ({ life, time: String(time), msg })))
    .filter(({ time, msg }) => Date.parse(time) >= fromWallMs && /^(?:not )?leading\b/.test(msg))
    .toSorted((one, other) => one.time.localeCompare(other.time))
    .map(({ life, time, msg }) => `${time.slice(11, 23)} ${life} ${msg.split(":", 1).join()}`);
}

function longestSilenceMs(seen: readonly { readonly upstream: string; readonly atMs: number }[]): number {
  const byUpstream = Map.groupBy(seen, ({ upstream }) => upstream);
  return Math.max(
    0,
    ...[...byUpstream.values()].flatMap((some) =>
      some.map(({ atMs }, index) => atMs - (some[index - 1]?.atMs ?? atMs)),
    ),
  );
}

/** One line of a story, with the seconds since it began. */
function say(text: string): void {
  console.log(`${(performance.now() / 1_000).toFixed(1).padStart(7)} s  ${text}`);
}

function inSeconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
