import * as fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import type { HeaderHints } from "../../../src/features/hints/fields/answer-hints.ts";
import { NO_WAIT } from "../../../src/features/hints/fields/retry-after.ts";
import { judgeExchange } from "../../support/judged.ts";
import { settlementOf } from "../../../src/kernel/budget/ledger.ts";
import type { Expectation } from "../../../src/kernel/config/config.ts";
import type { RefusalRule } from "../../../src/features/refusals/config.ts";
import type { AnswerHead, Exchange, Headers, WireFault } from "../../../src/kernel/exchange/exchange.ts";
import { REASON_NAMES } from "../../../src/kernel/exchange/reasons.ts";
import type { StreamRead } from "../../../src/kernel/exchange/exchange.ts";

const SEED = 20_261_120;
const JSON_200: Expectation = { status: [200], json: true, maxBodyBytes: 1_048_576 };
const DAY_MS = 86_400_000;

function headOf(status: number, headers: Headers = []): AnswerHead {
  return { status, reasonPhrase: "", headers };
}

function answered(status: number, body: string | Uint8Array = "{}", headers: Headers = []): Exchange {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return { kind: "answered", head: headOf(status, headers), body: bytes };
}

function streamed(changes: Partial<StreamRead>, last = "{}"): Exchange {
  const body = new TextEncoder().encode(last);
  const stream = { end: "complete", events: 2, bytes: 90, first: body, joined: body, ...changes } as const;
  return { kind: "answered", head: headOf(200), body, stream };
}

function broken(fault: WireFault, status?: number, sent = true): Exchange {
  const head = status === undefined ? undefined : headOf(status);
  return { kind: "broken", fault, detail: "the connection was reset", sent, head };
}

function toldOf(exhaustedPerMs: number | undefined): HeaderHints {
  const hints = {
    throttled: true,
    pause: undefined,
    families: [],
    remaining: undefined,
    exhaustedPerMs,
    malformed: 0,
  };
  return { status: 429, hints, retryAfter: NO_WAIT, isHeldBack: false, anchorMs: () => 0 };
}

function reason(exchange: Exchange, expectation: Expectation = JSON_200, told?: HeaderHints): string {
  const { outcome } = judgeExchange(exchange, expectation, told, String);
  return `${outcome.kind} ${outcome.reason}`.trim();
}

const WIRE_FAULTS = [
  "dns",
  "connect",
  "tls",
  "timeout",
  "reset",
  "protocol",
  "body_too_large",
  "memory",
  "bug",
] as const;

describe("the status decides", () => {
  test.each([
    [200, "ok"],
    [100, "failed unexpected_status"],
    [101, "failed unexpected_status"],
    [201, "failed unexpected_status"],
    [204, "failed unexpected_status"],
    [206, "failed unexpected_status"],
    [299, "failed unexpected_status"],
    [300, "failed redirect"],
    [301, "failed redirect"],
    [304, "failed redirect"],
    [399, "failed redirect"],
    [400, "failed client_error"],
    [401, "rejected unauthorized"],
    [402, "throttled quota"],
    [403, "rejected forbidden"],
    [404, "failed client_error"],
    [412, "failed client_error"],
    [428, "failed client_error"],
    [429, "throttled rate"],
    [430, "failed client_error"],
    [499, "failed client_error"],
    [500, "failed server_error"],
    [503, "failed server_error"],
    [599, "failed server_error"],
    [600, "failed unexpected_status"],
    [999, "failed unexpected_status"],
    [0, "failed unexpected_status"],
  ])("%i is %s", (status, expected) => {
    expect(reason(answered(status))).toBe(expected);
  });

  test("a status that the config expects is expected, of whatever class it is", () => {
    for (const status of [101, 201, 301, 401, 403, 404, 500, 503, 999]) {
      expect(reason(answered(status), { ...JSON_200, status: [status] })).toBe("ok");
    }
  });

  test("no config makes a refusal a success", () => {
    const expectation = { ...JSON_200, status: [200, 402, 429] };
    expect(reason(answered(429), expectation)).toBe("throttled rate");
    expect(reason(answered(402), expectation)).toBe("throttled quota");
  });

  test("200 that is not expected is unexpected", () => {
    const expectation = { ...JSON_200, status: [204, 404] };
    const { outcome, detail } = judgeExchange(answered(200), expectation, undefined, String);
    expect({ outcome, detail }).toEqual({
      outcome: { kind: "failed", reason: "unexpected_status" },
      detail: "answered 200, expected 204 or 404",
    });
  });
});

