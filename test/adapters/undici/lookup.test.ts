import { expect, test } from "vitest";
import { shareLookups, type SystemLookup } from "../../../src/adapters/undici/route.ts";

const address = { address: "192.0.2.1", family: 4 };

function hangingResolver(): { asked: string[]; answer: () => void; lookup: SystemLookup } {
  const asked: string[] = [];
  const waiting: (() => void)[] = [];
  return {
    asked,
    answer: () => {
      for (const one of waiting.splice(0)) one();
    },
    lookup: (hostname, _options, callback) => {
      asked.push(hostname);
      waiting.push(() => callback(null, [address]));
    },
  };
}

test("polls that come while the resolver hangs join the first question", () => {
  const resolver = hangingResolver();
  const lookup = shareLookups(resolver.lookup);
  const answers: unknown[] = [];
  for (let poll = 0; poll < 5; poll += 1) {
    lookup("api.test", { all: true }, (error, addresses) => answers.push([error, addresses]));
  }
  lookup("other.test", { all: false }, (error, one, family) => answers.push([error, one, family]));
  expect(resolver.asked).toEqual(["api.test", "other.test"]);
  resolver.answer();
  expect(answers).toEqual([...Array.from({ length: 5 }, () => [null, [address]]), [null, "192.0.2.1", 4]]);
});

test("an answer is not remembered: the next poll asks anew", () => {
  const resolver = hangingResolver();
  const lookup = shareLookups(resolver.lookup);
  for (let poll = 0; poll < 2; poll += 1) {
    lookup("api.test", { all: true }, () => {});
    resolver.answer();
  }
  expect(resolver.asked).toEqual(["api.test", "api.test"]);
});

test("a failure reaches every poll that waits", () => {
  const failure = Object.assign(new Error("gone"), { code: "ENOTFOUND" });
  const lookup = shareLookups((_hostname, _options, callback) => callback(failure, []));
  const answers: unknown[] = [];
  lookup("api.test", { all: true }, (error) => answers.push(error));
  lookup("api.test", {}, (error) => answers.push(error));
  expect(answers).toEqual([failure, failure]);
});
