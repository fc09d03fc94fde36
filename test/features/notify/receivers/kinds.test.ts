import { createHmac } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RECEIVER_KINDS, type ReceiverKind } from "../../../../src/features/notify/receiver.ts";
import { foldFiring, NO_INCIDENT } from "../../../../src/features/notify/plan/alert.ts";
import { composeMessage, type Message } from "../../../../src/features/notify/plan/message.ts";
import type { Due } from "../../../../src/features/notify/plan/plan.ts";
import { capText } from "../../../../src/kernel/text/escape.ts";
import { withoutLinks } from "../../../../src/features/notify/receivers/kind.ts";
import { KINDS } from "../../../../src/features/notify/receivers/kinds.ts";
import { sampleMessage, sampleUp } from "../../../support/notify/messages.ts";
import { sampleReceiver } from "../../../support/notify/world.ts";
import { DOCUMENTED } from "./documented.ts";

const TARGET_URL = "https://receiver.example/topic-1";
const KEY = "test-key-of-receiver";

function requestOf(kind: ReceiverKind, message: Message): ReturnType<(typeof KINDS)["slack"]["request"]> {
  const receiver = sampleReceiver({ kind, chat: "@ops" });
  return KINDS[kind].request(message, { receiver, url: TARGET_URL, key: KEY });
}

function bodyOf(kind: ReceiverKind, message: Message): unknown {
  return JSON.parse(requestOf(kind, message)?.body ?? "null");
}

/** All texts in a value, with what they are called. */
function textsIn(value: unknown, key = ""): readonly (readonly [key: string, text: string])[] {
  if (typeof value === "string") return [[key, value]];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) => textsIn(each, Array.isArray(value) ? key : name));
}

const HOSTILE = [
  "@channel @here @everyone <!here> <!channel> <@U123> <#C123> <!subteam^S1>",
  "[click](https://evil.example) <https://evil.example|login> https://evil.example www.evil.example",
  "``` *bold* _it_ ~gone~ ||spoiler|| > quote # title - item `code` \\",
  "<at>everyone</at> <b>bold</b> <a href='tg://user?id=1'>x</a> &lt;!here&gt;",
  '"}],"attachments":[{"contentType":"x"}],"blocks":[{"type":"section"}',
  "{{ .ExternalURL }} ${env.KEY} %s \u200b",
];

/** One UTF-16 unit or two, one byte to four; what becomes two in JSON, or gets a space that nobody sees. */
const FILLERS = ["x", '"', "\\", "`", "é", "界", "🦊", "x🦊", "a.", "@", "_"];

/** As long as the pipeline lets them be: ten lines of 400, a name of 64, and a page with a long address. */
function longest(filler: string): Message {
  const name = "u".repeat(64);
  const line = capText(filler.repeat(400), 400);
  return sampleMessage({
    title: `Still: ${name.replaceAll("u", "_")} rejects our key again and again`,
    lines: Array.from({ length: 10 }, () => line),
    link: `https://${"pacewatch.".repeat(40)}example/upstreams/${name}`,
  });
}

/** One message of all of them. */
function manyDown(count: number, filler: string): Message {
  const startedAtMs = 1_790_000_000_000;
  const dues = Array.from({ length: count }, (_, place): Due => {
    const upstream = (filler === "_" ? "_" : "u").repeat(60) + String(place).padStart(4, "0");
    const known = { kind: "down", startedAtMs, knownAtMs: startedAtMs } as const;
    const alert = { ...NO_INCIDENT, ...known, id: `${upstream}/mul1x2`, subject: upstream, upstream };
    const due = { alert, notified: undefined, parts: [], event: "down", dueMs: startedAtMs } as const;
    return { ...due, isReminder: false, isGone: false, isUnclear: false, next: "notified" };
  });
  const [first] = dues;
  if (first === undefined) throw new Error("there is no message");
  return composeMessage(first, dues, {
    notified: new Map(),
    alerts: dues.map(({ alert }) => alert),
    upstream: () => ({ labels: { team: "growth" }, state: "down", isUnsure: false }),
    nowMs: startedAtMs + 10_000,
    of: count,
    words: () => undefined,
    pageUrl: "https://pacewatch.example",
  });
}

