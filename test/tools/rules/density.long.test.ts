import { describe, expect, test } from "vitest";
import { stringify } from "yaml";
import type { Upstream } from "../../../src/kernel/config/config.ts";
import { OK, outcomeOf } from "../../../src/kernel/exchange/outcome.ts";
import { WatchedTime } from "../../../src/features/history/watched.ts";
import { MINUTE_MS } from "../../../src/kernel/time/duration.ts";
import { ruleGroups, rulesText } from "../../../tools/rules/rules.ts";
import { requireBinary } from "../../support/processes/binaries.ts";
import { slotsOf, type Schedule } from "../../../src/kernel/schedule/schedule.ts";
import { sampleCron, samplePoll, sampleSchedule, sampleUpstream } from "../../support/kernel-samples.ts";
import { runWith } from "../promtool.ts";

const promtool = requireBinary("promtool");
type Watching = {
  /** When its polls came, in seconds. */
  readonly polledS: readonly number[];
  readonly upstream: Upstream;
  /** When its settings were there, if that was not at its first poll. */
  readonly reloadedS?: number;
};

type Story = {
  /** One after the other: a reload begins the next one. */
  readonly watching: readonly Watching[];
  readonly forMinutes: number;
  readonly everyS?: number;
  /** Whether a poll at this moment fails. */
  readonly fails: (atS: number) => boolean;
  /** From when until when it counts as down. */
  readonly down?: readonly [fromS: number, untilS: number];
};

type Fired = { readonly alertname: string; readonly window?: string };

const BURNING = (window: string): Fired => ({ alertname: "PacewatchErrorBudgetBurning", window });

/** The slots of its schedule, but for the last second. Prometheus tests begin on Thursday, 1 January 1970. */
function polled(upstream: Upstream, fromMinute: number, untilMinute: number): Watching {
  const cron = slotsOf(upstream.schedule);
  const polledS: number[] = [];
  for (
    let atMs = cron.next(fromMinute * MINUTE_MS - 1);
    atMs < untilMinute * MINUTE_MS;
    atMs = cron.next(atMs)
  )
    polledS.push(atMs / 1_000);
  return { polledS, upstream };
}

/** What the real engine says to the claim that at the given moments this fires, and nothing else. */
function judge(
  story: Story,
  ...claims: readonly (readonly [atS: number, ...fired: readonly Fired[]])[]
): string {
  const { everyS = 15, watching } = story;
  const own = 'job="pacewatch",instance="pw",upstream="email"';
  const seen = Array.from({ length: (story.forMinutes * 60) / everyS + 1 }, (_, index) => index * everyS);
  const watched = new WatchedTime();
  const polls = watching.flatMap(({ polledS, upstream: { schedule } }) =>
    polledS.map((slotS) => {
      const outcome = story.fails(slotS) ? outcomeOf("server_error") : OK;
      const { usualGapMs } = slotsOf(schedule);
      const poll = samplePoll({ outcome, sentAtMs: slotS * 1_000, delayMs: 0, usualGapMs });
      return { slotS, kind: outcome.kind, watchedS: watched.coveredBy(poll) / 1_000 };
    }),
  );
  const totals = (amountOf: (poll: (typeof polls)[number]) => number): string => {
    let [next, total] = [0, 0];
    return seen
      .map((untilS) => {
        for (let poll = polls[next]; poll !== undefined && poll.slotS < untilS; poll = polls[(next += 1)])
          total += amountOf(poll);
        return total;
      })
      .join(" ");
  };
  const setting = (of: (upstream: Upstream) => number | string): string =>
    seen
      .map((s) => watching.findLast(({ polledS: [firstS = 0], reloadedS = firstS }) => reloadedS <= s))
      .map((at = watching[0]) => (at === undefined ? "_" : of(at.upstream)))
      .join(" ");
  const [fromS, untilS] = story.down ?? [Infinity, Infinity];
  const input = {
    ...Object.fromEntries(
      (["ok", "failed"] as const).map((outcome) => [
        `pacewatch_upstream_watched_seconds_total{${own},outcome="${outcome}"}`,
        totals(({ kind, watchedS }) => (kind === outcome ? watchedS : 0)),
      ]),
    ),
    [`pacewatch_objective_ratio{${own}}`]: setting(({ objective }) => objective.availability),
    [`pacewatch_schedule_period_seconds{${own}}`]: setting(
      ({ schedule }) => slotsOf(schedule).usualGapMs / 1_000,
    ),
    [`pacewatch_schedule_watched_ratio{${own}}`]: setting(({ schedule }) => {
      const { watchedRatio } = slotsOf(schedule);
      return watchedRatio < 1 ? watchedRatio : "_";
    }),
    [`pacewatch_upstream_up{${own}}`]: seen.map((s) => (fromS <= s && s < untilS ? 0 : 1)).join(" "),
  };
  const tests = {
    rule_files: ["rules.yml"],
    evaluation_interval: `${everyS}s`,
    group_eval_order: ruleGroups("one").map((group) => group.name),
    tests: [
      {
        interval: `${everyS}s`,
        input_series: Object.entries(input).map(([series, values]) => ({ series, values })),
        promql_expr_test: claims.map(([atS, ...fired]) => ({
          expr: 'sum by (alertname, window) (ALERTS{alertstate="firing",upstream!=""})',
          eval_time: `${atS}s`,
          exp_samples: fired.map(({ alertname, window }) => ({
            labels:
              window === undefined
                ? `{alertname="${alertname}"}`
                : `{alertname="${alertname}",window="${window}"}`,
            value: 1,
          })),
        })),
      },
    ],
  };
  const files = { "rules.yml": rulesText("one"), "tests.yml": stringify(tests, { lineWidth: 0 }) };
  return runWith(files, promtool ?? "", (folder) => ["test", "rules", `${folder}/tests.yml`]).output;
}

