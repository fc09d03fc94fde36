import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { eachTurnDuring } from "../support/each-turn.ts";
import type { Script } from "../support/raw-upstream.ts";
import { bodyText, brokenOf, pollOnce, startUpstream } from "./polling.ts";

const TEXT = JSON.stringify({ resources: Array.from({ length: 50 }, (_, id) => ({ id })) });
const expecting = (maxBodyBytes: number) => ({ expect: { status: [200], json: true, maxBodyBytes } });

function sends(body: Uint8Array, coding: string): Script {
  return async (connection) => {
    await connection.request();
    const head = `HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nContent-Length: ${body.byteLength}\r\n\r\n`;
    connection.write(Buffer.concat([Buffer.from(head), body]));
  };
}

test.each<[string, Uint8Array]>([
  ["gzip", gzipSync(TEXT)],
  ["x-gzip", gzipSync(TEXT)],
  ["GZIP", gzipSync(TEXT)],
  ["br", brotliCompressSync(TEXT)],
  ["deflate", deflateSync(TEXT)],
  ["deflate", deflateRawSync(TEXT)],
  ["identity", Buffer.from(TEXT)],
  ["gzip, br", brotliCompressSync(gzipSync(TEXT))],
  ["gzip, identity, gzip", gzipSync(gzipSync(TEXT))],
  ["gzip", Buffer.concat([gzipSync(TEXT.slice(0, 99)), gzipSync(TEXT.slice(99))])],
])("a body encoded as %s is decoded", async (coding, body) => {
  const upstream = await startUpstream(sends(body, coding));
  expect(bodyText(await pollOnce(upstream))).toBe(TEXT);
});

test("an empty body needs no decoding", async () => {
  const upstream = await startUpstream(sends(Buffer.alloc(0), "gzip"));
  expect(bodyText(await pollOnce(upstream))).toBe("");
});

test.each<[string, string, Uint8Array, string]>([
  ["no gzip", "gzip", Buffer.from(TEXT), "cannot be decoded as gzip: Z_DATA_ERROR"],
  ["half a gzip", "gzip", gzipSync(TEXT).subarray(0, 40), "cannot be decoded as gzip: Z_BUF_ERROR"],
  ["no brotli", "br", Buffer.from(TEXT), "cannot be decoded as br"],
  ["no deflate", "deflate", Buffer.from([0xff, 0xff, 0xff]), "cannot be decoded as deflate"],
  ["an encoding that nobody asked for", "zebra\u00ad", Buffer.from(TEXT), 'unknown Content-Encoding, "zebra'],
  ["too many encodings", Array(6).fill("gzip").join(","), gzipSync(TEXT), "encoded 6 times"],
])("%s is no valid answer", async (_what, coding, body, detail) => {
  const upstream = await startUpstream(sends(body, coding));
  const broken = brokenOf(await pollOnce(upstream));
  expect(broken).toMatchObject({ fault: "protocol", sent: true, head: { status: 200 } });
  expect(broken.detail).toContain(detail);
});

test("a body of just the largest size is read; one byte more is too much", async () => {
  const exact = await startUpstream(sends(Buffer.from("[12345]"), "identity"));
  expect(bodyText(await pollOnce(exact, expecting(7)))).toBe("[12345]");
  const larger = await startUpstream(sends(Buffer.from("[12345]"), "identity"));
  expect(brokenOf(await pollOnce(larger, expecting(6))).fault).toBe("body_too_large");
});

test("decoded, the largest size is the same", async () => {
  const upstream = await startUpstream(sends(gzipSync("[12345]"), "gzip"));
  expect(bodyText(await pollOnce(upstream, expecting(40)))).toBe("[12345]");
});

test("an endless body is aborted at the largest size", async () => {
  let writtenBytes = 0;
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
    const chunk = `1000\r\n${"x".repeat(0x1000)}\r\n`;
    const timer = setInterval(() => {
      connection.write(chunk);
      writtenBytes += chunk.length;
    }, 0);
    await connection.closed;
    clearInterval(timer);
  });
  const broken = brokenOf(await pollOnce(upstream, expecting(65_536)));
  expect(broken).toMatchObject({ fault: "body_too_large", sent: true, head: { status: 200 } });
  expect(broken.detail).toBe("the body exceeds 65536 bytes");
  expect(writtenBytes).toBeLessThan(10_000_000);
});

test.each<[string, Uint8Array]>([
  ["gzip", gzipSync(Buffer.alloc(50_000_000))],
  ["br", brotliCompressSync(Buffer.alloc(50_000_000))],
  ["deflate", deflateSync(Buffer.alloc(50_000_000))],
  ["gzip, gzip", gzipSync(gzipSync(Buffer.alloc(50_000_000)))],
])("a bomb in %s does not go off", async (coding, bomb) => {
  const upstream = await startUpstream(sends(bomb, coding));
  const broken = brokenOf(await pollOnce(upstream, expecting(100_000)));
  expect(broken).toMatchObject({ fault: "body_too_large", sent: true, head: { status: 200 } });
  expect(broken.detail).toBe("the decoded body exceeds 100000 bytes");
});

test("a body in tens of thousands of pieces is read in turns: other work runs meanwhile", async () => {
  const text = JSON.stringify("x".repeat(30_000));
  const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  const pieces = Array.from(text, (character) => `1\r\n${character}\r\n`).join("");
  const upstream = await startUpstream(async (connection) => {
    await connection.request();
    connection.write(`${head}${pieces}0\r\n\r\n`);
  });
  let turns = 0;
  const polled = await eachTurnDuring(
    () => pollOnce(upstream),
    () => (turns += 1),
  );
  expect(bodyText(polled)).toBe(text);
  expect(turns).toBeGreaterThan(12);
});
