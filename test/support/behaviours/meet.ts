import { judgingOf } from "../../../src/app/features/judging.ts";
import { opened } from "../opened.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { openTransport } from "../../../src/transport/open.ts";
import type { Upstream } from "../../../src/kernel/config/config.ts";
import type { Poll } from "../../../src/kernel/poll/poll.ts";
import { judge } from "../../../src/kernel/polling/poll-once.ts";
import { samplePollTimes, sampleUpstream } from "../kernel-samples.ts";
import { PATIENT_MS, type Behaviour } from "./behaviour.ts";
import type { Stage } from "./stage.ts";
import { namesBy, systemNames } from "../names.ts";
import { noLog } from "../no-log.ts";

/** One poll of what misbehaves, by the probe and the judge of the program itself. */
export async function meet(behaviour: Behaviour, stage: Stage): Promise<Poll> {
  const upstream = upstreamOf(behaviour, stage);
  const probe = opened(
    await openTransport(
      {
        userAgent: "pacewatch/test",
        clock: systemClock,
        environment: {},
        names: behaviour.lookup === undefined ? systemNames : namesBy(behaviour.lookup),
        log: noLog,
      },
      // Names may lead to this machine here.
      { fields: {}, upstream: { ...upstream, denyAddresses: [] }, credential: behaviour.credential },
    ),
  );
  const sentAtMs = systemClock.wallNow();
  const observation = await probe.poll(new AbortController().signal);
  await probe.close();
  const times = samplePollTimes({ sentAtMs, endedAtMs: systemClock.wallNow() });
  return judge(upstream, observation, times, judgingOf(upstream));
}

function upstreamOf(behaviour: Behaviour, stage: Stage): Upstream {
  return sampleUpstream({
    timeoutMs: PATIENT_MS,
    ...behaviour.poll,
    url: `${stage.url}/v1/resources`,
  });
}

/** As a behaviour's `meets` has it. */
export function meetingOf({ outcome }: Poll): string {
  return `${outcome.kind} ${outcome.reason}`.trim();
}

/** As a behaviour's `says` has it. */
export function sayingOf({ detail }: Poll, { url }: Stage, says: string): string {
  const { host, port } = new URL(url);
  const named = detail.replaceAll(port === "" ? `${host}:80` : host, "HOST");
  const beginning = says.slice(0, -1);
  return says.endsWith("…") && named.startsWith(beginning) ? says : named;
}
