import * as fc from "fast-check";
import { expect, test } from "vitest";
import type { Budget, Upstream } from "../../../src/kernel/config/config.ts";
import { askOf, TestLedger } from "../../support/test-ledger.ts";
import type { Exchange, Observation } from "../../../src/kernel/exchange/exchange.ts";
import type { Gate, Probe } from "../../../src/kernel/poll/ports.ts";
import { LeaseQueue } from "../../../src/kernel/polling/lease-queue.ts";
import { Poller } from "../../../src/kernel/polling/poller.ts";
import { TokenSource, type UpstreamToken } from "../../../src/features/auth/token-source.ts";
import { slidingLog } from "../../../src/simulator/meters.ts";
import { RequestLedger } from "../../../src/simulator/request-ledger.ts";
import { FakeProbe, StoryRecorder } from "../../support/fakes.ts";
import {
  answered,
  observed,
  sampleBudget,
  sampleConfig,
  sampleUpstream,
} from "../../support/kernel-samples.ts";
import { sampleAnswerHints } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

/** A probe that sends the token it finds, and tells which. */
class TokenProbe implements Probe {
  readonly gate: Gate;
  readonly sent: string[] = [];
  readonly #fake: FakeProbe;
  readonly #token: UpstreamToken;

  constructor(
    token: UpstreamToken,
    clock: VirtualClock,
    answer: (token: string, turn: number) => Observation,
  ) {
    this.gate = token.gate;
    this.#token = token;
    this.#fake = new FakeProbe(clock, (turn) => answer(this.sent.at(-1) ?? "", turn));
  }

  get sentAtMs(): readonly number[] {
    return this.#fake.sentAtMs;
  }

  poll(signal: AbortSignal): Promise<Observation> {
    this.sent.push(this.#token.read());
    return this.#fake.poll(signal);
  }

  close(): Promise<void> {
    return this.#fake.close();
  }
}

type Endpoint = (turn: number) => Observation;

const granting =
  (expiresIn: unknown, durationMs = 50): Endpoint =>
  (turn) =>
    observed(
      answered(200, [], JSON.stringify({ access_token: `t${turn}`, expires_in: expiresIn })),
      durationMs,
    );

const refusing: Endpoint = () => observed(answered(401, [], '{"error":"invalid_client"}'));
const busy: Endpoint = () => observed(answered(503));
const HANGING: Exchange = {
  kind: "broken",
  fault: "timeout",
  detail: "timed out after 10000 ms while waiting for the answer",
  sent: true,
  head: undefined,
};

type Watched = { readonly poller: Poller; readonly recorder: StoryRecorder; readonly probe: TokenProbe };

class World {
  readonly clock = new VirtualClock();
  readonly learned: string[] = [];
  secret: string | Promise<string> = "test-key-1";
  readonly warnings: object[] = [];
  readonly bugs: unknown[] = [];
  readonly endpoint: FakeProbe;
  readonly ledger: TestLedger;
  readonly queue: LeaseQueue;
  readonly source: TokenSource;
  readonly #budgets: readonly string[];
  readonly #random: () => number;
  #polls = 0;

  constructor(
    endpoint: Endpoint,
    budgets: readonly Budget[] = [sampleBudget()],
    random: () => number = () => 1,
  ) {
    this.endpoint = new FakeProbe(this.clock, endpoint);
    this.ledger = new TestLedger(sampleConfig({ budgets, upstreams: [] }), this.clock);
    this.queue = new LeaseQueue(this.ledger.inner, this.clock, this.onBug);
    this.#budgets = budgets.slice(-1).map(({ name }) => name);
    this.#random = random;
    this.source = this.openSource(this.endpoint);
  }