test("of several vantages, each says which it is, and ends no other's alert", () => {
  const startedAtMs = 1_790_000_000_000;
  const known = { kind: "down", startedAtMs, knownAtMs: startedAtMs } as const;
  const alert = { ...NO_INCIDENT, ...known, id: "ai/mul1x2", subject: "ai", upstream: "ai" };
  const due = { alert, notified: undefined, parts: [], event: "down", dueMs: startedAtMs } as const;
  const told = { ...due, isReminder: false, isGone: false, isUnclear: false, next: "notified" } as const;
  const [eu, us] = ["eu", "us"].map((vantage) =>
    composeMessage(told, [told], {
      notified: new Map(),
      alerts: [alert],
      upstream: () => ({ labels: {}, state: "down", isUnsure: false }),
      nowMs: startedAtMs + 10_000,
      of: 1,
      words: () => undefined,
      pageUrl: undefined,
      vantage,
    }),
  );
  if (eu === undefined || us === undefined) throw new Error("there are two");
  expect(eu.lines.at(-1)).toBe("Seen from eu.");
  expect(bodyOf("alertmanager", eu)).toMatchObject([{ labels: { subject: "ai", vantage: "eu" } }]);
  expect(bodyOf("alertmanager", us)).toMatchObject([{ labels: { subject: "ai", vantage: "us" } }]);
});

function bytesOf(value: unknown): number {
  return Buffer.byteLength(typeof value === "string" ? value : JSON.stringify(value));
}

const hostile = fc.array(
  fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: "grapheme", minLength: 1, maxLength: 300 })),
  { minLength: 1, maxLength: 6 },
);

