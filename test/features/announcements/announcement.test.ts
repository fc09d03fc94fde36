import { array, assert, constantFrom, oneof, property, string, tuple } from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { readAnnouncement } from "../../../src/features/announcements/announcement.ts";

const NOW_MS = Date.UTC(2026, 10, 22);
const MAY_MS = Date.UTC(2027, 4, 1);

const read = (...headers: readonly (readonly [string, string])[]): ReturnType<typeof readAnnouncement> =>
  readAnnouncement(headers, NOW_MS, String);

describe("an API announces its end", () => {
  test.each([
    ["@1688169599", true, 1_688_169_599_000],
    ["@1688169599;note=1", true, 1_688_169_599_000],
    ["Sat, 01 May 2027 00:00:00 GMT", true, MAY_MS],
    ["true", true, undefined],
    ["?1", true, undefined],
  ])("Deprecation: %s", (value, isDeprecated, deprecatedAtMs) =>
    expect(read(["deprecation", value])).toMatchObject({ isDeprecated, deprecatedAtMs }),
  );

  test.each(["false", "?0", "", "soon", "@-5", "@99999999999999", "1688169599"])(
    "Deprecation: %s announces nothing",
    (value) => expect(read(["deprecation", value])).toBeUndefined(),
  );

  test("Sunset is a date; of several the earliest", () => {
    expect(read(["sunset", "Sat, 01 May 2027 00:00:00 GMT"])?.sunsetAtMs).toBe(MAY_MS);
    const both = read(
      ["sunset", "Sun, 02 May 2027 00:00:00 GMT"],
      ["sunset", "Sat, 01 May 2027 00:00:00 GMT"],
    );
    expect(both?.sunsetAtMs).toBe(MAY_MS);
    expect(read(["sunset", "next year"])).toBeUndefined();
  });

  test("its links are found among others, in any spelling that RFC 8288 allows", () => {
    const links = read(
      [
        "link",
        '<https://a.example/?page=2>; rel="next", <https://a.example/bye>; rel="sunset"; type="text/html"',
      ],
      [
        "link",
        '</v2>;title="a, \\"<b>\\"";REL=successor-version , <https://a.example/d> ; rel="help Deprecation"',
      ],
    )?.links;
    expect(links).toEqual([
      { rel: "sunset", target: "https://a.example/bye" },
      { rel: "successor-version", target: "/v2" },
      { rel: "deprecation", target: "https://a.example/d" },
    ]);
  });

  test("many links of one kind hide none of another", () => {
    const successors = Array.from({ length: 5 }, (_, at) => `</v${at}>; rel="successor-version"`);
    const deprecation = '</bye>; rel="deprecation"';
    const shown = [
      { rel: "successor-version", target: "/v0" },
      { rel: "successor-version", target: "/v1" },
      { rel: "deprecation", target: "/bye" },
    ];
    expect(read(["link", [...successors, deprecation].join(", ")])?.links).toEqual(shown);
    expect(read(...[...successors, deprecation].map((link) => ["link", link] as const))?.links).toEqual(
      shown,
    );
  });

  test.each([
    ['<https://a.example/?page=2>; rel="next"'],
    ['<https://a.example/v2>; rel="successor-version"'],
    ["<https://a.example/bye; rel=sunset"],
    ['<https://a.example/v2>; title="rel=sunset"'],
  ])("Link: %s alone announces nothing", (value) => expect(read(["link", value])).toBeUndefined());

  test("Warning 299 is kept as one line; warnings of caches are not", () => {
    const value = '110 cache "stale", 299 - "this version ends in May,\\" soon"';
    expect(read(["warning", value])?.warning).toBe('this version ends in May," soon');
    expect(read(["warning", '110 anderson/1.3.37 "Response is stale"'])).toBeUndefined();
    expect(read(["warning", `299 - "${"x".repeat(1000)}"`])?.warning).toHaveLength(300);
  });

  test("an ordinary answer announces nothing", () =>
    expect(
      read(["content-type", "application/json"], ["date", "Sat, 01 May 2027 00:00:00 GMT"]),
    ).toBeUndefined());

  test("whatever an upstream sends, what is kept of it is small and safe", () => {
    const name = constantFrom("deprecation", "sunset", "link", "warning");
    const part = constantFrom(
      "<",
      ">",
      '"',
      ",",
      ";",
      "rel=",
      "sunset",
      "@",
      "1",
      "299 ",
      "- ",
      "\\",
      "\u202e",
      "a",
    );
    const value = oneof(
      string({ maxLength: 300 }),
      array(part, { maxLength: 200 }).map((all) => all.join("")),
    );
    assert(
      property(array(tuple(name, value), { maxLength: 20 }), (headers) => {
        const announcement = readAnnouncement(headers, NOW_MS, String);
        expect(JSON.stringify(announcement ?? {}).length).toBeLessThan(6 * 600 + 600);
        expect(JSON.stringify(announcement ?? {})).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      }),
    );
  });

  test("of many long links no more is escaped than is kept", () => {
    const link = `<${"\u00ad".repeat(3_900)}>;rel="sunset deprecation successor-version"`;
    const headers = Array.from({ length: 16 }, () => ["link", link] as const);
    const replace = vi.spyOn(String.prototype, "replace");
    const links = readAnnouncement(headers, NOW_MS, String)?.links;
    const escaped = replace.mock.contexts.reduce((sum: number, text) => sum + String(text).length, 0);
    replace.mockRestore();
    expect(links).toHaveLength(3);
    // A text is escaped, and then cut, which looks at what an escape of the longest kind leaves.
    expect(escaped).toBeLessThan(3 * 3 * 600);
  });
});
