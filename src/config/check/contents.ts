/** A config takes contents from other files: the bodies that its polls send, and what features have there. */

import type { RequestBody, Upstream } from "../../kernel/config/config.ts";
import { digestOf } from "../../platform/mark.ts";
import { readRegularFile } from "../../platform/regular-file.ts";
import { type Expressions, openExpressions } from "../read/expressions.ts";
import { type Complaint, complainOfValue, type Fault } from "../read/fault.ts";
import { MOST_BODY_BYTES } from "../schema/request.ts";
import type { ContentKind, Contents, Section } from "../schema/section.ts";
import { type Named, readNamedFile } from "./files-and-keys.ts";

type Body = NonNullable<Extract<RequestBody, { file: string }>["read"]>;

const BODIES: ContentKind = {
  kind: "body",
  mostBytes: MOST_BODY_BYTES,
  open: () => {
    const bodies = new Map<string, Body>();
    return Promise.resolve({
      read: (bytes, file) => {
        bodies.set(file, { bytes, digest: digestOf(bytes) });
        return { faults: [], warnings: [] };
      },
      filled: (upstream) => {
        const { body } = upstream;
        return body && "file" in body
          ? { ...upstream, body: { ...body, read: bodies.get(body.file) } }
          : upstream;
      },
    });
  },
};

export function contentKinds(sections: readonly Section[]): readonly ContentKind[] {
  return [BODIES, ...sections.flatMap(({ contents }) => contents ?? [])];
}

export type AllContents = Pick<Contents, "filled"> & {
  /** About the config. */
  readonly complaints: readonly Complaint[];
  /** In the files themselves. */
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
};

export async function openContents(
  named: Named,
  kinds: readonly ContentKind[],
  mustBeThere: boolean,
): Promise<AllContents> {
  const opened = new Map<ContentKind, Contents>();
  const complaints: Complaint[] = [];
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  let engine: Expressions | undefined;
  for (const { path, pattern } of named.expressions) {
    engine ??= await openExpressions();
    const fault = engine.faultOf(pattern);
    if (fault !== undefined)
      complaints.push(complainOfValue(path, `must be an expression that RE2 knows: ${fault}`));
  }
  const seen = new Set<string>();
  for (const { file, path, kind: name } of named.files) {
    const kind = kinds.find((each) => each.kind === name);
    // However many upstreams name it, it is told of where it is named first.
    if (kind === undefined || seen.has(kind.kind + file)) continue;
    seen.add(kind.kind + file);
    const { bytes, complaints: why } = await readNamedFile(file, path, (name) =>
      readRegularFile(name, kind.mostBytes),
    );
    if (bytes === undefined) {
      if (mustBeThere) complaints.push(...why);
      continue;
    }
    const contents = opened.get(kind) ?? (await kind.open());
    opened.set(kind, contents);
    const told = contents.read(bytes, file);
    faults.push(...told.faults);
    warnings.push(...told.warnings);
  }
  const filled = (upstream: Upstream): Upstream =>
    [...opened.values()].reduce((sum, contents) => contents.filled(sum), upstream);
  return { filled, complaints, faults, warnings };
}
