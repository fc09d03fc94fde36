import { expect, test } from "vitest";
import type { Lease } from "../../../src/kernel/budget/ledger.ts";
import type { Probe } from "../../../src/kernel/poll/ports.ts";
import { pollOnce } from "../../../src/kernel/polling/poll-once.ts";
import { observed, sampleUpstream } from "../../support/kernel-samples.ts";
import { VirtualClock } from "../../support/virtual/clock.ts";

const NOTHING_SENT = {
  kind: "broken",
  fault: "timeout",
  detail: "nothing was sent",
  sent: false,
  head: undefined,
} as const;

test("a request that was stopped because the lease could not be used is no poll, also where it can be used again soon", async () => {
  const clock = new VirtualClock();
  let isUsable = false;
  const settled: string[] = [];
  const lease: Lease = {
    isUsable: () => isUsable,
    settle: (settlement) => void settled.push(settlement),
    ended: () => {},
  };
  const probe: Probe = {
    gate: undefined,
    poll: (_signal, mayWrite = () => true) => {
      expect(mayWrite()).toBe(false);
      isUsable = true;
      return Promise.resolve(observed(NOTHING_SENT));
    },
    close: () => Promise.resolve(),
  };
  const poll = await pollOnce(
    { upstream: sampleUpstream(), probe, judging: { judges: [], readers: [], remarks: [] } },
    { origin: "schedule", cameMs: clock.now() },
    lease,
    {
      clock,
      judgeLarge: () => expect.fail("nothing was sent"),
      nextPollId: () => "p",
      onBug: (error) => expect.fail(String(error)),
    },
    () => false,
    new AbortController().signal,
  );
  expect(poll).toBeUndefined();
  expect(settled).toEqual(["unsent"]);
});
