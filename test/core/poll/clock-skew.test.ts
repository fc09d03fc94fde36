import { expect, test } from "vitest";
import type { Auth } from "../../../src/core/config/config.ts";
import { clockSkewIn } from "../../../src/core/poll/clock-skew.ts";

const secret = { env: "X" } as const;
const AWS: Auth = { kind: "aws", service: "ses", region: "eu-central-1", accessKeyId: secret, secret };
const NOW_MS = Date.UTC(2026, 10, 23, 12);

function said(
  minutesAhead: number,
  { auth = AWS, status = 403 }: { auth?: Auth; status?: number } = {},
): string {
  const date = new Date(NOW_MS - minutesAhead * 60_000).toUTCString();
  return clockSkewIn(auth, { status, reasonPhrase: "", headers: [["date", date]] }, NOW_MS);
}

test("a signature that is refused when our clock is wrong is told as that", () => {
  expect(said(9)).toBe(": our clock is 9m ahead, and a signature of another time is refused");
  expect(said(-20)).toBe(": our clock is 20m behind, and a signature of another time is refused");
  expect(said(9, { status: 400 })).toContain("9m ahead");
});

test("nothing is said of our clock where it is right, where nothing was signed, and where nothing is refused", () => {
  expect(said(3)).toBe("");
  expect(said(9, { auth: { kind: "bearer", secret } })).toBe("");
  expect(said(9, { status: 200 })).toBe("");
  expect(said(9, { status: 503 })).toBe("");
  expect(clockSkewIn(AWS, { status: 403, reasonPhrase: "", headers: [] }, NOW_MS)).toBe("");
  expect(clockSkewIn(AWS, undefined, NOW_MS)).toBe("");
});
