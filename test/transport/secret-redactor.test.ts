import { expect, test } from "vitest";
import type { Auth } from "../../src/kernel/config/config.ts";
import { answer } from "../support/raw-upstream.ts";
import { WITHHELD } from "../../src/transport/secrets/finder.ts";
import { keptHeadOf } from "../../src/kernel/exchange/kept-headers.ts";
import { excerptOf } from "../../src/kernel/exchange/excerpt.ts";
import {
  PATIENT_MS,
  SHORT_MS,
  answeredOf,
  bodyText,
  brokenOf,
  pollOnce,
  startProbe,
  startUpstream,
} from "./polling.ts";

const secret = { env: "X" } as const;
const KEY = "test-key-+/=&%20é";

const giving =
  (key: string): (() => Promise<string>) =>
  () =>
    Promise.resolve(key);

const greets = (body = "{}") =>
  startUpstream(async (connection) => {
    while ((await connection.request()) !== undefined) connection.write(answer(body));
  });

test("a bearer key goes into its header, and nowhere else", async () => {
  const upstream = await greets();
  const auth: Auth = { kind: "bearer", secret };
  await pollOnce(upstream, { auth, headers: { authorization: "other" } }, { credential: giving(KEY) });
  const lines = upstream.requests[0]?.split("\r\n") ?? [];
  expect(lines.filter((line) => /authorization/i.test(line))).toEqual([`Authorization: Bearer ${KEY}`]);
  expect(lines.filter((line) => line.includes("test-key"))).toHaveLength(1);
});

test("a key in a header of its own goes in bare", async () => {
  const upstream = await greets();
  const auth: Auth = { kind: "header", name: "X-Api-Key", secret };
  await pollOnce(upstream, { auth }, { credential: giving(KEY) });
  expect(upstream.requests[0]).toContain(`\r\nX-Api-Key: ${KEY}`);
  expect(upstream.requests[0]).not.toMatch(/authorization/i);
});

test.each([
  ["/v1/resources", "/v1/resources?api%20key="],
  ["/v1/resources?page=1", "/v1/resources?page=1&api%20key="],
])("a key in the query of %s is encoded", async (path, expected) => {
  const upstream = await greets();
  const auth: Auth = { kind: "query", name: "api key", secret };
  await pollOnce(upstream, { url: `${upstream.url}${path}`, auth }, { credential: giving(KEY) });
  const [line = ""] = upstream.requests[0]?.split("\r\n") ?? [];
  expect(line).toBe(`GET ${expected}test-key-%2B%2F%3D%26%2520%C3%A9 HTTP/1.1`);
  const query = new URL(`http://x${line.split(" ")[1]}`).searchParams;
  expect(query.get("api key")).toBe(KEY);
});

test("the key is asked for before every poll, as keys rotate", async () => {
  const upstream = await greets();
  const keys = ["test-key-old", "test-key-new"];
  const probe = await startProbe(
    { url: upstream.url, auth: { kind: "bearer", secret } },
    { credential: () => Promise.resolve(keys.shift() ?? "") },
  );
  for (let poll = 0; poll < 2; poll += 1) await probe.poll(new AbortController().signal);
  expect(upstream.requests.map((head) => /Bearer (\S+)/.exec(head)?.[1])).toEqual([
    "test-key-old",
    "test-key-new",
  ]);
});

test.each<[string, () => Promise<string>, number, string]>([
  [
    "cannot be sent",
    giving("test-key-\n"),
    PATIENT_MS,
    "the key contains characters that a header cannot carry",
  ],
  [
    "cannot be read",
    () => Promise.reject(new Error("test-key-in-error")),
    PATIENT_MS,
    "the poll could not be made: Error",
  ],
  ["does not come", () => new Promise(() => {}), SHORT_MS, `the key was not read within ${SHORT_MS} ms`],
])("a key that %s is our fault, and nothing is sent", async (_does, credential, timeoutMs, detail) => {
  const upstream = await greets();
  const changes = { auth: { kind: "bearer", secret }, timeoutMs } as const;
  expect(brokenOf(await pollOnce(upstream, changes, { credential }))).toMatchObject({
    fault: "bug",
    sent: false,
    detail,
  });
  expect(upstream.connections).toBe(0);
});

test("a key that is missing altogether is our fault too", async () => {
  const upstream = await greets();
  const broken = brokenOf(await pollOnce(upstream, { auth: { kind: "bearer", secret } }));
  expect(broken).toMatchObject({ fault: "bug", sent: false });
});

const ECHOED = "test-key-0123456789/+!";

const said = async (answer: string, key = ECHOED) => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.end(answer);
  });
  const changes = { auth: { kind: "bearer", secret } } as const;
  return pollOnce(upstream, changes, { credential: giving(key) });
};

test.each([
  ["as it is", ECHOED, '{"error":"no such key: <secret>"}'],
  ["in part", ECHOED.slice(0, 12), '{"error":"no such key: <secret>"}'],
  ["percent-encoded", encodeURIComponent(ECHOED), '{"error":"no such key: <secret>%2F%2B!"}'],
  ["in base64", Buffer.from(ECHOED).toString("base64"), WITHHELD],
])("of an answer that echoes the key %s, what is kept has none of it", async (_how, echo, kept) => {
  const observation = await said(answer(`{"error":"no such key: ${echo}"}`, [], "500 Oops"));
  expect(excerptOf(observation.exchange, 300, observation.withoutKeys)).toBe(kept);
});

test("nor has the name of a header", async () => {
  const key = "test-key-AbCdEf0123456789";
  const observation = await said(answer("{}", [`X-${key}: 1`, "Server: nginx", `${key}: 22`]), key);
  const { headers } = keptHeadOf(answeredOf(observation).head, [], observation.withoutKeys);
  expect(headers).toEqual(
    expect.arrayContaining([
      { name: "x-<secret>", bytes: 1 },
      { name: "server", bytes: 5 },
      { name: "<secret>", bytes: 2 },
    ]),
  );
});

test("the sentence about a break has no key in it", async () => {
  const observation = await said(
    `HTTP/1.1 200 OK\r\nContent-Encoding: ${ECHOED}\r\nContent-Length: 1\r\n\r\n1`,
  );
  expect(brokenOf(observation)).toMatchObject({
    detail: 'the body has an unknown Content-Encoding, "<secret>"',
  });
});

test("nothing is searched in an answer of which nothing is kept", async () => {
  const observation = await said(answer(`{"key":"${ECHOED}"}`));
  expect(bodyText(observation)).toContain(ECHOED);
});

test("a short key is not looked for, as it would be found by chance", async () => {
  const observation = await said(answer('{"id":1234}'), "123");
  expect(observation.withoutKeys('{"id":1234}')).toBe('{"id":1234}');
});

test("a key that was sent before is still kept out", async () => {
  const upstream = await greets();
  const keys = ["test-key-0123456789", "other-key-abcdefghij"];
  const probe = await startProbe(
    { url: upstream.url, auth: { kind: "bearer", secret } },
    { credential: () => Promise.resolve(keys.shift() ?? "") },
  );
  await probe.poll(new AbortController().signal);
  const { withoutKeys } = await probe.poll(new AbortController().signal);
  expect(withoutKeys("test-key-0123456789, other-key-abcdefghij")).toBe("<secret>, <secret>");
});
