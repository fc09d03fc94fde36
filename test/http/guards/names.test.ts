import { expect, test } from "vitest";
import { hostsToAllow } from "../../../src/http/guards/request-checks.ts";

const OWN = ["localhost", "127.0.0.1", "[::1]"];

test.each(["127.0.0.1", "127.1.2.3", "::1", "localhost"])(
  "on %s a browser on this machine is the way in, so only its own names are allowed",
  (listen) => expect(hostsToAllow(undefined, listen)).toEqual([...OWN, listen]),
);

test.each(["0.0.0.0", "::", "192.0.2.7", "pacewatch.example", "127.example"])(
  "on %s nobody here knows by what names it is scraped, so any is allowed",
  (listen) => expect(hostsToAllow(undefined, listen)).toBeUndefined(),
);

test("names in the config are allowed besides those of its own, everywhere", () => {
  expect(hostsToAllow(["status.example"], "127.0.0.1")).toEqual([...OWN, "127.0.0.1", "status.example"]);
  expect(hostsToAllow(["status.example"], "0.0.0.0")).toEqual([...OWN, "0.0.0.0", "status.example"]);
});

test("a star allows any, also on a loopback address", () => {
  expect(hostsToAllow(["status.example", "*"], "127.0.0.1")).toBeUndefined();
});