  /** The token of one more client. */
  openSource(endpoint: Probe): TokenSource {
    const mute = (): void => {};
    return new TokenSource({
      clock: this.clock,
      hints: this.ledger.hints,
      queue: this.queue,
      ask: askOf(this.#budgets),
      probe: endpoint,
      secret: () => this.secret,
      learn: (token) => this.learned.push(token),
      random: this.#random,
      fields: {},
      log: { debug: mute, info: mute, error: mute, warn: (fields) => this.warnings.push(fields) },
      onBug: this.onBug,
    });
  }

  readonly onBug = (error: unknown): void => void this.bugs.push(error);

  watch(
    answer: (token: string, turn: number) => Observation = () => observed(answered(200)),
    changes: Partial<Upstream> = {},
    source: TokenSource = this.source,
  ): Watched {
    const probe = new TokenProbe(source.forUpstream(), this.clock, answer);
    const recorder = new StoryRecorder();
    const { clock, ledger, queue, onBug } = this;
    const parts = { clock, ...ledger.polling, queue, recorder, onBug };
    const nextPollId = (): string => `p${(this.#polls += 1)}`;
    return { poller: new Poller(sampleUpstream(changes), probe, { ...parts, nextPollId }), recorder, probe };
  }

  /** Past the cold start. */
  async begin(): Promise<this> {
    await this.clock.advance(120_000);
    return this;
  }

  async slots(watched: readonly Watched[], count: number, everyMs = 15_000): Promise<void> {
    for (let slot = 0; slot < count; slot += 1) {
      for (const { poller } of watched) poller.slot("schedule", this.clock.now());
      await this.clock.advance(everyMs);
    }
  }
}

test("a slot without a token waits for one, and its poll does not last longer for that", async () => {
  const world = await new World(granting(3_600, 700)).begin();
  const { poller, recorder, probe } = world.watch(() => observed(answered(200), 40));
  poller.slot("schedule", world.clock.now());
  await world.clock.advance(500);
  expect(recorder.waiting).toBe(1);
  await world.clock.advance(2_000);
  expect(recorder.story).toEqual(["schedule ok", "unknown -> up"]);
  expect(recorder.polls[0]).toMatchObject({ durationMs: 40, delayMs: 1_000 });
  expect(probe.sent).toEqual(["t1"]);
  expect(world.learned).toEqual(["t1"]);
});

test("a client's secret that looks like an error code is not told, where the endpoint repeats it as its error", async () => {
  const secret = "test_key_of_words";
  const world = await new World(() => ({
    ...observed(answered(400, [], JSON.stringify({ error: secret }))),
    withoutKeys: (text) => text.replaceAll(secret, "<secret>"),
  })).begin();
  const { poller, recorder } = world.watch();
  poller.slot("schedule", world.clock.now());
  await world.clock.advance(5_000);
  expect(recorder.polls[0]?.detail).toBe("no access token: the token endpoint answered 400: <secret>");
  expect(JSON.stringify(world.warnings)).not.toContain(secret);
});

test("each token request takes a lease of its budget", async () => {
  const world = await new World(granting(3_600)).begin();
  const { poller } = world.watch();
  poller.slot("schedule", world.clock.now());
  await world.clock.advance(5_000);
  expect(world.ledger.inner.ratesOf("api")?.[0]?.leases).toBe(2);
});

test("with a budget of its own, a token request leaves the upstream's alone", async () => {
  const world = await new World(granting(3_600), [sampleBudget(), sampleBudget({ name: "login" })]).begin();
  const { poller } = world.watch();
  poller.slot("schedule", world.clock.now());
  await world.clock.advance(5_000);
  expect(world.ledger.inner.ratesOf("api")?.[0]?.leases).toBe(1);
  expect(world.ledger.inner.ratesOf("login")?.[0]?.leases).toBe(1);
});

test("upstreams that need the same token at the same moment share one request", async () => {
  const world = await new World(granting(3_600)).begin();
  const all = Array.from({ length: 8 }, (_, index) => world.watch(undefined, { name: `u${index}` }));
  await world.slots(all, 4, 30_000);
  expect(world.endpoint.sentAtMs).toHaveLength(1);
  for (const { recorder } of all)
    expect(recorder.story.filter((said) => said === "schedule ok")).toHaveLength(4);
});

test("a token is renewed ahead of its expiry, while polls go on with it", async () => {
  const world = await new World(granting(300)).begin();
  const watched = world.watch();
  await world.slots([watched], 60);
  // 290 s of use, of which the last 60 are for the renewal, by slots every 15 s.
  const gaps = world.endpoint.sentAtMs
    .slice(1)
    .map((at, index) => at - (world.endpoint.sentAtMs[index] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(230_000);
  expect(Math.max(...gaps)).toBeLessThan(290_000);
  expect(
    watched.recorder.polls.every(({ outcome, delayMs }) => outcome.kind === "ok" && delayMs <= 1_100),
  ).toBe(true);
});

test("several processes renew at different moments", async () => {
  const firstRenewal = async (random: number): Promise<number> => {
    const world = await new World(granting(3_600), undefined, () => random).begin();
    await world.slots([world.watch()], 260);
    return world.endpoint.sentAtMs[1] ?? 0;
  };
  expect(await firstRenewal(0)).toBeGreaterThan((await firstRenewal(1)) + 60_000);
});

test("without slots nothing is fetched", async () => {
  const world = await new World(granting(300)).begin();
  await world.slots([world.watch()], 1);
  await world.clock.advance(3_600_000);
  expect(world.endpoint.sentAtMs).toHaveLength(1);
});

test("a token that expires while its poll waits for a lease is not sent: the poll gets the next", async () => {
  const rates = [{ requests: 12, perMs: 60_000, label: "1m" }];
  const world = await new World(granting(66), [
    sampleBudget({ rates }),
    sampleBudget({ name: "login" }),
  ]).begin();
  const all = Array.from({ length: 14 }, (_, index) => world.watch(undefined, { name: `u${index}` }));
  await world.slots(all, 1, 300_000);
  expect(all.map(({ probe }) => probe.sent)).toEqual([
    ...Array.from({ length: 12 }, () => ["t1"]),
    ["t2"],
    ["t2"],
  ]);
  for (const { recorder } of all) expect(recorder.story).toEqual(["schedule ok", "unknown -> up"]);
});

test("where every token expires before its poll gets a lease, the poll says so", async () => {
  const rates = [{ requests: 1, perMs: 600_000, label: "10m" }];
  const world = new World(granting(120), [sampleBudget({ rates }), sampleBudget({ name: "login" })]);
  await world.clock.advance(1_300_000);
  const { poller, probe, recorder } = world.watch();
  poller.slot("schedule", world.clock.now());
  await world.clock.advance(1_000);
  poller.slot("schedule", world.clock.now());
  await world.clock.advance(3_600_000);
  expect(probe.sent).toEqual(["t1"]);
  expect(recorder.story).toEqual(["schedule ok", "unknown -> up", "schedule rejected"]);
  expect(recorder.polls[1]).toMatchObject({
    outcome: { kind: "rejected", reason: "auth" },
    detail: "no access token: each expires while its poll waits for a lease; a budget of their own may help",
  });
  expect(recorder.closes()).toBe(true);
});

test.each([
  ["ahead", 7_200_000, 2],
  ["back", -7_200_000, 1],
])("a wall clock that jumps %s costs one token at most", async (_, byMs, requests) => {
  const world = await new World(granting(3_600)).begin();
  const watched = world.watch();
  await world.slots([watched], 8);
  world.clock.stepWall(byMs);
  await world.slots([watched], 8);
  expect(world.endpoint.sentAtMs).toHaveLength(requests);
  expect(watched.recorder.polls.every(({ outcome }) => outcome.kind === "ok")).toBe(true);
});

test("a token of a few seconds is fetched once a minute, and the slots between say why they have none", async () => {
  const world = await new World(granting(5)).begin();
  const watched = world.watch();
  await world.slots([watched], 20);
  expect(world.endpoint.sentAtMs).toHaveLength(5);
  expect(watched.recorder.polls.find(({ outcome }) => outcome.kind === "rejected")).toMatchObject({
    outcome: { reason: "auth" },
    durationMs: 0,
    detail:
      "no access token: the last one has expired or was rejected, and the next is requested a minute after it at the earliest",
  });
});

test.each([5_000, 14_000, 15_000, 19_500])(
  "a token of a minute serves slots each %d ms: the one at its end waits for the next",
  async (everyMs) => {
    const world = await new World(granting(60)).begin();
    const watched = world.watch();
    await world.slots([watched], 60, everyMs);
    const { polls } = watched.recorder;
    expect(polls.every(({ outcome }) => outcome.kind === "ok")).toBe(true);
    expect(polls.length).toBeGreaterThan(45);
    const { sentAtMs } = world.endpoint;
    const gaps = sentAtMs.slice(1).map((at, index) => at - (sentAtMs[index] ?? 0));
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(60_000);
    expect(world.bugs).toEqual([]);
    expect(watched.recorder.closes()).toBe(true);
  },
);

test("a slot that waits for the next minute and is withdrawn has nothing fetched", async () => {
  const world = await new World(granting(60)).begin();
  const watched = world.watch();
  await world.slots([watched], 1, 56_000);
  await world.slots([watched], 1, 1_000);
  expect(watched.recorder.waiting).toBe(1);
  await watched.poller.stop(0);
  await world.clock.advance(120_000);
  expect(world.endpoint.sentAtMs).toHaveLength(1);
  await world.source.close();
  expect(world.bugs).toEqual([]);
});

test("one that waits for a token and leaves does not take the request of the others with it", async () => {
  const world = await new World(granting(3_600)).begin();
  const settled: string[] = [];
  const [first] = ["first", "second"].map((name) =>
    world.source
      .forUpstream()
      .gate.prepare?.({ dueMs: world.clock.now(), settled: () => void settled.push(name) }),
  );
  if (first?.kind !== "waiting") throw new Error("it waits for its token");
  first.ticket.withdraw();
  await world.clock.advance(10_000);
  expect(settled).toEqual(["second"]);
  expect(world.endpoint.sentAtMs).toHaveLength(1);
});

test("a token request is as urgent as the most urgent of those that wait for it", async () => {
  const world = await new World(granting(3_600)).begin();
  const elsewhere = new FakeProbe(world.clock, granting(3_600));
  const other = world.openSource(elsewhere);
  // The next lease comes only after a pace gap.
  world.ledger.take([sampleBudget().name]);
  const nowMs = world.clock.now();
  const ask = (source: TokenSource, inMs: number): void =>
    void source.forUpstream().gate.prepare?.({ dueMs: nowMs + inMs, settled: () => {} });
  ask(world.source, 100_000);
  ask(other, 50_000);
  ask(world.source, 1_000);
  await world.clock.advance(60_000);
  expect(Number(world.endpoint.sentAtMs[0])).toBeLessThan(Number(elsewhere.sentAtMs[0]));
});

test("after a failure, a slot shortly before the next request does not wait for it", async () => {
  const world = await new World(busy).begin();
  const ask = (): string | undefined =>
    world.source.forUpstream().gate.prepare?.({ dueMs: world.clock.now(), settled: () => {} })?.kind;
  expect(ask()).toBe("waiting");
  await world.clock.advance(55_000);
  expect(ask()).toBe("failed");
  await world.clock.advance(10_000);
  expect(ask()).toBe("waiting");
});

test("once it is closed, nothing is fetched any more", async () => {
  const world = await new World(granting(3_600)).begin();
  await world.source.close();
  const asked = world.source.forUpstream().gate.prepare?.({ dueMs: world.clock.now(), settled: () => {} });
  expect(asked?.kind).toBe("failed");
  await world.clock.advance(120_000);
  expect(world.endpoint.sentAtMs).toEqual([]);
});

test("a client that is refused is `unauthorized`, by the word of the token endpoint", async () => {
  const world = await new World(refusing).begin();
  const { poller, recorder, probe } = world.watch();
  poller.slot("schedule", world.clock.now());
  await world.clock.advance(15_000);
  expect(recorder.story).toEqual(["schedule rejected", "unknown -> unauthorized"]);
  expect(recorder.polls[0]).toMatchObject({
    outcome: { kind: "rejected", reason: "auth" },
    detail: "no access token: the token endpoint answered 401: invalid_client",
  });
  expect(probe.sent).toEqual([]);
  expect(recorder.closes()).toBe(true);
});

test("a token endpoint that is broken says nothing about the upstream", async () => {
  let isBroken = false;
  const good = granting(120);
  const world = await new World((turn) => (isBroken ? busy(turn) : good(turn))).begin();
  const watched = world.watch();
  await world.slots([watched], 2);
  isBroken = true;
  await world.slots([watched], 20);
  const { story } = watched.recorder;
  expect(story).toContain("up -> unknown");
  expect(story.join()).not.toMatch(/down|unauthorized/);
  isBroken = false;
  await world.slots([watched], 40);
  expect(story.at(-1)).toBe("schedule ok");
  expect(story).toContain("unknown -> up");
});

test("requests that fail come at longer and longer gaps, up to five minutes", async () => {
  const world = await new World(busy).begin();
  await world.slots([world.watch(undefined, { confirm: 3 })], 120);
  const { sentAtMs } = world.endpoint;
  const gaps = sentAtMs.slice(1).map((at, index) => Math.round((at - (sentAtMs[index] ?? 0)) / 60_000));
  expect(gaps).toEqual([1, 2, 4, 5, 5, 5, 5]);
});

test("a renewal that fails leaves the token in use, and the log says so", async () => {
  const good = granting(600);
  const world = await new World((turn) => (turn === 1 ? good(turn) : busy(turn))).begin();
  const watched = world.watch();
  await world.slots([watched], 36);
  expect(watched.recorder.polls.every(({ outcome }) => outcome.kind === "ok")).toBe(true);
  expect(world.warnings).toEqual([
    {
      lastTokenIsUsed: true,
      detail: "no access token: the token endpoint answered 503",
      nextInSeconds: 60,
    },
  ]);
});

test("a 429 with Retry-After pauses the budget of the token", async () => {
  const good = granting(3_600);
  const throttling = observed(
    answered(429, [
      ["retry-after", "90"],
      ["x-ratelimit-limit", "1"],
    ]),
  );
  const world = await new World((turn) => (turn === 1 ? throttling : good(turn))).begin();
  const watched = world.watch();
  await world.slots([watched], 8);
  expect(watched.recorder.story).toEqual([
    "schedule rejected",
    ...Array(6).fill("skipped backoff"),
    "schedule ok",
    "unknown -> up",
  ]);
  const [first = 0, second = 0] = world.endpoint.sentAtMs;
  expect(second - first).toBeGreaterThanOrEqual(90_000);
  expect(world.ledger.inner.ratesOf("api")?.[0]?.cap).toBe(60);
});

test("a 503 with Retry-After is not asked again before", async () => {
  const world = await new World(() => observed(answered(503, [["retry-after", "200"]]))).begin();
  await world.slots([world.watch()], 7);
  world.secret = "test-key-2";
  await world.slots([world.watch()], 6);
  expect(world.endpoint.sentAtMs).toHaveLength(1);
  await world.slots([world.watch()], 3);
  expect(world.endpoint.sentAtMs).toHaveLength(2);
});

test("while a token request hangs, slots overlap; then they say that it timed out", async () => {
  const world = await new World(() => observed(HANGING, 10_000)).begin();
  const watched = world.watch();
  await world.slots([watched], 3, 4_000);
  expect(watched.recorder.story).toEqual(["gave up overlap", "gave up overlap", "schedule rejected"]);
  expect(watched.recorder.polls[0]?.detail).toBe(
    "no access token: timed out after 10000 ms while waiting for the answer",
  );
  expect(watched.recorder.closes()).toBe(true);
});

test("a token that the upstream rejects is fetched anew once, and the confirmation uses the new one", async () => {
  const world = await new World(granting(3_600)).begin();
  const watched = world.watch((token) => observed(answered(token === "t1" && isRevoked ? 401 : 200)));
  let isRevoked = false;
  await world.slots([watched], 6);
  isRevoked = true;
  await world.slots([watched], 4);
  expect(watched.probe.sent).toEqual([...Array(7).fill("t1"), ...Array(4).fill("t2")]);
  expect(watched.recorder.story.slice(-5)).toEqual([
    "schedule rejected",
    "confirm ok",
    "schedule ok",
    "schedule ok",
    "schedule ok",
  ]);
});

test("an upstream that rejects every token has one more fetched, and no further", async () => {
  const world = await new World(granting(3_600)).begin();
  const rejecting = world.watch(() => observed(answered(401)));
  const accepting = world.watch(undefined, { name: "other" });
  await world.slots([rejecting, accepting], 60);
  expect(world.endpoint.sentAtMs).toHaveLength(2);
  expect(rejecting.poller.health.state).toBe("unauthorized");
  expect(accepting.poller.health.state).toBe("up");
});

test.each([
  [503, "overloaded"],
  [429, "throttling us"],
  [302, "sending us to its login"],
  [403, "a wall"],
])("a %d between two rejections accepts no token: who is %s may not have looked at it", async (status) => {
  const world = await new World(granting(3_600)).begin();
  const rejecting = world.watch((_token, turn) => observed(answered(turn % 2 === 1 ? 401 : status)));
  await world.slots([rejecting], 60);
  expect(rejecting.probe.sent.length).toBeGreaterThan(10);
  expect(world.endpoint.sentAtMs).toHaveLength(2);
});

// After one, the next token cannot be requested yet.
test.each([1, 6])(
  "a token that is rejected after %d polls, and cannot be renewed, is a matter of the token endpoint, not of our key",
  async (accepted) => {
    let [isBroken, isRevoked] = [false, false];
    const good = granting(3_600);
    const world = await new World((turn) => (isBroken ? busy(turn) : good(turn))).begin();
    const watched = world.watch((token) => observed(answered(token === "t1" && isRevoked ? 401 : 200)));
    await world.slots([watched], accepted);
    [isBroken, isRevoked] = [true, true];
    await world.slots([watched], 60);
    const { story, polls } = watched.recorder;
    // One poll found out; no other sends what was rejected.
    expect(watched.probe.sent).toEqual(Array(accepted + 1).fill("t1"));
    expect(story.join()).not.toMatch(/down|unauthorized/);
    expect(polls.at(-1)).toMatchObject({
      outcome: { kind: "rejected", reason: "auth" },
      detail: "no access token: the token endpoint answered 503",
    });
    isBroken = false;
    await world.slots([watched], 30);
    expect(story.at(-1)).toBe("schedule ok");
    expect(watched.probe.sent.at(-1)).not.toBe("t1");
    expect(watched.recorder.closes()).toBe(true);
  },
);

test("a secret that changes is tried a minute after the last request, however often that failed", async () => {
  const world: World = await new World((turn) =>
    world.secret === "test-key-2" ? granting(3_600)(turn) : refusing(turn),
  ).begin();
  const watched = world.watch();
  await world.slots([watched], 60);
  const failed = world.endpoint.sentAtMs.at(-1) ?? 0;
  // The next try would be five minutes after this one.
  while ((world.endpoint.sentAtMs.at(-1) ?? 0) === failed) await world.slots([watched], 1);
  const lastMs = world.endpoint.sentAtMs.at(-1) ?? 0;
  world.secret = "test-key-2";
  await world.slots([watched], 6);
  const nextMs = world.endpoint.sentAtMs.at(-1) ?? 0;
  expect(nextMs - lastMs).toBeGreaterThanOrEqual(60_000);
  expect(nextMs - lastMs).toBeLessThanOrEqual(75_000);
  expect(watched.recorder.story.at(-1)).toBe("schedule ok");
});

test("a secret that changes has a token renewed that every upstream rejects", async () => {
  const world = await new World(granting(3_600)).begin();
  const watched = world.watch((token) => observed(answered(["t1", "t2"].includes(token) ? 401 : 200)));
  await world.slots([watched], 60);
  expect(watched.poller.health.state).toBe("unauthorized");
  world.secret = "test-key-2";
  await world.slots([watched], 3);
  expect(watched.poller.health.state).toBe("up");
  expect(world.endpoint.sentAtMs).toHaveLength(3);
});

test("shutdown while a token is fetched ends at once, and every lease is settled", async () => {
  const world = await new World(() => observed(HANGING, 10_000)).begin();
  const { poller, recorder } = world.watch();
  poller.slot("schedule", world.clock.now());
  await world.clock.advance(1_000);
  const stopped = Promise.all([poller.stop(10_000), world.source.close()]);
  await world.clock.advance(0);
  await stopped;
  expect(recorder.story).toEqual(["gave up shutdown"]);
  expect(recorder.closes()).toBe(true);
  expect(world.endpoint.isClosed).toBe(true);
  expect(world.warnings).toEqual([]);
  await world.clock.advance(61_000);
  expect(world.ledger.inner.ratesOf("api")?.[0]?.leases).toBe(0);
});

/** Takes its time to connect, and then asks whether it may still write. */
class ConnectingProbe implements Probe {
  readonly #fake: FakeProbe;
  readonly #clock: VirtualClock;

  constructor(fake: FakeProbe, clock: VirtualClock) {
    this.#fake = fake;
    this.#clock = clock;
  }

  async poll(signal: AbortSignal, mayWrite: () => boolean = () => true): Promise<Observation> {
    await this.#clock.sleep(5_000, signal);
    if (mayWrite()) return this.#fake.poll(signal);
    const detail = "nothing was sent: the right to send ended first";
    return observed({ kind: "broken", fault: "timeout", detail, sent: false, head: undefined });
  }

  close(): Promise<void> {
    return this.#fake.close();
  }
}

test("a token request that still connects when a pause comes is sent after it, and has not failed", async () => {
  const world = await new World(granting(3_600)).begin();
  const source = world.openSource(new ConnectingProbe(world.endpoint, world.clock));
  const watched = world.watch(undefined, {}, source);
  watched.poller.slot("schedule", world.clock.now());
  await world.clock.advance(2_000);
  const pausedUntilMs = world.clock.now() + 20_000;
  world.ledger.hints.heard(
    ["api"],
    sampleAnswerHints({ pause: { scope: "budget", forMs: 20_000, source: "retry_after" } }),
  );
  await world.clock.advance(40_000);
  expect(world.endpoint.sentAtMs).toHaveLength(1);
  expect(world.endpoint.sentAtMs[0]).toBeGreaterThanOrEqual(pausedUntilMs);
  expect(watched.recorder.story).toEqual(["schedule ok", "unknown -> up"]);
  expect(world.warnings).toEqual([]);
});

test("a secret whose file system hangs keeps neither the slots nor the shutdown waiting", async () => {
  const world = new World(() => observed(HANGING, 10_000));
  world.secret = new Promise(() => {});
  await world.begin();
  const watched = world.watch();
  await world.slots([watched], 1);
  expect(watched.recorder.story).toEqual(["schedule rejected"]);
  await world.slots([watched], 4);
  const stopped = Promise.all([watched.poller.stop(10_000), world.source.close()]);
  await world.clock.advance(0);
  await stopped;
  expect(watched.recorder.closes()).toBe(true);
});

test("an upstream that leaves takes its waiting token request with it", async () => {
  const rates = [{ requests: 1, perMs: 600_000, label: "10m" }];
  const world = new World(granting(3_600), [sampleBudget({ rates })]);
  const { poller } = world.watch();
  poller.slot("schedule", world.clock.now());
  await world.clock.advance(1_000);
  await poller.stop(0);
  await world.clock.advance(3_600_000);
  expect(world.endpoint.sentAtMs).toEqual([]);
  expect(world.bugs).toEqual([]);
});

test("a slot that waits for a token goes over to the token of a new config", async () => {
  const rates = [{ requests: 1, perMs: 60_000, label: "1m" }];
  const world = new World(granting(3_600), [sampleBudget(), sampleBudget({ name: "login", rates })]);
  const { poller, recorder } = world.watch();
  const { probe } = world.watch();
  poller.slot("schedule", world.clock.now());
  await poller.reconfigure(sampleUpstream(), probe);
  await world.clock.advance(200_000);
  expect(probe.sent).toEqual(["t1"]);
  expect(recorder.closes()).toBe(true);
});

const anyAnswer = fc.constantFrom<Endpoint>(
  granting(1),
  granting(60),
  granting(90, 9_000),
  granting(undefined),
  granting(-1),
  refusing,
  busy,
  () => observed(HANGING, 10_000),
  () => observed(answered(429, [["retry-after", "70"]])),
  () => observed(answered(200, [], "<html>")),
);
const anyStep = fc.record({
  slotOf: fc.nat({ max: 3 }),
  waitMs: fc.constantFrom(0, 200, 1_000, 5_000, 15_000, 45_000),
  stepWallMs: fc.constantFrom(0, 0, 0, -86_400_000, 86_400_000),
});

test("whatever comes, the limit is kept, a minute lies between token requests, and every slot is accounted for", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyAnswer, { minLength: 1, maxLength: 6 }),
      fc.array(fc.constantFrom(200, 401, 429, 503), { minLength: 1, maxLength: 6 }),
      fc.array(anyStep, { minLength: 40, maxLength: 120 }),
      async (answers, statuses, steps) => {
        const limit = { requests: 12, perMs: 60_000 };
        const rates = [{ ...limit, label: "1m" }];
        const world = new World(
          (turn) => (answers[turn % answers.length] ?? busy)(turn),
          [sampleBudget({ rates })],
        );
        const all = Array.from({ length: 4 }, (_, index) =>
          world.watch((__, turn) => observed(answered(statuses[turn % statuses.length] ?? 200)), {
            name: `u${index}`,
          }),
        );
        for (const { slotOf, waitMs, stepWallMs } of steps) {
          all[slotOf]?.poller.slot("schedule", world.clock.now());
          await world.clock.advance(waitMs);
          world.clock.stepWall(stepWallMs);
        }
        const ended = Promise.all([...all.map(({ poller }) => poller.stop(10_000)), world.source.close()]);
        await world.clock.advance(20_000);
        await ended;
        const tokens = world.endpoint.sentAtMs;
        const sent = [...tokens, ...all.flatMap(({ probe }) => probe.sentAtMs)].sort((a, b) => a - b);
        const judge = new RequestLedger([limit], slidingLog);
        for (const atMs of sent) judge.count(atMs);
        expect(judge.violations).toBe(0);
        for (const [index, atMs] of tokens.slice(1).entries()) {
          expect(atMs - (tokens[index] ?? 0)).toBeGreaterThanOrEqual(60_000);
        }
        for (const { recorder, probe } of all) {
          expect(recorder.closes()).toBe(true);
          expect([recorder.waiting, recorder.inFlight]).toEqual([0, 0]);
          expect(probe.sent).not.toContain("");
        }
        expect(world.bugs).toEqual([]);
      },
    ),
    { numRuns: 60 },
  );
});

