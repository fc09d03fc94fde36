import { expect, test } from "vitest";
import {
  keptHeadOf,
  requestIdsIn,
  MOST_HEADERS_KEPT,
  REQUEST_IDS_CHARS,
} from "../../../src/kernel/exchange/kept-headers.ts";
import type { Headers, KeptHeader } from "../../../src/kernel/exchange/exchange.ts";

function kept(headers: Headers, idNames: readonly string[] = []): readonly KeptHeader[] {
  return keptHeadOf({ status: 500, reasonPhrase: "", headers }, idNames, String).headers;
}

test("of a header its name and size are kept, and the value only of request ids", () => {
  const headers = [
    ["set-cookie", "session=test-key-1"],
    ["x-request-id", "req_7f3a"],
    ["authorization", "Bearer test-key-1"],
    ["cf-ray", "8c1b2d-FRA"],
    ["x-ticket", "T-1"],
  ] as const;
  expect(kept(headers, ["x-ticket"])).toEqual([
    { name: "x-request-id", bytes: 8, value: "req_7f3a" },
    { name: "cf-ray", bytes: 10, value: "8c1b2d-FRA" },
    { name: "x-ticket", bytes: 3, value: "T-1" },
    { name: "set-cookie", bytes: 18 },
    { name: "authorization", bytes: 17 },
  ]);
  expect(requestIdsIn(kept(headers))).toBe("x-request-id: req_7f3a, cf-ray: 8c1b2d-FRA");
  expect(requestIdsIn([{ name: "date", bytes: 29 }])).toBeUndefined();
});

test("a request id is one short line, and no number of other headers pushes it out", () => {
  const many = Array.from({ length: 80 }, (_, index) => [`x-${index}`, "value"] as const);
  const all = kept([...many, ["request-id", `a\u202eb\n${"c".repeat(500)}`]]);
  expect(all).toHaveLength(MOST_HEADERS_KEPT);
  expect(all[0]?.value).toMatch(/^a\\u202eb\\nc+…$/);
  expect(all[0]?.value).toHaveLength(128);
});

test("a request id in which a key stands is not kept", () => {
  const head = { status: 500, reasonPhrase: "", headers: [["x-request-id", "test-key-1"]] } as const;
  const { headers } = keptHeadOf(head, [], (text) => text.replace("test-key-1", "<secret>"));
  expect(headers).toEqual([{ name: "x-request-id", bytes: 10, value: "<secret>" }]);
});

test("of many request ids the first are kept", () => {
  const value = "7".repeat(200);
  const all = kept([...Array.from({ length: 50 }, () => ["x-request-id", value] as const), ["server", "x"]]);
  const ids = all.filter((header) => header.value !== undefined);
  expect(ids.length).toBe(2);
  expect(ids.map((id) => id.name + id.value).join("").length).toBeLessThanOrEqual(REQUEST_IDS_CHARS);
  expect(all.at(-1)).toEqual({ name: "server", bytes: 1 });
});
