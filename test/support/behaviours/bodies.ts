import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { CONFIG_SCHEMA } from "../../../src/app/features/sections.ts";
import { expectSchema } from "../../../src/config/schema/expect.ts";
import { type Behaviour, pours, replies } from "./behaviour.ts";
import { serving } from "./stage.ts";

const EXPECTATION = expectSchema(CONFIG_SCHEMA.sections);
const KIB_64 = "x".repeat(65_536);
const BOMB_BYTES = 30_000_000;
const QUICKLY = { [constants.BROTLI_PARAM_QUALITY]: 1 };
const FOUR_GIB = 4 * 1_024 ** 3;

function sending(body: string | Uint8Array, headers: readonly string[] = []): Behaviour["open"] {
  const lines = ["HTTP/1.1 200 OK", `Content-Length: ${Buffer.byteLength(body)}`, ...headers];
  return serving(replies(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`), Buffer.from(body)])));
}

const encoded = (coding: string, body: string | Uint8Array): Behaviour["open"] =>
  sending(body, [`Content-Encoding: ${coding}`]);

const asType = (type: string, body: string | Uint8Array): Behaviour["open"] =>
  sending(body, [`Content-Type: ${type}`]);

const bomb = (): Buffer => gzipSync(Buffer.alloc(BOMB_BYTES), { level: 1 });

const asserting = (expect: object): Pick<Behaviour, "poll" | "expect"> => ({
  poll: { expect: { ...EXPECTATION.parse(expect), json: true } },
  expect,
});

/** Made when it is first asked for. */
function later(open: () => Behaviour["open"]): Behaviour["open"] {
  let made: Behaviour["open"] | undefined;
  return async () => await (made ??= open())();
}

/** Whole answers of 200 whose bodies are not what was expected. */
export const BODIES: readonly Behaviour[] = [
  {
    does: "sends 4 GiB, and says so",
    open: serving(pours(`HTTP/1.1 200 OK\r\nContent-Length: ${FOUR_GIB}\r\n\r\n`, KIB_64, FOUR_GIB)),
    meets: "failed body_too_large",
    says: "the body exceeds 1048576 bytes, after it had answered 200",
  },
  {
    does: "sends 4 GiB in chunks",
    open: serving(
      pours("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", `10000\r\n${KIB_64}\r\n`, FOUR_GIB),
    ),
    meets: "failed body_too_large",
    says: "the body exceeds 1048576 bytes, after it had answered 200",
  },
  {
    does: "sends 30 MB as a little gzip",
    compression: "gzip",
    open: later(() => encoded("gzip", bomb())),
    meets: "failed body_too_large",
    says: "the decoded body exceeds 1048576 bytes, after it had answered 200",
  },
  {
    does: "sends 30 MB as a few bytes of brotli",
    compression: "br",
    open: later(() => encoded("br", brotliCompressSync(Buffer.alloc(BOMB_BYTES), { params: QUICKLY }))),
    meets: "failed body_too_large",
    says: "the decoded body exceeds 1048576 bytes, after it had answered 200",
  },
  {
    does: "sends 30 MB as gzip within gzip",
    open: later(() => encoded("gzip, gzip", gzipSync(bomb()))),
    meets: "failed body_too_large",
    says: "the decoded body exceeds 1048576 bytes, after it had answered 200",
  },
  {
    does: "sends good gzip",
    compression: "gzip",
    open: encoded("gzip", gzipSync("{}")),
    meets: "ok",
    says: "answered 200 with 2 B",
  },
  {
    does: "says gzip and sends something else",
    compression: "gzip",
    open: encoded("gzip", "{}"),
    meets: "failed protocol",
    says: "the body cannot be decoded as gzip: Z_DATA_ERROR, after it had answered 200",
  },
  {
    does: "sends gzip that is cut short",
    compression: "gzip",
    open: encoded("gzip", gzipSync('{"data":[1,2,3]}').subarray(0, 20)),
    meets: "failed protocol",
    says: "the body cannot be decoded as gzip: Z_BUF_ERROR, after it had answered 200",
  },
  {
    does: "sends gzip with a wrong checksum",
    compression: "gzip",
    open: encoded("gzip", Buffer.concat([gzipSync("{}").subarray(0, -8), Buffer.alloc(8)])),
    meets: "failed protocol",
    says: "the body cannot be decoded as gzip: Z_DATA_ERROR, after it had answered 200",
  },
  {
    does: "sends an encoding that nobody asked for",
    open: encoded("zebra", "{}"),
    meets: "failed protocol",
    says: 'the body has an unknown Content-Encoding, "zebra", after it had answered 200',
  },
  {
    does: "encodes its body six times",
    open: encoded(Array(6).fill("gzip").join(", "), gzipSync("{}")),
    meets: "failed protocol",
    says: "the body is encoded 6 times, after it had answered 200",
  },
  {
    does: "sends an empty body",
    open: sending(""),
    meets: "failed invalid_body",
    says: "answered 200 with an empty body where JSON was expected",
  },
  {
    does: "sends nothing but white space",
    open: sending(" \r\n\t "),
    meets: "failed invalid_body",
    says: "answered 200 with an empty body where JSON was expected",
  },
  {
    does: "sends a page of HTML",
    open: asType("text/html", "<!doctype html><title>Maintenance</title>"),
    meets: "failed invalid_body",
    says: 'answered 200, but its 41 B are not JSON: they begin with "<!doctype html><title>Maintenance</titl…"',
  },
  {
    does: "sends HTML and calls it JSON",
    open: asType("application/json", "<html></html>"),
    meets: "failed invalid_body",
    says: 'answered 200, but its 13 B are not JSON: they begin with "<html></html>"',
  },
  {
    does: "sends JSON and calls it HTML",
    open: asType("text/html", "{}"),
    meets: "ok",
    says: "answered 200 with 2 B",
  },
  {
    does: "sends JSON that is cut short",
    open: sending('{"data":[{"id":1},{"id"'),
    meets: "failed invalid_body",
    says: 'answered 200, but its 23 B are not JSON: they begin with "{"data":[{"id":1},{"id""',
  },
  {
    does: "sends two JSON values",
    open: sending("{}{}"),
    meets: "failed invalid_body",
    says: 'answered 200, but its 4 B are not JSON: they begin with "{}{}"',
  },
  {
    does: "sends a number that JSON does not have",
    open: sending('{"data":NaN}'),
    meets: "failed invalid_body",
    says: 'answered 200, but its 12 B are not JSON: they begin with "{"data":NaN}"',
  },
  {
    does: "nests its JSON 500,000 deep",
    open: sending("[".repeat(500_000) + "]".repeat(500_000)),
    meets: "failed invalid_body",
    says: "answered 200, but its JSON nests deeper than 1000 levels",
  },
  {
    does: "opens a million brackets and closes none",
    open: sending('{"a":['.repeat(166_666)),
    meets: "failed invalid_body",
    says: "answered 200, but its JSON nests deeper than 1000 levels",
  },
  {
    does: "puts a byte order mark before its JSON",
    open: sending("\ufeff{}"),
    meets: "ok",
    says: "answered 200 with 5 B",
  },
  {
    does: "sends JSON in Latin-1",
    open: asType("application/json; charset=iso-8859-1", Buffer.from('{"name":"Zo\u00eb"}', "latin1")),
    meets: "failed invalid_body",
    says: "answered 200, but its 14 B are not UTF-8",
  },
  {
    does: "sends JSON in UTF-16",
    open: asType("application/json; charset=utf-16", Buffer.from("\ufeff{}", "utf16le")),
    meets: "failed invalid_body",
    says: "answered 200, but its 6 B are not UTF-8",
  },
  {
    does: "sends bytes that are no text at all",
    open: sending(Buffer.from([0xff, 0xfe, 0x00, 0x80, 0x1b])),
    meets: "failed invalid_body",
    says: "answered 200, but its 5 B are not UTF-8",
  },
  {
    does: "sends JSON in which what is asserted is another value",
    ...asserting({ body: [{ path: "/status", one_of: ["ok"] }] }),
    open: sending('{"status":"maintenance"}'),
    meets: "failed assertion",
    says: 'answered 200, but "/status" is "maintenance", expected "ok"',
  },
  {
    does: "sends a list that is shorter than asserted",
    ...asserting({ body: [{ path: "/data", min_items: 1 }] }),
    open: sending('{"data":[]}'),
    meets: "failed assertion",
    says: 'answered 200, but "/data" is a list of 0 items, expected a list of at least 1 item',
  },
  {
    does: "sends all that is asserted, but for a header",
    ...asserting({
      body: [{ path: "/data", type: "array" }],
      headers: [{ name: "x-api-version", one_of: ["2"] }],
    }),
    open: sending('{"data":[]}', ["X-Api-Version: 3"]),
    meets: "failed assertion",
    says: 'answered 200, but the header "x-api-version" is a text of 1 character, expected "2"',
  },
];
