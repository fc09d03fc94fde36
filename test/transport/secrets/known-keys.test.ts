import { expect, test } from "vitest";
import { KnownKeys } from "../../../src/transport/secrets/known-keys.ts";

test("every key that was learned is taken out, and the one before it", () => {
  const keys = new KnownKeys(["test-password-1"]);
  keys.learn("email", "test-one-key-1a2b");
  keys.learn("email", "test-two-key-3c4d");
  keys.learn("router", "test-three-key-5e6f");
  expect(
    keys.hide("test-one-key-1a2b test-two-key-3c4d test-three-key-5e6f test-password-1 four-other-key"),
  ).toBe("<secret> <secret> <secret> <secret> four-other-key");
});

test("no more of them are kept than two of each upstream, however often they rotate or are read", () => {
  const keys = new KnownKeys([]);
  for (const key of ["test-one-key-1a2b", "test-two-key-3c4d", "test-three-key-5e6f"]) {
    keys.learn("email", key);
    keys.learn("email", key);
  }
  expect(keys.hide("test-one-key-1a2b test-two-key-3c4d test-three-key-5e6f")).toBe(
    "test-one-key-1a2b <secret> <secret>",
  );
});

test("a short key is not looked for, where it would be found by chance", () => {
  const keys = new KnownKeys([]);
  keys.learn("email", "error");
  expect(keys.hide("TypeError: an error")).toBe("TypeError: an error");
});
