import { Duplex } from "node:stream";
import { promisify } from "node:util";
import { constants, createGzip, gzip } from "node:zlib";
import type { Context } from "hono";
import type { HttpEnv } from "../guards/guard.ts";

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

/** A text, a stream that is made while it is read, or, for a client that accepts gzip, a compressed stream. */
export type Compressible = string | Bytes | { readonly gzipped: Bytes };

/** Answers in gzip if the client prefers it. Other headers must be set before. */
export async function answerCompressed(c: Context<HttpEnv>, body: Compressible): Promise<Response> {
  c.header("Vary", "Accept-Encoding");
  const isGzipped = typeof body === "object" && "gzipped" in body;
  if (!isGzipped && !prefersGzip(c.req.header("accept-encoding"))) return c.body(body);
  c.header("Content-Encoding", "gzip");
  if (isGzipped) return c.body(body.gzipped);
  if (typeof body !== "string") return c.body(body.pipeThrough(Duplex.toWeb(createGzip(COMPRESSION))));
  return c.body(new Uint8Array(await compress(body, COMPRESSION)));
}

const compress = promisify(gzip);
// The fastest level shrinks metrics about tenfold, and the thread pool that compresses also resolves host names for the
// polls. Larger chunks need fewer turns in that pool.
const COMPRESSION = { level: constants.Z_BEST_SPEED, chunkSize: 64 * 1024 };

/** Whether gzip weighs at least as much as no encoding (RFC 9110, 12.5.3). */
export function prefersGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const weights = new Map(acceptEncoding.split(",").map((item) => parseItem(item)));
  const gzip = weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0;
  // An unlisted identity is acceptable, but not preferred.
  return gzip > 0 && gzip >= (weights.get("identity") ?? 0);
}

function parseItem(item: string): [coding: string, weight: number] {
  const [coding = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
  if (weight === undefined) return [coding, 1];
  const value = /^q\s*=\s*([01](?:\.\d{0,3})?)$/.exec(weight)?.[1];
  return [coding, value === undefined ? 0 : Math.min(1, Number(value))];
}
