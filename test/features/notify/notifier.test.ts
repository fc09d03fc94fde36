import { expect, test } from "vitest";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/kernel/time/duration.ts";
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
  expect(down?.message.link).toBe("https://pacewatch.example/upstreams/email");
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
  const text = world.heard[0]?.message.lines.join(" ");
  expect(text).toContain("It lasted 3 s");
  expect(text).toMatch(/ \d+ polls?: /);
});

test("whose fault it was is told of the whole incident, also of one that was told with others", async () => {
  const world = new NotifyWorld([sampleReceiver()], ["email", "ai"]);
  world.start();
  await world.clock.advance(60_000);
  world.fall("email", "down", "server_error");
  world.fall("ai");
  world.fails("ai", { polls: 8, reasons: { timeout: 3, invalid_body: 5 } });
  await world.clock.advance(60_000);
  expect(world.told()).toEqual(["down email ai"]);
  world.rise("email");
  await world.clock.advance(60_000);
  expect(world.heard[1]?.message.lines[1]).toBe("2 polls: server error. It was them.");
  world.rise("ai");
  await world.clock.advance(60_000);
  expect(world.heard[2]?.message).toMatchObject({ event: "up", side: "them" });
  expect(world.heard[2]?.message.lines[1]).toBe("8 polls: 5 not valid JSON, 3 timed out. It was them.");

  world.fall("ai");
  world.fails("ai", { answeredBy: "email" });
  await world.clock.advance(60_000);
  world.rise("ai");
  await world.clock.advance(60_000);
  expect(world.heard.at(-1)?.message.lines[1]).toBe("2 polls: timed out. It was them.");
  await world.stop();
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
  expect(world.heard[0]?.message.link).toBe("https://pacewatch.example/");
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

/** Each message: what, under which incident, and which text. */
function idsTold({ heard }: NotifyWorld, receiver = "ops"): readonly string[] {
  const all = heard.filter((each) => each.receiver === receiver);
  return all.map(({ message: { event, incident, title } }) => `${event} ${incident}: ${title}`);
}

async function flapped(world: NotifyWorld, times: number, state?: "down" | "unauthorized"): Promise<string> {
  let id = "";
  for (let turn = 0; turn < times; turn += 1) {
    id = world.fall("email", state);
    await world.clock.advance(MINUTE_MS);
    world.rise("email");
    await world.clock.advance(MINUTE_MS);
  }
  return id;
}

test("what was told of an upstream that flaps ends before its next trouble is told, each under its own id", async () => {
  const world = await started();
  const flapping = await flapped(world, 3);
  const key = world.fall("email", "unauthorized", "unauthorized");
  await world.clock.advance(MINUTE_MS);
  world.rise("email");
  await world.clock.advance(HOUR_MS);
  expect(idsTold(world).slice(4)).toEqual([
    `flapping ${flapping}: email is flapping`,
    `up ${flapping}: email has stopped flapping`,
    `unauthorized ${key}: email rejects our key`,
    `up ${key}: email accepts our key again`,
  ]);
});

test("an upstream that stays down after it has flapped ends under the id that it was told with", async () => {
  const world = await started();
  const flapping = await flapped(world, 3);
  world.fall("email");
  await world.clock.advance(HOUR_MS);
  world.rise("email");
  await world.clock.advance(HOUR_MS);
  expect(idsTold(world).slice(4)).toEqual([
    `flapping ${flapping}: email is flapping`,
    `down ${flapping}: email is down`,
    `up ${flapping}: email is up again`,
  ]);
});

test("a rejected key is told at once, also of an upstream that was down twice", async () => {
  const world = await started();
  await flapped(world, 2);
  world.fall("email", "unauthorized", "unauthorized");
  await world.clock.advance(6 * SECOND_MS);
  world.rise("email");
  await world.clock.advance(MINUTE_MS);
  world.fall("email", "unauthorized", "unauthorized");
  await world.clock.advance(MINUTE_MS);
  expect(world.told().slice(4)).toEqual(["up email", "unauthorized email"]);
});

test("a key that is rejected again and again is one message that says so", async () => {
  const world = await started();
  await flapped(world, 6, "unauthorized");
  expect(world.told().slice(4)).toEqual(["flapping email"]);
  expect(world.heard.at(-1)?.message.title).toBe("email rejects our key again and again");
});

test("what a receiver that was away had heard of an upstream ends before it hears that it flaps", async () => {
  const world = await started([sampleReceiver({ kind: "pagerduty" })]);
  const first = world.fall("email");
  await world.clock.advance(MINUTE_MS);
  world.take = () => ({
    hears: false,
    answers: { kind: "failed", detail: "", waitMs: undefined },
    afterMs: 1,
  });
  world.rise("email");
  const flapping = await flapped(world, 3);
  world.take = () => TAKEN;
  await world.clock.advance(HOUR_MS);
  expect(idsTold(world)).toEqual([
    `down ${first}: email is down`,
    `up ${first}: email is up again`,
    `flapping ${flapping}: email is flapping`,
    `up ${flapping}: email has stopped flapping`,
  ]);
});

test("what was told of a receiver's absence of a day, with more incidents than are known, ends", async () => {
  const world = await started([sampleReceiver()]);
  const first = world.fall("email");
  await world.clock.advance(MINUTE_MS);
  world.take = () => ({
    hears: false,
    answers: { kind: "failed", detail: "", waitMs: undefined },
    afterMs: 1,
  });
  world.rise("email");
  await flapped(world, 20);
  world.take = () => TAKEN;
  await world.clock.advance(HOUR_MS);
  expect(idsTold(world).filter((each) => each.startsWith(`up ${first}`))).toHaveLength(1);
});

test("what fell one after the other and is up again together ends under each id, where a receiver closes by it", async () => {
  const receivers = [sampleReceiver(), sampleReceiver({ name: "chat", kind: "slack" })];
  const world = await started(receivers, ["email", "sms"]);
  const email = world.fall("email");
  await world.clock.advance(HOUR_MS);
  const sms = world.fall("sms");
  await world.clock.advance(HOUR_MS);
  world.rise("email");
  world.rise("sms");
  await world.clock.advance(MINUTE_MS);
  const ends = world.heard.filter(({ receiver, message }) => receiver === "ops" && message.event === "up");
  expect(ends.map(({ message: { incident, isOver } }) => [incident, isOver])).toEqual([
    [email, true],
    [sms, true],
  ]);
  expect(world.told("chat").at(-1)).toBe("up email sms");
});

test("what was told together and becomes worse one by one ends under the id that it was told with", async () => {
  const world = await started([sampleReceiver({ kind: "pagerduty" })], ["email", "sms"]);
  const id = world.fall("email", "throttled", "rate");
  world.fall("sms", "throttled", "rate");
  await world.clock.advance(6 * MINUTE_MS);
  for (const name of ["email", "sms"]) {
    world.worsen(name);
    await world.clock.advance(MINUTE_MS);
  }
  for (const name of ["email", "sms"]) {
    world.rise(name);
    await world.clock.advance(MINUTE_MS);
  }
  expect(world.told()).toEqual(["throttled email sms", "down email", "down sms", "up email", "up sms"]);
  expect(new Set(world.heard.map(({ message }) => message.incident))).toEqual(new Set([id]));
  expect(world.heard.map(({ message }) => message.isOver)).toEqual([false, false, false, false, true]);
});

test("an incident that goes on after nobody watched it ends under the id that it was told with", async () => {
  const world = await started();
  const id = world.fall("email");
  await world.clock.advance(MINUTE_MS);
  await world.stop();
  world.wasUnwatched("email");
  await world.clock.advance(HOUR_MS);
  world.start();
  await world.clock.advance(MINUTE_MS);
  world.fall("email");
  await world.clock.advance(MINUTE_MS);
  world.rise("email");
  await world.clock.advance(MINUTE_MS);
  expect(idsTold(world)).toEqual([`down ${id}: email is down`, `up ${id}: email is up again`]);
});

test("what ended is named by what it was: Pacewatch's own, a key and an outage are no one message", async () => {
  const world = await started([sampleReceiver({ kind: "slack" })], ["ads", "email", "push", "sms"]);
  world.firing = [{ kind: "config_refused", says: "The config before it runs on. A fault." }];
  world.fall("email");
  world.fall("sms");
  world.fall("ads", "unauthorized", "unauthorized");
  world.fall("push", "unauthorized", "unauthorized");
  await world.clock.advance(MINUTE_MS);
  world.firing = [];
  for (const name of ["email", "sms", "ads", "push"]) world.rise(name);
  await world.clock.advance(MINUTE_MS);
  const ups = world.heard.flatMap(({ message }) => (message.event === "up" ? [message] : []));
  expect(new Set(ups.map(({ title }) => title))).toEqual(
    new Set([
      "2 upstreams are up again",
      "2 upstreams accept our key again",
      "Pacewatch has a config that it can use again",
    ]),
  );
  const text = ups.flatMap(({ lines }) => lines).join("\n");
  expect(text).toContain("0 of 4 upstreams are down now.");
  expect(text).not.toContain("The config before it runs on");
  expect(ups.find(({ title }) => title.startsWith("Pacewatch"))?.side).toBe("us");
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
  expect(world.heard.at(-1)?.message.title).toBe("sms is up again");
  expect(world.heard.at(-1)?.message.lines.join(" ")).toContain("nobody saw when it ended");
  world.rise("email");
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["down email sms", "up sms", "up email"]);
  expect(new Set(world.heard.map(({ message }) => message.incident)).size).toBe(1);
});

test.each(["throttled", "unauthorized", "unknown"] as const)(
  "what nobody saw the end of is not told as up again where its upstream is %s",
  async (state) => {
    const world = await started(undefined, ["email", "sms"]);
    world.fall("email");
    world.fall("sms", "unauthorized", "auth");
    await world.clock.advance(MINUTE_MS);
    await world.stop();
    world.wasUnwatched("email");
    world.wasUnwatched("sms");
    await world.clock.advance(9 * HOUR_MS);
    world.start();
    world.fall("email", state === "unknown" ? "throttled" : state, "rate");
    world.fall("sms", "throttled", "rate");
    if (state === "unknown") world.wasUnwatched("email");
    await world.clock.advance(MINUTE_MS);
    const titles = world.heard.map(({ message }) => message.title);
    expect(titles).toContain("email is no longer known to be down");
    expect(titles).toContain("sms is no longer known to reject our key");
    expect(titles.join()).not.toContain("again");
  },
);

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

test("a receiver that a reload takes out and another one brings back hears nothing twice, and what changed meanwhile", async () => {
  const world = await started([sampleReceiver(), sampleReceiver({ name: "b" })], ["email", "sms"]);
  world.fall("email");
  world.fall("sms");
  await world.clock.advance(MINUTE_MS);
  world.reload([sampleReceiver()]);
  world.rise("sms");
  await world.clock.advance(MINUTE_MS);
  world.reload([sampleReceiver(), sampleReceiver({ name: "b" })]);
  await world.clock.advance(MINUTE_MS);
  expect(world.told("b")).toEqual(["down email sms", "up sms"]);
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

test("an Alertmanager is told of the end of what it was told last, not of what it began as", async () => {
  const world = await started([sampleReceiver({ kind: "alertmanager" })]);
  world.fall("email", "throttled", "rate");
  await world.clock.advance(8 * MINUTE_MS);
  world.worsen("email");
  await world.clock.advance(3 * MINUTE_MS);
  world.rise("email");
  await world.clock.advance(MINUTE_MS);
  const kinds = world.heard.map(({ message }) => `${message.event} ${message.members[0]?.kind}`);
  expect([...new Set(kinds)]).toEqual(["throttled throttled", "down down", "up down"]);
});

test("of one that nobody has looked at nothing is told or repeated, until its state is known", async () => {
  const world = await started([
    sampleReceiver({ remindMs: 4 * HOUR_MS }),
    sampleReceiver({ name: "manager", kind: "alertmanager" }),
    sampleReceiver({ name: "late", afterMs: 30 * MINUTE_MS }),
  ]);
  world.fall("email");
  await world.clock.advance(10 * MINUTE_MS);
  world.becomes("email", "unknown");
  const repeated = world.told("manager").length;
  expect(repeated).toBeGreaterThan(8);
  await world.clock.advance(20 * HOUR_MS);
  expect([world.told(), world.told("late")]).toEqual([["down email"], []]);
  expect(world.told("manager")).toHaveLength(repeated);
  world.becomes("email", "down");
  await world.clock.advance(MINUTE_MS);
  expect([world.told(), world.told("late")]).toEqual([["down email", "still down email"], ["down email"]]);
  expect(world.told("manager").length).toBeGreaterThan(repeated);
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
  world.firing = [{ kind: "config_refused", says: "" }];
  await world.clock.advance(MINUTE_MS);
  expect(world.told("growth")).toEqual(["unauthorized ads"]);
  expect(world.told("email")).toEqual(["down email"]);
  expect(world.told("keys")).toEqual(["unauthorized ads"]);
});

test("who did not ask for `up` hears of no end: neither of what flapped, nor of what left the config meanwhile", async () => {
  const world = await started([sampleReceiver({ on: ["down"] })], ["email", "sms"]);
  world.fall("sms");
  await flapped(world, 6);
  await world.clock.advance(HOUR_MS);
  await world.stop();
  world.upstreams.delete("sms");
  world.start();
  await world.clock.advance(HOUR_MS);
  expect(world.told()).toEqual(["down sms email", "down email", "flapping email"]);
  await flapped(world, 1);
  expect(world.told().slice(3)).toEqual(["down email"]);
});

test("what did not change meanwhile is not told again either to who did not ask for `up`", async () => {
  const world = await started([sampleReceiver({ on: ["down"] })]);
  world.fall("email");
  await world.clock.advance(MINUTE_MS);
  await world.stop();
  world.wasUnwatched("email");
  await world.clock.advance(5 * HOUR_MS);
  world.start();
  await world.clock.advance(MINUTE_MS);
  world.fall("email");
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["down email"]);
  world.rise("email");
  await world.clock.advance(MINUTE_MS);
  world.fall("email");
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["down email", "down email"]);
});

test("an upstream that flaps for hours is one message, and repeated as often as asked for", async () => {
  const receivers = [sampleReceiver(), sampleReceiver({ name: "alerts", kind: "alertmanager" })];
  const world = await started([...receivers, sampleReceiver({ name: "again", remindMs: HOUR_MS })]);
  const flapping = await flapped(world, 3);
  await flapped(world, 80);
  await world.clock.advance(HOUR_MS);
  expect(idsTold(world).slice(4)).toEqual([
    `flapping ${flapping}: email is flapping`,
    `up ${flapping}: email has stopped flapping`,
  ]);
  const [said] = world.heard.at(-1)?.message.lines ?? [];
  expect(said).toBe("It failed more than 16 times.");
  expect(world.told("again").slice(4)).toEqual([
    "flapping email",
    "still flapping email",
    "still flapping email",
    "up email",
  ]);
  // An Alertmanager takes for over what it was not told for four minutes.
  const firing = world.heard.filter(
    ({ receiver, message }) => receiver === "alerts" && message.event === "flapping",
  );
  const gapsMs = firing.slice(1).map(({ atMs }, index) => atMs - (firing[index]?.atMs ?? 0));
  expect(gapsMs.length).toBeGreaterThan(100);
  expect(Math.max(...gapsMs)).toBeLessThan(2 * MINUTE_MS);
});

test("an upstream that flaps for hours, and throttles us for moments between, is one message", async () => {
  const world = await started();
  await flapped(world, 3);
  for (let turn = 0; turn < 40; turn += 1) {
    world.fall("email", "throttled", "rate");
    await world.clock.advance(MINUTE_MS);
    world.rise("email");
    await flapped(world, 1);
  }
  expect(world.told().slice(4)).toEqual(["flapping email"]);
});

test("that we were offline is one message when we are back, and none for each upstream", async () => {
  const world = await started(undefined, names(20));
  world.firing = [{ kind: "offline", says: "20 upstreams could not be reached." }];
  for (const name of names(20)) world.fall(name, "down", "offline");
  await world.clock.advance(10 * MINUTE_MS);
  expect(world.told()).toEqual([]);
  world.firing = [];
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
  world.firing = [ending];
  await world.clock.advance(MINUTE_MS);
  world.firing = [{ ...ending, isNear: true }];
  await world.clock.advance(MINUTE_MS);
  await world.stop();
  world.start();
  world.firing = [ending];
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["credit_ending email"]);
  world.firing = [];
  await world.clock.advance(11 * MINUTE_MS);
  world.firing = [{ ...ending, isNear: true }];
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["credit_ending email", "up email"]);
});

