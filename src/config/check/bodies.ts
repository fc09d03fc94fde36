/** The files that hold what polls send. */

import type { RequestBody, Upstream } from "../../core/config/config.ts";
import { digestOf } from "../../files/mark.ts";
import { MOST_BODY_BYTES } from "../schema/request.ts";
import type { Complaint } from "./faults.ts";
import { filesOfKind, type Named } from "./files-and-keys.ts";

type Read = NonNullable<Extract<RequestBody, { kind: "file" }>["read"]>;

export type Bodies = {
  readonly byFile: ReadonlyMap<string, Read>;
  readonly complaints: readonly Complaint[];
};

export async function openBodies(named: Named, mustBeThere: boolean): Promise<Bodies> {
  const byFile = new Map<string, Read>();
  const complaints: Complaint[] = [];
  for await (const { file, bytes, complaints: faults } of filesOfKind(named, "body", MOST_BODY_BYTES)) {
    if (bytes !== undefined) byFile.set(file, { bytes, digest: digestOf(bytes) });
    else if (mustBeThere) complaints.push(...faults);
  }
  return { byFile, complaints };
}

/** The upstream with what the file of its body holds. */
export function withBody(upstream: Upstream, { byFile }: Bodies): Upstream {
  const { body } = upstream;
  return body?.kind === "file" ? { ...upstream, body: { ...body, read: byFile.get(body.file) } } : upstream;
}
