import { isUtf8 } from "node:buffer";
import type { Fault } from "./fault.ts";

/** Refuses what no text editor writes. */
export function decodeText(bytes: Uint8Array, file: string): string | Fault {
  const binaryAt = bytes.findIndex((byte) => isControl(byte));
  if (binaryAt >= 0) {
    const message = "the file must be UTF-8, received a control character (binary data, or UTF-16?)";
    return { file, ...placeOf(bytes, binaryAt), message };
  }
  if (isUtf8(bytes)) return new TextDecoder().decode(bytes);
  // What cannot be decoded is something else when it is encoded again.
  const lenient = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  const again = new TextEncoder().encode(lenient);
  const brokenAt = bytes.findIndex((byte, index) => byte !== again[index]);
  const { line } = placeOf(bytes, brokenAt < 0 ? bytes.length : brokenAt);
  const message = "the file must be UTF-8, received a line that is not";
  return { file, line, column: 1, message };
}

/** All of ASCII's control characters but tab, line feed and carriage return. */
function isControl(byte: number): boolean {
  return (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d) || byte === 0x7f;
}

function placeOf(bytes: Uint8Array, at: number): { readonly line: number; readonly column: number } {
  const lines = Buffer.from(bytes.subarray(0, at)).toString("latin1").split("\n");
  return { line: lines.length, column: (lines.at(-1) ?? "").length + 1 };
}
