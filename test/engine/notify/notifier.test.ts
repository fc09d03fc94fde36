import { expect, test } from "vitest";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/core/time/duration.ts";
import { NotifyWorld, sampleReceiver, TAKEN } from "../../support/notify/world.ts";

function names(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `api-${index}`);
}

async function started(...parts: ConstructorParameters<typeof NotifyWorld>): Promise<NotifyWorld> {
  const world = new NotifyWorld(...parts);
  world.start();
  await world.clock.advance(MINUTE_MS);
  return world;
}

test("an upstream that is down is told once the wait for others is over, and that it is up again too", async () => {
  const world = await started();
  world.fall("email");
  await world.clock.advance(9 * SECOND_MS);
  expect(world.told()).toEqual([]);
  await world.clock.advance(2 * SECOND_MS);
  expect(world.told()).toEqual(["down email"]);
  await world.clock.advance(HOUR_MS);
  world.rise("email");
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["down email", "up email"]);
  const [down, up] = world.heard;
  expect(up?.message.incident).toBe(down?.message.incident);
  await world.clock.advance(HOUR_MS);
  expect(world.heard).toHaveLength(2);
});

test("what is over before it could be told is told in one message", async () => {
  const world = await started();
  world.fall("email");
  await world.clock.advance(3 * SECOND_MS);
  world.rise("email");
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["up email"]);
  expect(world.heard[0]?.message.lines.join(" ")).toContain("It lasted 3 s");
});

test("200 upstreams that fall within 30 s are one message: ten names, and how many of how many are down", async () => {
  const world = await started(undefined, [...names(200), "email"]);
  for (const name of names(200)) {
    world.fall(name);
    await world.clock.advance(150);
  }
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["down 200 upstreams"]);
  const { title, lines } = world.heard[0]?.message ?? { title: "", lines: [] };
  expect(title).toBe("200 upstreams are down");
  expect(lines[0]).toBe(`${names(10).join(", ")} and 190 more.`);
  expect(lines.at(-1)).toBe("200 of 201 upstreams are down now.");
});

test("an upstream that flaps is one message that says so, and one when it is steady again", async () => {
  const world = await started();
  for (let turn = 0; turn < 12; turn += 1) {
    world.fall("email");
    await world.clock.advance(90 * SECOND_MS);
    world.rise("email");
    await world.clock.advance(90 * SECOND_MS);
  }
  expect(world.told()).toEqual(["down email", "up email", "down email", "up email", "flapping email"]);
  await world.clock.advance(8 * MINUTE_MS);
  expect(world.told()).toHaveLength(5);
  await world.clock.advance(2 * MINUTE_MS);
  expect(world.told().slice(5)).toEqual(["up email"]);
  await world.clock.advance(2 * HOUR_MS);
  expect(world.told()).toHaveLength(6);
});

test("an upstream that stays down after it has flapped is down", async () => {
  const world = await started();
  for (let turn = 0; turn < 5; turn += 1) {
    world.fall("email");
    await world.clock.advance(MINUTE_MS);
    world.rise("email");
    await world.clock.advance(MINUTE_MS);
  }
  world.fall("email");
  await world.clock.advance(HOUR_MS);
  world.rise("email");
  await world.clock.advance(HOUR_MS);
  expect(world.told().slice(4)).toEqual(["flapping email", "down email", "up email"]);
});

test("what was told is not told again after a restart, and what changed meanwhile is", async () => {
  const world = await started(undefined, ["email", "sms", "push"]);
  world.fall("email");
  world.fall("sms");
  await world.clock.advance(MINUTE_MS);
  await world.stop();
  world.fall("push");
  world.rise("sms");
  await world.clock.advance(HOUR_MS);
  world.start();
  await world.clock.advance(HOUR_MS);
  expect(world.told()).toEqual(["down email sms", "up sms", "down push"]);
});

