import { createHash } from "node:crypto";

/** Tells whether a file has changed. */
export function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
