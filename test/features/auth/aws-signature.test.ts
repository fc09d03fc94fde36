import { expect, test } from "vitest";
import { awsSigner } from "../../../src/features/auth/aws-signature.ts";

/**
 * The published test suite of Signature Version 4 (awslabs/aws-c-auth, tests/aws-signing-test-suite/v4, before that
 * aws-sig-v4-test-suite.zip of AWS): its requests, its example keys, and the signatures that it expects. It signs paths as
 * they are before they are encoded.
 */
const KEYS = ["AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"];
const SCOPE = { service: "service", region: "us-east-1" };
const AT_MS = Date.UTC(2015, 7, 30, 12, 36);
const TOKEN =
  "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

type Vector = {
  readonly method?: "GET" | "POST";
  readonly path?: string;
  readonly query?: string;
  readonly headers?: string[];
  readonly body?: string;
  readonly token?: string;
};

function authorizationOf(vector: Vector): string | undefined {
  const { method = "GET", path = "/", query = "", headers = [], body = "", token } = vector;
  const url = { host: "example.amazonaws.com", pathname: path, search: query };
  const keys = [...KEYS, ...(token === undefined ? [] : [token])].join("\n");
  return awsSigner(SCOPE)({ url, method, headers, body: Buffer.from(body) }, keys, AT_MS).headers.at(-1);
}

const FORM = ["Content-Type", "application/x-www-form-urlencoded"];
const UNRESERVED = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

test.each<[string, Vector, string, string]>([
  ["get-vanilla", {}, "host;x-amz-date", "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"],
  [
    "get-vanilla-query-order-key-case",
    { query: "?Param2=value2&Param1=value1" },
    "host;x-amz-date",
    "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
  ],
  [
    "get-utf8",
    { path: "/\u1234" },
    "host;x-amz-date",
    "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85",
  ],
  [
    "get-unreserved",
    { path: `/${UNRESERVED}` },
    "host;x-amz-date",
    "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
  ],
  [
    "normalize-path/get-slashes",
    { path: "//example//" },
    "host;x-amz-date",
    "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
  ],
  [
    "normalize-path/get-space",
    { path: "/example space/" },
    "host;x-amz-date",
    "652487583200325589f1fba4c7e578f72c47cb61beeca81406b39ddec1366741",
  ],
  [
    "post-vanilla",
    { method: "POST" },
    "host;x-amz-date",
    "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
  ],
  [
    "post-x-www-form-urlencoded",
    { method: "POST", headers: FORM, body: "Param1=value1" },
    "content-type;host;x-amz-date",
    "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
  ],
  [
    "post-sts-header-before",
    { method: "POST", token: TOKEN },
    "host;x-amz-date;x-amz-security-token",
    "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
  ],
])("signs %s of the published suite", (_, vector, headers, signature) => {
  const credential = "AKIDEXAMPLE/20150830/us-east-1/service/aws4_request";
  expect(authorizationOf(vector)).toBe(
    `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=${headers}, Signature=${signature}`,
  );
});

test("what is encoded on the wire is encoded once more, but not for s3", () => {
  const sign = (path: string, service: string): string =>
    awsSigner({ ...SCOPE, service })(
      {
        url: { host: "example.amazonaws.com", pathname: path, search: "" },
        method: "GET",
        headers: [],
        body: null,
      },
      KEYS.join("\n"),
      AT_MS,
    ).headers.join(" ");
  // "%253A" is how "%3A" is signed, and ":" is signed as "%3A".
  expect(sign("/model/a%3A0/invoke", "bedrock")).not.toBe(sign("/model/a:0/invoke", "bedrock"));
  expect(sign("/a", "s3")).toContain("host;x-amz-content-sha256;x-amz-date");
  expect(sign("/a//b", "s3")).not.toBe(sign("/a/b", "s3"));
});

test("a header that anybody on the way may change is not signed, and those of AWS are", () => {
  const headers = ["User-Agent", "pacewatch/test", "X-Amz-Target", " Service.Operation ", "Accept", "*/*"];
  expect(authorizationOf({ headers })).toContain("SignedHeaders=host;x-amz-date;x-amz-target,");
});
