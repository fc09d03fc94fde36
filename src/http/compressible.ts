import { Duplex } from "node:stream";
import { promisify } from "node:util";
import { constants, createGzip, gzip } from "node:zlib";
import type { Context } from "hono";
import { prefersGzip } from "./accept-encoding.ts";
import type { DoorEnv } from "./door.ts";

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
