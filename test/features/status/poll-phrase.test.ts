import { expect, test } from "vitest";
import { REASON_NAMES, REASONS } from "../../../src/kernel/exchange/reasons.ts";
import { lastPhase, pollPhrase } from "../../../src/features/status/recent-trouble.ts";
import { samplePollStatus } from "../../support/samples.ts";

test("every reason has words of its own", () => {
  const phrases = REASON_NAMES.map((reason) =>
    pollPhrase(samplePollStatus({ outcome: REASONS[reason].outcome, reason, status: undefined })),
  );
  expect(new Set(phrases).size).toBe(REASON_NAMES.length);
  for (const phrase of phrases) expect(phrase).not.toMatch(/undefined|_/);
});

test.each([
  ["redirect", 302, "got a redirect (302), which is not followed"],
  ["unauthorized", 401, "got 401: the key was rejected"],
  ["client_error", 404, "got 404: the request was refused"],
])("%s tells the status", (reason, status, words) =>
  expect(pollPhrase(samplePollStatus({ outcome: "failed", reason, status }))).toBe(words),
);

test("a reason that a changed file brings is still told somehow", () => {
  expect(pollPhrase(samplePollStatus({ outcome: "failed", reason: "constructor" }))).toBe("ended as failed");
});

test("it broke in the last phase that began", () => {
  expect(lastPhase({ dns: 1, connect: 2 })).toBe("connect");
  expect(lastPhase({})).toBeUndefined();
});
