import { judgingOf } from "../../../src/app/features/judging.ts";
import type { Poll } from "../../../src/kernel/poll/poll.ts";
import { expect, test } from "vitest";
import type { Exchange } from "../../../src/kernel/exchange/exchange.ts";
import { judge } from "../../../src/kernel/polling/poll-once.ts";
import { samplePollTimes, sampleUpstream } from "../../support/kernel-samples.ts";

const BODY = '{"error":{"message":"Incorrect API key provided: see our pages"}}';

function polled(status: number, body = BODY): Poll {
  const exchange: Exchange = {
    kind: "answered",
    head: { status, reasonPhrase: "", headers: [] },
    body: new TextEncoder().encode(body),
  };
  const observation = {
    exchange,
    durationMs: 1,
    phasesMs: {},
    certificateExpiresAtMs: undefined,
    withoutKeys: (text: string) => text,
  };
  const upstream = sampleUpstream();
  return judge(upstream, observation, samplePollTimes({ endedAtMs: 1 }), judgingOf(upstream));
}

test.each([401, 403, 400, 200])("nothing of the body of a %i that rejects our key is kept", (status) => {
  const poll = polled(status);
  expect(poll.outcome.kind).toBe("rejected");
  expect(JSON.stringify(poll)).not.toMatch(/Incorrect|see our pages/);
});

test("of any other failure, the beginning of the body is kept", () => {
  expect(polled(500, "<h1>busy</h1>").excerpt).toBe("<h1>busy</h1>");
});
