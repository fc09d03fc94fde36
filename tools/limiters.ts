/**
 * Two minutes with each limiter that people run before their APIs: `npm run limiters`. With `--write` the table goes into
 * docs/peers.md.
 */

import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import type { Answers } from "../test/support/limiters/limiter.ts";
import { NODE_LIMITERS } from "../test/support/limiters/node-limiters.ts";
import { haproxyLimiter, nginxLimiter } from "../test/support/limiters/proxy-limiters.ts";
import { type Row, runTrial } from "../test/support/limiters/trial.ts";
import { markdownTable } from "./markdown-table.ts";
import { findProgram } from "./stack/find-program.ts";

const PAGE = new URL("../docs/peers.md", import.meta.url);
const BEGIN = "<!-- The table is written by `npm run limiters -- --write` from what it measures. -->\n";

const { values } = parseArgs({ options: { write: { type: "boolean", default: false } } });
process.exitCode = await main(values.write);

async function main(isWritten: boolean): Promise<number> {
  const nginx = findProgram("nginx");
  const haproxy = findProgram("haproxy");
  if (nginx === undefined || haproxy === undefined) {
    console.error("cannot measure: nginx and haproxy must be on the PATH.");
    console.error("On Debian: apt-get install nginx-light haproxy");
    return 1;
  }
  console.log("watching each limiter for two minutes, all at once");
  const table = tableOf(await runTrial([...NODE_LIMITERS, nginxLimiter(nginx), haproxyLimiter(haproxy)]));
  console.log(`\n${table}`);
  if (isWritten) await replaceTable(table);
  return 0;
}

function tableOf(rows: readonly Row[]): string {
  const cell = ({ ok, refused }: Answers): string => `${refused} of ${ok + refused}`;
  return markdownTable(
    [
      "limiter",
      "tells its limit by",
      "right config",
      "ten times too high",
      "the next minute",
      "unaware prober",
      "what Pacewatch then knows",
    ],
    rows.map(({ limiter, honest, mistaken: [first, second], unaware, known }) => [
      limiter.name,
      limiter.tells,
      cell(honest),
      cell(first),
      cell(second),
      cell(unaware),
      known.map(withoutPartition).join("; "),
    ]),
  );
}

/** A partition is a hash that differs each time. */
function withoutPartition(sentence: string): string {
  return sentence.replace(/ for "[^"]*"/, "");
}

/** The table ends with the first line that is no row. */
async function replaceTable(table: string): Promise<void> {
  const [before, after] = (await readFile(PAGE, "utf8")).split(BEGIN);
  if (before === undefined || after === undefined)
    throw new Error(`cannot write: the page must have ${BEGIN}`);
  await writeFile(PAGE, `${before}${BEGIN}\n${table}${after.replace(/^\n(\|.*\n)+/, "")}`);
}
