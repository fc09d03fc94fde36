import { expect, test } from "vitest";
import { pacewatchConfig } from "../../bench/pacewatch-config.ts";
import { betweenMarkers } from "../../bench/markers.ts";
import { fileNameOf } from "../../bench/result.ts";

test("only what is between the markers is replaced", () => {
  const page = "before\n<!-- bench -->\nold\n<!-- /bench -->\nafter\n";
  expect(betweenMarkers(page, "bench", "new")).toBe(
    "before\n<!-- bench -->\n\nnew\n<!-- /bench -->\nafter\n",
  );
});

test("a page without its markers is not written", () => {
  expect(() => betweenMarkers("no markers", "bench", "new")).toThrow('must have "<!-- bench -->"');
});

test("a result is named for when and on what it was measured", () => {
  const machine = { cpu: "Some(R) CPU @ 2.00GHz", cores: 2, memoryGb: 8 };
  const at = "2026-01-31T12:05:00.000Z";
  expect(fileNameOf({ at, depth: "full", machine })).toBe("2026-01-31-1205-some-r-cpu-2-00ghz-2-cores.json");
  expect(fileNameOf({ at, depth: "quick", machine })).toMatch(/-2-cores-quick\.json$/);
});

test("each upstream of a fleet has a budget and a key of its own, and only those by https an authority", () => {
  const fleet = { upstreams: 2, schedule: { every: "1s" }, connection: "fresh", caFile: "/ca.pem" } as const;
  const plain = JSON.parse(pacewatchConfig({ ...fleet, baseUrl: (number) => `http://h/u${number}` }));
  expect(Object.keys(plain.budgets)).toEqual(["api-0", "api-1"]);
  expect(plain.upstreams[1]).toMatchObject({
    base_url: "http://h/u1",
    budget: "api-1",
    auth: { bearer: { env: "KEY_1" } },
  });
  expect(plain.upstreams[1].tls).toBeUndefined();
  const secret = JSON.parse(pacewatchConfig({ ...fleet, baseUrl: () => "https://h" }));
  expect(secret.upstreams[0].tls).toEqual({ ca_file: "ca.pem" });
});

test.each([
  ["http", 5_000, "10s", "fresh"],
  ["https", 3_000, "1s", "reuse"],
] as const)("the largest fleet by %s, of %d, fits into a config", (scheme, upstreams, every, connection) => {
  const baseUrl = (): string => `${scheme}://127.0.0.1:65535`;
  const text = pacewatchConfig({ upstreams, schedule: { every }, baseUrl, connection });
  expect(text.length).toBeLessThan(1_048_576);
});
