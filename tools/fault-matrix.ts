/**
 * Meets every behaviour of the fault matrix with Pacewatch's probe and with Debian's blackbox_exporter, and writes
 * docs/fault-matrix.md: `npm run fault-matrix`.
 */

import { writeFile } from "node:fs/promises";
import { PATIENT_MS, type Behaviour } from "../test/support/behaviours/behaviour.ts";
import { BEHAVIOURS } from "../test/support/behaviours/catalogue.ts";
import { meet, meetingOf, sayingOf } from "../test/support/behaviours/meet.ts";
import type { Stage } from "../test/support/behaviours/stage.ts";
import { certificates } from "../test/support/certificates.ts";
import { Blackbox } from "./fault-matrix/blackbox.ts";
import { faultMatrixPage } from "./fault-matrix/page.ts";
import { findProgram } from "./stack/find-program.ts";

const PAGE = new URL("../docs/fault-matrix.md", import.meta.url);
const AT_ONCE = 4;

process.exitCode = await faultMatrix();

async function faultMatrix(): Promise<number> {
  const path = findProgram("prometheus-blackbox-exporter") ?? findProgram("blackbox_exporter");
  if (path === undefined) {
    console.error("cannot measure: blackbox_exporter must be on the PATH.");
    console.error("On Debian: apt-get install prometheus-blackbox-exporter");
    return 1;
  }
  await using blackbox = await Blackbox.start(path, certificates().ca.certFile);
  const measured = new Map<string, string>();
  const surprises: string[] = [];
  const left = [...BEHAVIOURS];
  const work = async (): Promise<void> => {
    for (let behaviour = left.shift(); behaviour !== undefined; behaviour = left.shift()) {
      const stage = await behaviour.open();
      const surprise = await surpriseOf(behaviour, stage);
      if (surprise !== undefined) surprises.push(surprise);
      if (canBeAsked(behaviour)) measured.set(behaviour.does, await ask(blackbox, behaviour, stage));
      await stage.close();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  for (const surprise of surprises) console.error(surprise);
  if (surprises.length > 0) return 1;
  await writeFile(PAGE, faultMatrixPage({ blackboxVersion: blackbox.version, measured }));
  console.log(
    `wrote docs/fault-matrix.md: ${BEHAVIOURS.length} behaviours, ${measured.size} of them asked of both`,
  );
  return 0;
}

/** Where Pacewatch itself did not do what the matrix says. */
async function surpriseOf(behaviour: Behaviour, stage: Stage): Promise<string | undefined> {
  const poll = await meet(behaviour, stage);
  const said = `${meetingOf(poll)}: ${sayingOf(poll, stage, behaviour.says)}`;
  const expected = `${behaviour.meets}: ${behaviour.says}`;
  return said === expected ? undefined : `${behaviour.does}: expected "${expected}", received "${said}"`;
}

function canBeAsked({ lookup, credential }: Behaviour): boolean {
  return lookup === undefined && credential === undefined;
}

/** Its own requests are counted: more than one is worth a word. */
async function ask(blackbox: Blackbox, behaviour: Behaviour, stage: Stage): Promise<string> {
  const before = stage.requests();
  const told = await blackbox.probe({
    url: `${stage.url}/v1/resources`,
    timeoutMs: behaviour.poll?.timeoutMs ?? PATIENT_MS,
    ...(behaviour.compression === undefined ? {} : { compression: behaviour.compression }),
  });
  const requests = stage.requests() - before;
  return requests > 1 ? `${told}, ${requests} requests` : told;
}
