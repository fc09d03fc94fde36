/** The files that hold what polls send. */

import type { RequestBody, Upstream } from "../../core/config/config.ts";
import { digestOf } from "../../files/mark.ts";
import { readRegularFile } from "../../files/regular-file.ts";
import { MOST_BODY_BYTES } from "../schema/request.ts";
import type { Complaint } from "./faults.ts";
import { type Named, readNamedFile } from "./files-and-keys.ts";

type Read = NonNullable<Extract<RequestBody, { kind: "file" }>["read"]>;

export type Bodies = {
  readonly byFile: ReadonlyMap<string, Read>;
  readonly complaints: readonly Complaint[];
};

/** Each file is read once, however many upstreams name it. */
export async function openBodies({ files }: Named, mustBeThere: boolean): Promise<Bodies> {
  const byFile = new Map<string, Read>();
  const complaints: Complaint[] = [];
  const seen = new Set<string>();
  for (const { file, path, kind } of files) {
    if (kind !== "body" || seen.has(file)) continue;
    seen.add(file);
    const named = await readNamedFile(file, path, (name) => readRegularFile(name, MOST_BODY_BYTES));
    if (named.bytes !== undefined) byFile.set(file, { bytes: named.bytes, digest: digestOf(named.bytes) });
    else if (mustBeThere) complaints.push(...named.complaints);
  }
  return { byFile, complaints };
}

/** The upstream with what the file of its body holds. */
export function withBody(upstream: Upstream, { byFile }: Bodies): Upstream {
  const { body } = upstream;
  return body?.kind === "file" ? { ...upstream, body: { ...body, read: byFile.get(body.file) } } : upstream;
}
