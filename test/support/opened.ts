import type { Opened } from "../../src/platform/opened.ts";

/** Throws the faults, one a line, where it was refused. */
export function opened<What>(opening: Opened<What>): What {
  if (opening.kind === "refused") throw new Error(opening.faults.join("\n"));
  return opening.what;
}
