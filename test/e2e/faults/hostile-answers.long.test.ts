import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { openConfigFolder, rawUpstream } from "../../support/config-folder.ts";
import { startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { type Families, sumOfSamples } from "../../support/metrics/exposition-parser.ts";
import { openAccounts } from "../../support/metrics/slot-accounts.ts";
import { answer, openRawUpstream, type RawUpstream } from "../../support/raw-upstream.ts";

/** By the schema below, it would take longer than the universe is old. */
const ENDLESS = JSON.stringify({ id: `${"a".repeat(100)}b` });

async function answering(bodyOf: () => string): Promise<RawUpstream> {
  return openRawUpstream(async (connection) => {
    await connection.request();
    connection.end(answer(bodyOf(), ["Connection: close"]));
  });
}

function polls(families: Families, upstream: string, outcome: string): number {
  return sumOfSamples(families, "pacewatch_polls_total", { upstream, outcome });
}

/** On a machine that has no CPU for the thread, it is our own fault: the unit tests own the bound. */
function givenUp(families: Families): number {
  const of = (reason: string): number =>
    sumOfSamples(families, "pacewatch_poll_reasons_total", { upstream: "hostile", reason });
  return of("assertion") + of("suspended");
}

it("an answer that its JSON Schema cannot judge in time fails alone, and what comes next is judged", async () => {
  await using world = new AsyncDisposableStack();
  let body = ENDLESS;
  const [hostile, good, plain] = await Promise.all([
    answering(() => body),
    answering(() => '{"id":"aa"}'),
    answering(() => "{}"),
  ]);
  for (const upstream of [hostile, good, plain]) world.defer(() => upstream.close());
  const expected = { expect: { body: [{ path: "", json_schema: "contract.json" }] } };
  const folder = world.use(
    await openConfigFolder({
      budgets: { api: { rate: { requests: 6_000, per: "1m" }, share: "50%" } },
      upstreams: [
        rawUpstream("hostile", hostile.url, expected),
        rawUpstream("good", good.url, expected),
        rawUpstream("plain", plain.url),
      ],
    }),
  );
  await writeFile(
    join(folder.folder, "contract.json"),
    '{ "required": ["id"], "properties": { "id": { "pattern": "^(a+)+$" } } }',
  );
  const daemon = world.use(await startDaemon({ configPath: folder.path }));
  const failed = await eventually(
    "the hostile answer is given up",
    () => daemon.metrics(),
    (families) => givenUp(families) > 0 && polls(families, "good", "ok") > 0,
  );
  expect(polls(failed, "plain", "ok")).toBeGreaterThan(0);
  expect(polls(failed, "hostile", "ok")).toBe(0);
  body = '{"id":"a"}';
  const families = await eventually(
    "its next good answer is ok",
    () => daemon.metrics(),
    (scrape) => polls(scrape, "hostile", "ok") > 0,
  );
  for (const upstream of ["good", "plain"]) expect(polls(families, upstream, "failed")).toBe(0);
  expect(openAccounts(families)).toEqual([]);
});
