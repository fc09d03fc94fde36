import { MINUTE_MS, HOUR_MS } from "../../../src/kernel/time/duration.ts";
import { FLAP_WINDOW_MS } from "../../../src/features/notify/plan/plan.ts";
import { type FallenState, type Heard, sampleReceiver, TAKEN, NotifyWorld } from "./world.ts";

/** A small generator: the same seed is the same life. */
function randomBy(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Mostly it is down. */
const STATES: readonly FallenState[] = ["down", "down", "down", "down", "unauthorized", "throttled"];

type Excuse = { readonly receiver: string; readonly incident: string; readonly event: string };

export type LifeVerdict = {
  readonly faults: readonly string[];
  readonly incidents: number;
  readonly kills: number;
};

/**
 * Some hours of upstreams that fall and rise, of kills, stops, reloads, and receivers that fail or whose answers are
 * lost. Judged by what the receivers have heard: each incident at least once, and no event of it twice but where the
 * answer to the first was lost, or the sender was killed before it had it. What was told under an id ends
 * under it, but where an answer was lost.
 */
export async function liveOnce(seed: number): Promise<LifeVerdict> {
  const random = randomBy(seed);
  const receivers = [
    sampleReceiver({ name: "a" }),
    sampleReceiver({ name: "b", groupWaitMs: 1_000 }),
    sampleReceiver({ name: "pager", kind: "pagerduty" }),
  ];
  const names = Array.from({ length: 2 + Math.floor(random() * 8) }, (_, index) => `api-${index}`);
  const world = new NotifyWorld(receivers, names);
  world.random = random;
  const excuses: Excuse[] = [];
  const onTheWay = new Set<Excuse>();
  const deaf = new Map<string, number>();
  let isCalm = false;
  world.take = (receiver, { event, members }) => {
    const mine = members.map(({ incident }) => ({ receiver, incident, event }));
    const afterMs = Math.floor(random() * 3_000);
    const isDeaf = !isCalm && (deaf.get(receiver) ?? 0) > world.clock.now();
    const failed = { kind: "failed", detail: "", waitMs: random() < 0.2 ? 30_000 : undefined } as const;
    if (isDeaf) return { hears: false, answers: failed, afterMs };
    if (!isCalm && random() < 0.1) {
      excuses.push(...mine);
      return { hears: true, answers: failed, afterMs };
    }
    for (const each of mine) onTheWay.add(each);
    world.clock.after(afterMs, () => mine.forEach((each) => onTheWay.delete(each)));
    return { ...TAKEN, afterMs };
  };
  const fallen: { readonly id: string; readonly name: string; readonly atMs: number }[] = [];
  let kills = 0;
  let isAlive = true;
  world.start();
  await world.clock.advance(MINUTE_MS);
  for (let step = 0; step < 60; step += 1) {
    const chance = random();
    const name = names[Math.floor(random() * names.length)] ?? "";
    const isUp = world.upstreams.get(name)?.state === "up";
    if (chance < 0.6) {
      // While nobody watches, nothing is confirmed.
      if (isAlive && isUp) {
        const state = STATES[Math.floor(random() * STATES.length)] ?? "down";
        const id = world.fall(name, state);
        // That it throttles us for less than five minutes is told to nobody.
        if (state !== "throttled") fallen.push({ id, name, atMs: world.nowMs });
      } else if (isAlive) world.rise(name);
    } else if (chance < 0.7)
      deaf.set(receivers[Math.floor(random() * 3)]?.name ?? "", world.clock.now() + random() * HOUR_MS);
    else if (chance < 0.8 && isAlive) {
      kills += 1;
      excuses.push(...onTheWay);
      onTheWay.clear();
      world.kill();
      isAlive = false;
    } else if (chance < 0.85 && isAlive) {
      await world.stop();
      isAlive = false;
    } else if (chance < 0.9) world.reload(receivers.toReversed());
    else if (!isAlive) {
      world.start();
      isAlive = true;
    }
    await world.clock.advance(Math.floor(random() * (random() < 0.5 ? 10_000 : 10 * MINUTE_MS)));
  }
  isCalm = true;
  if (!isAlive) world.start();
  await world.clock.advance(MINUTE_MS);
  for (const name of names) if (world.upstreams.get(name)?.state !== "up") world.rise(name);
  await world.clock.advance(3 * HOUR_MS);
  return {
    faults: faultsIn(
      world.heard,
      receivers.map(({ name }) => name),
      fallen,
      excuses,
    ),
    incidents: fallen.length,
    kills,
  };
}

function faultsIn(
  allHeard: readonly Heard[],
  receivers: readonly string[],
  fallen: readonly { readonly id: string; readonly name: string; readonly atMs: number }[],
  excuses: readonly Excuse[],
): readonly string[] {
  const faults: string[] = [];
  for (const receiver of receivers) {
    const heard = allHeard.filter((each) => each.receiver === receiver);
    const counts = new Map<string, number>();
    const flaps: { readonly name: string; readonly fromMs: number; toMs: number; readonly id: string }[] = [];
    for (const { message, atMs } of heard) {
      for (const { incident, upstream = "" } of message.members) {
        const key = `${incident} ${message.event}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
        if (message.event === "flapping") {
          const fromMs = message.sinceMs - FLAP_WINDOW_MS;
          flaps.push({ name: upstream, fromMs, toMs: Infinity, id: incident });
        } else if (message.event === "up") {
          for (const flap of flaps) if (flap.id === incident) flap.toMs = Math.min(flap.toMs, atMs);
        }
      }
    }
    for (const { id, name, atMs } of fallen) {
      const isTold = ["down", "up", "flapping"].some((event) => counts.has(`${id} ${event}`));
      const isFlap = flaps.some((flap) => flap.name === name && flap.fromMs <= atMs && atMs <= flap.toMs);
      if (!isTold && !isFlap) faults.push(`${receiver} never heard of ${id}`);
    }
    for (const [key, times] of counts) {
      const lost = excuses.filter(
        (each) => each.receiver === receiver && `${each.incident} ${each.event}` === key,
      );
      if (times > 1 + lost.length) faults.push(`${receiver} heard ${times} times of ${key}`);
    }
    const last = new Map(
      heard.flatMap(({ message }) =>
        message.members.map(({ subject, incident }) => [subject, { event: message.event, incident }]),
      ),
    );
    const ends = new Map(heard.map(({ message }) => [message.incident, message]));
    const unsure = new Set(excuses.flatMap((each) => (each.receiver === receiver ? [each.incident] : [])));
    for (const [incident, { event, isOver }] of ends)
      if ((event !== "up" || !isOver) && !unsure.has(incident))
        faults.push(`${receiver} never heard of the end of ${incident}`);
    for (const [subject, { event }] of last)
      if (event !== "up") faults.push(`${receiver} thinks that ${subject} is ${event}`);
  }
  return faults;
}
