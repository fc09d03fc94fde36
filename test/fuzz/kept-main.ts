/**
 * Says how many bytes of what hostile answers said are still in memory after hundreds of them, as JSON: every text that
 * V8's heap snapshot has, with whatever a part of it keeps alive. A process of its own: the heap of a test has more.
 */

import { FOLLOWERS, pollLogsOf } from "../../src/app/features/shown.ts";
import { setFlagsFromString, getHeapSnapshot } from "node:v8";
import { runInNewContext } from "node:vm";
import { LogRecorder } from "../../src/features/log/logger.ts";
import { StateBuffer } from "../../src/features/state/buffer.ts";
import { stateRecorder } from "../../src/features/state/recorder.ts";
import { TestLedger } from "../support/test-ledger.ts";
import { HINTS } from "../../src/features/hints/fields/answer-hints.ts";
import { limitFieldOf } from "../../src/features/hints/fields/field-name.ts";
import { cut } from "../../src/features/refusals/words.ts";
import { History, recorderOf } from "../../src/features/history/history.ts";
import { UpstreamRecord } from "../../src/features/history/upstream-record.ts";
import { sampleConfig, sampleUpstream } from "../support/kernel-samples.ts";
import { VirtualClock } from "../support/virtual/clock.ts";
import { type Answer, meet } from "./worst-answers.ts";
import { SMALL_BODY_BYTES } from "../../src/kernel/exchange/exchange.ts";

const TURNS = 300;
const UPSTREAMS = 4;
/** Far more than any of what is shared may hold. */
const SHARED = 1_000;
/** All that an answer says is made of it. */
const MARK = "zq7";
const mute = (): void => {};

function hostile(turn: number): Answer {
  const text = (chars: number): string => `${turn}${MARK.repeat(chars / MARK.length)}`;
  const isWell = turn % 5 === 0;
  const windows = ["second", "minute", "hour", "day", "month"];
  return {
    status: isWell ? 200 : ([403, 429, 500][turn % 3] ?? 500),
    headers: [
      ["deprecation", `@${1_700_000_000 + turn}`],
      ["warning", `299 - "${text(3_000)}"`],
      [
        "link",
        Array.from({ length: 6 }, (_, at) => `<https://${MARK}.${at}/${text(400)}>; rel=sunset`).join(),
      ],
      ...Array.from({ length: 8 }, () => ["x-request-id", text(120)] as const),
      ...Array.from({ length: 30 }, (_, at) => [`x-${at}-${text(90)}`, "1"] as const),
      ["x-ratelimit-resource", text(90)],
      ...windows.flatMap((window, at) => [
        [`x-ratelimit-limit-${text(60)}-${window}`, String(1_000 + at)] as const,
        [`x-ratelimit-remaining-${text(60)}-${window}`, String(900 - turn)] as const,
      ]),
      [
        "ratelimit-policy",
        Array.from({ length: 20 }, (_, at) => `"${text(80)}${at}";q=${900 + at};w=86400`).join(),
      ],
      [
        "ratelimit",
        Array.from({ length: 20 }, (_, at) => `"${text(80)}${at}";r=${800 - turn};t=9000`).join(),
      ],
    ],
    body: Buffer.from(
      isWell ? "{}" : JSON.stringify({ error: { message: `\u4e00${text(2_000)}`, code: text(60) } }),
    ).subarray(0, SMALL_BODY_BYTES),
  };
}

function life(): unknown {
  const clock = new VirtualClock({ wallMs: 1_790_000_000_000 });
  const upstream = sampleUpstream({ name: "hostile" });
  const config = sampleConfig({ upstreams: [upstream] });
  const file = { write: () => Promise.resolve(true) };
  const ledger = new TestLedger(config, clock, { homes: [file] });
  const buffer = new StateBuffer({ polls: 1, incidents: 1, value_hours: 1 });
  const history = new History(upstream.name, clock.wallNow());
  const log = { level: "info", debug: mute, info: mute, warn: mute, error: mute } as const;
  const record = new UpstreamRecord(history, [
    recorderOf(history, FOLLOWERS),
    new LogRecorder(log, upstream.name, clock, undefined, pollLogsOf()),
    stateRecorder(upstream.name, history, buffer, clock),
  ]);
  for (let turn = 0; turn < TURNS; turn += 1) {
    clock.stepWall(60_000);
    const { poll } = meet(hostile(turn));
    record.record({ kind: "polled", poll: { ...poll, id: String(turn), endedAtMs: clock.wallNow() } });
    record.record({
      kind: "health_changed",
      from: "up",
      to: poll.outcome.kind === "ok" ? "up" : "down",
      atMs: clock.wallNow(),
      poll,
    });
    const answerHints = HINTS.of(poll.said);
    if (answerHints !== undefined) ledger.hints.heard(upstream.budgets, answerHints);
    buffer.take(1);
  }
  return { ledger, record, buffer };
}

type Snapshot = {
  readonly snapshot: { readonly meta: { readonly node_fields: string[]; readonly node_types: [string[]] } };
  readonly nodes: readonly number[];
  readonly strings: readonly string[];
};

/** Of a text that is a part of another one, the other one counts. */
async function textsInMemory(): Promise<readonly { readonly text: string; readonly bytes: number }[]> {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const chunks: string[] = [];
  for await (const chunk of getHeapSnapshot().setEncoding("utf8")) chunks.push(String(chunk));
  const { snapshot, nodes, strings }: Snapshot = JSON.parse(chunks.join(""));
  const { node_fields: fields, node_types: types } = snapshot.meta;
  const at = (field: string): number => fields.indexOf(field);
  const found: { text: string; bytes: number }[] = [];
  for (let node = 0; node < nodes.length; node += fields.length) {
    const text = strings[nodes[node + at("name")] ?? 0] ?? "";
    const type = types[0][nodes[node + at("type")] ?? 0] ?? "";
    if (/string/.test(type) && text.includes(MARK + MARK))
      found.push({ text: `${type} ${text.slice(0, 60)}`, bytes: nodes[node + at("self_size")] ?? 0 });
  }
  return found;
}

/** What all upstreams share is bounded by itself: the meanings of the newest names and sentences, all forgotten once they are many. */
function forgetShared(): void {
  for (let other = 0; other <= SHARED; other += 1) {
    limitFieldOf(`x-other-${other}`);
    cut(`other ${other}`);
  }
}

const lives = Array.from({ length: UPSTREAMS }, life);
forgetShared();
const before = await textsInMemory();
for (let more = 0; more < UPSTREAMS; more += 1) lives.push(life());
forgetShared();
const after = await textsInMemory();
const byKind = new Map<string, number>();
for (const [sign, texts] of [
  [-1, before],
  [1, after],
] as const) {
  for (const { text, bytes } of texts) {
    const kind = text.replaceAll(/\d+/g, "N").split(MARK)[0] ?? "";
    byKind.set(kind, (byKind.get(kind) ?? 0) + (sign * bytes) / UPSTREAMS);
  }
}
const bytes = [...byKind.values()].reduce((sum, each) => sum + each, 0);
console.log(JSON.stringify({ bytes, byKind: Object.fromEntries(byKind), lives: lives.length }));
