import { expect, test } from "vitest";
import { didYouMean } from "../../../src/config/read/wording.ts";

const UPSTREAM = ["name", "base_url", "path", "auth", "every", "cron", "confirm", "labels", "objective"];

test.each([
  ["intervall", UPSTREAM, "every"],
  ["periode", UPSTREAM, "every"],
  ["Interval", UPSTREAM, "every"],
  ["token", UPSTREAM, "auth"],
  ["tokn", UPSTREAM, "auth"],
  ["apikey", UPSTREAM, "auth"],
  ["endpoint", UPSTREAM, "base_url"],
  ["token", ["none", "bearer", "header"], "bearer"],
  ["interval", ["requests", "per"], "per"],
  ["limit", ["requests", "per"], "requests"],
  ["type", ["name", "kind"], "kind"],
  ["servces", ["budgets", "upstreams"], "upstreams"],
  ["metrics_path", UPSTREAM, "path"],
  ["scheme", UPSTREAM, "base_url"],
  ["scrape_interval", UPSTREAM, "every"],
  ["bearer_token", UPSTREAM, "auth"],
  ["basic_auth", UPSTREAM, "auth"],
  ["failure_threshold", UPSTREAM, "confirm"],
  ["scrape_configs", ["budgets", "upstreams"], "upstreams"],
  ["alerting", ["notify", "upstreams"], "notify"],
  ["port", ["listen", "config_file"], "listen"],
])("%s among %j is taken for a misspelt name, or what other programs call it: %s", (word, allowed, meant) => {
  expect(didYouMean(word, allowed)).toBe(`did you mean "${meant}"? `);
});

test("what is like nothing is taken for nothing", () => {
  expect(didYouMean("xyzzy", UPSTREAM)).toBe("");
  expect(didYouMean("c", ["r", "s"])).toBe("");
});
