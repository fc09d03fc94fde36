import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { METHODS, type Auth, type Method } from "../../src/kernel/config/config.ts";
import { answer, type RawConnection, type RawUpstream } from "../support/raw-upstream.ts";
import { type BuildRequest, requestBuilder } from "../../src/transport/request.ts";
import { sampleUpstream } from "../support/kernel-samples.ts";
import { VirtualClock } from "../support/virtual/clock.ts";
import { answeredOf, bodyText, brokenOf, pollOnce, startProbe, startUpstream } from "./polling.ts";

const { signal } = new AbortController();
const secret = { env: "X" } as const;
const BODY = Buffer.from('{"max_tokens":1,"text":"zwölf"}\r\n\r\nGET / HTTP/1.1\r\n\r\n');
const JSON_PAYLOAD = { type: "application/json", bytes: BODY };

/** All bytes that a connection has received, once they are a whole request. */
function wholeRequest({ socket }: RawConnection): Promise<Buffer> {
  return new Promise((resolve) => {
    let received = Buffer.alloc(0);
    socket.on("data", (piece: Buffer) => {
      received = Buffer.concat([received, piece]);
      const headEnd = received.indexOf("\r\n\r\n") + 4;
      if (headEnd < 4) return;
      const length = /\r\ncontent-length: (\d+)/i.exec(received.subarray(0, headEnd).toString())?.[1];
      if (received.length >= headEnd + Number(length ?? 0)) resolve(received);
    });
  });
}

type Counting = { readonly upstream: RawUpstream; readonly received: Buffer[] };

/** Keeps what each connection sends; each gets this answer. */
async function counting(reply = answer("{}")): Promise<Counting> {
  const received: Buffer[] = [];
  const upstream = await startUpstream(async (connection) => {
    received.push(await wholeRequest(connection));
    connection.end(reply);
  });
  return { upstream, received };
}

function partsOf(request: Buffer | undefined): { line: string; headers: string[]; body: Buffer } {
  const text = request ?? Buffer.alloc(0);
  const headEnd = text.indexOf("\r\n\r\n");
  const [line = "", ...headers] = text.subarray(0, headEnd).toString("latin1").split("\r\n");
  // Names are in any case, and their order means nothing.
  const plain = headers.map((header) => header.replace(/^[^:]+/, (name) => name.toLowerCase()));
  return { line, headers: plain.sort(), body: text.subarray(headEnd + 4) };
}

const sends = (method: Method): boolean => ["POST", "PUT", "PATCH", "DELETE"].includes(method);

test.each(METHODS)("%s is sent once, byte for byte as curl sends it", async (method) => {
  const { upstream, received } = await counting();
  const payload = sends(method) ? JSON_PAYLOAD : undefined;
  const changes = { method, payload, url: `${upstream.url}/v1/mail?dry=1` };
  const observation = await (await startProbe(changes)).poll(signal);
  expect(answeredOf(observation).head.status).toBe(200);
  expect(bodyText(observation)).toBe(method === "HEAD" ? "" : "{}");
  const headers = ["User-Agent: pacewatch/test", "Accept: application/json", "Connection: close"];
  const flags = [...headers, "Accept-Encoding: gzip, br, deflate", "Content-Type: application/json"];
  await promisify(execFile)("curl", [
    "-sS",
    "--no-keepalive",
    "--max-time",
    "20",
    ...(method === "HEAD" ? ["--head"] : ["-X", method]),
    ...flags.flatMap((header) => ["-H", header]),
    ...(payload === undefined ? [] : ["--data-binary", payload.bytes.toString()]),
    changes.url,
  ]);
  await upstream.idle();
  expect(received).toHaveLength(2);
  const [ours, curls] = received.map(partsOf);
  expect(ours?.line).toBe(`${method} /v1/mail?dry=1 HTTP/1.1`);
  expect(ours?.body).toEqual(sends(method) ? BODY : Buffer.alloc(0));
  expect(ours).toEqual(curls);
});

