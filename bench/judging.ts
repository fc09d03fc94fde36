/**
 * What it takes to tell what an answer means: `npm run bench:judging`. Every answer of the tests' corpus, and pages of
 * 4 kB that are hard to tell; each judged as a poll is, many times. Whatever else the machine does only adds to it, so of
 * several short runs of each answer the best is taken.
 */

import { judgingOf } from "../src/app/features/judging.ts";
import { readFileSync } from "node:fs";
import type { Headers } from "../src/kernel/exchange/exchange.ts";
import { judge } from "../src/kernel/polling/poll-once.ts";
import { answered, observed, samplePollTimes, sampleUpstream } from "../test/support/kernel-samples.ts";

const LONGEST_BYTES = 4_096;
const WARM_UP = 300;
const TIMES = 200;
const RUNS = 5;
const WORST = 6;

type Case = {
  readonly name: string;
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
};

type Line = {
  readonly id: string;
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: unknown;
};

const LONG_CASES: readonly Case[] = [
  { name: "a good list in JSON", status: 200, headers: [], body: filled('{"data":["', "resource ", '"]}') },
  {
    name: "an HTML page where JSON is expected",
    status: 200,
    headers: [],
    body: filled("<html><p>", "An error of a page <b>of words</b>. ", "</p></html>"),
  },
  {
    name: "an HTML page with 403",
    status: 403,
    headers: [],
    body: filled("<html><p>", "You are not the first. ", "</p></html>"),
  },
  { name: "an object of JSON with many fields, and 400", status: 400, headers: [], body: manyFields() },
  { name: "one long word, and 500", status: 500, headers: [], body: "a".repeat(LONGEST_BYTES) },
  { name: "white space, and 503", status: 503, headers: [], body: " ".repeat(LONGEST_BYTES) },
];

function filled(head: string, piece: string, tail: string): string {
  const times = Math.floor((LONGEST_BYTES - head.length - tail.length) / piece.length);
  return head + piece.repeat(times) + tail;
}

function manyFields(): string {
  const fields: Record<string, string> = {};
  for (let index = 0; JSON.stringify(fields).length < LONGEST_BYTES - 60; index += 1) {
    fields[`message${index}`] = "Something about limits and keys";
  }
  return JSON.stringify(fields);
}

const CORPUS = ["seen", "unseen", "round-2", "round-3"];

function corpus(): readonly Case[] {
  const texts = CORPUS.map((file) =>
    readFileSync(new URL(`../test/fixtures/refusals/${file}.jsonl`, import.meta.url), "utf8"),
  );
  return texts
    .flatMap((text) => text.trim().split("\n"))
    .map((line) => JSON.parse(line) as Line)
    .map(({ id, status, headers, body }) => ({
      name: id,
      status,
      headers: Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value] as const),
      body: typeof body === "string" ? body : JSON.stringify(body ?? ""),
    }))
    .filter(({ body }) => body.length <= LONGEST_BYTES);
}

const upstream = sampleUpstream();
const judging = judgingOf(upstream);

/** Sorted. */
function microseconds({ status, headers, body }: Case): readonly number[] {
  const observation = observed(answered(status, headers, body));
  const times = samplePollTimes();
  const judged = (): number => {
    const startedMs = performance.now();
    judge(upstream, observation, times, judging);
    return (performance.now() - startedMs) * 1_000;
  };
  for (let run = 0; run < WARM_UP; run += 1) judged();
  const runs = Array.from({ length: RUNS }, () =>
    Array.from({ length: TIMES }, judged).toSorted((a, b) => a - b),
  );
  return runs.toSorted((a, b) => quantile(a, 0.99) - quantile(b, 0.99))[0] ?? [];
}

function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

const rows = [...LONG_CASES, ...corpus()]
  .map((each) => ({ name: each.name, took: microseconds(each) }))
  .map(({ name, took }) => ({ name, took, p50: quantile(took, 0.5), p99: quantile(took, 0.99) }))
  .toSorted((a, b) => b.p99 - a.p99);
const all = rows.flatMap(({ took }) => took).toSorted((a, b) => a - b);
function line(name: string, p50: number, p99: number): string {
  return `p50 ${p50.toFixed(1).padStart(6)} µs, p99 ${p99.toFixed(1).padStart(6)} µs: ${name}`;
}

console.log(line(`all ${rows.length} answers together`, quantile(all, 0.5), quantile(all, 0.99)));
const long = new Set(LONG_CASES.map(({ name }) => name));
console.log("The pages of 4 kB:");
for (const { name, p50, p99 } of rows.filter((row) => long.has(row.name)))
  console.log(`  ${line(name, p50, p99)}`);
console.log("The slowest of the corpus:");
for (const { name, p50, p99 } of rows.filter((row) => !long.has(row.name)).slice(0, WORST)) {
  console.log(`  ${line(name, p50, p99)}`);
}
