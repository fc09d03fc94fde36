import { expect, test } from "vitest";
import type { Announcement } from "../../../src/features/announcements/announcement.ts";
import type { PollOutcome } from "../../../src/kernel/exchange/outcome.ts";
import { parseExposition, sampleValue } from "../../support/metrics/exposition-parser.ts";
import { renderText } from "../../support/metrics/render.ts";
import { recordPoll, samplePoll } from "../../support/kernel-samples.ts";
import {
  sampleAccounts,
  sampleAnnouncement,
  sampleMetricsSnapshot,
  sampleUpstreamSnapshot,
} from "../../support/samples.ts";

test("an announced end stands until an ok answer leaves it out", () => {
  const accounts = sampleAccounts();
  const shown = (what: string): number | undefined =>
    sampleValue(
      parseExposition(
        renderText(sampleMetricsSnapshot({ upstreams: [sampleUpstreamSnapshot({ accounts })] })),
      ),
      `pacewatch_upstream_${what}_timestamp_seconds`,
    );
  const polled = (
    endedAtMs: number,
    announcement?: Announcement,
    outcome: PollOutcome = { kind: "ok", reason: "" },
  ): void => recordPoll(accounts, samplePoll({ endedAtMs, said: { announcement }, outcome }));
  polled(1_000, sampleAnnouncement({ sunsetAtMs: 9_000 }));
  polled(2_000, sampleAnnouncement({ sunsetAtMs: 9_000 }));
  expect(shown("deprecation")).toBe(1);
  polled(3_000, undefined, { kind: "failed", reason: "server_error" });
  expect(shown("sunset")).toBe(9);
  polled(4_000);
  expect(shown("deprecation")).toBeUndefined();
  expect(shown("sunset")).toBeUndefined();
  polled(5_000, sampleAnnouncement({ deprecatedAtMs: 7_000 }));
  expect(shown("deprecation")).toBe(7);
});
