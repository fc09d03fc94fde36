import { expect, test } from "vitest";
import { CLAIM_MS, QuotaJournal, type QuotaReading } from "../../../src/core/budget/quota-journal.ts";
import { sampleQuotaReading } from "../../support/samples.ts";

const HOUR_MS = 3_600_000;

let version = 0;
const readings = (changes: Partial<QuotaReading>) => {
  version += 1;
  return new Map([["api", sampleQuotaReading({ version, calendarMs: 7 * HOUR_MS, ...changes })]]);
};
const row = (hour: number, requests: number, unconfirmed = 0) => ({
  budget: "api",
  hour,
  requests,
  unconfirmed,
});

test("only what changed is written, and all of it again after the file was lost", () => {
  const journal = new QuotaJournal();
  const before = readings({ buckets: new Map([[6, 4], [7, 10]]) }); // prettier-ignore
  expect(journal.changes(before)).toEqual([row(7, 10), row(6, 4)]);
  journal.written();
  expect(journal.changes(before)).toEqual([]);
  const after = readings({ buckets: new Map([[6, 4], [7, 9]]) }); // prettier-ignore
  expect(journal.changes(after)).toEqual([row(7, 9)]);
  journal.forget();
  expect(journal.changes(before)).toEqual([row(7, 10), row(6, 4)]);
});

test("what failed to be written is asked for again", () => {
  const journal = new QuotaJournal();
  const before = readings({ buckets: new Map([[7, 1]]) });
  journal.changes(before);
  expect(journal.changes(before)).toEqual([row(7, 1)]);
});

test("what is asked for is counted before it has a lease, and taken back where it gets none", () => {
  const journal = new QuotaJournal();
  const write = (changes: Partial<QuotaReading>) => {
    const rows = journal.changes(readings(changes));
    journal.written();
    return rows;
  };
  expect(write({ claimed: 1 })).toEqual([row(7, 1, 1)]);
  expect(write({ buckets: new Map([[7, 1]]), inFlight: 1 })).toEqual([]);
  expect(write({ buckets: new Map([[7, 1]]), inFlight: 1, claimed: 1 })).toEqual([row(7, 2, 2)]);
  expect(write({ buckets: new Map([[7, 1]]) })).toEqual([row(7, 1)]);
});

test("a claim stands in the latest hour in which it may be granted; where it is not, in no hour", () => {
  const journal = new QuotaJournal();
  const calendarMs = 8 * HOUR_MS - CLAIM_MS;
  expect(journal.changes(readings({ claimed: 1, calendarMs: calendarMs - 1 }))).toEqual([row(7, 1, 1)]);
  expect(journal.changes(readings({ claimed: 1, calendarMs }))).toEqual([row(8, 1, 1)]);
  journal.written();
  expect(journal.changes(readings({ calendarMs }))).toEqual([row(8, 0)]);
});

test("those that an earlier process may have sent stay apart from those that are in flight", () => {
  const journal = new QuotaJournal();
  const before = readings({
    buckets: new Map([[5, 3], [6, 2], [7, 1]]), // prettier-ignore
    unconfirmed: new Map([[5, 1], [6, 2]]), // prettier-ignore
    inFlight: 2,
  });
  expect(journal.changes(before)).toEqual([row(7, 1, 1), row(6, 2, 2), row(5, 3, 2)]);
});

test("an hour that has left the quota stays in the file, as a longer quota may count it", () => {
  const journal = new QuotaJournal();
  journal.changes(readings({ buckets: new Map([[5, 3]]) }));
  journal.written();
  expect(journal.changes(readings({ buckets: new Map() }))).toEqual([]);
});
