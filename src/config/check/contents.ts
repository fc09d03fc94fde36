/** What a config takes from other files: the JSON Schemas of its assertions, and the bodies that its polls send. */

import type { Expectation, RequestBody, Upstream } from "../../kernel/config/config.ts";
import { digestOf } from "../../platform/mark.ts";
import { readRegularFile } from "../../platform/regular-file.ts";
import { openSchemaReader, type SchemaReading } from "../../features/expect/contract/schema-reader.ts";
import { type Expressions, openExpressions } from "../read/expressions.ts";
import type { Fault } from "../read/fault.ts";
import { nameOfPath } from "../read/wording.ts";
import { readYaml } from "../read/yaml.ts";
import { MOST_BODY_BYTES } from "../schema/request.ts";
import { type Complaint, complain, complainOfKey, complainOfValue, faultsOf } from "./faults.ts";
import { type Named, type ReadFile, readNamedFile } from "./files-and-keys.ts";
import { plainOf } from "./plain.ts";

const MOST_BYTES = { contract: 1024 * 1024, body: MOST_BODY_BYTES };

type BodyAssertion = NonNullable<Expectation["body"]>[number];
type Contract = NonNullable<BodyAssertion["contract"]>;
type Body = NonNullable<Extract<RequestBody, { file: string }>["read"]>;

export type Contents = {
  readonly contracts: ReadonlyMap<string, Contract>;
  readonly bodies: ReadonlyMap<string, Body>;
  /** About the config. */
  readonly complaints: readonly Complaint[];
  /** In the files of the JSON Schemas themselves. */
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
};

export async function openContents(named: Named, mustBeThere: boolean): Promise<Contents> {
  const contracts = new Map<string, Contract>();
  const bodies = new Map<string, Body>();
  const complaints: Complaint[] = [];
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  let engine: Expressions | undefined;
  let readSchema: ((document: unknown) => SchemaReading) | undefined;
  for (const { path, pattern } of named.expressions) {
    engine ??= await openExpressions();
    const fault = engine.faultOf(pattern);
    if (fault !== undefined)
      complaints.push(complainOfValue(path, `must be an expression that RE2 knows: ${fault}`));
  }
  const seen = new Set<string>();
  for (const { file, path, kind } of named.files) {
    // However many upstreams name it, it is told of where it is named first.
    if ((kind !== "contract" && kind !== "body") || seen.has(kind + file)) continue;
    seen.add(kind + file);
    const read: ReadFile = (name) => readRegularFile(name, MOST_BYTES[kind]);
    const { bytes, complaints: why } = await readNamedFile(file, path, read);
    if (bytes === undefined) {
      if (mustBeThere) complaints.push(...why);
      continue;
    }
    if (kind === "body") {
      bodies.set(file, { bytes, digest: digestOf(bytes) });
      continue;
    }
    readSchema ??= await openSchemaReader();
    const opened = contractIn(bytes, file, readSchema);
    faults.push(...opened.faults);
    warnings.push(...opened.warnings);
    if (opened.read !== undefined) contracts.set(file, opened.read);
  }
  return { contracts, bodies, complaints, faults, warnings };
}

/** The upstream with what its files hold. */
export function withContents(upstream: Upstream, { contracts, bodies }: Contents): Upstream {
  const { body, expect } = upstream;
  const filled = (assertion: BodyAssertion): BodyAssertion => ({
    ...assertion,
    contract: contracts.get(assertion.jsonSchema ?? ""),
  });
  return {
    ...upstream,
    ...(body && "file" in body && { body: { ...body, read: bodies.get(body.file) } }),
    ...(expect.body && { expect: { ...expect, body: expect.body.map(filled) } }),
  };
}

function contractIn(
  bytes: Uint8Array,
  file: string,
  readSchema: (document: unknown) => SchemaReading,
): { readonly read?: Contract; readonly faults: readonly Fault[]; readonly warnings: readonly Fault[] } {
  // JSON is YAML, and this tells where something stands.
  const yaml = readYaml(bytes, file);
  if (yaml.tree === undefined || yaml.faults.length > 0) return { faults: yaml.faults, warnings: [] };
  const reading = readSchema(plainOf(yaml.tree, undefined, ""));
  if (reading.kind === "refused") {
    const complaints = reading.faults.map(({ path, atKey, message }) => {
      const name = path.length === 0 ? "the schema" : `"${nameOfPath(path)}"`;
      return (atKey ? complainOfKey : complain)(path, `${name} ${message}`);
    });
    return { faults: faultsOf(complaints, yaml), warnings: [] };
  }
  const [first] = reading.formats;
  const remark = "is a remark in draft 2020-12 and is not checked, here and elsewhere in this file";
  const warnings = first === undefined ? [] : [complainOfKey(first, `"${nameOfPath(first)}" ${remark}`)];
  return {
    read: { digest: digestOf(bytes), text: reading.text },
    faults: [],
    warnings: faultsOf(warnings, yaml),
  };
}
