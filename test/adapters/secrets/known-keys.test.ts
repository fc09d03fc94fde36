import { expect, test } from "vitest";
import { KnownKeys } from "../../../src/adapters/secrets/known-keys.ts";

test("every key that was learned is taken out, and the one before it", () => {
  const keys = new KnownKeys(["test-password-1"]);
  keys.learn("email", "test-key-one");
  keys.learn("email", "test-key-two");
  keys.learn("router", "test-key-three");
  expect(keys.hide("test-key-one test-key-two test-key-three test-password-1 test-key-four")).toBe(
    "<secret> <secret> <secret> <secret> test-key-four",
  );
});

test("no more of them are kept than two of each upstream, however often they rotate or are read", () => {
  const keys = new KnownKeys([]);
  for (const key of ["test-key-one", "test-key-two", "test-key-three"]) {
    keys.learn("email", key);
    keys.learn("email", key);
  }
  expect(keys.hide("test-key-one test-key-two test-key-three")).toBe("test-key-one <secret> <secret>");
});

test("a short key is not looked for, where it would be found by chance", () => {
  const keys = new KnownKeys([]);
  keys.learn("email", "error");
  expect(keys.hide("TypeError: an error")).toBe("TypeError: an error");
});
