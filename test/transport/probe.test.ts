import { systemClock } from "../../src/platform/clock.ts";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { freePort } from "../../tools/stack/free-port.ts";
import { eventually } from "../support/eventually.ts";
import { answer, type RawConnection, type Script } from "../support/raw-upstream.ts";
import { VirtualClock } from "../support/virtual/clock.ts";
import {
  PATIENT_MS,
  headRead,
  SHORT_MS,
  answeredOf,
  bodyText,
  brokenOf,
  pollOnce,
  startProbe,
  startUpstream,
} from "./polling.ts";
import { NameResolver } from "../../src/transport/dns/name-resolver.ts";
import { NameServer } from "../support/name-server.ts";
import { isSilent, leadsTo, namesBy } from "../support/names.ts";

/** Answers every request with these bytes, then does as it is told. */
function replies(bytes: string, then: "end" | "reset" | "stay" = "stay"): Script {
  return async (connection) => {
    await connection.request();
    if (then === "end") return connection.end(bytes);
    const isRead = bytes.includes("\r\n\r\n") ? headRead() : Promise.resolve();
    connection.write(bytes);
    if (then === "stay") return;
    // A reset may overtake the bytes before it.
    await isRead;
    connection.reset();
  };
}

test("an answer is returned unchanged, with the time of every phase", async () => {
  const upstream = await startUpstream(replies(answer('{"ok":true}', ["X-One: 1", "x-one: 2"], "200 Fine")));
  const observation = await pollOnce(upstream);
  const { head, body } = answeredOf(observation);
  expect(head).toEqual({
    status: 200,
    reasonPhrase: "Fine",
    headers: [
      ["content-length", "11"],
      ["x-one", "1"],
      ["x-one", "2"],
    ],
  });
  expect(Buffer.from(body).toString()).toBe('{"ok":true}');
  expect(Object.keys(observation.phasesMs)).toEqual(["connect", "wait", "transfer"]);
  expect(observation.certificateExpiresAtMs).toBeUndefined();
});

test("the request says who asks, what for, and that the connection is not kept", async () => {
  const upstream = await startUpstream(replies(answer("{}")));
  await pollOnce(upstream, {
    url: `${upstream.url}/base/v1/resources?page=1`,
    headers: { "X-Team": "growth" },
  });
  expect(upstream.requests[0]?.split("\r\n")).toEqual([
    "GET /base/v1/resources?page=1 HTTP/1.1",
    `host: 127.0.0.1:${upstream.port}`,
    "connection: close",
    "User-Agent: pacewatch/test",
    "Accept: application/json",
    "Accept-Encoding: gzip, br, deflate",
    "Content-Type: application/json",
    "X-Team: growth",
  ]);
});

test("the config may name another content type and user agent, each of which is sent once", async () => {
  const upstream = await startUpstream(replies(answer("{}")));
  await pollOnce(upstream, {
    url: upstream.url,
    headers: { "content-type": "application/vnd.api+json", "USER-AGENT": "growth-watch/1" },
  });
  const named = upstream.requests[0]
    ?.split("\r\n")
    .filter((line) => /^(?:content-type|user-agent):/i.test(line));
  expect(named).toEqual(["USER-AGENT: growth-watch/1", "content-type: application/vnd.api+json"]);
});

test("the phases make up the whole duration", async () => {
  const clock = new VirtualClock();
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    clock.stall(120);
    const isRead = headRead();
    connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n");
    await isRead;
    clock.stall(80);
    connection.write("{}");
  });
  const { phasesMs, durationMs } = await pollOnce(upstream, {}, { clock });
  expect(phasesMs).toEqual({ connect: 0, wait: 120, transfer: 80 });
  expect(durationMs).toBe(200);
});

test("a redirect is not followed", async () => {
  const upstream = await startUpstream(replies(answer("", ["Location: /elsewhere"], "302 Found")));
  expect(answeredOf(await pollOnce(upstream)).head.status).toBe(302);
  expect(upstream.connections).toBe(1);
});

test.each(["204 No Content", "304 Not Modified"])("%s ends without a body", async (status) => {
  const upstream = await startUpstream(replies(`HTTP/1.1 ${status}\r\nContent-Length: 5\r\n\r\n`));
  expect(bodyText(await pollOnce(upstream))).toBe("");
});

test("a body without a length ends with the connection, a chunked one with its last chunk", async () => {
  const closing = await startUpstream(replies("HTTP/1.1 200 OK\r\n\r\n[1,2]", "end"));
  expect(bodyText(await pollOnce(closing))).toBe("[1,2]");
  const chunked = await startUpstream(
    replies("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n1\r\n]\r\n0\r\n\r\n"),
  );
  expect(bodyText(await pollOnce(chunked))).toBe("[1]");
});

