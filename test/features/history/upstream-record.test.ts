import { expect, test } from "vitest";
import { History } from "../../../src/features/history/history.ts";
import { UpstreamRecord } from "../../../src/features/history/upstream-record.ts";
import { type PollEvent, SLOT_STARTED, SLOT_WAITING } from "../../../src/kernel/poll/ports.ts";
import { StoryRecorder } from "../../support/fakes.ts";
import { samplePoll } from "../../support/kernel-samples.ts";
import { accountsClose } from "../../support/accounts-close.ts";

/** One of each. */
function tellEverything(record: UpstreamRecord): void {
  record.record(SLOT_WAITING);
  record.record(SLOT_STARTED);
  record.record({ kind: "polled", poll: samplePoll() });
  record.record({ kind: "health_changed", from: "unknown", to: "up", atMs: 1_000 });
  record.record({ kind: "slots_skipped", cause: "missed", count: 3 });
  record.record(SLOT_WAITING);
  record.record({ kind: "slots_skipped", cause: "budget", count: 1, had: "waited" });
}

test("everybody hears everything, and the accounts close", () => {
  const others = [new StoryRecorder(), new StoryRecorder()];
  const record = new UpstreamRecord(new History("email", 0), others);
  tellEverything(record);
  for (const other of others) {
    expect(other.story).toEqual(["schedule ok", "unknown -> up", "skipped missed x3", "gave up budget"]);
    expect(other.closes()).toBe(true);
  }
  expect(record.accounts).toMatchObject({
    slots: 5,
    totalPolls: 1,
    skips: { total: 4 },
    waiting: 0,
    inFlight: 0,
  });
  expect(accountsClose(record.accounts)).toBe(true);
  expect(record.history.lastPolls).toHaveLength(1);
  expect(record.history.sinceMs).toBe(1_000);
});

test("the others hear of it after the history knows: what came of it can be asked there", () => {
  class Asking extends StoryRecorder {
    known: (number | undefined)[] = [];
    override record({ kind }: PollEvent): void {
      if (kind === "polled") this.known.push(history.lastPolls.length);
      if (kind === "health_changed") this.known.push(history.newestIncident?.startedAtMs);
    }
  }
  const history = new History("email", 0);
  const asking = new Asking();
  const record = new UpstreamRecord(history, [asking]);
  const poll = samplePoll({ outcome: { kind: "failed", reason: "dns" } });
  record.record({ kind: "polled", poll });
  record.record({ kind: "health_changed", from: "up", to: "down", atMs: poll.endedAtMs + 7_000 });
  expect(asking.known).toEqual([1, poll.endedAtMs]);
});
