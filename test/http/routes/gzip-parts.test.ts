import { gunzipSync } from "node:zlib";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { gzipParts } from "../../../src/http/routes/compressors.ts";

test("whatever the parts are, they are one gzip of the whole", () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 3_000 }), { maxLength: 6 }),
      fc.uint8Array(),
      (parts, last) => {
        const gzip = gzipParts();
        const zipped = [...parts.map((part) => gzip(part, false)), gzip(last, true)];
        expect(gunzipSync(Buffer.concat(zipped)).equals(Buffer.concat([...parts, last]))).toBe(true);
      },
    ),
  );
});

test("a part can be read before the next is there", async () => {
  const gzip = gzipParts();
  const reader = new Blob([gzip(Buffer.from("first"), false)])
    .stream()
    .pipeThrough(new DecompressionStream("gzip"))
    .getReader();
  expect(Buffer.from((await reader.read()).value ?? []).toString()).toBe("first");
  await reader.cancel().catch(() => {});
});