test("a stream is asked for byte for byte as curl asks for one", async () => {
  const { upstream, received } = await counting();
  const stream = {
    format: "sse",
    ends: "end",
    atMost: 64,
    gapTimeoutMs: undefined,
    counts: undefined,
  } as const;
  const changes = { method: "POST", payload: JSON_PAYLOAD, stream, url: `${upstream.url}/v1/chat` } as const;
  await (await startProbe(changes)).poll(signal);
  const headers = ["User-Agent: pacewatch/test", "Accept: text/event-stream, application/json"];
  const more = ["Connection: close", "Accept-Encoding: identity", "Content-Type: application/json"];
  const flags = [...headers, ...more].flatMap((header) => ["-H", header]);
  const body = JSON_PAYLOAD.bytes.toString();
  await promisify(execFile)("curl", [
    "-sSN",
    "--max-time",
    "20",
    ...flags,
    "--data-binary",
    body,
    changes.url,
  ]);
  await upstream.idle();
  const [ours, curls] = received.map(partsOf);
  expect(ours?.line).toBe("POST /v1/chat HTTP/1.1");
  expect(ours).toEqual(curls);
});

test("what has a body and sends none says so, and what may have none says nothing", async () => {
  for (const [method, length] of [
    ["POST", ["content-length: 0"]],
    ["GET", []],
    ["DELETE", []],
  ] as const) {
    const { upstream, received } = await counting();
    await (await startProbe({ method, url: upstream.url })).poll(signal);
    const { headers } = partsOf(received[0]);
    expect(headers.filter((header) => header.startsWith("content-length"))).toEqual(length);
  }
});

test("a header of the config says another Content-Type than the body", async () => {
  const { upstream, received } = await counting();
  const payload = { type: "text/plain; charset=utf-8", bytes: Buffer.from("a") };
  await (await startProbe({ method: "POST", payload, url: upstream.url })).poll(signal);
  const headers = { "content-type": "text/csv" };
  await (await startProbe({ method: "POST", payload, headers, url: upstream.url })).poll(signal);
  const types = received
    .map(partsOf)
    .map(({ headers: sent }) => sent.find((one) => one.startsWith("content-type")));
  expect(types).toEqual(["content-type: text/plain; charset=utf-8", "content-type: text/csv"]);
});

test.each<[string, "fresh" | "reuse", (connection: RawConnection) => void]>([
  ["is closed", "fresh", ({ socket }) => void socket.once("data", () => socket.destroy())],
  ["is reset", "fresh", ({ socket }) => void socket.once("data", () => socket.resetAndDestroy())],
  ["is closed", "reuse", ({ socket }) => void socket.once("data", () => socket.destroy())],
])(
  "a POST whose connection %s after its first byte (%s) failed, and is not sent again",
  async (_, kept, end) => {
    const upstream = await startUpstream((connection) => end(connection));
    const payload = { type: "application/octet-stream", bytes: Buffer.alloc(256 * 1024, "x") };
    const probe = await startProbe({ method: "POST", payload, url: upstream.url, connection: kept });
    expect(brokenOf(await probe.poll(signal))).toMatchObject({ fault: "reset", sent: true });
    await upstream.idle();
    expect(upstream.connections).toBe(1);
  },
);

test("a POST on a kept connection that ends at its first byte failed, and is not sent on another", async () => {
  let bytes = 0;
  const upstream = await startUpstream(async ({ socket, ...connection }) => {
    await wholeRequest({ ...connection, socket });
    socket.write(answer("{}"));
    socket.once("data", (piece: Buffer) => {
      bytes += piece.length;
      socket.resetAndDestroy();
    });
  });
  const probe = await startProbe({
    method: "POST",
    payload: JSON_PAYLOAD,
    url: upstream.url,
    connection: "reuse",
  });
  expect(answeredOf(await probe.poll(signal)).head.status).toBe(200);
  expect(brokenOf(await probe.poll(signal))).toMatchObject({ fault: "reset", sent: true });
  await upstream.idle();
  expect(upstream.connections).toBe(1);
  expect(bytes).toBeGreaterThan(0);
});

test.each(["301 Moved", "303 See Other", "307 Temporary Redirect", "308 Permanent Redirect"])(
  "a POST that is answered %s is not sent anywhere else",
  async (status) => {
    const { upstream, received } = await counting(answer("", ["Location: /elsewhere"], status));
    const observation = await pollOnce(upstream, { method: "POST" });
    expect(answeredOf(observation).head.status).toBe(Number(status.slice(0, 3)));
    expect(received).toHaveLength(1);
  },
);