test.each([
  [407, "Proxy Authentication Required", "failed client_error"],
  [407, '{"error":"proxy_authentication_failed","message":"Invalid credentials"}', "failed client_error"],
  [511, "<title>Network Authentication Required</title>", "failed server_error"],
])("a %d asks for a login on the way, and says nothing of our key: %s", (status, body, outcome) => {
  expect(reason(answered(status, body))).toBe(outcome);
});

test("a page of a wall that a router quotes of a provider behind it is that provider's trouble", () => {
  const quoted = (code: number): string =>
    JSON.stringify({
      error: {
        message: "Provider returned error",
        code,
        metadata: { raw: "<title>Just a moment...</title>" },
      },
    });
  for (const status of [500, 502, 530])
    expect(reason(answered(status, quoted(status)))).toBe("failed server_error");
  expect(reason(answered(403, quoted(403)))).toBe("failed blocked");
});

describe("the wire decides where it broke", () => {
  test.each(WIRE_FAULTS)("%s stays what it is", (fault) => {
    const expected = fault === "bug" || fault === "memory" ? `ours ${fault}` : `failed ${fault}`;
    expect(reason(broken(fault))).toBe(expected);
    expect(reason(broken(fault, 200))).toBe(expected);
    expect(reason(broken(fault, 503))).toBe(expected);
    for (const status of [401, 403, 404])
      expect(reason(broken(fault, status), { ...JSON_200, status: [status] })).toBe(expected);
  });

  test("a refusal is a refusal even where its body broke off", () => {
    for (const fault of WIRE_FAULTS) {
      expect(reason(broken(fault, 429))).toBe("throttled rate");
      expect(reason(broken(fault, 402))).toBe("throttled quota");
      expect(reason(broken(fault, 401))).toBe("rejected unauthorized");
      expect(reason(broken(fault, 403))).toBe("rejected forbidden");
    }
  });

  test("a break after the head tells what had been answered", () => {
    expect(judgeExchange(broken("reset", 503), JSON_200, undefined, String).detail).toBe(
      "the connection was reset, after it had answered 503",
    );
    expect(judgeExchange(broken("connect"), JSON_200, undefined, String).detail).toBe(
      "the connection was reset",
    );
  });
});

test("a page in place of JSON refuses us only if that is all that it says", () => {
  const sentence = "<p>When the rate limit is exceeded, we answer 429 Too Many Requests.</p>";
  const page = `<title>Limits</title>${sentence}<p>${"How our plans differ is told below. ".repeat(8)}</p>`;
  expect(reason(answered(200, sentence))).toBe("throttled rate");
  expect(reason(answered(200, page))).toBe("failed invalid_body");
  expect(reason(answered(429, page))).toBe("throttled rate");
});

