import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/platform/clock.ts";
import { NameResolver } from "../../../src/transport/dns/name-resolver.ts";
import { KnownKeys } from "../../../src/transport/secrets/known-keys.ts";
import { dryRequest, send, type SendingParts } from "../../../src/features/notify/notify.ts";
import { RECEIVER_KINDS, type ReceiverKind } from "../../../src/features/notify/receiver.ts";
import type { Delivery } from "../../../src/features/notify/receivers/answer.ts";
import { DOCUMENTED_ANSWERS } from "./receivers/documented.ts";
import { sampleMessage } from "../../support/notify/messages.ts";
import { Receiving } from "../../support/notify/receiving.ts";
import { sampleReceiver } from "../../support/notify/world.ts";

const SECRET = "core-of-receiver-5d2c91";
const KEY = `test-key-${SECRET}`;

function partsWith(environment: Record<string, string>, changes: Partial<SendingParts> = {}): SendingParts {
  const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const names = new NameResolver({ clock: systemClock });
  const denyAddresses = undefined;
  const own = { clock: systemClock, userAgent: "pacewatch/test", keys: new KnownKeys([]), names, log };
  return { ...own, environment, denyAddresses, ...changes };
}

const NEEDS_KEY: ReadonlySet<ReceiverKind> = new Set(["telegram", "pagerduty"]);

async function sent(
  kind: ReceiverKind,
  receiving: Pick<Receiving, "url">,
  changes: Partial<SendingParts> = {},
): Promise<Delivery> {
  const receiver = sampleReceiver({
    kind,
    chat: "@ops",
    key: NEEDS_KEY.has(kind) ? { env: "OPS_KEY" } : undefined,
  });
  const environment = { OPS_URL: `${receiving.url}/${SECRET}`, OPS_KEY: KEY };
  return send(receiver, sampleMessage(), partsWith(environment, changes));
}

describe.each(RECEIVER_KINDS)("a receiver of kind %s", (kind) => {
  test("that takes the message is told, by one POST of JSON", async () => {
    await using receiving = await Receiving.open();
    expect(await sent(kind, receiving)).toEqual({ kind: "delivered", detail: "it answered 200" });
    expect(receiving.received).toHaveLength(1);
    expect(receiving.received[0]).toMatchObject({ method: "POST" });
    expect(receiving.received[0]?.headers["content-type"]).toBe("application/json");
    expect(() => JSON.parse(receiving.received[0]?.body ?? "")).not.toThrow();
  });

  test("that is asked too often says when to come again", async () => {
    await using receiving = await Receiving.open();
    receiving.answer = (response) => response.writeHead(429, { "Retry-After": "90" }).end();
    expect(await sent(kind, receiving)).toEqual({
      kind: "failed",
      detail: "it answered 429",
      waitMs: 90_000,
    });
  });

  test.each([
    [400, { kind: "refused", detail: "it answered 400: no" }],
    // What refuses our key may repeat it: nothing of it is told.
    [401, { kind: "failed", detail: "it answered 401", waitMs: undefined }],
    [500, { kind: "failed", detail: "it answered 500: no", waitMs: undefined }],
    [302, { kind: "failed", detail: "it answered 302: no", waitMs: undefined }],
  ])("that answers %i", async (status, delivery) => {
    await using receiving = await Receiving.open();
    receiving.answer = (response) => response.writeHead(status, { Location: receiving.url }).end("no");
    expect(await sent(kind, receiving)).toEqual(delivery);
    expect(receiving.received).toHaveLength(1);
  });

  test("that hangs, closes or answers without an end is given up, and no secret is in the reason", async () => {
    await using receiving = await Receiving.open();
    receiving.answer = () => {};
    const hung = await sent(kind, receiving, { answersWithinMs: 100 });
    receiving.answer = (response) => response.destroy();
    const closed = await sent(kind, receiving);
    receiving.answer = (response) => void response.writeHead(200).write("x".repeat(2_000_000));
    const endless = await sent(kind, receiving);
    expect([hung.kind, closed.kind, endless.kind]).toEqual(["failed", "failed", "failed"]);
    expect(hung.detail).toContain("timed out after 100 ms");
    expect(JSON.stringify([hung, closed, endless])).not.toContain(SECRET);
  });

  test("is shown without its secrets", () => {
    const receiver = sampleReceiver({ kind, chat: "@ops", key: { env: "OPS_KEY" } });
    const shown = dryRequest(receiver, sampleMessage());
    expect(shown).toContain("email is down");
    expect(shown).not.toContain(SECRET);
  });
});

