import { expect, test } from "vitest";
import type { Auth } from "../../../src/core/config/config.ts";
import { answer } from "../../support/raw-upstream.ts";
import { SHORT_MS, answeredOf, brokenOf, pollOnce, startProbe, startUpstream } from "./polling.ts";

const secret = { from: "env", variable: "X" } as const;
const KEY = "test-key-+/=&%20é";

const giving =
  (key: string): (() => Promise<string>) =>
  () =>
    Promise.resolve(key);

const greets = (body = "{}") =>
  startUpstream(async (connection) => {
    while ((await connection.request()) !== undefined) connection.write(answer(body));
  });

const greetsWith = (headers: readonly string[]) =>
  startUpstream(async (connection) => {
    await connection.request();
    connection.write(answer("{}", headers));
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

test.each<[string, () => Promise<string>, string]>([
  ["cannot be sent", giving("test-key-\n"), "the key contains characters that a header cannot carry"],
  [
    "cannot be read",
    () => Promise.reject(new Error("test-key-in-error")),
    "the poll could not be made: Error",
  ],
  ["does not come", () => new Promise(() => {}), `the key was not read within ${SHORT_MS} ms`],
])("a key that %s is our fault, and nothing is sent", async (_does, credential, detail) => {
  const upstream = await greets();
  const changes = { auth: { kind: "bearer", secret }, timeoutMs: SHORT_MS } as const;
  expect(brokenOf(await pollOnce(upstream, changes, { credential }))).toMatchObject({
    fault: "internal",
    sent: false,
    detail,
  });
  expect(upstream.connections).toBe(0);
});

test("a key that is missing altogether is our fault too", async () => {
  const upstream = await greets();
  const broken = brokenOf(await pollOnce(upstream, { auth: { kind: "bearer", secret } }));
  expect(broken).toMatchObject({ fault: "internal", sent: false });
});

const ECHOED = "test-key-0123456789/+!";

test.each([
  ["as it is", ECHOED],
  ["percent-encoded", encodeURIComponent(ECHOED)],
  ["percent-encoded in lower case", encodeURIComponent(ECHOED).replace(/%../g, (hex) => hex.toLowerCase())],
  ["as it was sent in the query", encodeURIComponent(ECHOED).replace("!", "%21")],
  ["in base64", Buffer.from(ECHOED).toString("base64")],
])("an upstream that echoes the key %s does not bring it out of the probe", async (_how, echo) => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    const body = JSON.stringify({ error: `no such key: ${echo}` });
    connection.write(answer(body, [`WWW-Authenticate: Bearer realm="${echo}"`], `401 Bad key ${echo}`));
  });
  const changes = { auth: { kind: "bearer", secret } } as const;
  const observation = await pollOnce(upstream, changes, { credential: giving(ECHOED) });
  const { head, body } = answeredOf(observation);
  expect(head.reasonPhrase).toBe("Bad key <secret>");
  expect(head.headers).toContainEqual(["www-authenticate", 'Bearer realm="<secret>"']);
  expect(JSON.parse(Buffer.from(body).toString())).toEqual({ error: "no such key: <secret>" });
});

test("nor does it come out as the name of a header", async () => {
  const key = "test-key-AbCdEf0123456789";
  const upstream = await greetsWith([`X-${key}: 1`, `${key}: 2`]);
  const changes = { auth: { kind: "bearer", secret } } as const;
  const { head } = answeredOf(await pollOnce(upstream, changes, { credential: giving(key) }));
  const names = head.headers.map(([name]) => name);
  expect(names).toEqual(expect.arrayContaining(["x-<secret>", "<secret>"]));
  expect(names.join()).not.toContain("0123456789");
});

test.each<[string, string]>([
  ["an unknown encoding", `HTTP/1.1 200 OK\r\nContent-Encoding: ${ECHOED}\r\nContent-Length: 1\r\n\r\n1`],
  ["a status line that is none", `HTTP/1.1 ${ECHOED}\r\n\r\n`],
  ["a broken body", `HTTP/1.1 401 ${ECHOED}\r\nContent-Length: 9\r\n\r\n{`],
])("nor does it come out through %s", async (_what, bytes) => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.end(bytes);
  });
  const changes = { auth: { kind: "bearer", secret } } as const;
  const observation = await pollOnce(upstream, changes, { credential: giving(ECHOED) });
  expect(JSON.stringify(observation)).not.toContain("test-key");
});

test("a short key is not searched for in answers, where it would be found by chance", async () => {
  const upstream = await greets('{"id":1234}');
  const changes = { auth: { kind: "bearer", secret } } as const;
  const observation = await pollOnce(upstream, changes, { credential: giving("123") });
  expect(Buffer.from(answeredOf(observation).body).toString()).toBe('{"id":1234}');
});
