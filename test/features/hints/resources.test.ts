import { expect, test } from "vitest";

import { TestLedger } from "../../support/test-ledger.ts";
import type { AnswerHints } from "../../../src/features/hints/fields/answer-hints.ts";
import { Supervisor } from "../../../src/kernel/polling/supervisor.ts";
import { answerHintsOn } from "../../support/answer-hints.ts";
import { FakeProbe, StoryRecorder } from "../../support/fakes.ts";
import {
  answered,
  observed,
  sampleBudget,
  sampleConfig,
  sampleUpstream,
} from "../../support/kernel-samples.ts";
import { virtualTriggers } from "../../support/virtual/triggers.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

type Said = Readonly<Record<string, string>>;

const PLENTY = { "x-ratelimit-limit": "600", "x-ratelimit-remaining": "599", "x-ratelimit-reset": "60" };
const SPENT = { "x-ratelimit-limit": "30", "x-ratelimit-remaining": "0", "x-ratelimit-reset": "120" };

/** Four upstreams on one budget. After a while `search` answers as told: how often was each polled in two minutes? */
async function pollsAfter(
  spent: Said,
  first: Readonly<Record<string, Said>>,
  status = 200,
): Promise<Record<string, number>> {
  const clock = new VirtualClock();
  const names = Object.keys(first);
  const upstreams = names.map((name) => sampleUpstream({ name }));
  const config = sampleConfig({
    budgets: [sampleBudget({ rates: [{ requests: 600, perMs: 60_000, label: "1m" }] })],
    upstreams,
  });
  let isSpent = false;
  const probes = new Map(
    names.map((name) => [
      name,
      new FakeProbe(clock, () => {
        const isHit = isSpent && name === "search";
        return observed(answered(isHit ? status : 200, Object.entries(isHit ? spent : (first[name] ?? {}))));
      }),
    ]),
  );
  const supervisor = new Supervisor({
    clock,
    ...new TestLedger(config, clock).polling,
    triggers: virtualTriggers(clock),
    recorderOf: () => new StoryRecorder(),
    nextPollId: () => "p",
    onBug: (error) => {
      throw error;
    },
  });
  supervisor.apply(config, probes);
  // A process that uses the whole limit waits at its start.
  await clock.advance(150_000);
  isSpent = true;
  await clock.advance(15_000);
  const before = new Map([...probes].map(([name, probe]) => [name, probe.sentAtMs.length]));
  await clock.advance(90_000);
  return Object.fromEntries(
    [...probes].map(([name, probe]) => [name, probe.sentAtMs.length - (before.get(name) ?? 0)]),
  );
}

const resource = (name: string): Said => ({ ...PLENTY, "x-ratelimit-resource": name });
const FOUR = { search: resource("search"), code: resource("search"), core: resource("core"), silent: PLENTY };

test.each([200, 429])(
  "a spent limit of one resource does not silence who draws on another (%i)",
  async (status) => {
    const polls = await pollsAfter({ ...SPENT, "x-ratelimit-resource": "search" }, FOUR, status);
    expect(polls).toEqual({ search: 0, code: 0, core: 6, silent: 0 });
  },
);

test("who left and came back may draw on another resource than before", () => {
  const [search, core] = ["search", "core"].map((name) => sampleUpstream({ name }));
  if (search === undefined || core === undefined) throw new Error("there are two");
  const { hints } = new TestLedger(sampleConfig({ upstreams: [search, core] }), new VirtualClock());
  const said = (name: string): AnswerHints => answerHintsOn(200, Object.entries(resource(name)), 0);
  const asked = hints.gateOf(search);
  const leaving = hints.gateOf(core);
  hints.share(leaving, said("core"));
  expect(hints.share(asked, said("search"))).not.toEqual(said("search"));
  leaving.close();
  hints.gateOf(core);
  expect(hints.share(asked, said("search"))).toEqual(said("search"));
});

test("where nothing tells what the limit is about, the whole budget waits", async () => {
  expect(await pollsAfter(SPENT, FOUR)).toEqual({ search: 0, code: 0, core: 0, silent: 0 });
});

test("a wait that the resource's own limit does not explain is the whole budget's", async () => {
  const shared = { ...resource("search"), "retry-after": "120" };
  expect(await pollsAfter(shared, FOUR, 429)).toEqual({ search: 0, code: 0, core: 0, silent: 0 });
});

test("partitions of the standard are resources too", async () => {
  const of = (key: string, left: number): Said => ({
    "ratelimit-policy": `"p";q=600;w=60;pk=:${key}:`,
    ratelimit: `"p";r=${left};t=120;pk=:${key}:`,
  });
  const polls = await pollsAfter(of("YQ==", 0), { search: of("YQ==", 599), other: of("Yg==", 599) });
  expect(polls).toEqual({ search: 0, other: 6 });
});
