import { type Counts, counterOf } from "../../kernel/metrics/counts.ts";
import { DURATION_BOUNDS, elapsedSeconds } from "../../kernel/metrics/accounts.ts";
import { type Add, histogram, type Metrics } from "../../kernel/metrics/family.ts";
import { Histogram } from "../../kernel/metrics/histogram.ts";
import type { UpstreamSnapshot } from "../../kernel/metrics/snapshot.ts";
import type { Poll } from "../../kernel/poll/poll.ts";
import { STREAM } from "../../kernel/poll/reader.ts";

class StreamCounts implements Counts {
  readonly firstEvent: Histogram;
  readonly longestGap: Histogram;

  constructor(startedAtMs: number) {
    this.firstEvent = new Histogram(DURATION_BOUNDS, startedAtMs);
    this.longestGap = new Histogram(DURATION_BOUNDS, startedAtMs);
  }

  judged({ outcome, said }: Poll): void {
    const { firstEventMs, longestGapMs } = STREAM.of(said) ?? {};
    if (outcome.kind === "ours" || firstEventMs === undefined) return;
    this.firstEvent.observe(elapsedSeconds(firstEventMs));
    if (longestGapMs !== undefined) this.longestGap.observe(elapsedSeconds(longestGapMs));
  }
}

const COUNTER = counterOf("stream", ({ stream }, startedAtMs) => stream && new StreamCounts(startedAtMs));

export const STREAM_METRICS: Metrics = {
  counter: COUNTER,
  upstream: {
    pacewatch_stream_first_event_seconds: histogram(
      "From the start of a poll to the first event of its stream that counts; only of upstreams with `stream`, and of polls in which one came.",
      each(({ firstEvent }) => firstEvent),
    ),
    pacewatch_stream_longest_gap_seconds: histogram(
      "The longest time in a poll between two events that count, or from the last until the poll timed out; only of upstreams with `stream`.",
      each(({ longestGap }) => longestGap),
    ),
  },
};

function each(of: (counts: StreamCounts) => Histogram): (subject: UpstreamSnapshot, add: Add) => void {
  return ({ upstream, accounts }, add) => {
    const counts = upstream.stream && COUNTER.of(accounts.counts);
    if (counts !== undefined) add(of(counts), {}, of(counts));
  };
}