function upstreamWith(schedule: Schedule, availability: number): Upstream {
  return sampleUpstream({ schedule, objective: { availability, latencyMs: 1_000 } });
}

function every(periodMs: number, availability: number): Upstream {
  return upstreamWith(sampleSchedule(periodMs), availability);
}

describe.skipIf(promtool === undefined)("at 99.9 %", () => {
  const minutely = [polled(every(60_000, 0.999), 0, 70)];
  const dense = [polled(every(15_000, 0.999), 0, 65)];

  test("one failed poll at one a minute pages nobody, though it burns at 16.7 over an hour", () => {
    const fails = (atS: number): boolean => atS >= 3600 && atS < 3660;
    expect(judge({ watching: minutely, forMinutes: 70, fails }, [3720])).toContain("SUCCESS");
  });

  test("one failed poll in the first minutes of a process pages nobody either", () => {
    const fails = (atS: number): boolean => atS >= 120 && atS < 135;
    expect(judge({ watching: dense, forMinutes: 10, fails }, [180])).toContain("SUCCESS");
  });

  test("a life of a minute burns a minute of an hour, however bad it is", () => {
    // Half of its polls fail: of the 52 s that are too much, that is 30 s after one minute, and 120 s after four.
    const fails = (atS: number): boolean => Math.floor(atS / 15) % 2 === 0;
    expect(judge({ watching: dense, forMinutes: 10, fails }, [60], [240, BURNING("1h")])).toContain(
      "SUCCESS",
    );
  });

  test("three failed polls in an hour at one a minute do page", () => {
    const fails = (atS: number): boolean => [55, 58, 60].includes(Math.floor(atS / 60));
    const burning = [BURNING("1h"), BURNING("6h")];
    expect(judge({ watching: minutely, forMinutes: 70, fails }, [3720, ...burning])).toContain("SUCCESS");
  });

  test("an outage of 60 s at one poll every 15 s pages before it is over", () => {
    // The first failing slot may come a period after the break; confirming takes a pace gap of a second or so.
    const story: Story = {
      watching: dense,
      forMinutes: 65,
      fails: (atS) => atS >= 3600 && atS < 3660,
      down: [3600 + 15 + 15, 3660 + 15],
    };
    expect(judge(story, [3600 + 45, { alertname: "PacewatchUpstreamDown" }])).toContain("SUCCESS");
  });

  test("that outage of 60 s is told as burnt budget too, once it is over", () => {
    const fails = (atS: number): boolean => atS >= 3600 && atS < 3660;
    expect(judge({ watching: dense, forMinutes: 65, fails }, [3720, BURNING("1h")])).toContain("SUCCESS");
  });

  test("where five minutes may pass without a poll, only the slower windows judge", () => {
    const watching = [polled(every(300_000, 0.999), 0, 120)];
    const story: Story = { watching, forMinutes: 120, fails: (atS) => atS >= 4_500 };
    expect(judge(story, [7200, ...["6h", "1d", "3d"].map(BURNING)])).toContain("SUCCESS");
  });
});

