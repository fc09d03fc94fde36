/** The CPU of one poll, sent and judged, as this checkout does it; the upstream is another process. Microseconds. */

import { systemClock } from "../../src/adapters/clock.ts";
import { openProbe } from "../../src/adapters/undici/probe.ts";
import { judge } from "../../src/engine/poll/poll-once.ts";
import { certificates } from "../../test/support/certificates.ts";
import { systemNames } from "../../test/support/names.ts";
import { opened } from "../../test/support/opened.ts";
import { sampleUpstream } from "../../test/support/samples.ts";
import { PlainUpstream } from "./plain-upstream.ts";

const WARM_UP = 1_500;
const POLLS = 4_000;

await using answering = await PlainUpstream.start(certificates().server);
const upstream = sampleUpstream({ url: `${answering.httpUrl}/v1/resources`, denyAddresses: [] });
const probe = opened(
  await openProbe({
    upstream,
    credential: undefined,
    userAgent: "pacewatch/bench",
    clock: systemClock,
    environment: {},
    names: systemNames,
    onWarning: () => {},
  }),
);
const times = { id: "1", origin: "schedule", sentAtMs: 0, endedAtMs: 0, delayMs: 0 } as const;
const { signal } = new AbortController();

async function poll(count: number): Promise<void> {
  for (let polls = 0; polls < count; polls += 1) {
    const { poll: polled } = judge(upstream, await probe.poll(signal), times);
    if (polled.outcome.kind !== "ok") throw new Error(`a poll was not ok: ${polled.detail}`);
  }
}

await poll(WARM_UP);
const before = process.cpuUsage();
await poll(POLLS);
const { user, system } = process.cpuUsage(before);
await probe.close();
console.log((user + system) / POLLS);