describe("a spent quota is not a rate", () => {
  const PROBLEM = "https://iana.org/assignments/http-problem-types#quota-exceeded";

  test.each<[string, string, string]>([
    ["application/problem+json", JSON.stringify({ type: PROBLEM }), "quota"],
    ["Application/Problem+JSON; charset=utf-8", JSON.stringify({ type: PROBLEM, title: "spent" }), "quota"],
    ["application/problem+json", JSON.stringify({ type: "urn:example:quota-exceeded" }), "quota"],
    ["application/problem+json", `\uFEFF${JSON.stringify({ type: PROBLEM })}`, "quota"],
    ["application/json", JSON.stringify({ type: PROBLEM }), "rate"],
    ["application/problem+json", JSON.stringify({ type: `${PROBLEM}#not` }), "rate"],
    ["application/problem+json", JSON.stringify({ title: PROBLEM }), "rate"],
    ["application/problem+json", '{"type":{"toString":1}}', "rate"],
    ["application/problem+json", '{"type":["quota-exceeded"]}', "rate"],
    ["application/problem+json", `{"type":${"[".repeat(100_000)}${"]".repeat(100_000)}}`, "rate"],
    ["application/problem+json", `"${PROBLEM}"`, "rate"],
    ["application/problem+json", "null", "rate"],
    ["application/problem+json", '{"type":"', "rate"],
    ["application/problem+json", "", "rate"],
  ])("429 as %s", (contentType, body, kind) => {
    expect(reason(answered(429, body, [["content-type", contentType]]))).toBe(`throttled ${kind}`);
  });

  test.each([
    [undefined, "rate"],
    [60_000, "rate"],
    [DAY_MS - 1, "rate"],
    [DAY_MS, "quota"],
    [30 * DAY_MS, "quota"],
  ])("429 with a spent window of %s ms", (exhaustedPerMs, kind) => {
    expect(reason(answered(429), JSON_200, toldOf(exhaustedPerMs))).toBe(`throttled ${kind}`);
    expect(reason(broken("reset", 429), JSON_200, toldOf(exhaustedPerMs))).toBe(`throttled ${kind}`);
  });

  test("the people are told which quota", () => {
    expect(judgeExchange(answered(429), JSON_200, toldOf(DAY_MS), String).detail).toBe(
      "answered 429: the quota of 24 h is spent",
    );
  });
});

describe("the operator knows better", () => {
  const rules = (...refusals: RefusalRule[]): Expectation => ({ ...JSON_200, refusals });

  test.each<[string, RefusalRule, Exchange, string]>([
    ["by status", { status: [403], means: "quota" }, answered(403), "throttled quota"],
    [
      "by words, in any case",
      { text: "gone fishing", means: "blocked" },
      answered(500, "Gone Fishing"),
      "failed blocked",
    ],
    [
      "by a header",
      { header: "x-why", text: "money", means: "quota" },
      answered(400, "", [["x-why", "No MONEY"]]),
      "throttled quota",
    ],
    [
      "by a JSON pointer",
      { json: "/a~1b/0/code", text: "17", means: "rate" },
      answered(400, '{"a/b":[{"code":17}]}'),
      "throttled rate",
    ],
    [
      "of an answer that is ok by its status",
      { status: [200], json: "/refused", means: "forbidden" },
      answered(200, '{"refused":{}}'),
      "rejected forbidden",
    ],
    [
      "against what its words say",
      { status: [403], text: "quota", means: "status" },
      answered(403, '{"error":"Quota exceeded"}'),
      "rejected forbidden",
    ],
  ])("%s", (_, rule, exchange, expected) => {
    expect(reason(exchange, rules(rule))).toBe(expected);
  });

  test("a rule that does not fit changes nothing, and the first that fits decides", () => {
    const other: RefusalRule = { status: [500], means: "blocked" };
    const pointer: RefusalRule = {
      json: "/x",
      means: "quota",
    };
    expect(reason(answered(403, "{}"), rules(other, pointer))).toBe("rejected forbidden");
    expect(reason(answered(500, '{"x":1}'), rules(other, pointer))).toBe("failed blocked");
    expect(reason(answered(200, '{"data":[]}'), rules(other, pointer))).toBe("ok");
  });

  test("whose status says it all is ok where that is expected, whatever else it says", () => {
    const rule: RefusalRule = { status: [200], means: "status" };
    expect(reason(answered(200, '{"error":"rate limit exceeded"}'))).toBe("throttled rate");
    expect(reason(answered(200, '{"error":"rate limit exceeded"}'), rules(rule))).toBe("ok");
    expect(reason(answered(404, '{"error":"rate limit exceeded"}'), rules({ means: "status" }))).toBe(
      "failed client_error",
    );
  });

  test("no rule makes a 429 or a 402 a success", () => {
    const rule: RefusalRule = { means: "status" };
    expect(reason(answered(429), { ...rules(rule), status: [200, 402, 429] })).toBe("throttled rate");
    expect(reason(answered(402), { ...rules(rule), status: [200, 402, 429] })).toBe("throttled quota");
  });
});

