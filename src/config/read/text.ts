import { isUtf8 } from "node:buffer";
import type { Fault } from "./fault.ts";

type DecodedText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "refused"; readonly fault: Fault };

/** Refuses what no text editor writes. */
export function decodeText(bytes: Uint8Array, file: string): DecodedText {
  const binaryAt = bytes.findIndex((byte) => isControl(byte));
  if (binaryAt >= 0) {
    const { line, column } = placeOf(bytes, binaryAt);
    return refused(file, line, column, "the file must be text, received a control character (binary data?)");
  }
  if (!isUtf8(bytes)) {
    const line = firstBrokenLine(bytes);
    return refused(file, line, 1, "the file must be UTF-8, received a line that is not");
  }
  return { kind: "text", text: new TextDecoder().decode(bytes) };
}

function refused(file: string, line: number, column: number, message: string): DecodedText {
  return { kind: "refused", fault: { file, line, column, message } };
}

/** All of ASCII's control characters but tab, line feed and carriage return. */
function isControl(byte: number): boolean {
  return (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) || byte === 0x7f;
}

function placeOf(bytes: Uint8Array, at: number): { readonly line: number; readonly column: number } {
  let [line, lineStart] = [1, 0];
  for (let index = 0; index < at; index += 1) {
    if (bytes[index] === 0x0a) [line, lineStart] = [line + 1, index + 1];
  }
  return { line, column: at - lineStart + 1 };
}

function firstBrokenLine(bytes: Uint8Array): number {
  let [line, start] = [1, 0];
  for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a, start)) {
    if (!isUtf8(bytes.subarray(start, end))) return line;
    [line, start] = [line + 1, end + 1];
  }
  return line;
}