test("early hints are ignored", async () => {
  const hints = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n".repeat(3);
  const upstream = await startUpstream(replies(`${hints}${answer("{}")}`));
  expect(answeredOf(await pollOnce(upstream)).head.headers).toEqual([["content-length", "2"]]);
});

test("an answer may have 500 headers, on a kept connection too, and one more is too many", async () => {
  const head = (count: number): string => answer("{}", Array(count - 1).fill("X: 1"));
  const upstream = await startUpstream(async (connection) => {
    for (const count of [500, 500, 501]) {
      await connection.request();
      connection.write(head(count));
    }
  });
  const probe = await startProbe({ url: upstream.url, connection: "reuse" });
  const signal = new AbortController().signal;
  for (let poll = 0; poll < 2; poll += 1)
    expect(answeredOf(await probe.poll(signal)).head.headers).toHaveLength(500);
  expect(brokenOf(await probe.poll(signal))).toMatchObject({ fault: "protocol" });
  expect(upstream.connections).toBe(1);
});

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
test.each([
  ["a head", "HTTP/1.1 200 OK\r\n"],
  ["a head after early hints", "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n"],
  ["trailers", `${CHUNKED}1\r\n1\r\n0\r\n`],
  ["trailers of an empty body", `${CHUNKED}0\r\n`],
])("%s of one-letter headers that never ends is too many of them at once", async (_what, begun) => {
  const upstream = await startUpstream(replies(`${begun}${"a:\r\n".repeat(600)}`, "stay"));
  const broken = brokenOf(await pollOnce(upstream, { timeoutMs: PATIENT_MS }));
  expect(broken).toMatchObject({ fault: "protocol", detail: "the headers of the answer are too large" });
});

test("a head of 500 headers may come in pieces", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    const lines = answer("{}", Array(499).fill("X: 1")).split(/(?<=\n)/);
    for (let at = 0; at < lines.length; at += 100) {
      connection.write(lines.slice(at, at + 100).join(""));
      await sleep(5);
    }
  });
  expect(answeredOf(await pollOnce(upstream)).head.headers).toHaveLength(500);
});

test("lines of a body are no headers, however they come", async () => {
  const body = "\n".repeat(5_000);
  const chunked = `${CHUNKED}${"1\r\n\n\r\n".repeat(5_000)}0\r\n\r\n`;
  for (const whole of [answer(body), chunked]) {
    const upstream = await startUpstream(async (connection) => {
      await connection.request();
      for (let at = 0; at < whole.length; at += 3_001) {
        connection.write(whole.slice(at, at + 3_001));
        await sleep(1);
      }
    });
    expect(bodyText(await pollOnce(upstream))).toBe(body);
  }
});

test("a refused connection is reported as such, and nothing was sent", async () => {
  const port = await freePort();
  const probe = await startProbe({ url: `http://127.0.0.1:${port}/` });
  const observation = await probe.poll(new AbortController().signal);
  expect(brokenOf(observation)).toEqual({
    kind: "broken",
    fault: "connect",
    detail: `cannot connect to 127.0.0.1:${port}: ECONNREFUSED`,
    sent: false,
    head: undefined,
  });
  expect(Object.keys(observation.phasesMs)).toEqual(["connect"]);
});