test("when the tokens of many clients expire, or are revoked, at one moment, all are renewed within the limit", async () => {
  const CLIENTS = 30;
  const limit = { requests: 40, perMs: 60_000 };
  const world = await new World(granting(600), [
    sampleBudget({ rates: [{ ...limit, label: "1m" }] }),
  ]).begin();
  /** How many of the tokens of each client are revoked. */
  const revoked = Array.from({ length: CLIENTS }, () => 0);
  const clients = Array.from({ length: CLIENTS }, (_, index) => {
    const endpoint = new FakeProbe(world.clock, granting(600));
    const isRevoked = (token: string): boolean => Number(token.slice(1)) <= (revoked[index] ?? 0);
    const answer = (token: string): Observation => observed(answered(isRevoked(token) ? 401 : 200));
    const source = world.openSource(endpoint);
    return { endpoint, isRevoked, ...world.watch(answer, { name: `u${index}` }, source) };
  });
  const live = async (minutes: number): Promise<void> => {
    for (let minute = 0; minute < minutes; minute += 1) {
      for (const { poller } of clients) poller.slot("schedule", world.clock.now());
      await world.clock.advance(60_000);
    }
  };
  // All of them begin at once, so all expire at once; then every token that was given until now is revoked.
  await live(25);
  const given = clients.map(({ endpoint }) => endpoint.sentAtMs.length);
  expect(Math.min(...given)).toBeGreaterThanOrEqual(2);
  given.forEach((tokens, index) => (revoked[index] = tokens));
  await live(10);
  const judge = new RequestLedger([limit], slidingLog);
  const sent = clients.flatMap(({ endpoint, probe }) => [...endpoint.sentAtMs, ...probe.sentAtMs]);
  for (const atMs of sent.sort((a, b) => a - b)) judge.count(atMs);
  expect(judge.violations).toBe(0);
  // The storms did come close to it.
  expect(judge.worstWindow()[0]?.requests).toBeGreaterThan(CLIENTS);
  for (const [index, { endpoint, isRevoked, probe, recorder }] of clients.entries()) {
    expect(endpoint.sentAtMs.length).toBeGreaterThan(given[index] ?? 0);
    expect(isRevoked(probe.sent.at(-1) ?? "")).toBe(false);
    expect(recorder.closes()).toBe(true);
  }
  expect(world.bugs).toEqual([]);
});
