import { expect, test } from "vitest";
import { memberOf } from "../../../src/core/fleet/member.ts";
import { readView, viewKey, type FleetView } from "../../../src/core/fleet/fleet-status.ts";

const VIEW: FleetView = {
  vantage: "eu-1",
  state: "down",
  isUp: false,
  sinceMs: 1_790_000_000_000,
  lastPollAtMs: 1_790_000_010_000,
  lastDurationMs: 112,
  knownUntilMs: 1_790_000_055_000,
  incident: { state: "down", reason: "timeout", startedAtMs: 1_789_999_990_000, polls: 3 },
  bulletin: '{"incidents":[]}',
};

test("what one replica tells of an upstream, another one reads", () => {
  expect(readView(JSON.stringify(VIEW))).toEqual(VIEW);
  const unseen = {
    ...VIEW,
    state: "unknown",
    isUp: undefined,
    lastPollAtMs: undefined,
    lastDurationMs: undefined,
    incident: undefined,
  } as const;
  expect(readView(JSON.stringify(unseen))).toEqual(unseen);
});

test("what another version wrote and this one cannot read is left out", () => {
  for (const text of ["", "{", "null", "[]", "7", '{"vantage":"a","state":"asleep"}', '{"state":"up"}']) {
    expect(readView(text)).toBeUndefined();
  }
});

test("of an incident nothing is taken that is no word or number of ours", () => {
  const told = { state: "down", reason: "reset", startedAtMs: 1, polls: 1 };
  const read = (incident: unknown): unknown =>
    readView(JSON.stringify({ vantage: "a", state: "down", knownUntilMs: 1, incident }))?.incident;
  expect(read(told)).toEqual(told);
  for (const i of [
    7,
    [],
    { ...told, reason: "<b>" },
    { ...told, state: "asleep" },
    { ...told, startedAtMs: "1" },
    { state: "down" },
  ])
    expect(read(i)).toBeUndefined();
});

test("a view that does not say how long it holds is none", () => {
  expect(readView('{"vantage":"a","state":"up"}')).toBeUndefined();
});

test("from everywhere, each vantage has a word of its own on an upstream; else whoever holds it has the only one", () => {
  expect(viewKey("everywhere", "email", "eu-1")).not.toBe(viewKey("everywhere", "email", "us-1"));
  expect(viewKey("shard", "email", "eu-1")).toBe(viewKey("shard", "email", "us-1"));
});

const SILENT = { session: "eu-1#ab.1", endsInMs: 9_000, provenMs: 0 };

test("a replica is there even where nothing that it says of itself can be read", () => {
  expect(memberOf({ ...SILENT, info: "???" })).toEqual({
    ...SILENT,
    name: "eu-1",
    url: "",
    held: 0,
    groups: "",
    config: "",
    configSinceMs: 0,
    isLeaving: false,
    asks: [],
    clockAheadMs: 0,
  });
});

test("an address that is no page is not linked to", () => {
  const info = JSON.stringify({ url: "javascript:alert(1)", held: 1 });
  expect(memberOf({ ...SILENT, info }).url).toBe("");
});