test.each([
  ["webhook", "<url>"],
  ["alertmanager", "<url>/api/v2/alerts"],
  ["telegram", "https://api.telegram.org/bot<key>/sendMessage"],
  ["pagerduty", "https://events.pagerduty.com/v2/enqueue"],
] as const)("a dry request of kind %s names what it does not show", (kind, url) => {
  const key = { env: "OPS_KEY" } as const;
  const receiver = sampleReceiver({ kind, key, ...(url.startsWith("https") && { url: undefined }) });
  expect(dryRequest(receiver, sampleMessage())).toContain(`: POST ${url}\n`);
});

test("a dry request goes where the config says, also of a kind with an address of its own", () => {
  expect(dryRequest(sampleReceiver({ kind: "pagerduty" }), sampleMessage())).toContain(": POST <url>\n");
});

test.each(DOCUMENTED_ANSWERS)("$kind that answers $status with $body", async (documented) => {
  const { kind, status, headers = {}, body, is, againInS } = documented;
  await using receiving = await Receiving.open();
  receiving.answer = (response) => response.writeHead(status, headers).end(status === 204 ? undefined : body);
  const delivery = await sent(kind, receiving);
  const waitMs = againInS === undefined ? undefined : againInS * 1_000;
  expect(delivery).toMatchObject({ kind: is, ...(is === "failed" && { waitMs }) });
});

test("what a receiver answers is told, shortened, on one line and without its secrets", async () => {
  await using receiving = await Receiving.open();
  const said = `{"error":"invalid_blocks"}\n/${SECRET} and ${KEY} ${"x".repeat(5_000)}`;
  receiving.answer = (response) => response.writeHead(400).end(said);
  const { detail } = await sent("telegram", receiving);
  expect(detail).toMatch(/^it answered 400: \{"error":"invalid_blocks"\}/);
  expect(detail).not.toContain("\n");
  expect(detail).not.toContain(SECRET);
  expect(detail.length).toBeLessThan(400);
});

test.each([
  ["ops%40team:test-key-of-the-hook", "ops@team:test-key-of-the-hook"],
  ["test-key-of-the-hook", "test-key-of-the-hook:"],
])(
  "what is %s in the URL of a receiver is sent as Basic, and no secret of it is told",
  async (user, sentAs) => {
    await using receiving = await Receiving.open();
    receiving.answer = (response, { headers }) =>
      response.writeHead(500).end(`no ${headers.authorization} of ${sentAs}`);
    const url = receiving.url.replace("//", `//${user}@`);
    const delivery = await send(sampleReceiver(), sampleMessage(), partsWith({ OPS_URL: url }));
    const { authorization = "" } = receiving.received[0]?.headers ?? {};
    expect(atob(authorization.replace("Basic ", ""))).toBe(sentAs);
    expect(delivery.detail).toMatch(/^it answered 500: /);
    expect(delivery.detail).not.toContain(authorization.slice("Basic ".length));
    expect(delivery.detail).not.toContain("test-key-of-the-hook");
  },
);

test("a receiver at an address that is denied is not reached", async () => {
  await using receiving = await Receiving.open();
  const delivery = await sent("webhook", receiving, { denyAddresses: ["127.0.0.0/8"] });
  expect(delivery).toMatchObject({ kind: "failed" });
  expect(delivery.detail).toContain("see deny_addresses");
  expect(receiving.received).toEqual([]);
});

test("a receiver whose URL cannot be read is tried again, and nobody is asked", async () => {
  const receiver = sampleReceiver({ url: { file: "/nowhere/url" } });
  const delivery = await send(receiver, sampleMessage(), partsWith({}));
  expect(delivery).toMatchObject({ kind: "failed", waitMs: undefined });
  expect(delivery.detail).toContain("its file cannot be read");
});
