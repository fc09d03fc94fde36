import { expect, test } from "vitest";
import type { Sla } from "../../../src/features/report/config.ts";
import { periodOf } from "../../../src/features/report/period.ts";
import {
  type Figures,
  type Kept,
  type KeptIncident,
  NOTHING,
  reportedOf,
  upstreamReport,
  type UpstreamReport,
} from "../../../src/features/report/report.ts";
import { dayNumberOf } from "../../../src/kernel/time/civil-day.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../src/kernel/time/duration.ts";
import { sampleUpstream } from "../../support/kernel-samples.ts";
import { samplePollStatus } from "../../support/samples.ts";

const FROM_MS = Date.parse("2026-09-01T00:00:00Z");
const TO_MS = Date.parse("2026-10-01T00:00:00Z");
const SEPTEMBER = {
  firstDay: dayNumberOf("2026-09-01") ?? 0,
  lastDay: dayNumberOf("2026-09-30") ?? 0,
};

const SLA: Sla = {
  atLeast: 0.99,
  unit: "minute",
  badUnit: "all_failed",
  credits: undefined,
  claimWithinMs: undefined,
  timeZone: undefined,
};

function september(kept: readonly Kept[], sla?: Sla): UpstreamReport {
  return upstreamReport(
    { ...reportedOf(sampleUpstream()), sla },
    kept,
    periodOf(SEPTEMBER, "UTC", TO_MS),
    TO_MS,
  );
}

/** As the state file of one replica has it. */
function keptIn(incidents: readonly KeptIncident[], days: readonly Figures[] = []): Kept {
  return { days, costs: [], incidents: () => incidents };
}

test.each(Array.from({ length: 9 }, (_, index) => 91 + index))(
  "an availability of exactly %i % is not below it",
  (percent) => {
    const minutes = 30 * 24 * 60;
    const badMinutes = (minutes * (100 - percent)) / 100;
    const day = { ...NOTHING, watchedMinutes: minutes, badMinutes };
    const promised = percent / 100;
    const credits = [{ below: promised, credit: 0.1 }];
    const { months } = september([keptIn([], [day])], { ...SLA, atLeast: promised, credits });
    expect(months[0]).toMatchObject({ isKept: true, credit: undefined });
    expect(months[0]).toMatchObject({ availability: promised, availabilityOfWatched: promised });
  },
);

test("what was watched is added up of the days, and is no longer than the period", () => {
  const day = { ...NOTHING, ok: 480, watchedMs: 8 * HOUR_MS };
  const days = Array.from({ length: 30 }, () => day);
  expect(september([keptIn([], days)])).toMatchObject({ watchedMs: 30 * 8 * HOUR_MS, watched: 1 / 3 });
  const [first] = september([keptIn([], [{ ...day, watchedMs: 25 * HOUR_MS }])]).days;
  expect(first?.watchedMs).toBe(DAY_MS);
});

test("an outage that one replica began to watch and another one went on with is one outage, with all of its evidence", () => {
  const startedAtMs = FROM_MS + DAY_MS;
  const poll = (id: string, atMs: number) =>
    samplePollStatus({ id, outcome: "failed", reason: "timeout", atMs });
  const begun = [poll("a-1", startedAtMs - 1_000), poll("a-2", startedAtMs + MINUTE_MS)];
  const incident = { upstream: "email", state: "down", reason: "timeout", startedAtMs } as const;
  const first: KeptIncident = {
    ...incident,
    endedAtMs: startedAtMs + 10 * MINUTE_MS,
    isUnwatched: true,
    polls: 3,
    evidence: [...begun, poll("a-3", startedAtMs + 9 * MINUTE_MS)],
    seenAtMs: startedAtMs + 10 * MINUTE_MS,
  };
  const endedAtMs = startedAtMs + HOUR_MS;
  const next: KeptIncident = {
    ...incident,
    endedAtMs,
    polls: 9,
    evidence: [poll("b-1", startedAtMs + 11 * MINUTE_MS), poll("b-9", endedAtMs - MINUTE_MS)],
    seenAtMs: endedAtMs,
  };
  for (const files of [
    [first, next],
    [next, first],
  ]) {
    const { incidents } = september(files.map((each) => keptIn([each])));
    expect(incidents).toHaveLength(1);
    expect(incidents[0]).toMatchObject({ polls: 9, toMs: endedAtMs, isUnwatched: false });
    expect(incidents[0]?.durationMs).toBe(HOUR_MS + 1_000);
    expect(incidents[0]?.evidence.map(({ id }) => id)).toEqual(["a-1", "a-2", "b-9"]);
  }
});

test("the minute that is not over counts, as its polls do", () => {
  const nowMs = FROM_MS + 90_000;
  const day = { ...NOTHING, failed: 3, watchedMinutes: 2, badMinutes: 2 };
  const { months } = upstreamReport(
    { ...reportedOf(sampleUpstream()), sla: SLA },
    [keptIn([], [day])],
    periodOf(SEPTEMBER, "UTC", nowMs),
    nowMs,
  );
  expect(months).toMatchObject([{ minutes: 2, watchedMinutes: 2, badMinutes: 2, availability: 0 }]);
});