test("a quota that would be empty now before its refill and now after it is told once", async () => {
  const world = await started();
  for (let minute = 0; minute < 60; minute += 1) {
    const says = `Budget ai, daily: empty in ${minute} minutes.`;
    world.firing = minute % 7 < 3 ? [{ kind: "credit_ending", of: "ai/1d", says }] : [];
    await world.clock.advance(MINUTE_MS);
  }
  expect(world.told()).toEqual(["credit_ending pacewatch"]);
  world.firing = [];
  await world.clock.advance(11 * MINUTE_MS);
  expect(world.told()).toEqual(["credit_ending pacewatch", "up pacewatch"]);
  expect(world.heard.at(-1)?.message.lines.join(" ")).toContain("It lasted 58 min");
});

test("a credit that is ending for less than `after` is not told", async () => {
  const world = await started([sampleReceiver({ afterMs: 2 * MINUTE_MS })]);
  const ending = { kind: "credit_ending", of: "ai/1d", says: "Budget ai, daily: empty soon." } as const;
  world.firing = [ending];
  await world.clock.advance(MINUTE_MS);
  world.firing = [];
  await world.clock.advance(30 * MINUTE_MS);
  expect(world.told()).toEqual([]);
  world.firing = [ending];
  await world.clock.advance(3 * MINUTE_MS);
  expect(world.told()).toEqual(["credit_ending pacewatch"]);
});

