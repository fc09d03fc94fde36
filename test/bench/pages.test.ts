import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { figureOf, ratioOf } from "../../bench/report/figure.ts";
import { pacewatchConfig } from "../../bench/programs/pacewatch-config.ts";
import { betweenMarkers } from "../../bench/report/markers.ts";
import { fileNameOf } from "../../bench/report/result.ts";
import { benchPages, costTable } from "../../bench/report/write-docs.ts";

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
  expect(fileNameOf({ at, part: "cpu", machine })).toBe(
    "2026-01-31-1205-some-r-cpu-2-00ghz-2-cores-cpu.json",
  );
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

test("the README and the page about performance show the newest runs", async () => {
  for (const [path, text] of await benchPages())
    expect(await readFile(path, "utf8"), `${path} is stale: run npm run bench -- --write`).toBe(text);
});

test("the README's table says what a poll and the process cost beside others", () => {
  const figures = [
    ratioOf("cpu-blackbox-http-fresh", "CPU", "µs", { ours: [50, 50], theirs: [100, 100] }),
    figureOf("rss-gatus-https-fresh", "RSS", "MB", [60, 60]),
  ];
  const lines = costTable({ at: "2026-01-31T12:05:00.000Z", figures })
    .split("\n")
    .map((line) => line.replaceAll(/ +/g, " "));
  expect(lines[0]).toContain("(2026-01-31)");
  expect(lines).toContain("| CPU per poll, HTTP | 50 µs | 100 µs | not measured | not measured |");
  expect(lines).toContain("| memory, HTTPS | not measured | not measured | 60 MB | not measured |");
});

test("the README says what matters in 1,000 words", async () => {
  const words = (await readFile("README.md", "utf8"))
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word));
  expect(words.length).toBeLessThanOrEqual(1_000);
});
