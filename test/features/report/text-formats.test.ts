import { describe, expect, test } from "vitest";
import { HOW } from "../../../src/features/report/how.ts";
import { periodOf } from "../../../src/features/report/period.ts";
import type { Sla } from "../../../src/features/report/config.ts";
import {
  NOTHING,
  type Report,
  type ReportedMonth,
  reportedOf,
  upstreamReport,
} from "../../../src/features/report/report.ts";
import { csvOf, jsonOf } from "../../../src/features/report/text-formats.ts";
import { DAY_MS } from "../../../src/kernel/time/duration.ts";
import { documentOf } from "../../../src/features/report/document.ts";
import { reportPage } from "../../../src/features/report/page.ts";
import { sampleUpstream } from "../../support/kernel-samples.ts";
import { samplePollStatus } from "../../support/samples.ts";

const NOW_MS = Date.parse("2026-11-01T00:00:00Z");

/** What an upstream may write into its answers. */
const HOSTILE = [
  `=HYPERLINK("http://evil.example/","x")`,
  "+1+cmd|' /C calc'!A0",
  "-2+3",
  "@SUM(A1)",
  "\t=1+1",
  "<script>alert(1)</script>",
  "</td></tr></table><h1>All fine</h1>",
  "| 100 % | ok |",
  "``` `` [click](http://evil.example) ![x](http://evil.example/x.png) @channel #1 **bold**",
  "\u202Egnp.exe\n\n# A heading\r\n\u001b[31m",
  '"quoted", and, commas',
  String.raw`\| [click](http://evil.example) \\| x \\\| y | z`,
  "x;=cmd|' /C calc'!A0;\"=1+1; @SUM(A1)",
  "\uff1d1+1",
];

test("the days before the first poll and those to come are no rows: a first month is not a column of zeros", () => {
  const nowMs = Date.parse("2026-10-30T12:00:00Z");
  const period = periodOf({ firstDay: 20_727, lastDay: 20_727 + 30 }, "UTC", nowMs);
  const polled = { ...NOTHING, polls: 4, throttled: 4 };
  const days = [
    ...Array<undefined>(27),
    polled,
    undefined,
    { ...NOTHING, polls: 1, ok: 1, watchedMs: 15_000 },
  ];
  const kept = [{ days, costs: [], incidents: () => [] }];
  const report = upstreamReport(reportedOf(sampleUpstream()), kept, period, nowMs);
  const blocks = [...documentOf({ version: 1, atMs: nowMs, upstreams: [report] })].flatMap(
    (part) => part.blocks,
  );
  const table = blocks.flatMap((block) =>
    block.kind === "table" && block.title === "Day by day" ? block.rows : [],
  );
  expect(table.map(([day]) => day)).toEqual(["2026-10-28", "2026-10-29", "2026-10-30"]);
  expect(JSON.stringify(blocks)).toContain(
    "From 2026-10-01 00:00:00 UTC to 2026-11-01 00:00:00 UTC, so far until 2026-10-30 12:00:00 UTC: days of UTC",
  );
});

function reportOf(said: string): Report {
  const period = periodOf({ firstDay: 20_727, lastDay: 20_727 + 30 }, "UTC", NOW_MS);
  const evidence = [
    samplePollStatus({
      outcome: "failed",
      reason: "server_error",
      atMs: NOW_MS - DAY_MS,
      detail: said,
      excerpt: said,
      headers: [{ name: "x-request-id", bytes: said.length, value: said }],
    }),
  ];
  const incident = {
    upstream: "email",
    state: "down" as const,
    reason: "server_error",
    startedAtMs: NOW_MS - DAY_MS,
    endedAtMs: NOW_MS - DAY_MS + 1,
    polls: 2,
    evidence,
    seenAtMs: NOW_MS,
  };
  const upstream = reportedOf(sampleUpstream());
  const kept = [{ days: [], costs: [], incidents: () => [incident] }];
  return { version: 1, atMs: NOW_MS, upstreams: [upstreamReport(upstream, kept, period, NOW_MS)] };
}

const text = (pieces: Iterable<string>): string => [...pieces].join("");