describe.each(RECEIVER_KINDS.filter((kind) => kind !== "webhook"))("%s", (kind) => {
  const ajv = new Ajv({ strict: false });
  ajv.addKeyword({
    keyword: "mostBytes",
    validate: (most: number, value: unknown) => bytesOf(value) <= most,
  });
  const isValid = ajv.compile(DOCUMENTED[kind]);
  /** What the provider would not know of it. */
  const faultsOf = (message: Message): unknown => (isValid(bodyOf(kind, message)) ? [] : isValid.errors);

  test("sends what the provider documents", () => {
    expect(faultsOf(sampleMessage())).toEqual([]);
    expect(faultsOf(sampleUp())).toEqual([]);
    expect(
      faultsOf(sampleMessage({ link: undefined, event: "offline", isReminder: true, lines: ["x"] })),
    ).toEqual([]);
  });

  test("sends what the provider documents whatever the upstream says", () => {
    fc.assert(
      fc.property(hostile, (lines) => {
        expect(faultsOf(sampleMessage({ lines }))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  test.each(FILLERS)("sends what the provider documents, however much there is to say: %j", (filler) => {
    for (const message of [longest(filler), { ...longest(filler), link: undefined }, manyDown(200, filler)]) {
      expect(faultsOf(message)).toEqual([]);
      for (const [, text] of textsIn(bodyOf(kind, message))) expect(text.isWellFormed()).toBe(true);
    }
  });

  test("says as much as it may", () => {
    const text = textsIn(bodyOf(kind, sampleMessage({ lines: ["x".repeat(1_200)], link: undefined })));
    expect(text.filter(([, each]) => each.includes("x".repeat(1_200)))).toHaveLength(1);
  });

  test("what is too long keeps its beginning", () => {
    const lines = Array.from({ length: 10 }, (_, index) => `line ${index} ${"x".repeat(392)}`);
    const text = textsIn(bodyOf(kind, sampleMessage({ lines, link: undefined })));
    expect(text.filter(([, each]) => each.includes("line 0 x"))).toHaveLength(1);
  });
});

test("in Slack the words of others are plain elements of text, and nowhere else", () => {
  fc.assert(
    fc.property(hostile, (lines) => {
      const body = bodyOf("slack", sampleMessage({ lines }));
      const words = lines.join("\n");
      expect(textsIn(body).filter(([, text]) => text === words)).toEqual([["text", words]]);
      const others = textsIn(body).filter(([, text]) => text !== words);
      expect(others.map(([, text]) => text)).toEqual([
        "email is down",
        "rich_text",
        "rich_text_section",
        "text",
        "email is down",
        "rich_text_preformatted",
        "text",
        "rich_text_section",
        "link",
        "https://pacewatch.example/upstreams/email",
      ]);
    }),
    { numRuns: 60 },
  );
});

test("in Discord the words of others stay in one block of code, mention nobody and show no preview", () => {
  fc.assert(
    fc.property(hostile, (lines) => {
      const body = bodyOf("discord", sampleMessage({ lines }));
      expect(body).toMatchObject({ allowed_mentions: { parse: [] }, flags: 4 });
      const { content } = body as { content: string };
      const [before, block, after, ...more] = content.split("```");
      expect([before, more]).toEqual(["**email is down**\n", []]);
      expect(block).not.toContain("`");
      expect(after).toBe("\n<https://pacewatch.example/upstreams/email>");
    }),
    { numRuns: 60 },
  );
});

test("in Teams the words of others are runs of text, and the only action is our page", () => {
  fc.assert(
    fc.property(hostile, (lines) => {
      const body = bodyOf("teams", sampleMessage({ lines })) as {
        attachments: { content: { body: { inlines: { type: string; text: string }[] }[] } }[];
      };
      const runs = body.attachments.flatMap(({ content }) => content.body.flatMap(({ inlines }) => inlines));
      expect(runs.map(({ text }) => text)).toEqual(["email is down", ...lines]);
      const urls = textsIn(body).filter(([key]) => key === "url");
      expect(urls).toEqual([["url", "https://pacewatch.example/upstreams/email"]]);
    }),
    { numRuns: 60 },
  );
});

test("in Telegram the words of others are one piece of code, to the last unit", () => {
  fc.assert(
    fc.property(hostile, (lines) => {
      const body = bodyOf("telegram", sampleMessage({ lines })) as {
        text: string;
        entities: { type: string; offset: number; length: number }[];
      };
      expect(body).not.toHaveProperty("parse_mode");
      const pre = body.entities.find(({ type }) => type === "pre");
      const [from, to] = [pre?.offset ?? 0, (pre?.offset ?? 0) + (pre?.length ?? 0)];
      expect(body.text.slice(from, to)).toBe(lines.join("\n"));
      expect(body.text.slice(0, from)).toBe("email is down\n");
      expect(body.text.slice(to)).toBe("\nhttps://pacewatch.example/upstreams/email");
    }),
    { numRuns: 60 },
  );
});

test.each(["ntfy", "pagerduty", "alertmanager"] as const)(
  "in %s the words of others become no links",
  (kind) => {
    fc.assert(
      fc.property(hostile, (lines) => {
        const body = bodyOf(kind, sampleMessage({ lines }));
        const words = withoutLinks(lines.join("\n"));
        expect(textsIn(body).filter(([, text]) => text === words)).toHaveLength(1);
        const others = textsIn(body).filter(([, text]) => text !== words);
        for (const [, text] of others) expect(text).not.toContain("evil");
      }),
      { numRuns: 60 },
    );
  },
);

test("what looks like a link or a mention is none any more, and reads the same", () => {
  fc.assert(
    fc.property(hostile, (lines) => {
      const text = lines.join("\n");
      const shown = withoutLinks(text);
      expect(shown).not.toMatch(/:\/\/[^\u200b]|@[^\u200b]|www\.[^\u200b]|\w\.[a-z]/i);
      expect(shown.replaceAll("\u200b", "")).toBe(text.replaceAll("\u200b", ""));
    }),
  );
});

test.each([
  ["203.0.113.5/login", "203.0.\u200b113.\u200b5/login"],
  ["пример.рф", "пример.\u200bрф"],
  ["例え。テスト", "例え。\u200bテスト"],
  ["evil-.example", "evil-.\u200bexample"],
])("an address or a name in other letters is no link either: %s", (text, shown) => {
  expect(withoutLinks(text)).toBe(shown);
});

test.each(["It lasted 1.5 s.", "Status 503. It is them.", "99.95 % of 1.000.", "v2. Then."])(
  "what is no link stays as it is: %s",
  (text) => {
    expect(withoutLinks(text)).toBe(text);
  },
);

test("ten names are told, and how many more there are, however long they are", () => {
  const [listed] = manyDown(200, "u").lines;
  expect(listed?.split(", ")).toHaveLength(10);
  expect(listed).toMatch(/0009 and 190 more\.$/);
});

test("a webhook is sent what its schema says, signed with its key", async () => {
  const file = await readFile(
    join(import.meta.dirname, "../../../../config/notification.schema.json"),
    "utf8",
  );
  const ajv = new Ajv2020({ strict: false, formats: { "date-time": true, uri: true } });
  const isValid = ajv.compile({ ...(JSON.parse(file) as object), additionalProperties: false });
  for (const message of [sampleMessage(), sampleUp(), sampleMessage({ link: undefined, members: [] })]) {
    const request = requestOf("webhook", message);
    const body: unknown = JSON.parse(request?.body ?? "");
    const isCounted = message.members.length > 0;
    expect(isValid(body)).toBe(isCounted);
    const signature = createHmac("sha256", KEY)
      .update(request?.body ?? "")
      .digest("hex");
    expect(request?.headers).toEqual({ "X-Pacewatch-Signature": `sha256=${signature}` });
  }
});

test("PagerDuty resolves by the key that it was opened with, once all of it is over", () => {
  const down = bodyOf("pagerduty", sampleMessage());
  const up = bodyOf("pagerduty", sampleUp());
  expect(down).toMatchObject({
    event_action: "trigger",
    dedup_key: "pacewatch/email/mul1x2",
    routing_key: KEY,
  });
  expect(up).toEqual({ event_action: "resolve", dedup_key: "pacewatch/email/mul1x2", routing_key: KEY });
  expect(requestOf("pagerduty", { ...sampleUp(), isOver: false })).toBeUndefined();
});

test("each alert has the labels of its upstream, so that it is routed by them", () => {
  const alerts = bodyOf("alertmanager", manyDown(3, "u")) as { labels: Record<string, string> }[];
  expect(alerts.map(({ labels }) => labels["team"])).toEqual(["growth", "growth", "growth"]);
});

test("an alert ends by itself four minutes after it was sent last, and at once when it is over", () => {
  const [firing] = bodyOf("alertmanager", sampleMessage()) as Record<string, unknown>[];
  const [resolved] = bodyOf("alertmanager", sampleUp()) as Record<string, unknown>[];
  expect(firing).toMatchObject({ startsAt: "2026-09-21T14:13:20.000Z", endsAt: "2026-09-21T14:17:30.000Z" });
  expect(resolved).toMatchObject({ endsAt: "2026-09-21T14:14:20.000Z" });
  expect(resolved?.["labels"]).toEqual(firing?.["labels"]);
  expect(firing?.["labels"]).toEqual({
    alertname: "PacewatchTrouble",
    subject: "email",
    upstream: "email",
    severity: "page",
    team: "growth",
  });
});

test.each([
  ["unauthorized", "page"],
  ["blocked", "page"],
  ["throttled", "ticket"],
  ["credit_ending", "ticket"],
] as const)(
  "an alert about %s goes to whom Alertmanager sends a %s, and so does its end",
  (kind, severity) => {
    for (const message of [sampleMessage({ event: kind }), sampleUp()]) {
      const members = message.members.map((each) => ({ ...each, kind }));
      const [alert] = bodyOf("alertmanager", { ...message, members }) as { labels: object }[];
      expect(alert?.labels).toMatchObject({ severity });
    }
  },
);

test("an alert never ends before it began, as where the clock was set back: it would be refused", () => {
  const { sinceMs } = sampleMessage();
  const early = {
    ...sampleUp(),
    members: sampleUp().members.map((each) => ({ ...each, untilMs: sinceMs - 1 })),
  };
  for (const message of [early, sampleMessage({ atMs: sinceMs - 86_400_000 })]) {
    const [alert] = bodyOf("alertmanager", message) as { startsAt: string; endsAt: string }[];
    expect(Date.parse(alert?.endsAt ?? "")).toBeGreaterThanOrEqual(Date.parse(alert?.startsAt ?? ""));
  }
});

test("the longest id of an alert is no longer than a dedup key of PagerDuty may be", () => {
  const name = "n".repeat(64);
  const { open } = foldFiring(
    new Map(),
    [
      { kind: "credit_ending", of: `${name}/spend`, says: "" },
      { kind: "credit_ending", upstream: name, of: name, says: "" },
      { kind: "api_ending", upstream: name, of: "8640000000000000", says: "" },
    ],
    8_640_000_000_000_000,
  );
  expect(open.size).toBe(3);
  for (const { id } of open.values()) {
    const { dedup_key } = bodyOf("pagerduty", sampleMessage({ incident: id })) as { dedup_key: string };
    expect(dedup_key.length).toBeLessThanOrEqual(255);
  }
});

test("ntfy is sent to its topic by name, with a token where there is one", () => {
  const request = requestOf("ntfy", sampleMessage());
  expect(request?.url).toBe("https://receiver.example/");
  expect(request?.headers).toEqual({ Authorization: `Bearer ${KEY}` });
  expect(JSON.parse(request?.body ?? "")).toMatchObject({ topic: "topic-1" });
});
