import { expect, test } from "vitest";
import { parseListen } from "../../../src/config/keys/listen.ts";

test.each([
  ["127.0.0.1:10429", { host: "127.0.0.1", port: 10_429 }],
  ["[::1]:0", { host: "::1", port: 0 }],
  ["[::]:10429", { host: "::", port: 10_429 }],
  [":10429", { host: "0.0.0.0", port: 10_429 }],
  ["localhost:80", { host: "localhost", port: 80 }],
])("%s is an address to listen on", (text, address) => {
  expect(parseListen(text)).toEqual(address);
});

test.each([
  "",
  "10429",
  "localhost",
  "::1:80",
  "[::1]",
  "[localhost]:80",
  "[1:2]:80",
  "a:65536",
  "a:-1",
  "http://a:80",
])("%j is none", (text) => {
  expect(parseListen(text)).toBeUndefined();
});
