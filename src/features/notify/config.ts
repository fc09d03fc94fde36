import { z } from "zod";
import { type SecretSource } from "../../kernel/config/config.ts";
import { RECEIVER_EVENTS, RECEIVER_KINDS, type Receiver, type ReceiverKind } from "./receiver.ts";
import { DAY_MS, HOUR_MS } from "../../kernel/time/duration.ts";
import { source } from "../auth/kinds/source.ts";
import { duration, filledList, list, name, named, oneOf, section, text } from "../../config/keys/leaves.ts";
import { type Rule, noted } from "../../config/keys/notes.ts";
import { mappingOf, namesOfTheirOwn, ruled } from "../../config/keys/rules.ts";

type Needs = "must be set" | "may be set" | "is not known";

/** What each kind needs beside its name. */
const NEEDS: Readonly<Record<ReceiverKind, Readonly<Record<"url" | "key" | "chat", Needs>>>> = {
  webhook: { url: "must be set", key: "may be set", chat: "is not known" },
  slack: { url: "must be set", key: "is not known", chat: "is not known" },
  discord: { url: "must be set", key: "is not known", chat: "is not known" },
  teams: { url: "must be set", key: "is not known", chat: "is not known" },
  ntfy: { url: "must be set", key: "may be set", chat: "is not known" },
  telegram: { url: "may be set", key: "must be set", chat: "must be set" },
  pagerduty: { url: "may be set", key: "must be set", chat: "is not known" },
  alertmanager: { url: "must be set", key: "is not known", chat: "is not known" },
};

function secret(what: string, description: string): z.ZodType<SecretSource> {
  const phrase = `{ env: NAME } or { file: PATH }: ${what} is never written in the config`;
  const found = source(what, phrase, ". It is read for each message.");
  return noted(found, { isSecret: true }).describe(description);
}

const receiver = section({
  name: noted(name(), { isNeeded: true }).describe("Its name in metrics and in the log."),
  kind: noted(oneOf(RECEIVER_KINDS), { isNeeded: true }).describe("What receives the messages."),
  url: secret("the URL", "Where its URL is found: whoever has it can write there.").optional(),
  key: secret(
    "the key",
    "Where its key is found: a webhook's messages are signed with it; it is the routing key of PagerDuty, the bot's token of Telegram, an access token of ntfy.",
  ).optional(),
  chat: noted(text("the id of a chat, or @ and its name", 128), { example: "unset" })
    .optional()
    .describe("Of Telegram: the chat that is written to."),
  on: filledList(oneOf(RECEIVER_EVENTS), RECEIVER_EVENTS.length, "events")
    .prefault([...RECEIVER_EVENTS])
    .describe("The events that it is told of."),
  only: section({
    upstreams: list(name(), 10_000, "names").prefault([]).describe("One of these; empty for any."),
    labels: z
      .record(z.string(), text("a label's value", 256), { error: "a mapping of labels to values" })
      .prefault({})
      .describe("With all of these labels."),
  })
    .optional()
    .describe("Only these upstreams, and nothing of Pacewatch itself. Default: all, and Pacewatch."),
  after: duration(0, DAY_MS, "2m")
    .prefault("0s")
    .describe("Shorter problems are not reported, and throttling never before five minutes."),
  group_wait: duration(0, HOUR_MS, "10s")
    .prefault("10s")
    .describe("What falls within this time is told in one message. It waits at most four times as long."),
  remind: duration(60_000, 30 * DAY_MS, "4h")
    .optional()
    .describe("How often an open problem is repeated. Default: never."),
});

const fitsItsKind: Rule = {
  check: (written, refuse) => {
    const keys = mappingOf(written);
    const kind = RECEIVER_KINDS.find((each) => each === keys["kind"]);
    if (kind === undefined) return;
    for (const [key, needs] of Object.entries(NEEDS[kind])) {
      const isSet = Object.hasOwn(keys, key);
      if (needs === "must be set" && !isSet) refuse([], `must have ${key}, as its kind is ${kind}`);
      if (needs === "is not known" && isSet) refuse([key], `must not be set where the kind is ${kind}`, []);
    }
  },
};

const MOST_RECEIVERS = 50;

export const notifySchema: z.ZodType<readonly Receiver[]> = ruled(
  filledList(
    named(ruled(receiver, fitsItsKind), { after: "afterMs", group_wait: "groupWaitMs", remind: "remindMs" }),
    MOST_RECEIVERS,
    "receivers",
  ),
  namesOfTheirOwn,
).describe("Who is told when an upstream goes down, comes up again, and what else goes wrong.");
