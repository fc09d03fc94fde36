import { expect, test } from "vitest";
import { judgingOf } from "../../../src/app/features/judging.ts";
import type { Auth } from "../../../src/kernel/config/config.ts";
import type { Exchange, Headers } from "../../../src/kernel/exchange/exchange.ts";
import { judgeAnswer } from "../../../src/kernel/poll/judging.ts";
import { answerOf } from "../../support/judged.ts";

const secret = { env: "X" } as const;
const AWS: Auth = { kind: "aws", service: "ses", region: "eu-central-1", accessKeyId: secret, secret };
const NOW_MS = Date.UTC(2026, 10, 23, 12);
const EXPECT = { status: [200], json: false, maxBodyBytes: 1_000 };
const BROKEN: Exchange = { kind: "broken", fault: "reset", detail: "reset", sent: true, head: undefined };

function detailOf(exchange: Exchange, auth: Auth = AWS): string {
  return judgeAnswer(answerOf(exchange, EXPECT, String, NOW_MS), judgingOf({ expect: EXPECT, auth })).detail;
}

function answered(status: number, headers: Headers): Exchange {
  return { kind: "answered", head: { status, reasonPhrase: "", headers }, body: new Uint8Array() };
}

function said(minutesAhead: number, status = 403, auth: Auth = AWS): string {
  return detailOf(answered(status, [["date", new Date(NOW_MS - minutesAhead * 60_000).toUTCString()]]), auth);
}

test("a signature that is refused when our clock is wrong is told as that", () => {
  expect(said(9)).toMatch(
    /^answered 403: .*: our clock is 9m ahead, and a signature of another time is refused$/,
  );
  expect(said(-20)).toContain(": our clock is 20m behind, and a signature of another time is refused");
  expect(said(9, 400)).toContain("9m ahead");
});

test("nothing is said of our clock where it is right, where nothing was signed, and where nothing is refused", () => {
  const details = [
    said(3),
    said(9, 403, { kind: "bearer", secret }),
    said(9, 200),
    said(9, 503),
    detailOf(answered(403, [])),
    detailOf(BROKEN),
  ];
  for (const detail of details) expect(detail).not.toContain("clock");
});