test.each<[string, Script, string, string]>([
  ["closes at once", (connection) => connection.end(), "reset", "before an answer"],
  ["closes when it is asked", replies("", "end"), "reset", "before an answer"],
  ["resets when it is asked", replies("", "reset"), "reset", "ECONNRESET"],
  [
    "resets in the middle of the body",
    replies("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "reset"),
    "reset",
    "before the answer was complete",
  ],
  [
    "resets in the middle of a body without a length",
    replies("HTTP/1.1 200 OK\r\n\r\n{", "reset"),
    "reset",
    "before the answer was complete",
  ],
  [
    "closes before the body is complete",
    replies("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{", "end"),
    "reset",
    "before the answer was complete",
  ],
  [
    "closes before the last chunk",
    replies("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[1\r\n", "end"),
    "reset",
    "before the answer was complete",
  ],
  [
    "closes within a chunk",
    replies("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n[1", "end"),
    "reset",
    "before the answer was complete",
  ],
  [
    "closes before the body that ends the connection is complete",
    replies("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 99\r\n\r\n{", "end"),
    "reset",
    "before the answer was complete",
  ],
  [
    "closes within the chunks that end the connection",
    replies("HTTP/1.1 200 OK\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n[1", "end"),
    "reset",
    "before the answer was complete",
  ],
  [
    "resets within the body that ends the connection",
    replies("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 99\r\n\r\n{", "reset"),
    "reset",
    "before the answer was complete",
  ],
  ["closes within the head", replies("HTTP/1.1 200 OK\r\nX-Half", "end"), "reset", "before an answer"],
  ["answers with something else", replies("* OK IMAP4 ready\r\n\r\n"), "protocol", "not valid HTTP"],
  ["answers a bad status line", replies("HTTP/1.1 2xx OK\r\n\r\n"), "protocol", "not valid HTTP"],
  ["speaks TLS", replies("\u0015\u0003\u0003\u0000\u0002\u0002\u0046", "end"), "protocol", "not valid HTTP"],
  [
    "says two lengths",
    replies("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
    "protocol",
    "",
  ],
  [
    "says a negative length",
    replies("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
    "protocol",
    "not valid HTTP",
  ],
  [
    "says a length and chunks",
    replies("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"),
    "protocol",
    "",
  ],
  [
    "sends a bad chunk",
    replies("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n"),
    "protocol",
    "not valid HTTP",
  ],
  [
    "sends headers without end",
    replies(`HTTP/1.1 200 OK\r\nX-Big: ${"x".repeat(70_000)}\r\n\r\n`),
    "protocol",
    "too large",
  ],
  [
    "sends many headers",
    replies(`HTTP/1.1 200 OK\r\n${"X-Many: 12345678\r\n".repeat(6_000)}\r\n`),
    "protocol",
    "too large",
  ],
  [
    "sends thousands of headers of one letter, and never the end of its head",
    replies(`HTTP/1.1 200 OK\r\n${"a:\r\n".repeat(12_000)}`),
    "protocol",
    "too large",
  ],
  [
    "sends thousands of trailers of one letter, and never their end",
    replies(`HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n${"a:\r\n".repeat(12_000)}`),
    "protocol",
    "too large",
  ],
  [
    "never stops saying that it is at work",
    replies("HTTP/1.1 102 Processing\r\n\r\n".repeat(101)),
    "protocol",
    "informational",
  ],
  [
    "hints at more than an answer may have",
    replies(`HTTP/1.1 103 Early Hints\r\n${"a: b\r\n".repeat(251)}\r\n`.repeat(2)),
    "protocol",
    "informational",
  ],
  [
    "switches protocols",
    replies("HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
    "protocol",
    "",
  ],
])("an upstream that %s", async (_does, script, fault, detail) => {
  const upstream = await startUpstream(script);
  const broken = brokenOf(await pollOnce(upstream));
  expect(broken).toMatchObject({ fault, sent: true });
  expect(broken.detail).toContain(detail);
});

type Stalls = (connection: RawConnection, clock: VirtualClock) => Promise<void>;

test.each<[string, Stalls, string]>([
  [
    "accepts and is silent",
    async (connection, clock) => {
      await connection.request();
      clock.stall(SHORT_MS);
    },
    "waiting for the answer",
  ],
  [
    "sends its head byte by byte",
    drip("HTTP/1.1 200 OK\r\nX-Slow: 1234567890\r\n"),
    "waiting for the answer",
  ],
  [
    "sends its body byte by byte",
    drip("[1,2,3,4,5,6,7,8,9,10]", "HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n"),
    "reading the answer",
  ],
])("an upstream that %s is given up at the deadline", async (_does, script, doing) => {
  const clock = new VirtualClock();
  const upstream = await startUpstream((connection) => script(connection, clock));
  const observation = await pollOnce(upstream, { timeoutMs: SHORT_MS }, { clock });
  const broken = brokenOf(observation);
  expect(broken).toMatchObject({ fault: "timeout", sent: true });
  expect(broken.detail).toBe(`timed out after ${SHORT_MS} ms while ${doing}`);
  expect(observation.durationMs).toBe(SHORT_MS);
});

/** After some bytes the time is over, but not they. */
function drip(bytes: string, first = ""): Stalls {
  return async (connection, clock) => {
    await connection.request();
    const isRead = first === "" ? Promise.resolve() : headRead();
    connection.write(first);
    await isRead;
    let sent = 0;
    const timer = setInterval(() => {
      connection.write(bytes.charAt(sent % bytes.length));
      sent += 1;
      if (sent === 5) clock.stall(SHORT_MS);
    }, 5);
    await connection.closed;
    clearInterval(timer);
  };
}

test("the head of a broken answer is kept: a 429 counts, whatever its body does", async () => {
  const head = "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 99\r\n\r\n{";
  const upstream = await startUpstream(replies(head, "end"));
  const { fault, head: kept } = brokenOf(await pollOnce(upstream));
  expect(fault).toBe("reset");
  expect(kept?.status).toBe(429);
  expect(kept?.headers).toContainEqual(["retry-after", "7"]);
});

test("a request that is given up is reset, so that no kernel goes on delivering it", async () => {
  const clock = new VirtualClock();
  const errors: unknown[] = [];
  const upstream = await startUpstream(async (connection) => {
    connection.socket.on("error", (error: NodeJS.ErrnoException) => errors.push(error.code));
    await connection.request();
    clock.stall(SHORT_MS);
    await connection.closed;
  });
  await pollOnce(upstream, { timeoutMs: SHORT_MS }, { clock });
  expect(errors).toEqual(["ECONNRESET"]);
});

test("a poll that is cancelled ends at once, as cancelled", async () => {
  const abort = new AbortController();
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    abort.abort();
  });
  const probe = await startProbe({ url: upstream.url });
  const polled = probe.poll(abort.signal);
  const broken = brokenOf(await polled);
  expect(broken).toMatchObject({ fault: "timeout", sent: true });
  expect(broken.detail).toContain("the poll was cancelled while waiting for the answer");
  await upstream.idle();
});

test("a poll that is cancelled before it starts opens no connection", async () => {
  const upstream = await startUpstream(() => {});
  const probe = await startProbe({ url: upstream.url });
  const broken = brokenOf(await probe.poll(AbortSignal.abort()));
  expect(broken).toMatchObject({ fault: "timeout", sent: false });
  expect(upstream.connections).toBe(0);
});

test("closing the probe ends its polls and leaves no connection", async () => {
  const asked = Promise.withResolvers<void>();
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    asked.resolve();
  });
  const probe = await startProbe({ url: upstream.url });
  const polled = probe.poll(new AbortController().signal);
  await asked.promise;
  void probe.close();
  expect(brokenOf(await polled).fault).toBe("timeout");
  await upstream.idle();
  expect(brokenOf(await probe.poll(new AbortController().signal)).sent).toBe(false);
  expect(upstream.connections).toBe(1);
});

