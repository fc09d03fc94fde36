import { constants, crc32, deflateRawSync, zstdCompressSync } from "node:zlib";

/** Compresses an answer in parts. Each ends on a whole byte; one of gzip refers to nothing before itself. */
export type Compressor = { next(bytes: Uint8Array, isLast: boolean): Uint8Array<ArrayBuffer> };

export function compressorOf(coding: "gzip" | "zstd"): Compressor {
  return coding === "zstd" ? new ZstdParts() : new GzipParts();
}

const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);
const TRAILER_BYTES = 8;
const NOTHING = new Uint8Array(0);

/**
 * gzip (RFC 1952) of an answer in parts. Each is compressed synchronously: the stream of the library would use the
 * threads that also read files.
 */
export class GzipParts {
  #isBegun = false;
  #crc = 0;
  #length = 0;

  next(text: Uint8Array, isLast: boolean): Uint8Array<ArrayBuffer> {
    const header = this.#isBegun ? NOTHING : HEADER;
    this.#isBegun = true;
    this.#crc = crc32(text, this.#crc);
    this.#length += text.length;
    const finishFlush = isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH;
    const body = deflateRawSync(text, { level: constants.Z_BEST_SPEED, finishFlush });
    const part = new Uint8Array(header.length + body.length + (isLast ? TRAILER_BYTES : 0));
    part.set(header);
    part.set(body, header.length);
    if (isLast) this.#sign(new DataView(part.buffer, part.length - TRAILER_BYTES));
    return part;
  }

  #sign(trailer: DataView): void {
    trailer.setUint32(0, this.#crc, true);
    // Modulo 2³², as the format says.
    trailer.setUint32(4, this.#length, true);
  }
}

/** zstd (RFC 8878): each part is a frame of its own, and frames one after the other are one zstd. */
class ZstdParts {
  next(text: Uint8Array): Uint8Array<ArrayBuffer> {
    return zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
  }
}
