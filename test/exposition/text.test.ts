import { expect, test } from "vitest";
import { outcomeOf } from "../../src/kernel/exchange/outcome.ts";
import { renderOpenMetrics, renderText } from "../support/metrics/render.ts";
import { POLL_ENDED_AT_MS, samplePoll } from "../support/kernel-samples.ts";
import {
  accountsOf,
  fullMetricsSnapshot,
  sampleMetricsSnapshot,
  sampleUpstreamSnapshot,
} from "../support/samples.ts";

test("OpenMetrics names a counter without its ending, and says where it ends", () => {
  const text = renderOpenMetrics(fullMetricsSnapshot());
  expect(text).toContain("# TYPE pacewatch_slots counter\npacewatch_slots_total{");
  expect(text).not.toMatch(/^# \w+ \w+_total /m);
  expect(text.endsWith("\n# EOF\n")).toBe(true);
});

test("OpenMetrics says the same as the text, and exemplars beside", () => {
  const lines = (text: string): readonly string[] =>
    text
      .split("\n")
      .filter((line) => !line.startsWith("#"))
      .map((line) => line.replace(/ # .*/, ""));
  const snapshot = fullMetricsSnapshot();
  expect(lines(renderOpenMetrics(snapshot))).toEqual(lines(renderText(snapshot)));
  expect(renderText(snapshot)).not.toContain(" # {");
});

test("an exemplar stands beside the outcome of its poll, and beside the one bucket that counts it first", () => {
  const head = { status: 500, headers: [{ name: "x-request-id", bytes: 8, value: 'req_"7f3a' }] };
  const outcome = outcomeOf("server_error");
  const accounts = accountsOf(samplePoll({ id: "a-1" }), samplePoll({ id: "a-2", outcome, head }));
  const text = renderOpenMetrics(
    sampleMetricsSnapshot({ upstreams: [sampleUpstreamSnapshot({ accounts })] }),
  );
  const at = `0.2 ${POLL_ENDED_AT_MS / 1000}`;
  const failed = `# {poll_id="a-2",poll_page="email#a-2",request_id="req_\\"7f3a"} ${at}`;
  expect(text.split("\n").filter((line) => line.includes(" # {"))).toEqual([
    `pacewatch_polls_total{upstream="email",outcome="ok"} 1 # {poll_id="a-1",poll_page="email#a-1"} ${at}`,
    `pacewatch_polls_total{upstream="email",outcome="failed"} 1 ${failed}`,
    `pacewatch_poll_duration_seconds_bucket{upstream="email",outcome="ok",le="0.25"} 1 # {poll_id="a-1",poll_page="email#a-1"} ${at}`,
    `pacewatch_poll_duration_seconds_bucket{upstream="email",outcome="failed",le="+Inf"} 1 ${failed}`,
  ]);
});

test("a bound is written as Prometheus itself writes it, in whatever format", () => {
  for (const text of [renderText(fullMetricsSnapshot()), renderOpenMetrics(fullMetricsSnapshot())]) {
    const bounds = [
      ...text.matchAll(/duration_seconds_bucket\{upstream="email",outcome="ok",le="([^"]*)"/g),
    ].map(([, le]) => le);
    expect(bounds.join(" ")).toBe("0.01 0.025 0.05 0.1 0.25 0.5 1.0 2.5 5.0 10.0 30.0 60.0 +Inf");
  }
});