test("an incident that nobody watched the end of is over when the upstream answers, and goes on when it does not", async () => {
  const world = await started(undefined, ["email", "sms"]);
  world.fall("email");
  world.fall("sms");
  await world.clock.advance(MINUTE_MS);
  await world.stop();
  world.wasUnwatched("email");
  world.wasUnwatched("sms");
  await world.clock.advance(5 * HOUR_MS);
  world.start();
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["down email sms"]);
  world.fall("email");
  world.answers("sms");
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["down email sms", "up sms"]);
  world.rise("email");
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["down email sms", "up sms", "up email"]);
  expect(new Set(world.heard.map(({ message }) => message.incident)).size).toBe(1);
});

test("a receiver that is new is told what is wrong now, and nothing of what is over", async () => {
  const world = await started(undefined, ["email", "sms"]);
  world.fall("sms");
  await world.clock.advance(MINUTE_MS);
  world.rise("sms");
  world.fall("email");
  await world.clock.advance(MINUTE_MS);
  world.reload([sampleReceiver(), sampleReceiver({ name: "new" })]);
  await world.clock.advance(HOUR_MS);
  expect(world.told("new")).toEqual(["down email"]);
  expect(world.told()).toHaveLength(3);
});

test("what does not last as long as `after` is not told", async () => {
  const world = await started([sampleReceiver({ afterMs: 2 * MINUTE_MS })]);
  world.fall("email");
  await world.clock.advance(MINUTE_MS);
  world.rise("email");
  await world.clock.advance(HOUR_MS);
  expect(world.told()).toEqual([]);
  world.fall("email");
  await world.clock.advance(3 * MINUTE_MS);
  expect(world.told()).toEqual(["down email"]);
});

test("throttling is told after five minutes, and what becomes worse is told again with the same id", async () => {
  const world = await started();
  const id = world.fall("email", "throttled", "rate");
  await world.clock.advance(4 * MINUTE_MS);
  expect(world.told()).toEqual([]);
  await world.clock.advance(2 * MINUTE_MS);
  world.worsen("email");
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["throttled email", "down email"]);
  expect(world.heard.map(({ message }) => message.incident)).toEqual([id, id]);
});

test("a reminder comes as often as asked for, until it is up", async () => {
  const world = await started([sampleReceiver({ remindMs: 4 * HOUR_MS })]);
  world.fall("email");
  await world.clock.advance(9 * HOUR_MS);
  world.rise("email");
  await world.clock.advance(9 * HOUR_MS);
  expect(world.told()).toEqual(["down email", "still down email", "still down email", "up email"]);
});

test("a receiver hears only of what it asked for", async () => {
  const only = (upstreams: readonly string[], labels = {}) => ({ only: { upstreams, labels } });
  const world = await started(
    [
      sampleReceiver({ name: "growth", ...only([], { team: "growth" }) }),
      sampleReceiver({ name: "email", ...only(["email"]) }),
      sampleReceiver({ name: "keys", on: ["unauthorized"] }),
    ],
    ["email", "ads"],
  );
  world.fall("email");
  world.fall("ads", "unauthorized", "unauthorized");
  world.conditions = [{ kind: "config_refused", says: "" }];
  await world.clock.advance(MINUTE_MS);
  expect(world.told("growth")).toEqual(["unauthorized ads"]);
  expect(world.told("email")).toEqual(["down email"]);
  expect(world.told("keys")).toEqual(["unauthorized ads"]);
});

test("that we were offline is one message when we are back, and none for each upstream", async () => {
  const world = await started(undefined, names(20));
  world.conditions = [{ kind: "offline", says: "20 upstreams could not be reached." }];
  for (const name of names(20)) world.fall(name, "down", "offline");
  await world.clock.advance(10 * MINUTE_MS);
  expect(world.told()).toEqual([]);
  world.conditions = [];
  for (const name of names(20)) world.rise(name);
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["offline pacewatch"]);
});