test("the announced end of an API is told once, whatever process sees it", async () => {
  const world = await started();
  world.firing = [{ kind: "api_ending", upstream: "email", of: "1800000000000", says: "It ends." }];
  await world.clock.advance(MINUTE_MS);
  await world.stop();
  world.firing = [];
  world.start();
  await world.clock.advance(MINUTE_MS);
  world.firing = [{ kind: "api_ending", upstream: "email", of: "1800000000000", says: "It ends." }];
  await world.clock.advance(MINUTE_MS);
  expect(world.told()).toEqual(["api_ending email"]);
});

test("a receiver that was away for days is told how it really ended, also after a restart", async () => {
  const world = await started();
  const id = world.fall("email");
  await world.clock.advance(2 * MINUTE_MS);
  world.take = () => ({
    hears: false,
    answers: { kind: "failed", detail: "", waitMs: undefined },
    afterMs: 1,
  });
  world.rise("email");
  for (let short = 0; short < 20; short += 1) {
    world.fall("email");
    await world.clock.advance(20 * MINUTE_MS);
    world.rise("email");
    await world.clock.advance(20 * MINUTE_MS);
  }
  await world.clock.advance(30 * HOUR_MS);
  await world.stop();
  await world.clock.advance(30 * HOUR_MS);
  world.start();
  world.take = () => TAKEN;
  await world.clock.advance(HOUR_MS);
  expect(idsTold(world)).toEqual([`down ${id}: email is down`, `up ${id}: email is up again`]);
  expect(world.heard[1]?.message.lines.join(" ")).toContain("It lasted 2 min:");
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

test("a receiver that asked for a long wait is tried at once after a reload, as it may be mended", async () => {
  const world = await started();
  const answers = { kind: "failed", detail: "it answered 404", waitMs: HOUR_MS } as const;
  world.take = () => ({ hears: false, answers, afterMs: 100 });
  world.fall("email");
  await world.clock.advance(30 * MINUTE_MS);
  world.take = () => TAKEN;
  world.reload([sampleReceiver()]);
  await world.clock.advance(SECOND_MS);
  expect(world.told()).toEqual(["down email"]);
});

test("after an answer that was lost the message is made anew: of what is so by then, and each ends under its id", async () => {
  const world = await started(undefined, ["a", "b", "c"]);
  const [a, b] = [world.fall("a"), world.fall("b")];
  let isLost = true;
  world.take = () =>
    isLost ? { ...TAKEN, answers: { kind: "failed", detail: "", waitMs: 30 * SECOND_MS } } : TAKEN;
  await world.clock.advance(15 * SECOND_MS);
  isLost = false;
  const c = world.fall("c");
  world.rise("a");
  await world.clock.advance(MINUTE_MS);
  for (const name of ["b", "c"]) world.rise(name);
  await world.clock.advance(MINUTE_MS);
  const told = world.heard.map(({ message: { event, incident, isOver, members } }) => [
    `${event} ${members.map(({ upstream }) => upstream).join(" ")}`,
    incident,
    isOver,
  ]);
  expect(told).toEqual([
    ["down a b", a, false],
    ["down b c", b, false],
    ["up a", a, true],
    ["up b c", b, true],
  ]);
  expect(c).not.toBe(b);
});

test("what a receiver refuses is told once and never again", async () => {
  const world = await started();
  world.take = () => ({ hears: true, answers: { kind: "refused", detail: "it answered 400" }, afterMs: 10 });
  world.fall("email");
  await world.clock.advance(HOUR_MS);
  expect(world.heard).toHaveLength(1);
  expect(world.snapshots[0]?.counts).toEqual({ delivered: 0, failed: 0, refused: 1 });
  expect(world.snapshots[0]?.sendMs).toBeUndefined();
});

test("a message that waits for its group is not late, and one that a receiver does not take is", async () => {
  const groupWaitMs = 15 * MINUTE_MS;
  const world = await started([sampleReceiver({ groupWaitMs })]);
  const lateMs = (): number => world.clock.wallNow() - (world.snapshots[0]?.sendMs ?? Infinity);
  world.take = () => ({
    hears: false,
    answers: { kind: "failed", detail: "", waitMs: undefined },
    afterMs: 100,
  });
  world.fall("email");
  await world.clock.advance(groupWaitMs - MINUTE_MS);
  expect(lateMs()).toBeLessThan(0);
  await world.clock.advance(10 * MINUTE_MS);
  expect(lateMs()).toBeGreaterThan(8 * MINUTE_MS);
});

test.each([10 * SECOND_MS, HOUR_MS])(
  "a clock that is set back keeps nobody from hearing",
  async (groupWaitMs) => {
    const world = await started([sampleReceiver({ groupWaitMs })]);
    world.fall("email");
    world.clock.stepWall(-5 * HOUR_MS);
    await world.clock.advance(MINUTE_MS);
    expect(world.told()).toEqual(["down email"]);
  },
);

test("an Alertmanager is told again each minute, and not more often, after the clock was set back", async () => {
  const world = await started([sampleReceiver({ kind: "alertmanager" })]);
  world.fall("email");
  await world.clock.advance(MINUTE_MS);
  world.clock.stepWall(-5 * HOUR_MS);
  const before = world.heard.length;
  await world.clock.advance(10 * MINUTE_MS);
  expect(world.heard.length - before).toBeGreaterThanOrEqual(8);
  expect(world.heard.length - before).toBeLessThanOrEqual(11);
});
