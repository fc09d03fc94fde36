import { constants, crc32, deflateRawSync, zstdCompressSync } from "node:zlib";

/** Compresses an answer in parts. Each ends on a whole byte; one of gzip refers to nothing before itself. */
export type Compressor = (bytes: Uint8Array, isLast: boolean) => Uint8Array<ArrayBuffer>;

export function compressorOf(coding: "gzip" | "zstd"): Compressor {
  return coding === "zstd" ? zstdPart : gzipParts();
}

const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff);
const TRAILER_BYTES = 8;

/**
 * gzip (RFC 1952) of an answer in parts. Each is compressed synchronously: the stream of the library would use the
 * threads that also read files.
 */
export function gzipParts(): Compressor {
  let [header, crc, length] = [HEADER, 0, 0];
  return (text, isLast) => {
    crc = crc32(text, crc);
    length += text.length;
    const finishFlush = isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH;
    const body = deflateRawSync(text, { level: constants.Z_BEST_SPEED, finishFlush });
    const part = new Uint8Array(header.length + body.length + (isLast ? TRAILER_BYTES : 0));
    part.set(header);
    part.set(body, header.length);
    header = new Uint8Array(0);
    if (!isLast) return part;
    const trailer = new DataView(part.buffer, part.length - TRAILER_BYTES);
    trailer.setUint32(0, crc, true);
    // Modulo 2³², as the format says.
    trailer.setUint32(4, length, true);
    return part;
  };
}

/** zstd (RFC 8878): each part is a frame of its own, and frames one after the other are one zstd. */
function zstdPart(text: Uint8Array): Uint8Array<ArrayBuffer> {
  return zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: 1 } });
}
