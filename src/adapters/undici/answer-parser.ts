import type { Socket } from "node:net";
import symbols from "undici/lib/core/symbols.js";
import { HEAD_BYTES, MOST_HEADERS } from "../../core/exchange/bounds.ts";

/** undici's parser of one connection: it is called with each part of an answer, and ends the parsing by a -1. */
type Parser = {
  /** Names and values by turns, of a head or of trailers. */
  readonly headers: readonly Buffer[];
  headersSize: number;
  onHeaderField: (this: Parser, name: Buffer) => number;
  onHeadersComplete: (this: Parser, status: number, isUpgrade: boolean, isKept: boolean) => number;
  readonly trackHeader: (bytes: number) => void;
};

/** The colon, the space and the end of the line. */
const BYTES_AROUND_HEADER = 4;

/**
 * undici counts the bytes of names and values, and of nothing else: 64 KiB of them may be 60,000 headers of one letter,
 * which take 14 MB for as long as their head is not complete. Where they are too many, undici parses the rest of what was
 * read all the same, and makes an error for each.
 *
 * A client must put up with a 100 that it has not asked for (RFC 9110, 15.2). undici breaks the connection, and passes over
 * any other informational answer: so it is told of a 102.
 */
export function correctParser(socket: Socket): void {
  const parser: unknown = Reflect.get(socket, symbols.kParser);
  // There is none where the connection has ended already.
  if (!isParser(parser)) return;
  const { onHeaderField, onHeadersComplete } = parser;
  parser.onHeaderField = (name) => {
    const isNew = parser.headers.length % 2 === 0;
    if (isNew) parser.headersSize += BYTES_AROUND_HEADER;
    if (isNew && parser.headers.length >= 2 * MOST_HEADERS) parser.trackHeader(HEAD_BYTES);
    return socket.destroyed ? -1 : onHeaderField.call(parser, name);
  };
  parser.onHeadersComplete = (status, isUpgrade, isKept) =>
    onHeadersComplete.call(parser, status === 100 ? 102 : status, isUpgrade, isKept);
}

function isParser(found: unknown): found is Parser {
  return typeof found === "object" && found !== null && "onHeaderField" in found;
}
