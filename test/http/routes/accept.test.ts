import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { codingFor, formatFor } from "../../../src/http/routes/accept.ts";
import { formats } from "../../../src/exposition/formats.ts";

describe("of codings,", () => {
  test.each([
    "gzip",
    "GZIP",
    "deflate, gzip;q=1.0, *;q=0.5",
    "gzip ; q=0.5",
    "x-gzip",
    "*",
    "identity;q=0.5, gzip;q=0.5",
    "gzip;q=0.001, identity;q=0",
    "br, *;q=0.1",
    "zstd;q=0.4, gzip;q=0.5",
    "zstd;q=0, gzip",
  ])("%s is answered with gzip", (header) => expect(codingFor(header)).toBe("gzip"));

  test.each(["zstd", "gzip, deflate, br, zstd", "zstd;q=0.5, gzip;q=0.4", "*;q=0.1, ZSTD"])(
    "%s is answered with zstd",
    (header) => expect(codingFor(header)).toBe("zstd"),
  );

  test.each([
    undefined,
    "",
    "identity",
    "deflate, br",
    "gzip;q=0",
    "gzip;q=0.000",
    "gzip;q=0, *",
    "*;q=0",
    "gzip;q=0.2, identity;q=0.9",
    "gzip;q=lots",
    "gzip;q=-1",
    "not-gzip",
    "zstd;q=0.1, identity;q=0.2",
  ])("%s is answered plainly", (header) => expect(codingFor(header)).toBe("identity"));
});

test("of what a client says, so much is read that many thousand ranges cost no more than a few", () => {
  const many = ",".repeat(16_000);
  expect(codingFor(`gzip${many}zstd`)).toBe("gzip");
  expect(formatFor(`text/plain${many}application/openmetrics-text`, FORMATS).type).toBe(TEXT);
  expect(formatFor(`${many}application/openmetrics-text`, FORMATS).type).toBe(TEXT);
});

const FORMATS = formats((format) => format);
const TEXT = "text/plain; version=0.0.4; charset=utf-8";
const TEXT_1 = "text/plain; version=1.0.0; charset=utf-8";
const OPEN_METRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROTOBUF =
  "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

describe("of formats,", () => {
  const proto = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
  test.each([
    [
      "Prometheus 2.42",
      "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
      OPEN_METRICS,
    ],
    [
      "Prometheus 2.42 with native histograms",
      `${proto},application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1`,
      PROTOBUF,
    ],
    [
      "Prometheus 3",
      "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
      `${OPEN_METRICS}; escaping=allow-utf-8`,
    ],
    [
      "Prometheus 3 that likes text 1.0.0 best",
      "text/plain;version=1.0.0;escaping=underscores;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.4",
      `${TEXT_1}; escaping=underscores`,
    ],
    ["curl", "*/*", TEXT],
    ["a browser", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", TEXT],
    ["nobody", undefined, TEXT],
    ["nothing", "", TEXT],
    ["what we do not have", "application/json", TEXT],
    ["a version that we do not have", "application/openmetrics-text;version=2.0.0", TEXT],
    ["a protobuf that is not delimited", `${proto.replace("delimited", "text")};q=1, text/*;q=0.1`, TEXT],
    ["a type without parameters", "application/openmetrics-text", OPEN_METRICS],
    ["parameters in other cases, with spaces and quotes", 'TEXT/Plain ; Version = "1.0.0"', TEXT_1],
    ["any application", "application/*", OPEN_METRICS],
    ["what is refused by name", "*/*;q=0.5, text/plain;q=0", OPEN_METRICS],
    ["all refused", "*/*;q=0", TEXT],
    ["a name before a wildcard, at the same weight", "*/*, application/openmetrics-text", OPEN_METRICS],
    ["a wildcard that weighs more", "*/*;q=0.9, application/openmetrics-text;q=0.1", TEXT],
    ["an escaping that would change our names", "text/plain;version=1.0.0;escaping=dots", TEXT_1],
    ["a weight that is none", "application/openmetrics-text;q=lots, text/plain;q=0.1", TEXT],
  ])("%s", (_, header, type) => expect(formatFor(header, FORMATS).type).toBe(type));

  /** The same choice, made in the plainest way: each format by all ranges, the most specific decides. */
  const range = fc.record({
    name: fc.constantFrom(
      "*/*",
      "text/*",
      "application/*",
      "text/plain",
      "application/openmetrics-text",
      proto,
    ),
    version: fc.constantFrom("", "0.0.4", "1.0.0", "7"),
    tenths: fc.integer({ min: 0, max: 10 }),
  });
  type Range = { readonly name: string; readonly version: string; readonly tenths: number };

  function rangeText({ name, version, tenths }: Range): string {
    return `${name}${version === "" ? "" : `;version=${version}`};q=${tenths / 10}`;
  }

  const OURS = [
    { type: TEXT, name: "text/plain", version: "0.0.4" },
    { type: TEXT_1, name: "text/plain", version: "1.0.0" },
    { type: OPEN_METRICS, name: "application/openmetrics-text", version: "1.0.0" },
    { type: PROTOBUF, name: proto, version: undefined },
  ];

  function liking(ours: (typeof OURS)[number], ranges: readonly Range[]): readonly [number, number] {
    const kind = `${ours.name.split("/")[0]}/*`;
    const matching = ranges
      .filter(({ name }) => name === ours.name || name === kind || name === "*/*")
      .filter(({ version }) => version === "" || version === ours.version)
      .map(({ name, version, tenths }) => {
        if (name === "*/*") return [0, tenths] as const;
        if (name === kind) return [1, tenths] as const;
        return [2 + (name === proto ? 2 : 0) + (version === "" ? 0 : 1), tenths] as const;
      });
    const [best = [0, 0] as const] = matching.toSorted((a, b) => b[0] - a[0] || b[1] - a[1]);
    return [best[1], best[0]];
  }

  test("whatever ranges a client names, it gets what it likes best of those that it allows", () => {
    fc.assert(
      fc.property(fc.array(range, { maxLength: 6 }), (ranges) => {
        const likings = OURS.map((ours) => ({ ours, liking: liking(ours, ranges) }));
        const allowed = likings.filter(({ liking: [weight] }) => weight > 0);
        const [best] = allowed.toSorted((a, b) => b.liking[0] - a.liking[0] || b.liking[1] - a.liking[1]);
        expect(formatFor(ranges.map(rangeText).join(", "), FORMATS).type).toBe(best?.ours.type ?? TEXT);
      }),
      { numRuns: 400 },
    );
  });

  test("whatever a client sends, it gets one of ours", () => {
    const alphabet = fc.constantFrom(
      ...Array.from('*/;,="\\ q01.'),
      "text",
      "plain",
      "version",
      "application",
      "0.0.4",
      "é",
    );
    fc.assert(
      fc.property(fc.array(alphabet, { maxLength: 60 }), (parts) => {
        const { type } = formatFor(parts.join(""), FORMATS);
        expect([TEXT, TEXT_1, OPEN_METRICS, PROTOBUF]).toContain(type);
      }),
      { numRuns: 400 },
    );
  });
});
