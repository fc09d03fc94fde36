/**
 * A rule that was made for one answer is right on that answer, and shows nothing. So of two sets, which different people
 * gathered, one keeps only the rules that it needs, and these have to be right on the other.
 */

import { expect, test } from "vitest";
import { readJson } from "../../src/kernel/exchange/json-body.ts";
import { factsOfAnswer, classifyRefusal } from "../../src/features/refusals/classify.ts";
import { type Rule, RULES } from "../../src/features/refusals/rules.ts";
import { entriesOf, meaningsOf, type RefusalEntry } from "./entries.ts";

const MOST_WRONG = 0.08;
const MOST_WRONG_WITH_ALL = 0.05;

const MEANINGS: Readonly<Record<string, string>> = {
  quota: "credit",
  unauthorized: "key",
  forbidden: "permission",
  client_error: "client",
  server_error: "server",
};

function refusalsOf(...files: readonly string[]): readonly RefusalEntry[] {
  return files.flatMap(entriesOf).filter(({ status }) => status >= 400);
}

function isRight(entry: RefusalEntry, rules: readonly Rule[]): boolean {
  const { status, headers } = entry;
  const head = { status, reasonPhrase: "", headers: Object.entries(headers) };
  const body = new TextEncoder().encode(entry.body);
  const means = classifyRefusal(
    head,
    factsOfAnswer(head, body, () => readJson(body)),
    status,
    rules,
  )?.means;
  const told = means ?? (status >= 500 ? "server_error" : "client_error");
  return meaningsOf(entry).includes(MEANINGS[told] ?? told);
}

function wrongIn(entries: readonly RefusalEntry[], rules: readonly Rule[]): readonly string[] {
  return entries.filter((entry) => !isRight(entry, rules)).map(({ id }) => id);
}

/** The rules without which one of the answers would be wrong that is right with all. */
function neededBy(entries: readonly RefusalEntry[]): readonly Rule[] {
  const right = entries.filter((entry) => isRight(entry, RULES));
  return RULES.filter(
    (rule) =>
      wrongIn(
        right,
        RULES.filter((other) => other !== rule),
      ).length > 0,
  );
}

const FIRST = refusalsOf("seen.jsonl");
const SECOND = refusalsOf("unseen.jsonl", "round-6.jsonl");

test.each([
  ["what the first set needs is right on the second", FIRST, SECOND],
  ["what the second set needs is right on the first", SECOND, FIRST],
])("%s", (_, learned, judged) => {
  const rules = neededBy(learned);
  const wrong = wrongIn(judged, rules);
  console.log(
    `${rules.length} of ${RULES.length} rules, ${wrong.length} of ${judged.length} wrong: ${wrong.join(", ")}`,
  );
  expect(wrong.length / judged.length).toBeLessThanOrEqual(MOST_WRONG);
});

test("all rules are right on both sets", () => {
  const both = [...FIRST, ...SECOND];
  const wrong = wrongIn(both, RULES);
  console.log(`${wrong.length} of ${both.length} wrong: ${wrong.join(", ")}`);
  expect(wrong.length / both.length).toBeLessThanOrEqual(MOST_WRONG_WITH_ALL);
});
