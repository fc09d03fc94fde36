import * as fc from "fast-check";
import { expect, test } from "vitest";
import { incidentsOfAll } from "../../../src/features/status/incidents.ts";
import { jsonPieces, type Pieces } from "../../../src/http/routes/pieces.ts";
import { sampleStatus, sampleUpstreamStatus } from "../../support/samples.ts";
import type { Incident } from "../../../src/features/history/incidents.ts";

function finish<Result>(work: Pieces<Result>): { readonly result: Result; readonly pieces: number } {
  for (let pieces = 1; ; pieces += 1) {
    const { done, value } = work.next();
    if (done === true) return { result: value, pieces };
  }
}

function incidentAt(upstream: string, startedAtMs: number): Incident {
  return { upstream, state: "down", reason: "dns", startedAtMs, endedAtMs: startedAtMs, polls: 1 };
}

const HOUR_MS = 3_600_000;

test("the incidents of all upstreams are told the newest first, equal ones in the order of the config", () => {
  const times = fc.array(fc.array(fc.nat(2 * HOUR_MS)));
  fc.assert(
    fc.property(times, (ofUpstreams) => {
      const upstreams = ofUpstreams.map((_, index) => sampleUpstreamStatus({ name: `api-${index}` }));
      const incidents = ofUpstreams.flatMap((ofOne, index) =>
        ofOne.toSorted((a, b) => b - a).map((atMs) => incidentAt(`api-${index}`, atMs)),
      );
      expect(finish(incidentsOfAll(sampleStatus({ upstreams, incidents }))).result).toEqual(
        incidents.toSorted((one, other) => other.startedAtMs - one.startedAtMs),
      );
    }),
  );
});

test("many incidents are sorted in many pieces", () => {
  const incidents = Array.from({ length: 5_000 }, (_, index) => incidentAt("ai-router", index * 60_000));
  expect(finish(incidentsOfAll(sampleStatus({ incidents }))).pieces).toBeGreaterThan(400);
});

test("pieces of JSON are together what JSON.stringify writes", () => {
  const values = fc.anything({ withNullPrototype: false, maxDepth: 4 });
  fc.assert(
    fc.property(values, (value) => {
      const answer = { value, list: [value, undefined], missing: undefined, empty: [], none: {} };
      expect([...jsonPieces(answer)].join("")).toBe(JSON.stringify(answer));
      expect([...jsonPieces(value)].join("")).toBe(JSON.stringify(value) ?? "null");
    }),
  );
});

test("each item of a list is made when its piece is", () => {
  const made: number[] = [];
  const items = [0, 1, 2].values().map((item) => made.push(item));
  const pieces = jsonPieces({ items });
  while (made.length === 0) pieces.next();
  expect(made).toEqual([0]);
  expect([...pieces].join("")).toBe(",2,3]}");
});
