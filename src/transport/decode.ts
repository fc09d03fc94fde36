import { brotliDecompressSync, gunzipSync, inflateRawSync, inflateSync } from "node:zlib";
import { capText, codeOf } from "../kernel/text/escape.ts";
import { broken, type Break } from "./faults.ts";

/** Production's clients ask for these, so we measure the bytes and the time that production sees. */
export const ACCEPTED_ENCODINGS = "gzip, br, deflate";

const STACKED_CODINGS_MAX = 5;
const LONGEST_SHOWN_NAME = 100;

export type Decoded = { readonly kind: "decoded"; readonly body: Uint8Array } | Break;

type Coding = (bytes: Uint8Array, options: { readonly maxOutputLength: number }) => Uint8Array;

/** "deflate" means zlib's format, but many servers send the bare stream: the first byte tells. */
const inflate: Coding = (bytes, options) =>
  ((bytes[0] ?? 0) & 0x0f) === 8 ? inflateSync(bytes, options) : inflateRawSync(bytes, options);

const CODINGS: ReadonlyMap<string, Coding> = new Map<string, Coding>([
  ["gzip", gunzipSync],
  ["x-gzip", gunzipSync],
  ["deflate", inflate],
  ["br", brotliDecompressSync],
]);

/**
 * Decodes a complete body. Synchronous on purpose: input and output are capped, and zlib's asynchronous form waits for
 * the same few threads that a hanging resolver occupies.
 */
export function decodeBody(
  encoded: Uint8Array,
  contentEncoding: string | undefined,
  maxBytes: number,
): Decoded {
  if (contentEncoding === undefined) return { kind: "decoded", body: encoded };
  const names = contentEncoding
    .toLowerCase()
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && name !== "identity");
  if (names.length === 0 || encoded.byteLength === 0) return { kind: "decoded", body: encoded };
  if (names.length > STACKED_CODINGS_MAX) {
    return broken("protocol", `the body is encoded ${names.length} times`);
  }
  let body = encoded;
  for (const name of names.toReversed()) {
    const step = decodeOnce(body, name, maxBytes);
    if (step.kind === "break") return step;
    body = step.body;
  }
  return { kind: "decoded", body };
}

function decodeOnce(bytes: Uint8Array, name: string, maxBytes: number): Decoded {
  const coding = CODINGS.get(name);
  if (coding === undefined) {
    const shown = capText(name, LONGEST_SHOWN_NAME);
    return broken("protocol", `the body has an unknown Content-Encoding, "${shown}"`);
  }
  try {
    return { kind: "decoded", body: coding(bytes, { maxOutputLength: maxBytes }) };
  } catch (error) {
    const code = codeOf(error) ?? "unknown error";
    return code === "ERR_BUFFER_TOO_LARGE"
      ? broken("body_too_large", `the decoded body exceeds ${maxBytes} bytes`)
      : broken("protocol", `the body cannot be decoded as ${name}: ${code}`);
  }
}