/** As a spreadsheet reads it: RFC 4180. */
function cellsOf(csv: string): readonly (readonly string[])[] {
  return csv
    .split("\r\n")
    .filter((line) => line !== "")
    .map((line) =>
      [...line.matchAll(/("(?:[^"]|"")*"|[^",]*)(?:,|$)/g)]
        .slice(0, 7)
        .map(([, cell = ""]) => cell.replace(/^"(.*)"$/s, "$1").replaceAll('""', '"')),
    );
}

describe.each(HOSTILE)("what an upstream says, %j,", (said) => {
  test("is no formula in a spreadsheet, and no further cell or line", () => {
    const csv = text(csvOf(reportOf(said)));
    const lines = cellsOf(csv);
    for (const line of lines) {
      expect(line).toHaveLength(7);
      for (const cell of line) expect(cell).not.toMatch(/^\s*[=+\-@|%\uff1d\uff0b\uff0d\uff20]/);
    }
    expect(csv.replaceAll("\r\n", "")).not.toMatch(/\p{Cc}|\p{Cf}/u);
    // Where commas are decimal points, a spreadsheet takes semicolons for the ends of cells.
    for (const cell of csv.split(/\r\n|;/))
      expect(cell).not.toMatch(/^["\s]*[=+\-@|%\uff1d\uff0b\uff0d\uff20]/);
  });

  test("is a text in HTML: no tag and no attribute of it", () => {
    const html = text(reportPage(reportOf(said)));
    const harmless = text(reportPage(reportOf("harmless")));
    const tags = (page: string): readonly string[] => [...page.matchAll(/<[^>]*>/g)].map(([tag]) => tag);
    expect(tags(html)).toEqual(tags(harmless));
    expect(html).not.toMatch(/\p{Cf}/u);
  });

  test("is what it was in JSON", () => {
    const { upstreams } = JSON.parse(text(jsonOf(reportOf(said))));
    expect(upstreams[0].incidents[0].evidence[0].detail).toBe(said);
  });
});

test("an incident ends when it did, unless it was still there when it was seen last", () => {
  const [first] = reportOf("x").upstreams;
  const [incident] = first?.incidents ?? [];
  if (first === undefined || incident === undefined) throw new Error("the report has an incident");
  const endOf = (changes: Partial<typeof incident>): string => {
    const upstreams = [{ ...first, incidents: [{ ...incident, ...changes }] }];
    const cells = cellsOf(text(csvOf({ version: 1, atMs: NOW_MS, upstreams })));
    const line = cells.find(([, table, , figure]) => table === "Incidents" && figure === "To");
    return line?.[4] ?? "";
  };
  const toMs = Date.UTC(2026, 9, 3, 4, 5, 6);
  expect(endOf({ toMs, isUnwatched: false })).toMatch(/^2026-10-03 04:05:06\b(?!.*watched)/);
  expect(endOf({ toMs, isUnwatched: true })).toMatch(/^2026-10-03 04:05:06\b.*, then no longer watched$/);
  expect(endOf({ toMs: undefined, seenAtMs: toMs })).toMatch(
    /^not over when seen last, 2026-10-03 04:05:06\b/,
  );
});

test("every figure of the CSV leads to how it was computed, and each sentence stands in it once", () => {
  const report = reportOf("x");
  const upstreams = ["email", "sms", "router"].flatMap((upstream) =>
    report.upstreams.map((each) => ({ ...each, upstream })),
  );
  const [head, ...lines] = cellsOf(text(csvOf({ ...report, upstreams })));
  expect(head).toEqual(["about", "table", "row", "figure", "value", "unit", "how"]);
  const isSentence = ([, table]: readonly string[]): boolean => table === "How it was computed";
  const told = lines.filter(isSentence);
  const sentences = new Map(told.map(([, , number, , sentence]) => [number, sentence]));
  expect(new Set(sentences.values()).size).toBe(told.length);
  const figures = lines.filter((line) => !isSentence(line));
  expect(figures.length).toBeGreaterThan(100);
  const available = figures.filter(([, table, row]) => table === "Figures" && row === "Availability");
  expect(available.map(([, , , , , , how]) => sentences.get(how))).toEqual(
    Array.from({ length: 3 }, () => HOW.availability),
  );
  // It stands above all that it is about.
  const first = (how = ""): number => lines.findIndex((line) => isSentence(line) && line[2] === how);
  const early = figures.filter((line) => first(line[6]) < 0 || first(line[6]) > lines.indexOf(line));
  expect(early).toEqual([]);
});

test("every number of the JSON has a sentence about how it was computed", () => {
  const { how, upstreams } = JSON.parse(text(jsonOf(reportOf("x"))));
  const told: Readonly<Record<string, string>> = {
    fromMs: "report",
    toMs: "report",
  };
  const figures = Object.entries(upstreams[0]).filter(([, value]) => typeof value === "number");
  expect(figures.length).toBeGreaterThan(8);
  for (const [name] of figures) {
    if (name === "latencyObjectiveMs") continue;
    expect(how).toHaveProperty(told[name] ?? name);
  }
});

test("a period of which nothing was watched says so, and names the present month", () => {
  const period = periodOf({ firstDay: 20_727, lastDay: 20_727 + 30 }, "UTC", NOW_MS);
  const upstream = reportedOf(sampleUpstream());
  const reported = upstreamReport(upstream, [], period, NOW_MS);
  const report: Report = { version: 1, atMs: NOW_MS, upstreams: [reported] };
  const sentence = "Nothing was watched in this period. This month is --month 2026-11 (or ?month=2026-11).";
  expect(text(reportPage(report))).toContain(sentence);
  expect(text(reportPage(reportOf("broken")))).not.toContain("Nothing was watched");
});

test("a period that has not begun says so", () => {
  const firstDay = Math.floor(NOW_MS / DAY_MS) + 1;
  const period = periodOf({ firstDay, lastDay: firstDay }, "UTC", NOW_MS);
  const upstreams = [upstreamReport(reportedOf(sampleUpstream()), [], period, NOW_MS)];
  const page = text(reportPage({ version: 1, atMs: NOW_MS, upstreams }));
  expect(page).toContain("UTC, which has not begun: days of UTC.");
  expect(page).not.toContain("so far");
});

test("a report names what it speaks of: the request, its budgets, the labels", () => {
  const [only] = reportOf("x").upstreams;
  if (only === undefined) throw new Error("it has one");
  const asked = { method: "HEAD", url: "https://api.test/v1/${TENANT}", budgets: ["gpt", "account"] };
  const upstreams = [{ ...only, ...asked, labels: { account: "acme", team: "growth" } }];
  const report: Report = { version: 1, atMs: NOW_MS, upstreams };
  const lines = cellsOf(text(csvOf(report)));
  const valueOf = (name: string): unknown => lines.find(([, , row]) => row === name)?.[4];
  expect([valueOf("Request"), valueOf("Budget"), valueOf("Labels")]).toEqual([
    "HEAD https://api.test/v1/${TENANT}",
    "gpt, account",
    "account: acme, team: growth",
  ]);
  expect(JSON.parse(text(jsonOf(report))).upstreams[0]).toMatchObject(asked);
});

test.each([
  [1, "100 %"],
  [0.999999, "99.99 %"],
  [0.512195, "51.21 %"],
  [0.000001, "below 0.01 %"],
  [0, "0 %"],
])("a part of %d is told to people with two decimals, never rounded up: %s", (availability, words) => {
  const [only] = reportOf("x").upstreams;
  if (only === undefined) throw new Error("it has one");
  const month = { ...MONTH, availabilityOfWatched: availability };
  const upstreams = [{ ...only, sla: SLA, months: [month] }];
  const html = text(reportPage({ version: 1, atMs: NOW_MS, upstreams }));
  expect(html).toMatch(new RegExp(`>\\s*${words}\\s*<`));
  // What is promised is told as it is written.
  expect(html).toContain("Promised: 99.9995%.");
});

test("no availability stands beside a month that nobody watched", () => {
  const [only] = reportOf("x").upstreams;
  if (only === undefined) throw new Error("it has one");
  const month = { ...MONTH, watchedMinutes: 0, availability: 1, availabilityOfWatched: undefined };
  const upstreams = [{ ...only, sla: SLA, months: [month] }];
  const lines = cellsOf(text(csvOf({ version: 1, atMs: NOW_MS, upstreams })));
  const cells = lines.filter(([, table]) => table === "As the provider counts");
  expect(cells.map(([, , , figure, value]) => [figure, value])).toEqual(
    expect.arrayContaining([
      ["Availability", ""],
      ["Promise", "not watched"],
    ]),
  );
});

test("of a month that was hardly watched no promise is called kept, and its availability says of how much", () => {
  const [only] = reportOf("x").upstreams;
  if (only === undefined) throw new Error("it has one");
  const month = { ...MONTH, minutes: 40_068, watchedMinutes: 2, availability: 1, availabilityOfWatched: 1 };
  const reported = (changes: Partial<ReportedMonth>): string => {
    const upstreams = [{ ...only, sla: SLA, months: [{ ...month, ...changes }] }];
    return text(reportPage({ version: 1, atMs: NOW_MS, upstreams })).replaceAll(/\s*([<>])\s*/g, "$1");
  };
  const early = reported({});
  expect(early).not.toContain("<td>kept</td>");
  expect(early).toContain("too little watched");
  expect(early.match(/<td class="number early">100 % \(2 min watched\)<\/td>/g)).toHaveLength(2);
  expect(reported({ watchedMinutes: 5_000 })).toContain("<td>kept</td>");
  // What was bad breaks the promise, whatever nobody watched.
  const bad = { badMinutes: 900, watchedMinutes: 1_000, availability: 0.97, isKept: false };
  expect(reported(bad)).toContain("<td>missed</td>");
});

const SLA: Sla = {
  atLeast: 0.999995,
  unit: "minute",
  badUnit: "all_failed",
  credits: undefined,
  claimWithinMs: undefined,
  timeZone: undefined,
};
const MONTH: ReportedMonth = {
  month: "2026-10",
  fromMs: Date.UTC(2026, 9, 1),
  toMs: Date.UTC(2026, 10, 1),
  isWhole: true,
  isOver: true,
  minutes: 44_640,
  watchedMinutes: 44_640,
  badMinutes: 0,
  availability: 0.4,
  availabilityOfWatched: 0.4,
  isKept: true,
  credit: undefined,
  claimUntilMs: undefined,
};

test("a report says by its title on what it is: one upstream by its name, else how many", () => {
  const [only] = reportOf("x").upstreams;
  if (only === undefined) throw new Error("it has one");
  const titleOf = (upstreams: Report["upstreams"]): string =>
    /<title>([^<]*)/.exec(text(reportPage({ version: 1, atMs: NOW_MS, upstreams })))?.[1] ?? "";
  expect(titleOf([only])).toContain(`Report on ${only.upstream},`);
  expect(titleOf([only, only])).toContain("Report on 2 upstreams,");
  expect(titleOf([])).toContain("Report on 0 upstreams");
});

test("a report of a vantage says from where it was watched; another one says nothing of it", () => {
  const alone = reportOf("x");
  const report: Report = { ...alone, vantage: { name: "eu", of: 3 } };
  const sentence = "Watched from eu, one of 3 places.";
  expect(text(reportPage(report))).toContain(sentence);
  expect(JSON.parse(text(jsonOf(report))).vantage).toEqual({ name: "eu", of: 3 });
  expect(text(reportPage(alone))).not.toContain("Watched from");
  expect(JSON.parse(text(jsonOf(alone)))).not.toHaveProperty("vantage");
});

test("where no month is over, no credit was worked out, and none is said to be due", () => {
  const [only] = reportOf("x").upstreams;
  if (only === undefined) throw new Error("it has one");
  const creditOf = (changes: Partial<ReportedMonth>): unknown => {
    const months = [{ ...MONTH, credit: undefined, ...changes }];
    const upstreams = [{ ...only, sla: SLA, months }];
    const lines = cellsOf(text(csvOf({ version: 1, atMs: NOW_MS, upstreams })));
    return lines.find(([, table, , figure]) => table === "In short" && figure === "Credit")?.[4];
  };
  expect(creditOf({ isOver: false })).toBe("not worked out");
  expect(creditOf({ isOver: true, isWhole: true })).toBe("none");
});
