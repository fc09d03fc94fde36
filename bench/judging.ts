/**
 * What it takes to tell what an answer means: `npm run bench:judging`. Every answer of the tests' corpus, and pages of
 * 4 kB that are hard to tell; each judged as a poll is, many times.
 */

import { readFileSync } from "node:fs";
import { parseStructuredList } from "../src/adapters/structured-headers.ts";
import type { Headers } from "../src/core/exchange/exchange.ts";
import { judge } from "../src/engine/poll/poll-once.ts";
import { answered, observed, sampleUpstream } from "../test/support/samples.ts";

const LONGEST_BYTES = 4_096;
const WARM_UP = 300;
const TIMES = 2_000;
const WORST = 5;

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

function corpus(): readonly Case[] {
  const text = readFileSync(new URL("../test/fixtures/refusals/seen.jsonl", import.meta.url), "utf8");
  return text
    .trim()
    .split("\n")
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

function microseconds({ status, headers, body }: Case): number[] {
  const observation = observed(answered(status, headers, body));
  const times = { id: "p", origin: "schedule", slotAtMs: 0, sentAtMs: 0, endedAtMs: 0, delayMs: 0 } as const;
  const took: number[] = [];
  for (let run = -WARM_UP; run < TIMES; run += 1) {
    const startedMs = performance.now();
    judge(upstream, observation, times, parseStructuredList);
    if (run >= 0) took.push((performance.now() - startedMs) * 1_000);
  }
  return took.toSorted((a, b) => a - b);
}

function quantile(sorted: readonly number[], part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? Number.NaN;
}

const rows = [...LONG_CASES, ...corpus()]
  .map((each) => ({ name: each.name, took: microseconds(each) }))
  .map(({ name, took }) => ({ name, took, p50: quantile(took, 0.5), p99: quantile(took, 0.99) }))
  .toSorted((a, b) => b.p50 - a.p50);
const all = rows.flatMap(({ took }) => took).toSorted((a, b) => a - b);
console.log(
  `${rows.length} answers: p50 ${quantile(all, 0.5).toFixed(1)} µs, p99 ${quantile(all, 0.99).toFixed(1)} µs`,
);
for (const { name, p50, p99 } of rows.slice(0, WORST)) {
  console.log(`  p50 ${p50.toFixed(1)} µs, p99 ${p99.toFixed(1)} µs: ${name}`);
}