describe("a 200 that is nothing but an error is not ok", () => {
  test.each([
    ['{"error":{"message":"Something went wrong"}}', "failed server_error"],
    ['{"error":{"code":404,"message":"Not found"}}', "failed client_error"],
    ['{"error":"internal_error"}', "failed server_error"],
    ['{"errors":[{"message":"Cannot query field"}],"data":null}', "failed server_error"],
    ['{"errors":[{"message":"Cannot query field"}],"data":{"me":null}}', "failed server_error"],
    ['{"success":false,"message":"No records"}', "failed server_error"],
    ['{"success":false}', "failed server_error"],
    ['{"ok":false,"error":"fatal_error","request_id":"r"}', "failed server_error"],
    ['{"status":"error"}', "failed server_error"],
    ['{"status":"error","message":"Unexpected failure","data":[]}', "failed server_error"],
    ['{"status":"error","code":422,"message":"Unexpected failure"}', "failed client_error"],
    ['{"error":{"message":"You do not have enough credits"}}', "throttled quota"],
    ['{"success":false,"error":"Too many requests"}', "throttled rate"],
    ['{"status":"error","message":"Invalid API key"}', "rejected unauthorized"],
    ['{"success":false,"message":"You lack the permission"}', "rejected forbidden"],
  ])("%s", (body, outcome) => {
    expect(reason(answered(200, body))).toBe(outcome);
  });

  test.each([
    ['{"error":null}'],
    ['{"error":false,"users":[]}'],
    ['{"error":"","success":true}'],
    ['{"errors":[]}'],
    ['{"errors":{},"result":{"a":1}}'],
    ['{"errors":{"bounced":3}}'],
    ['{"status":"error","data":[{"id":1}]}'],
    ['{"status":"error","results":[1],"message":"partial"}'],
    ['{"errors":[{"message":"one field is missing"}],"data":{"me":{"id":1}}}'],
    ['{"success":false,"pending":true,"job":"j-1","progress":0.4}'],
    ['{"id":"j-1","status":"failed","error":{"message":"no such host"}}'],
    ['{"status":"failed","started_at":5}'],
    ['{"name":"webhook","error":"no such host","enabled":true}'],
    ['{"message":"Welcome"}'],
  ])("%s has something of value, or no error", (body) => {
    expect(reason(answered(200, body))).toBe("ok");
  });

  test("the detail says what it is, and never quotes it", () => {
    const { detail } = judgeExchange(answered(200, '{"error":"secret words"}'), JSON_200, undefined, String);
    expect(detail).toBe("answered 200: an error in place of content, by the body");
  });
});

