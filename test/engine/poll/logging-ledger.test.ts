import { expect, test } from "vitest";

import type { Pause } from "../../../src/core/advice/advice.ts";
import { LocalLedger } from "../../../src/core/budget/local-ledger.ts";
import type { Log } from "../../../src/core/text/log.ts";
import { LoggingLedger } from "../../../src/engine/poll/logging-ledger.ts";
import { sampleAdvice, sampleConfig } from "../../support/samples.ts";
import { VirtualClock } from "../../support/virtual-clock.ts";

function told(pause: Pause | undefined): { story: string[]; pausedForMs: number } {
  const story: string[] = [];
  const log: Log = {
    debug: () => {},
    info: (fields, msg) => void story.push(`info ${msg} ${JSON.stringify(fields)}`),
    warn: (fields, msg) => void story.push(`warn ${msg} ${JSON.stringify(fields)}`),
    error: () => {},
  };
  const ledger = new LoggingLedger(new LocalLedger(sampleConfig(), new VirtualClock()), log);
  ledger.applyAdvice("api", sampleAdvice({ throttled: pause !== undefined, pause }));
  return { story, pausedForMs: ledger.restraint("api").pausedUntilMs };
}

test("a silence that is asked for is told, and kept", () => {
  expect(told({ scope: "budget", forMs: 20_000, source: "retry_after" })).toEqual({
    story: [
      'info silence was asked for, and is kept {"budget":"api","scope":"budget","source":"retry_after","seconds":20}',
    ],
    pausedForMs: 20_000,
  });
});

test("a hostile silence is cut to max_pause, and that is told", () => {
  expect(told({ scope: "budget", forMs: 999_999_999_000, source: "retry_after" })).toEqual({
    story: [
      'warn silence was asked for beyond max_pause, and is cut to it {"budget":"api","scope":"budget","source":"retry_after","seconds":999999999,"cap":"1h"}',
    ],
    pausedForMs: 3_600_000,
  });
});

test("an answer that comes after its budget has left the config breaks nothing", () => {
  const pause = { scope: "budget", forMs: 20_000, source: "retry_after" } as const;
  const log: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const ledger = new LoggingLedger(new LocalLedger(sampleConfig(), new VirtualClock()), log);
  expect(() => ledger.applyAdvice("gone", sampleAdvice({ throttled: true, pause }))).not.toThrow();
});

test("an answer that asks for no silence is no news", () => {
  expect(told(undefined)).toEqual({ story: [], pausedForMs: 0 });
});
