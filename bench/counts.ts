/**
 * What one poll makes: bytes, promises, timers, turns of the event loop, system calls, in the daemon as it is shipped:
 * `npm run bench:counts`. These are counts, so a busy machine shows nearly the same. With `--of COMMIT` in another
 * commit, and with `--by-function` who allocates, in the sources that are checked out. With `--features` the table
 * of `bench/README.md`: an upstream that asks for nothing, and one with each feature alone.
 */

import { parseArgs } from "node:util";
import { findProgram } from "../tools/stack/find-program.ts";
import { RedisServer } from "../test/support/processes/redis-server.ts";
import { countedOf, type Counted, type What } from "./programs/counted.ts";
import { shippedAt, shippedHere } from "./programs/shipped-commit.ts";

const FUNCTIONS = 60;

const PRICE = { per_request: 0.000_001, currency: "USD" };
const RATE_LIMIT = { "x-ratelimit-limit": "1000", "x-ratelimit-remaining": "999", "x-ratelimit-reset": "60" };
const KEY = { env: "KEY_0" };

const EVENTS = ["a", "b"].map((text) => `data: ${JSON.stringify({ text })}\n\n`).join("");

/** Each alone, beside a bearer key and a budget of its own. */
const featuresWith = (
  redis: RedisServer,
): Readonly<Record<string, Pick<What, "asks" | "headers" | "body">>> => ({
  nothing: {},
  "no JSON": { asks: { upstream: { expect: { json: false } } } },
  "`expect.body`": {
    asks: { upstream: { expect: { body: [{ path: "/resources/0/status", equals: "available" }] } } },
  },
  "`expect.headers`": {
    asks: { upstream: { expect: { headers: [{ name: "content-type", contains: "json" }] } } },
  },
  "`values`": { asks: { upstream: { values: [{ name: "length", header: "content-length" }] } } },
  "`values`, a credit": {
    asks: { upstream: { values: [{ name: "length", header: "content-length", credit: true }] } },
  },
  "`price`": { asks: { upstream: { price: PRICE } } },
  "`quota`": { asks: { budget: { quota: { requests: 1_000_000_000, per: "30d" } } } },
  "`spend`": { asks: { upstream: { price: PRICE }, budget: { spend: { at_most: 1_000_000, per: "30d" } } } },
  "`auth.query`": { asks: { upstream: { auth: { query: { name: "key", ...KEY } } } } },
  "`auth.aws`": {
    asks: {
      upstream: {
        auth: { aws: { service: "ses", region: "eu-central-1", access_key_id: KEY, secret_access_key: KEY } },
      },
    },
  },
  "`state`": { asks: { root: { state: { path: "pacewatch.db" } } } },
  "answers with `X-RateLimit-…`": { headers: RATE_LIMIT },
  "`connection: reuse`": { asks: { upstream: { connection: "reuse" } } },
  "`stream`, two events": {
    asks: { upstream: { stream: { format: "sse", ends: "end" } } },
    headers: { "content-type": "text/event-stream" },
    body: EVENTS,
  },
  "`notify`": { asks: { root: { notify: [{ name: "team", kind: "telegram", key: KEY, chat: "1" }] } } },
  "`fleet`": {
    asks: { root: { fleet: { name: "a", lock: { redis: { url: `redis://127.0.0.1:${redis.port}` } } } } },
  },
});

const flag = { type: "boolean" } as const;
const { values } = parseArgs({
  options: { of: { type: "string" }, "by-function": flag, features: flag },
});
const isByFunction = values["by-function"] === true;
const from = isByFunction
  ? ({ form: "source", isByFunction } as const)
  : { root: values.of === undefined ? await shippedHere() : await shippedAt(values.of) };
if (values.features === true) await tellFeatures();
else await tellWays();

async function tellFeatures(): Promise<void> {
  await using redis = await RedisServer.start();
  console.log("| asked for | bytes | promises | timers | other objects |\n| --- | --- | --- | --- | --- |");
  for (const [says, what] of Object.entries(featuresWith(redis))) {
    const counted = await countedOf({
      over: "http",
      connection: "fresh",
      strace: undefined,
      ...from,
      ...what,
    });
    const { PROMISE: promises = 0, Timeout: timers = 0, ...others } = counted.made;
    const rest = Object.values(others).reduce((all, each) => all + each, 0);
    const counts = [promises, timers, rest].map((count) => count.toFixed(1)).join(" | ");
    console.log(`| ${says} | ${(counted.heapBytes + counted.bufferBytes).toFixed(0)} | ${counts} |`);
  }
}

async function tellWays(): Promise<void> {
  for (const over of ["http", "https"] as const) {
    for (const connection of ["fresh", "reuse"] as const) {
      console.log(`\n${over}, ${connection}: of one poll`);
      show(await countedOf({ over, connection, strace: findProgram("strace"), ...from }));
    }
  }
}

function show({ made, systemCalls, bytesByFunction, ...counts }: Counted): void {
  const line = (what: string, count: number): void =>
    console.log(`${count.toFixed(count < 100 ? 2 : 0).padStart(9)}  ${what}`);
  for (const [what, count] of Object.entries(counts)) line(what, count);
  for (const [what, count] of ordered(made)) line(`made: ${what}`, count);
  for (const [what, count] of ordered(systemCalls)) line(`system call: ${what}`, count);
  for (const [where, bytes] of ordered(bytesByFunction).slice(0, FUNCTIONS)) line(where, bytes);
}

function ordered(counts: Readonly<Record<string, number>>): readonly (readonly [string, number])[] {
  return Object.entries(counts).toSorted(([, a], [, b]) => b - a);
}
