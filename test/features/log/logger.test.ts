import { pollLogsOf } from "../../../src/app/features/shown.ts";
import { stripVTControlCharacters } from "node:util";
import { afterEach, expect, test, vi } from "vitest";
import { VirtualClock } from "../../support/virtual/clock.ts";
import { createLogger, LogRecorder, LOG_BYTES_A_MINUTE } from "../../../src/features/log/logger.ts";
import type { LogLevel } from "../../../src/features/log/config.ts";
import type { Log } from "../../../src/kernel/text/log.ts";
import { SLOT_STARTED, SLOT_WAITING } from "../../../src/kernel/poll/ports.ts";
import { samplePoll, recordPoll } from "../../support/kernel-samples.ts";
import { sampleAnnouncement } from "../../support/samples.ts";

type Told = { readonly level: string; readonly msg: string; readonly [field: string]: unknown };

afterEach(() => vi.unstubAllEnvs());

function listen(level: LogLevel): {
  log: ReturnType<typeof createLogger>;
  lines: string[];
  told: () => Told[];
} {
  const lines: string[] = [];
  const log = createLogger({ level, out: { write: (line: string) => lines.push(line) } });
  return { log, lines, told: () => lines.map((line): Told => JSON.parse(line)) };
}

test("a line is one JSON object with the time in ISO form, the level as a word and the message", () => {
  const { log, lines } = listen("info");
  log.info({ url: "http://127.0.0.1:10429" }, "listening");
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(
    /^\{"level":"info","time":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z","url":"http:\/\/127\.0\.0\.1:10429","msg":"listening"\}\n$/,
  );
});

test("what is under the level is not said, and the level can change while it runs", () => {
  const { log, told } = listen("warn");
  log.info({}, "before");
  log.level = "debug";
  log.debug({}, "after");
  expect(told().map(({ msg }) => msg)).toEqual(["after"]);
});

test("at a terminal a line is time, level, message and fields", () => {
  const lines: string[] = [];
  const log = createLogger({
    level: "info",
    out: { isTTY: true, write: (line: string) => lines.push(line) },
  });
  log.warn(
    { upstream: "email", phasesMs: { dns: 1.5 }, detail: "got 503, not 200", empty: "" },
    "health changed",
  );
  const plain = stripVTControlCharacters(lines[0] ?? "");
  // The level has its colour, and what is least read is dim.
  const painted = lines[0]?.replaceAll("\u001b", "<esc>");
  expect(painted).toMatch(
    /^<esc>\[2m[\d:.]+<esc>\[0m <esc>\[33mWARN <esc>\[0m .* <esc>\[2mupstream=<esc>\[0memail /,
  );
  expect(plain).toMatch(
    /^\d\d:\d\d:\d\d\.\d{3} WARN  health changed upstream=email phasesMs=\{"dns":1\.5\} detail="got 503, not 200" empty=""\n$/,
  );
});

test("a pipe is sent no colours, also where the lines are for people", () => {
  const lines: string[] = [];
  const out = { write: (line: string) => lines.push(line) };
  createLogger({ level: "info", pretty: true, out }).warn({ upstream: "email" }, "health changed");
  expect(lines).toEqual([
    expect.stringMatching(/^\d\d:\d\d:\d\d\.\d{3} WARN  health changed upstream=email\n$/),
  ]);
});

test("a terminal is sent no control characters, and no colours where they are not wanted", () => {
  vi.stubEnv("NO_COLOR", "1");
  const lines: string[] = [];
  const log = createLogger({
    level: "info",
    out: { isTTY: true, write: (line: string) => lines.push(line) },
  });
  log.info({ detail: "\u001b]0;title\u0007 \u009b31m \u202e\r\n" }, "a\u001b[2Jb");
  expect(lines).toHaveLength(1);
  expect(lines[0]?.slice(0, -1)).not.toMatch(/[\p{Cc}\p{Cf}]/u);
});

test("a change of state tells from what to what, why, and by which poll", () => {
  const { log, told } = listen("info");
  const recorder = new LogRecorder(log, "email", new VirtualClock(), undefined, pollLogsOf());
  const poll = samplePoll({
    id: "poll-7",
    outcome: { kind: "failed", reason: "server_error" },
    head: { status: 503, headers: [{ name: "x-not-shown", bytes: 15 }] },
    phasesMs: { dns: 1.23456, wait: 20 },
    durationMs: 21.239,
    detail: "503, expected 200",
  });
  recordPoll(recorder, poll);
  recorder.record({ kind: "health_changed", from: "up", to: "down", atMs: 0, poll });
  expect(told()).toEqual([
    {
      level: "warn",
      time: expect.any(String),
      upstream: "email",
      from: "up",
      to: "down",
      side: "them",
      poll: "poll-7",
      reason: "server_error",
      status: 503,
      durationMs: 21.24,
      phasesMs: { dns: 1.23, wait: 20 },
      detail: "503, expected 200",
      msg: "health changed",
    },
  ]);
});

test("recovery is news, but no warning", () => {
  const { log, told } = listen("info");
  const recorder = new LogRecorder(log, "email", new VirtualClock(), undefined, pollLogsOf());
  const poll = samplePoll();
  recordPoll(recorder, poll);
  recorder.record({ kind: "health_changed", from: "down", to: "up", atMs: 0, poll });
  expect(told()).toMatchObject([{ level: "info", from: "down", to: "up", status: 200 }]);
});

test("a state that is unknown for want of polls is not blamed on the last one", () => {
  const { log, told } = listen("info");
  const recorder = new LogRecorder(log, "email", new VirtualClock(), undefined, pollLogsOf());
  const poll = samplePoll();
  recordPoll(recorder, poll);
  recorder.record({ kind: "health_changed", from: "up", to: "unknown", atMs: 0, poll });
  expect(told()).toHaveLength(1);
  expect(told()[0]).toMatchObject({ level: "warn", to: "unknown" });
  expect(told()[0]).not.toHaveProperty("poll");
});

test("a value that cannot be read three times in a row is told once, and once that it can be read again", () => {
  const { log, told } = listen("info");
  const recorder = new LogRecorder(log, "email", new VirtualClock(), undefined, pollLogsOf());
  const seen = samplePoll({ said: { values: { values: [{ name: "credit", value: 7 }], unreadable: [] } } });
  const unseen = samplePoll({
    said: { values: { values: [], unreadable: [{ name: "credit", found: undefined }] } },
  });
  for (const poll of [unseen, unseen, seen, unseen, unseen, seen]) recordPoll(recorder, poll);
  expect(told()).toEqual([]);
  for (const poll of [unseen, unseen, unseen, seen, seen]) recordPoll(recorder, poll);
  expect(told()).toMatchObject([
    { level: "warn", msg: "value cannot be read", upstream: "email", name: "credit", found: "nothing" },
    { level: "info", msg: "value can be read again", upstream: "email", name: "credit", value: 7 },
  ]);
});

test("slots that are skipped for want of quota or money are told with what is used of it", () => {
  const { log, told } = listen("info");
  const usedUp = (budget = ""): string => `4.99 of 5.00 EUR used of ${budget}`;
  const recorder = new LogRecorder(log, "email", new VirtualClock(), usedUp);
  for (const cause of ["budget", "quota", "quota"] as const)
    recorder.record({ kind: "slots_skipped", cause, budget: "api", count: 1 });
  expect(told()).toMatchObject([
    { cause: "budget", msg: "slots are skipped until the first poll" },
    { cause: "quota", detail: "4.99 of 5.00 EUR used of api", msg: "slots are being skipped" },
  ]);
  expect(told()[0]).not.toHaveProperty("detail");
});

test("an answer that cost more than at_most is told, as no spend can keep that", () => {
  const { log, told } = listen("info");
  const recorder = new LogRecorder(log, "email", new VirtualClock(), undefined, pollLogsOf());
  const cost = { currency: "EUR", units: 2_000_000, reserved: 2_000_000 };
  recordPoll(recorder, samplePoll({ said: { cost } }));
  expect(told()).toEqual([]);
  recordPoll(recorder, samplePoll({ id: "poll-7", said: { cost: { ...cost, units: 2_000_001 } } }));
  expect(told()).toMatchObject([
    {
      level: "warn",
      msg: "the answer cost more than at_most of its price",
      upstream: "email",
      poll: "poll-7",
      charged: "0.002000001",
      atMost: "0.002",
      currency: "EUR",
    },
  ]);
});

test("single polls are told only to who asks for details", () => {
  const atInfo = listen("info");
  recordPoll(new LogRecorder(atInfo.log, "email", new VirtualClock()), samplePoll());
  expect(atInfo.lines).toEqual([]);

  const atDebug = listen("debug");
  recordPoll(new LogRecorder(atDebug.log, "email", new VirtualClock()), samplePoll({ delayMs: 3.456 }));
  expect(atDebug.told()).toMatchObject([
    { level: "debug", msg: "polled", origin: "schedule", outcome: "ok", status: 200, delayMs: 3.46 },
  ]);
});

test("headers, excerpts and reason phrases of an answer reach no log, and a wild detail is tamed", () => {
  const { log, lines } = listen("debug");
  const recorder = new LogRecorder(log, "email", new VirtualClock(), undefined, pollLogsOf());
  const secret = "test-key-in-an-answer";
  const poll = samplePoll({
    outcome: { kind: "failed", reason: "invalid_body" },
    head: { status: 200, headers: [{ name: secret, bytes: 1 }] },
    excerpt: secret,
    detail: `\u001b[31m\u009b\u202e\n{"level":"error"}${"x".repeat(10_000)}`,
  });
  recordPoll(recorder, poll);
  recorder.record({ kind: "health_changed", from: "up", to: "down", atMs: 0, poll });
  const text = lines.join("");
  expect(text).not.toContain(secret);
  expect(text.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
  expect(lines.every((line) => line.length < 1000)).toBe(true);
});

function linesOf(happenings: (recorder: LogRecorder) => void): string[] {
  const said: string[] = [];
  const hear =
    (level: string) =>
    (fields: object, msg: string): void =>
      void said.push(`${level} ${msg} ${JSON.stringify(fields)}`);
  const log: Log = { debug: () => {}, info: hear("info"), warn: hear("warn"), error: hear("error") };
  happenings(
    new LogRecorder({ ...log, level: "info" }, "email", new VirtualClock(), undefined, pollLogsOf()),
  );
  return said;
}

test("of a night of yielding, with one slot in four used, only its begin is told", () => {
  const said = linesOf((recorder) => {
    for (let slot = 0; slot < 4_000; slot += 1) {
      recorder.record(SLOT_WAITING);
      if (slot % 4 === 0) recorder.record(SLOT_STARTED);
      else recorder.record({ kind: "slots_skipped", cause: "yield", count: 1, had: "waited" });
    }
  });
  expect(said).toEqual(['info slots are being skipped {"upstream":"email","cause":"yield","count":1}']);
});

test("the wait of a start is told as one, and a budget that is short later is not", () => {
  const skipped = {
    kind: "slots_skipped",
    cause: "budget",
    count: 1,
    budget: "api",
    had: "waited",
  } as const;
  const said = linesOf((recorder) => {
    recorder.record(skipped);
    for (let slot = 0; slot < 20; slot += 1) {
      recorder.record(SLOT_STARTED);
      recordPoll(recorder, samplePoll());
    }
    recorder.record(skipped);
  });
  expect(said).toEqual([
    'info slots are skipped until the first poll {"upstream":"email","cause":"budget","budget":"api","count":1}',
    'info slots are no longer skipped {"upstream":"email","skipped":1}',
    'info slots are being skipped {"upstream":"email","cause":"budget","budget":"api","count":1}',
  ]);
});

test("each cause is told once, then that it is over and how many were lost; the next time is news again", () => {
  const said = linesOf((recorder) => {
    recorder.record({ kind: "slots_skipped", cause: "missed", count: 40 });
    recorder.record({ kind: "slots_skipped", cause: "backoff", count: 1 });
    recorder.record({ kind: "slots_skipped", cause: "missed", count: 2 });
    for (let slot = 0; slot < 20; slot += 1) {
      recorder.record(SLOT_WAITING);
      recorder.record(SLOT_STARTED);
    }
    recorder.record({ kind: "slots_skipped", cause: "missed", count: 3 });
    for (let slot = 0; slot < 20; slot += 1) recorder.record(SLOT_STARTED);
  });
  expect(said).toEqual([
    'info slots are being skipped {"upstream":"email","cause":"missed","count":40}',
    'info slots are being skipped {"upstream":"email","cause":"backoff","count":1}',
    'info slots are no longer skipped {"upstream":"email","skipped":43}',
    'info slots are being skipped {"upstream":"email","cause":"missed","count":3}',
    'info slots are no longer skipped {"upstream":"email","skipped":3}',
  ]);
});

test("slots that are skipped because it stops are no news", () => {
  expect(
    linesOf((recorder) => recorder.record({ kind: "slots_skipped", cause: "shutdown", count: 1 })),
  ).toEqual([]);
});

test("a pause that an upstream requests is told, and loudly where it is capped", () => {
  const pauseOf =
    (forMs: number) =>
    (recorder: LogRecorder): void =>
      recorder.record({
        kind: "pause_requested",
        pause: { scope: "budget", forMs, source: "retry_after" },
        budgets: ["api"],
        maxPauseMs: 3_600_000,
      });
  expect(linesOf(pauseOf(20_000))).toEqual([
    'info upstream requested a pause {"upstream":"email","budget":"api","scope":"budget","source":"retry_after","seconds":20}',
  ]);
  expect(linesOf(pauseOf(999_999_999_000))).toEqual([
    'warn upstream requested a pause longer than max_pause, capped {"upstream":"email","budget":"api","scope":"budget","source":"retry_after","seconds":999999999,"cap":"1h"}',
  ]);
});

test("a refusal without a wait tells for whose limit it was taken, and why", () => {
  expect(
    linesOf((recorder) =>
      recorder.record({ kind: "refused", budgets: ["gpt"], because: "the fewest upstreams draw on it" }),
    ),
  ).toEqual([
    'info upstream refused a poll for a limit {"upstream":"email","budget":"gpt","because":"the fewest upstreams draw on it"}',
  ]);
});

test("an API that announces its end is told once, and again when it says something else", () => {
  const announcing = (sunsetAtMs: number | undefined) => (recorder: LogRecorder) => {
    const announcement = sunsetAtMs === undefined ? undefined : sampleAnnouncement({ sunsetAtMs });
    recordPoll(recorder, samplePoll({ said: { announcement } }));
  };
  const may = Date.UTC(2027, 4, 1);
  expect(
    linesOf((recorder) =>
      [may, may, undefined, may, may + 86_400_000].forEach((at) => announcing(at)(recorder)),
    ),
  ).toEqual([
    'warn upstream announces the end of its API {"upstream":"email","sunsetAt":"2027-05-01T00:00:00.000Z"}',
    'warn upstream announces the end of its API {"upstream":"email","sunsetAt":"2027-05-01T00:00:00.000Z"}',
    'warn upstream announces the end of its API {"upstream":"email","sunsetAt":"2027-05-02T00:00:00.000Z"}',
  ]);
});

test("what the provider's support asks for is in the line of a change of health", () => {
  const [line] = linesOf((recorder) => {
    const headers = [
      { name: "x-request-id", bytes: 8, value: "req_7f3a" },
      { name: "date", bytes: 29 },
    ];
    const poll = samplePoll({
      outcome: { kind: "failed", reason: "server_error" },
      head: { status: 500, headers },
    });
    recordPoll(recorder, poll);
    recorder.record({ kind: "health_changed", from: "up", to: "down", atMs: 0, poll });
  });
  expect(line).toContain('"requestIds":"x-request-id: req_7f3a"');
});

test("of one upstream at most so many bytes are logged in a minute, and what is left out is counted", async () => {
  const { log, lines, told } = listen("info");
  const clock = new VirtualClock();
  const recorder = new LogRecorder(log, "u".repeat(64), clock);
  const poll = samplePoll({
    outcome: { kind: "failed", reason: "server_error" },
    detail: "x".repeat(300),
    head: { status: 503, headers: [{ name: "x-request-id", bytes: 128, value: "7".repeat(128) }] },
  });
  const flap = (times: number): void => {
    for (let turn = 0; turn < times; turn += 1) {
      recorder.record({ kind: "polled", poll });
      recorder.record({ kind: "health_changed", from: "up", to: "down", atMs: 0, poll });
    }
  };
  flap(1_000);
  expect(lines.join("").length).toBeLessThanOrEqual(LOG_BYTES_A_MINUTE);
  expect(lines.length).toBeGreaterThan(8);
  const before = lines.length;
  await clock.advance(60_000);
  flap(1);
  expect(told().slice(before)).toMatchObject([
    { msg: "log lines were left out", lines: 1_000 - before },
    { msg: "health changed" },
  ]);
});