test("while it is not known whether we are offline, nobody is told that they are down", async () => {
  const world = await started();
  const email = world.upstreams.get("email");
  if (email !== undefined) email.isUnsure = true;
  world.fall("email");
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual([]);
  await world.clock.advance(2 * MINUTE_MS);
  expect(world.told()).toEqual(["down email"]);
});

test("a credit that hovers around the bound is told once, also over a restart", async () => {
  const world = await started();
  const ending = {
    kind: "credit_ending",
    upstream: "email",
    of: "balance",
    says: "Empty on Tuesday.",
  } as const;
  world.conditions = [ending];
  await world.clock.advance(MINUTE_MS);
  world.conditions = [{ ...ending, isNear: true }];
  await world.clock.advance(MINUTE_MS);
  await world.stop();
  world.start();
  world.conditions = [ending];
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["credit_ending email"]);
  world.conditions = [];
  await world.clock.advance(MINUTE_MS);
  world.conditions = [{ ...ending, isNear: true }];
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["credit_ending email", "up email"]);
});

test("the announced end of an API is told once, whatever process sees it", async () => {
  const world = await started();
  world.conditions = [{ kind: "api_ending", upstream: "email", of: "1800000000000", says: "It ends." }];
  await world.clock.advance(MINUTE_MS);
  await world.stop();
  world.conditions = [];
  world.start();
  await world.clock.advance(MINUTE_MS);
  world.conditions = [{ kind: "api_ending", upstream: "email", of: "1800000000000", says: "It ends." }];
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["api_ending email"]);
});

test("an upstream that leaves the config while it is down is no longer watched", async () => {
  const world = await started(undefined, ["email", "sms"]);
  world.fall("email");
  await world.clock.advance(MINUTE_MS);
  world.remove("email");
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["down email", "up email"]);
  expect(world.heard.at(-1)?.message.lines.join(" ")).toContain("nobody watched it after that");
});

test("a receiver that fails is tried again ever later, asks for its wait, and keeps no other from hearing", async () => {
  const world = await started([sampleReceiver(), sampleReceiver({ name: "broken" })]);
  const triedAtMs: number[] = [];
  world.take = (receiver) => {
    if (receiver === "ops") return TAKEN;
    triedAtMs.push(world.clock.now());
    const waitMs = triedAtMs.length === 3 ? HOUR_MS / 2 : undefined;
    const answers = { kind: "failed", detail: "it answered 500", waitMs } as const;
    return triedAtMs.length > 5 ? TAKEN : { hears: false, answers, afterMs: 10_000 };
  };
  world.fall("email");
  await world.clock.advance(MINUTE_MS);
  world.rise("email");
  await world.clock.advance(HOUR_MS);
  expect(world.told()).toEqual(["down email", "up email"]);
  expect(world.told("broken")).toEqual(["up email"]);
  const gaps = triedAtMs.slice(1).map((atMs, index) => Math.round((atMs - (triedAtMs[index] ?? 0)) / 1_000));
  expect(gaps).toEqual([15, 20, 1_810, 50, 90]);
  expect(world.snapshots.map(({ counts }) => counts)).toEqual([
    { delivered: 2, failed: 0, refused: 0 },
    { delivered: 1, failed: 5, refused: 0 },
  ]);
  expect(world.logged.filter((line) => line.startsWith("cannot notify"))).toHaveLength(1);
});

test("what a receiver refuses is told once and never again", async () => {
  const world = await started();
  world.take = () => ({ hears: true, answers: { kind: "refused", detail: "it answered 400" }, afterMs: 10 });
  world.fall("email");
  await world.clock.advance(HOUR_MS);
  expect(world.heard).toHaveLength(1);
  expect(world.snapshots[0]?.counts).toEqual({ delivered: 0, failed: 0, refused: 1 });
  expect(world.snapshots[0]?.oldestDueMs).toBeUndefined();
});

test("a clock that is set back keeps nobody from hearing", async () => {
  const world = await started();
  world.fall("email");
  world.clock.stepWall(-5 * HOUR_MS);
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["down email"]);
});