test("an answer that came while this process stood still is no timeout", async () => {
  const clock = new VirtualClock();
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(answer("{}"));
    clock.stall(2 * SHORT_MS);
    // Then the timer that looks for requests whose time is over is due before the answer is read.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
  });
  const observation = await pollOnce(upstream, { timeoutMs: SHORT_MS }, { clock });
  expect(answeredOf(observation).head.status).toBe(200);
  expect(observation.durationMs).toBe(2 * SHORT_MS);
});

test("names are resolved in a phase of their own, and failing that is no fault of the connection", async () => {
  const failing = await startProbe(
    { url: "http://nowhere.test:80/" },
    {
      names: namesBy(() => Promise.reject(Object.assign(new Error("x"), { code: "ENOTFOUND" }))),
    },
  );
  const observation = await failing.poll(new AbortController().signal);
  expect(brokenOf(observation)).toMatchObject({
    fault: "dns",
    sent: false,
    detail: "cannot resolve the name of nowhere.test:80: ENOTFOUND",
  });
  expect(Object.keys(observation.phasesMs)).toEqual(["dns"]);

  const upstream = await startUpstream(replies(answer("{}")));
  const { phasesMs } = await pollOnce(
    upstream,
    { url: `http://somewhere.test:${upstream.port}/` },
    {
      names: namesBy(leadsTo("127.0.0.1")),
    },
  );
  expect(Object.keys(phasesMs)).toEqual(["dns", "connect", "wait", "transfer"]);
});

test("a name that is not resolved in half of the time fails its poll as dns", async () => {
  const parts = { names: namesBy(isSilent), clock: new VirtualClock() };
  const probe = await startProbe({ url: "http://nowhere.test/", timeoutMs: SHORT_MS }, parts);
  expect(brokenOf(await probe.poll(new AbortController().signal))).toMatchObject({
    fault: "dns",
    sent: false,
    detail: `cannot resolve the name of nowhere.test: no answer within ${SHORT_MS / 2} ms`,
  });
});