describe("the body decides where JSON is expected", () => {
  test.each([
    ["{}"],
    ["[]"],
    ["null"],
    ["0"],
    ['"text"'],
    [' \r\n\t{"data": []} \n'],
    ['\uFEFF{"data":[]}'],
    ['{"name":"Grüße, 世界 🎉"}'],
    [`${"[".repeat(1_000)}${"]".repeat(1_000)}`],
    [`${'{"a":'.repeat(1_000)}1${"}".repeat(1_000)}`],
    [`[${'"[{\\"[{",'.repeat(2_000)}0]`],
    [`[${"[],{},".repeat(2_000)}0]`],
  ])("%.20s is JSON", (body) => {
    expect(reason(answered(200, body))).toBe("ok");
  });

  test.each<[string, string | Uint8Array]>([
    ["nothing", ""],
    ["spaces", " \r\n\t"],
    ["a byte order mark alone", "\uFEFF"],
    ["a page", "<html><body>login</body></html>"],
    ["a word", "OK"],
    ["an answer cut short", '{"data":[{"id":1},{"id"'],
    ["a string cut short", '{"data":"abc'],
    ["two answers", "{}{}"],
    ["a comma too many", "[1,]"],
    ["not a number", "NaN"],
    ["a nest cut short", "[".repeat(900)],
    ["a level too many", `${"[".repeat(1_001)}${"]".repeat(1_001)}`],
    ["a million levels", "[".repeat(1_000_000)],
    ["bytes that are not UTF-8", Uint8Array.from([0x22, 0xff, 0x22])],
    ["UTF-8 cut short", Uint8Array.from([0x22, 0xc3])],
    ["UTF-16", Uint8Array.from([0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00])],
    ["zeros", new Uint8Array(1000)],
  ])("%s is not", (_, body) => {
    expect(reason(answered(200, body))).toBe("failed invalid_body");
    expect(reason(answered(200, body), { ...JSON_200, json: false })).toBe("ok");
  });

  test("JSON is not asked of answers that have no content", () => {
    const expectation = { ...JSON_200, status: [200, 204, 304] };
    expect(reason(answered(204, ""), expectation)).toBe("ok");
    expect(reason(answered(304, ""), expectation)).toBe("ok");
    expect(reason(answered(200, ""), expectation)).toBe("failed invalid_body");
  });

  test("JSON is asked of every other status that is expected", () => {
    expect(reason(answered(404, "<html>"), { ...JSON_200, status: [404] })).toBe("failed invalid_body");
  });

  test("the people are shown how the answer begins, on one safe line", () => {
    const detail = (body: string | Uint8Array): string =>
      judgeExchange(answered(200, body), JSON_200, undefined, String).detail;
    const hint = "; if that is how it says that it is well, set expect: { json: false }";
    expect(detail("OK\n")).toBe(`answered 200, but its 3 B are not JSON: they begin with "OK\\n"${hint}`);
    expect(detail("pong")).toContain(hint);
    expect(detail("OK, but broken")).not.toContain(hint);
    expect(detail("<html>")).toBe('answered 200, but its 6 B are not JSON: they begin with "<html>"');
    expect(detail("a\r\nb\u001b[31m\u202e")).toBe(
      'answered 200, but its 12 B are not JSON: they begin with "a\\r\\nb\\u001b[31m\\u202e"',
    );
    expect(detail("<".repeat(5000)).length).toBeLessThan(120);
    expect(detail("")).toBe("answered 200 with an empty body where JSON was expected");
    expect(detail(Uint8Array.from([0xff]))).toBe("answered 200, but its 1 B are not UTF-8");
  });
});

test("whatever JSON an upstream answers is ok, and whatever bytes, it is judged", () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 6 }), (body) => {
      expect(reason(answered(200, body))).toBe("ok");
    }),
    { seed: SEED, numRuns: 400 },
  );
  const exchange = fc.oneof(
    fc.record({
      kind: fc.constant("answered" as const),
      head: fc.integer({ min: 0, max: 999 }).map((status) => headOf(status)),
      body: fc.uint8Array({ maxLength: 200 }),
    }),
    fc
      .constantFrom(...WIRE_FAULTS)
      .chain((fault) =>
        fc
          .option(fc.integer({ min: 100, max: 999 }), { nil: undefined })
          .map((status) => broken(fault, status)),
      ),
  );
  fc.assert(
    fc.property(exchange, fc.boolean(), (exchange, json) => {
      const { detail } = judgeExchange(exchange, { ...JSON_200, json }, undefined, String);
      expect(detail.length).toBeGreaterThan(0);
      expect(detail.length).toBeLessThan(200);
      expect(detail).not.toMatch(/\p{Cc}|\u2028|\u2029/u);
    }),
    { seed: SEED, numRuns: 600 },
  );
});

/** No exchange alone shows that there is no token, that all upstreams fail, or that this process stood still. */
const TOLD_ELSEWHERE: ReadonlySet<string> = new Set(["auth", "offline", "suspended"]);

