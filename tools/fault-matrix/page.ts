import type { Behaviour } from "../../test/support/behaviours/behaviour.ts";
import { CHAPTERS } from "../../test/support/behaviours/catalogue.ts";
import { isConfigurable } from "../../test/support/behaviours/configured.ts";
import { markdownCode, markdownTable } from "../markdown-table.ts";

/** What the exporter says when it got no answer, for whatever reason. */
const NO_SIGN = "0, status 0";

const NOT_MEASURED = "–";

/** What the exporter said of each behaviour, by its name. */
export type Measured = ReadonlyMap<string, string>;

export type Run = { readonly blackboxVersion: string; readonly measured: Measured };

const HEAD = ["An upstream that", "Pacewatch", "in its own words", "blackbox_exporter", "Tests"];

export function faultMatrixPage({ blackboxVersion, measured }: Run): string {
  const chapters = CHAPTERS.map(({ title, behaviours }) => {
    const rows = behaviours.map((each) => faultMatrixRow(each, measured.get(each.does) ?? NOT_MEASURED));
    return `## ${title}\n\n${markdownTable(HEAD, rows)}`;
  });
  return `${introduction({ blackboxVersion, measured })}\n${chapters.join("\n")}`;
}

/** The cells of one row; the fourth is the exporter's. */
export function faultMatrixRow(behaviour: Behaviour, blackbox: string): readonly string[] {
  const tests = isConfigurable(behaviour) ? "poll, program" : "poll";
  return [behaviour.does, behaviour.meets, markdownCode(behaviour.says), blackbox, tests];
}

function introduction({ blackboxVersion, measured }: Run): string {
  const all = CHAPTERS.flatMap(({ behaviours }) => behaviours);
  const probed = all.filter(({ does }) => measured.has(does));
  const said = (behaviour: Behaviour): string => measured.get(behaviour.does) ?? "";
  const failing = probed.filter(({ meets }) => meets !== "ok");
  const unseen = failing.filter((behaviour) => said(behaviour).startsWith("1,")).length;
  const alike = failing.filter((behaviour) => said(behaviour) === NO_SIGN);
  const kinds = new Set(alike.map(({ meets }) => meets)).size;
  return `# Fault matrix

<!-- Written by \`npm run fault-matrix\` from test/support/behaviours/ and from what it measures: change it there. -->

What an upstream can do to its callers, and what Pacewatch reports: ${all.length} behaviours of servers that
send just these bytes, over real sockets. Each row is two tests, and both compare it word by word:

- **poll**: one poll by the program's own probe and judge, in
  [test/matrix/fault-matrix.test.ts](../test/matrix/fault-matrix.test.ts), where each test has the name of its row. A
  healthy upstream is polled meanwhile and misses nothing. The faulty upstream gets one request at most, and no
  connection stays open. The heaviest faults, repeated, leave no memory in use.
- **program**: the whole program, configured with all of them at once, in
  [test/e2e/faults/fault-matrix.long.test.ts](../test/e2e/faults/fault-matrix.long.test.ts). Its metrics show the same outcome and no other.
  Hostile texts are harmless in log, page and metrics. After these upstreams have left the config, open files and series
  are as before.

HOST is the upstream's host and port; "…" depends on the machine.

The column of **blackbox_exporter** (${blackboxVersion}, as Debian has it) was measured in the same run, against the same
servers, with the same deadlines. Its module uses every setting that it has: status 200, HTTP/1.0 or 1.1, at most 1 MiB,
the certificate authority, a regexp for the beginning of a JSON value, and the compression where there is one. It
follows redirects, which is its default. The cell shows its metrics: \`probe_success\`, \`probe_http_status_code\`,
\`probe_http_redirects\`, \`probe_failed_due_to_regex\`, and whether it timed out. The words for
what went wrong are in its log, and in the \`debug=true\` output of one probe. "${NOT_MEASURED}" means that the fault is in Pacewatch's own
resolver or key, which the exporter does not have.

Both polled ${failing.length} behaviours in which a poll is not ok. The exporter calls ${unseen} of them a success.
For ${alike.length} others its metrics are the same, "${NO_SIGN}"; in Pacewatch's metrics these are ${kinds} different outcomes.
`;
}
