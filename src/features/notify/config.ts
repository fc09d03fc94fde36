import { z } from "zod";
import { type Complaint, complain } from "../../config/read/fault.ts";
import type { Path } from "../../config/read/tree.ts";
import type { Config, SecretSource, Upstream } from "../../kernel/config/config.ts";
import { isOneOf, RECEIVER_EVENTS, RECEIVER_KINDS, type Receiver, type ReceiverKind } from "./receiver.ts";
import { DAY_MS, HOUR_MS } from "../../kernel/time/duration.ts";
import type { Section } from "../../config/schema/section.ts";
import { source } from "../../config/keys/source.ts";
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
  url: noted(secret("the URL", "Where its URL is found: whoever has it can write there."), {
    isUrl: true,
  }).optional(),
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

const notifySchema: z.ZodType<readonly Receiver[]> = ruled(
  filledList(
    named(ruled(receiver, fitsItsKind), { after: "afterMs", group_wait: "groupWaitMs", remind: "remindMs" }),
    MOST_RECEIVERS,
    "receivers",
    ", such as - { name: team, kind: slack, url: { env: SLACK_URL } }",
  ),
  namesOfTheirOwn,
).describe("Who is told when an upstream goes down, comes up again, and what else goes wrong.");

/** Of who is told: those who never can be, and what it costs that nobody remembers who was. */
function warningsOf({ notify = [], state, upstreams }: Config): readonly Complaint[] {
  const names = new Set(upstreams.map(({ name }) => name));
  const warnings: Complaint[] = [];
  for (const [index, receiver] of notify.entries()) {
    const warn = (key: Path, says: string): void =>
      void warnings.push(complain(["notify", index, ...key], `receiver "${receiver.name}" ${says}`));
    for (const [at, name] of receiver.only?.upstreams.entries() ?? [])
      if (!names.has(name))
        warn(["only", "upstreams", at], `names "${name}", which is no upstream of the config`);
    if (!canMatch(receiver, upstreams))
      warn([], "can never be told of anything: no upstream matches its only, and its on");
  }
  if (notify.length === 0 || state !== undefined) return warnings;
  const cost =
    "without state.path nobody remembers over a restart who was told what: what is down then is told again, and what came up meanwhile never";
  return [...warnings, complain(["notify"], cost)];
}

const OWN_EVENTS: ReadonlySet<string> = new Set(["offline", "config_refused", "state_lost"]);

function canMatch({ only, on }: Receiver, upstreams: readonly Upstream[]): boolean {
  if (only === undefined) return true;
  const isOfUpstreams = on.some((event) => event !== "up" && !OWN_EVENTS.has(event));
  return isOfUpstreams && upstreams.some((upstream) => isOneOf(only, upstream));
}

export const NOTIFY: Section = {
  at: "config",
  before: "deny_addresses",
  shape: { notify: notifySchema.optional() },
  warnings: warningsOf,
};

export const receiversOf = ({ notify = [] }: Config): readonly Receiver[] => notify;