test("every reason of the contract is reached by some exchange", () => {
  const exchanges = [
    ...WIRE_FAULTS.map((fault) => broken(fault)),
    ...[301, 401, 402, 403, 404, 429, 500, 206].map((status) => answered(status)),
    answered(200, ""),
    answered(403, "", [["cf-mitigated", "challenge"]]),
    streamed({ end: "broke_off" }),
  ];
  const asserting: Expectation = {
    ...JSON_200,
    body: [{ path: "/data", exists: true }],
  };
  const reached = [...exchanges.map((exchange) => reason(exchange)), reason(answered(200), asserting)].map(
    (words) => words.split(" ")[1],
  );
  expect(new Set(reached)).toEqual(new Set(REASON_NAMES.filter((name) => !TOLD_ELSEWHERE.has(name))));
});

test("a lease is released only where no byte was written, and an answer that began has counted it", () => {
  expect(settlementOf(answered(500))).toBe("answered");
  expect(settlementOf(broken("reset", 200))).toBe("answered");
  expect(settlementOf(broken("protocol", 200, false))).toBe("answered");
  expect(settlementOf(broken("timeout"))).toBe("unanswered");
  expect(settlementOf(broken("connect", undefined, false))).toBe("unsent");
});

test("the words of a stream are content, and only its error is a refusal", () => {
  const text: Expectation = { ...JSON_200, json: false };
  const words = "too many requests: rate limit exceeded";
  expect(reason(streamed({}, words), text)).toBe("ok");
  expect(reason(streamed({ end: "left" }, words), text)).toBe("ok");
  expect(reason(streamed({ end: "broke_off" }, words), text)).toBe("failed stream");
  expect(reason(streamed({ first: undefined }, words), text)).toBe("failed stream");
  expect(reason(streamed({ end: "error" }, '{"error":{"message":"x"}}'), text)).toMatch(/^failed/);
  expect(reason(streamed({ end: "error" }, '{"error":{"code":"rate_limit_exceeded"}}'), text)).toBe(
    "throttled rate",
  );
  expect(reason(streamed({}, "no JSON"))).toBe("failed invalid_body");
});

describe("a body is parsed once, however many ask for it", () => {
  test("who asks after the judgement gets the same value", () => {
    const exchange = answered(200, '{"data":{"credits":12.5}}');
    const { outcome, answer } = judgeExchange(exchange, JSON_200, undefined, String);
    expect(outcome).toEqual({ kind: "ok", reason: "" });
    const first = answer.json();
    expect(first).toEqual({ kind: "json", value: { data: { credits: 12.5 } } });
    expect(answer.json()).toBe(first);
  });

  test("a poll that does not ask for JSON does not parse it", () => {
    const parse = vi.spyOn(JSON, "parse");
    try {
      const { outcome } = judgeExchange(answered(200), { ...JSON_200, json: false }, undefined, String);
      expect(outcome).toEqual({ kind: "ok", reason: "" });
      expect(parse).not.toHaveBeenCalled();
    } finally {
      parse.mockRestore();
    }
  });

  test("an exchange that broke has no body", () => {
    const { answer } = judgeExchange(broken("reset", 200), JSON_200, undefined, String);
    expect(answer.json()).toEqual({ kind: "empty" });
  });
});

test.each([
  [200, "ok"],
  [204, "ok"],
  [299, "ok"],
  [302, "failed redirect"],
  [404, "failed client_error"],
])("where all of 2xx are expected, %i is %s", (status, judged) => {
  expect(reason(answered(status), { ...JSON_200, status: ["2xx"] })).toBe(judged);
});

test("no class makes a throttling or a lack of credit ok", () => {
  const expectation: Expectation = { ...JSON_200, status: ["4xx"] };
  expect(reason(answered(404), expectation)).toBe("ok");
  expect(reason(answered(429), expectation)).toBe("throttled rate");
  expect(reason(answered(402), expectation)).toBe("throttled quota");
});
