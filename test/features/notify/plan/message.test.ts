import { expect, test } from "vitest";
import { wordsOf } from "../../../../src/features/notify/plan/message.ts";
import { samplePollStatus, sampleStatus, sampleUpstreamStatus } from "../../../support/samples.ts";

test.each([
  ["answered 503", []],
  ["answered 503: a firewall blocked us", ["Answered 503: a firewall blocked us"]],
])("of the detail %j is told what the sentence before it does not say", (detail, told) => {
  const poll = samplePollStatus({ outcome: "failed", reason: "server_error", status: 503, detail });
  const upstream = sampleUpstreamStatus({
    health: { state: "down", sinceMs: 0, up: false },
    lastPoll: poll,
    lastPolls: [poll],
    lastFailures: [poll],
  });
  const { lines } = wordsOf(upstream, sampleStatus({ upstreams: [upstream] }));
  expect(lines.join(" ")).toContain("got 503: server error");
  expect(lines.filter((line) => line.startsWith("Answered"))).toEqual(told);
});
