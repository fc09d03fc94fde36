/**
 * What one poll makes: bytes, promises, timers, turns of the event loop, system calls, in the daemon as it is shipped:
 * `npm run bench:counts`. These are counts, so a busy machine shows nearly the same. With `--of COMMIT` in another
 * commit, and with `--by-function` who allocates, in the sources that are checked out.
 */

import { parseArgs } from "node:util";
import { findProgram } from "../tools/stack/find-program.ts";
import { countedOf, type Counted } from "./programs/counted.ts";
import { shippedAt, shippedHere } from "./programs/shipped-commit.ts";

const FUNCTIONS = 60;

const { values } = parseArgs({ options: { of: { type: "string" }, "by-function": { type: "boolean" } } });
const isByFunction = values["by-function"] === true;
const from = isByFunction
  ? ({ form: "source", isByFunction } as const)
  : { root: values.of === undefined ? await shippedHere() : await shippedAt(values.of) };
for (const over of ["http", "https"] as const) {
  for (const connection of ["fresh", "reuse"] as const) {
    console.log(`\n${over}, ${connection}: of one poll`);
    show(await countedOf({ over, connection, strace: findProgram("strace"), ...from }));
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
