import { judgingOf } from "../../../src/app/features/judging.ts";
import { HINTS, type AnswerHints } from "../../../src/features/hints/fields/answer-hints.ts";
import type { Cost } from "../../../src/features/quota/cost.ts";
import type { StreamMeasures } from "../../../src/kernel/exchange/exchange.ts";
import type { Announcement } from "../../../src/features/announcements/announcement.ts";
import type { Poll } from "../../../src/kernel/poll/poll.ts";
import type { SeenQuota } from "../../../src/features/quota/reader.ts";
import type { SeenValues } from "../../../src/features/values/values.ts";
import { expect, test } from "vitest";
import { SecretFinder } from "../../../src/transport/secrets/finder.ts";
import type { Observation } from "../../../src/kernel/exchange/exchange.ts";
import { judge } from "../../../src/kernel/polling/poll-once.ts";
import { samplePollTimes, sampleUpstream } from "../../support/kernel-samples.ts";

/** Where a value has a text that is not one of a few words of ours: each by its path. */
type TextsOf<Value, Path extends string = ""> = Value extends string
  ? string extends Value
    ? Path
    : never
  : Value extends readonly (infer Member)[]
    ? TextsOf<Member, `${Path}[]`>
    : Value extends object
      ? { [Key in keyof Value & string]: TextsOf<Value[Key], `${Path}.${Key}`> }[keyof Value & string]
      : never;

/** A poll with all that readers may have put into it. */
type Told = Omit<Poll, "said"> & {
  readonly said: {
    readonly hints: AnswerHints;
    readonly announcement: Announcement;
    readonly cost: Cost;
    readonly quotas: readonly SeenQuota[];
    readonly stream: StreamMeasures;
    readonly values: SeenValues;
  };
};

/** All texts that leave the judgement. One that is added here is in the answer below too, with a key in it. */
type Known =
  | ".id"
  | ".detail"
  | ".excerpt"
  | ".head.headers[].name"
  | ".head.headers[].value"
  // Of the config.
  | ".said.cost.currency"
  | ".said.announcement.links[].target"
  | ".said.announcement.warning"
  | ".said.values.values[].name"
  | ".said.values.unreadable[].name"
  | ".said.values.unreadable[].found"
  | ".said.hints.families[].key"
  | ".said.hints.families[].unit"
  | ".said.hints.families[].resource";

/** Fails to compile for a text that is not known here, and for one that is no more. */
type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
const ALL_ARE_KNOWN: Same<TextsOf<Told>, Known> = true;

const KEY = "test-key-5f0b2c7e91";

function judged(status: number, headers: Readonly<Record<string, string>>, body: string): Poll {
  const finder = new SecretFinder([KEY]);
  const observation: Observation = {
    exchange: {
      kind: "answered",
      head: { status, reasonPhrase: KEY, headers: Object.entries(headers) },
      body: new TextEncoder().encode(body),
    },
    durationMs: 1,
    phasesMs: {},
    certificateExpiresAtMs: undefined,
    withoutKeys: (text) => finder.hide(text),
  };
  const upstream = sampleUpstream({ requestIdHeaders: [`x-${KEY}`] });
  return judge(upstream, observation, samplePollTimes(), judgingOf(upstream));
}

const TELLING = {
  "x-ratelimit-limit": "10",
  "x-ratelimit-remaining": "0",
  "x-ratelimit-resource": KEY,
  [`x-ratelimit-limit-${KEY}`]: "5",
  [`${KEY}-ratelimit-limit`]: "7",
  "x-acme-ratelimit-bucket": KEY,
  "x-acme-ratelimit-limit": "9",
  "ratelimit-policy": `"a";q=100;w=60;qu="${KEY}", "${KEY}";q=5;w=1;pk=:${Buffer.from(KEY).toString("base64")}:`,
  ratelimit: `"a";r=50;t=30;pk=:${Buffer.from(KEY).toString("base64")}:`,
  deprecation: "true",
  link: `<https://example.test/${KEY}>; rel="sunset"`,
  warning: `299 - "${KEY} ends"`,
  "x-request-id": KEY,
  [`x-${KEY}`]: KEY,
  [KEY]: "1",
};

test.each([
  ["a good answer", 200, "{}"],
  ["a refusal", 429, `{"error":"${KEY}"}`],
  ["a page", 500, `<h1>${KEY}</h1>`],
  ["an answer that is no JSON", 200, KEY],
])("no text of %s that leaves its judgement has a key in it", (_, status, body) => {
  expect(ALL_ARE_KNOWN).toBe(true);
  const result = judged(status, TELLING, body);
  const all = JSON.stringify(result);
  for (let at = 0; at + 8 <= KEY.length; at += 1) expect(all).not.toContain(KEY.slice(at, at + 8));
  expect(all).not.toContain(Buffer.from(KEY).toString("base64").slice(0, 12));
  expect(HINTS.of(result.said)?.families.length).toBeGreaterThan(4);
});