test("each poll sends its own id, where it is to", async () => {
  const { upstream, received } = await counting();
  const probe = await startProbe({ method: "POST", idempotencyKey: true, url: upstream.url });
  for (const id of ["life-1", "life-2"]) await probe.poll(signal, () => true, id);
  const sent = received.map((request) => /Idempotency-Key: (\S+)/.exec(request.toString())?.[1]);
  expect(sent).toEqual(["life-1", "life-2"]);
  const without = await startProbe({ method: "POST", url: upstream.url });
  await without.poll(signal, () => true, "life-3");
  expect(received.at(-1)?.toString()).not.toContain("Idempotency");
});

const PASSWORD = "test-key-of-a-user-0123";
const BASIC: Auth = { kind: "basic", user: "api", secret };
const PREFIXED: Auth = { kind: "header", name: "Authorization", prefix: "Zoho-enczapikey ", secret };
const AWS: Auth = { kind: "aws", service: "ses", region: "eu-central-1", accessKeyId: secret, secret };

test.each<[Auth, string, string]>([
  [BASIC, PASSWORD, `Basic ${Buffer.from(`api:${PASSWORD}`).toString("base64")}`],
  [PREFIXED, PASSWORD, `Zoho-enczapikey ${PASSWORD}`],
])("a key is sent as its config says: %o", async (auth, key, value) => {
  const { upstream, received } = await counting();
  await (await startProbe({ auth, url: upstream.url }, { credential: () => key })).poll(signal);
  expect(partsOf(received[0]).headers).toContain(`authorization: ${value}`);
});

test("each request is signed anew, with the keys that were read, and sends none of them", async () => {
  const { upstream, received } = await counting();
  const clock = new VirtualClock();
  const keys = { id: "TESTKEYID", secret: "test-key-of-aws", token: "test-key-of-a-session" };
  const credential = (): string => Object.values(keys).join("\n");
  const probe = await startProbe(
    { auth: AWS, method: "POST", payload: JSON_PAYLOAD, url: `${upstream.url}/v2/email` },
    { credential, clock },
  );
  await probe.poll(signal);
  clock.stall(1_000);
  await probe.poll(signal);
  const [first = "", second = ""] = received.map((request) => request.toString());
  expect(first).toMatch(
    /Authorization: AWS4-HMAC-SHA256 Credential=TESTKEYID\/\d{8}\/eu-central-1\/ses\/aws4_request, SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}\r/,
  );
  expect(first).toContain("X-Amz-Security-Token: test-key-of-a-session");
  expect(first).not.toContain("test-key-of-aws");
  const signatureIn = (request: string): string | undefined => /Signature=(\S+)/.exec(request)?.[1];
  expect(signatureIn(first)).not.toBe(signatureIn(second));
});

test.each<[string, Auth, () => string]>([
  ["basic", BASIC, () => PASSWORD],
  ["basic, with a short password", BASIC, () => "pw"],
  ["aws", AWS, () => `TESTKEYID-0123\ntest-key-of-aws-0123\ntest-key-of-a-session-0123`],
])(
  "of an answer that repeats the request of %s, nothing secret is kept, however it is written",
  async (_, auth, key) => {
    const upstream = await startUpstream(async (connection) => {
      const head = (await connection.request()) ?? "";
      const value = /authorization: (?:Basic )?(.*)/i.exec(head)?.[1] ?? "";
      const signature = /Signature=(\S+)/.exec(value)?.[1] ?? value;
      const writings = [signature, Buffer.from(signature).toString("base64"), encodeURIComponent(signature)];
      connection.end(answer(writings.join("\n"), [`X-Echo: ${signature}`]));
    });
    const probe = await startProbe({ auth, url: upstream.url }, { credential: key });
    const observation = await probe.poll(signal);
    const said = bodyText(observation);
    expect(said.split("\n")[0]?.length).toBeGreaterThan(7);
    const kept = observation.withoutKeys(said);
    for (const line of said.split("\n")) expect(kept).not.toContain(line.slice(0, 12));
  },
);

test("a plain request is the same for all polls, and only some have something of their own", () => {
  const builder = (changes: object): BuildRequest =>
    requestBuilder(sampleUpstream(changes), "pacewatch/test", undefined);
  const clock = new VirtualClock();
  const plain = builder({ method: "POST", auth: BASIC });
  expect(plain(PASSWORD, "1", clock)).toEqual(plain(PASSWORD, "2", clock));
  expect(plain("test-key-other", "3", clock)).not.toEqual(plain(PASSWORD, "4", clock));
  const own = builder({ method: "POST", idempotencyKey: true });
  expect(own(undefined, "1", clock)).not.toEqual(own(undefined, "2", clock));
});