describe.skipIf(promtool === undefined)("after a reload", () => {
  test("to a quick schedule, an hour of a slow one is judged by its own polls", () => {
    // Three failed polls of ten minutes each, and six of five seconds: of five seconds alone eleven would burn too much.
    const watching = [polled(every(600_000, 0.999), 0, 361), polled(every(5_000, 0.999), 361, 370)];
    const fails = (atS: number): boolean => atS >= 330 * 60 && atS < 361.5 * 60;
    const burning = ["1h", "6h", "1d", "3d"].map(BURNING);
    expect(judge({ watching, forMinutes: 370, fails }, [363 * 60, ...burning])).toContain("SUCCESS");
  });

  test("to a quick schedule, one failed poll of a slow one is one slot, as long as a window holds it", () => {
    const slow = polled(every(600_000, 0.99), 0, 90);
    const failedS = slow.polledS.at(-1) ?? 0;
    const quick = polled(every(5_000, 0.99), Math.ceil(failedS / 60) + 1, 160);
    const story: Story = {
      watching: [slow, { ...quick, reloadedS: failedS + 5 }],
      forMinutes: 160,
      fails: (atS) => atS === failedS,
    };
    const claims = Array.from(
      { length: 65 },
      (_, minute) => [Math.ceil(failedS / 60 + minute) * 60] as const,
    );
    expect(judge(story, ...claims)).toContain("SUCCESS");
  });

  test("to a quick schedule, an outage burns the budget by its own slots ten minutes later", () => {
    const watching = [polled(every(3_600_000, 0.999), 0, 120), polled(every(10_000, 0.999), 120, 160)];
    const fails = (atS: number): boolean => atS >= 140 * 60;
    const burning = ["1h", "6h", "1d", "3d"].map(BURNING);
    expect(judge({ watching, forMinutes: 160, fails }, [139 * 60], [150 * 60, ...burning])).toContain(
      "SUCCESS",
    );
  });

  test("to a slow schedule, what a quick one watched for a minute is a minute", () => {
    const watching = [polled(every(5_000, 0.99), 0, 3), polled(every(600_000, 0.99), 3, 60)];
    const fails = (atS: number): boolean => atS < 120;
    expect(judge({ watching, forMinutes: 60, fails }, [240], [720], [1_800])).toContain("SUCCESS");
  });
});

describe.skipIf(promtool === undefined)("in office hours", () => {
  const officeHours = upstreamWith(sampleCron("*/15 * 8-17 * * MON-FRI"), 0.999);
  const HOUR_S = 3_600;

  test("an outage burns the budget in the last hour of the day too, and the night after burns nothing", () => {
    const watching = [polled(officeHours, 8 * 60, 34 * 60)];
    const fails = (atS: number): boolean => atS >= 17 * HOUR_S && atS < 17.1 * HOUR_S;
    const burning = ["1h", "6h", "1d", "3d"].map(BURNING);
    expect(
      judge(
        { watching, forMinutes: 33 * 60, everyS: 60, fails },
        [17 * HOUR_S + 180, ...burning],
        [27 * HOUR_S],
        [32.5 * HOUR_S],
      ),
    ).toContain("SUCCESS");
  });

  test("twice the failures that the objective allows are told after days, as nights are not to be watched", () => {
    const watching = [polled(officeHours, 8 * 60, 6 * 24 * 60)];
    const fails = (atS: number): boolean => (atS / 15) % 500 === 0;
    const tuesday17 = (5 * 24 + 17) * HOUR_S;
    const story = { watching, forMinutes: tuesday17 / 60 + 10, everyS: 600, fails };
    expect(judge(story, [11 * HOUR_S], [tuesday17, BURNING("3d")])).toContain("SUCCESS");
  });
});
