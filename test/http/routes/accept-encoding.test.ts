import { expect, test } from "vitest";
import { prefersGzip } from "../../../src/http/routes/accept-encoding.ts";

test.each([
  "gzip",
  "GZIP",
  "deflate, gzip;q=1.0, *;q=0.5",
  "gzip ; q=0.5",
  "x-gzip",
  "*",
  "identity;q=0.5, gzip;q=0.5",
  "gzip;q=0.001, identity;q=0",
  "br, *;q=0.1",
])("%s is answered with gzip", (header) => expect(prefersGzip(header)).toBe(true));

test.each([
  undefined,
  "",
  "identity",
  "deflate, br",
  "gzip;q=0",
  "gzip;q=0.000",
  "gzip;q=0, *",
  "*;q=0",
  "gzip;q=0.2, identity;q=0.9",
  "gzip;q=lots",
  "gzip;q=-1",
  "not-gzip",
])("%s is answered plainly", (header) => expect(prefersGzip(header)).toBe(false));