test("a healthy upstream is polled while the name servers of many others are silent", async () => {
  await using server = await NameServer.start((name) =>
    name === "live.test" ? { kind: "addresses", ipv4: ["127.0.0.1"], ttlSeconds: 0 } : { kind: "silent" },
  );
  const names = new NameResolver({ clock: systemClock, servers: [server.address] });
  const upstream = await startUpstream(replies(answer("{}")));
  const { signal } = new AbortController();
  // Nothing that waits for a silent server is given up before the healthy one is polled.
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const dead = await Promise.all(
    Array.from({ length: 8 }, (_, index) =>
      startProbe({ url: `http://dead${index}.test:${upstream.port}/` }, { names }),
    ),
  );
  const failed = dead.map(async (probe) => brokenOf(await probe.poll(signal)).fault);
  const live = await startProbe({ url: `http://live.test:${upstream.port}/` }, { names });
  for (let polls = 0; polls < 5; polls += 1)
    expect(answeredOf(await live.poll(signal)).head.status).toBe(200);
  vi.advanceTimersByTime(PATIENT_MS / 2);
  expect(new Set(await Promise.all(failed))).toEqual(new Set(["dns"]));
  // The timer that all requests share finds none, and stops.
  vi.advanceTimersByTime(1_000);
});

test("an address that did not answer is resolved anew", async () => {
  const port = await freePort();
  const forgotten: string[] = [];
  const names = { addressesOf: leadsTo("127.0.0.1"), forget: (name: string) => void forgotten.push(name) };
  const probe = await startProbe({ url: `http://moved.test:${port}/` }, { names });
  expect(brokenOf(await probe.poll(new AbortController().signal)).fault).toBe("connect");
  expect(new Set(forgotten)).toEqual(new Set(["moved.test"]));
});

test("where the first address of a name is dead, the next one is tried", async () => {
  const upstream = await startUpstream(replies(answer("{}")));
  const observation = await pollOnce(
    upstream,
    { url: `http://both.test:${upstream.port}/` },
    {
      names: namesBy(leadsTo("::1", "127.0.0.1")),
    },
  );
  expect(answeredOf(observation).head.status).toBe(200);
});

test("where every address of a name refuses, it is one refusal", async () => {
  const port = await freePort();
  const probe = await startProbe(
    { url: `http://both.test:${port}/` },
    {
      names: namesBy(leadsTo("127.0.0.2", "127.0.0.1")),
    },
  );
  const broken = brokenOf(await probe.poll(new AbortController().signal));
  expect(broken).toMatchObject({ fault: "connect", sent: false });
  expect(broken.detail).toContain("ECONNREFUSED");
});

test("a hundred polls at once leave nothing behind", async () => {
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    if (connection.index % 4 === 0) connection.reset();
    else if (connection.index % 4 === 1) connection.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{");
    else if (connection.index % 4 === 2) connection.write(answer("{}"));
  });
  const clock = new VirtualClock();
  const probe = await startProbe({ url: upstream.url, timeoutMs: SHORT_MS }, { clock });
  const signal = new AbortController().signal;
  let ended = 0;
  const polls = Array.from({ length: 100 }, () => probe.poll(signal).finally(() => (ended += 1)));
  await eventually("but for the unanswered ones all have ended", () => ended === 75);
  clock.stall(SHORT_MS);
  const observations = await Promise.all(polls);
  await upstream.idle();
  const sent = observations.filter(({ exchange }) => exchange.kind === "answered" || exchange.sent);
  expect(upstream.requests.length).toBe(sent.length);
  const faults = observations.map(({ exchange }) =>
    exchange.kind === "broken" ? exchange.fault : "answered",
  );
  expect(new Set(faults)).toEqual(new Set(["reset", "answered", "timeout"]));
});

test("however a poll ends, no stack trace is written out: all maps of the sources would be read for it", async () => {
  const answering = await startUpstream(replies(answer("{}")));
  const denied = await startUpstream(replies(answer("{}")));
  const resetting = await startUpstream(replies("HTTP/1.1 200 OK\r\n", "reset"));
  const clock = new VirtualClock();
  const silent = await startUpstream(async (connection) => {
    await connection.request();
    connection.write("HTTP/1.1 200 OK\r\n");
    clock.stall(SHORT_MS);
  });
  const written: string[] = [];
  const before: unknown = Reflect.get(Error, "prepareStackTrace");
  onTestFinished(() => void Reflect.set(Error, "prepareStackTrace", before));
  Error.prepareStackTrace = (error, frames) => {
    if (frames.some((frame) => frame.getFileName()?.includes("/src/") === true)) written.push(String(error));
    return "";
  };
  answeredOf(await pollOnce(answering));
  brokenOf(await pollOnce(denied, { denyAddresses: ["127.0.0.1"] }));
  brokenOf(await pollOnce(resetting));
  brokenOf(await pollOnce(silent, { timeoutMs: SHORT_MS }, { clock }));
  expect(written).toEqual([]);
});
