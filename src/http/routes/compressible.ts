import { Duplex } from "node:stream";
import { promisify } from "node:util";
import { constants, createGzip, gzip } from "node:zlib";
import type { Context } from "hono";
import type { DoorEnv } from "../guards/guard.ts";

const compress = promisify(gzip);
// The fastest level already shrinks metrics about tenfold, and the threads that compress also resolve names for
// the polls. Larger chunks are fewer turns on those threads.
const COMPRESSION = { level: constants.Z_BEST_SPEED, chunkSize: 64 * 1024 };

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>;

/** A text, or one that is made while it is read; or compressed already, where that is welcome. */
export type Compressible = string | Bytes | { readonly gzipped: Bytes };

/** The text, in gzip where that is welcome. Its other headers are set already. */
export async function compressible(c: Context<DoorEnv>, text: Compressible): Promise<Response> {
  const isCompressed = typeof text === "object" && "gzipped" in text;
  if (!isCompressed && !prefersGzip(c.req.header("accept-encoding"))) return c.body(text);
  c.header("Content-Encoding", "gzip");
  if (isCompressed) return c.body(text.gzipped);
  if (typeof text !== "string") return c.body(text.pipeThrough(Duplex.toWeb(createGzip(COMPRESSION))));
  return c.body(new Uint8Array(await compress(text, COMPRESSION)));
}

/** Whether gzip is at least as welcome as no encoding at all (RFC 9110, 12.5.3). */
export function prefersGzip(acceptEncoding: string | undefined): boolean {
  if (acceptEncoding === undefined) return false;
  const weights = new Map(acceptEncoding.split(",").map((item) => parseItem(item)));
  const gzip = weights.get("gzip") ?? weights.get("x-gzip") ?? weights.get("*") ?? 0;
  // Unlisted, identity is acceptable but nobody's preference.
  return gzip > 0 && gzip >= (weights.get("identity") ?? 0);
}

function parseItem(item: string): [coding: string, weight: number] {
  const [coding = "", ...parameters] = item.split(";").map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => /^q\s*=/.test(parameter));
  if (weight === undefined) return [coding, 1];
  const value = /^q\s*=\s*([01](?:\.\d{0,3})?)$/.exec(weight)?.[1];
  return [coding, value === undefined ? 0 : Math.min(1, Number(value))];
}
