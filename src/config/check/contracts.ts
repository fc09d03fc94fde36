import type { BodyAssertion, Upstream } from "../../core/config/config.ts";
import { readContract } from "../../core/contract/read.ts";
import type { Fault } from "../read/fault.ts";
import { digestOf } from "../../files/mark.ts";
import { type Expressions, openExpressions } from "../read/expressions.ts";
import { readYaml } from "../read/yaml.ts";
import { type Complaint, complain, complainOfKey, faultsOf } from "./faults.ts";
import { filesOfKind, type Named } from "./files-and-keys.ts";
import { plainOf } from "./plain.ts";
import { nameOfPath } from "../read/wording.ts";

const MAX_SCHEMA_BYTES = 1024 * 1024;

type SchemaCheck = Extract<BodyAssertion["check"], { kind: "json_schema" }>;
type Read = NonNullable<SchemaCheck["read"]>;

/** The JSON Schemas that the upstreams name. */
export type Contracts = {
  readonly byFile: ReadonlyMap<string, Read>;
  /** About the config. */
  readonly complaints: readonly Complaint[];
  /** In the files of the schemas themselves. */
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
};

export async function openContracts(named: Named, mustBeThere: boolean): Promise<Contracts> {
  const byFile = new Map<string, Read>();
  const complaints: Complaint[] = [];
  const faults: Fault[] = [];
  const warnings: Fault[] = [];
  let engine: Expressions | undefined;
  for (const { path, pattern } of named.expressions) {
    engine ??= await openExpressions();
    const fault = engine.faultOf(pattern);
    if (fault === undefined) continue;
    const must = `must be an expression that RE2 knows: ${fault}`;
    complaints.push(complain(path, (nameOf) => `"${nameOf(path)}" ${must}`));
  }
  for await (const { file, bytes, complaints: why } of filesOfKind(named, "contract", MAX_SCHEMA_BYTES)) {
    if (bytes === undefined) {
      if (mustBeThere) complaints.push(...why);
      continue;
    }
    if (bytes.includes("pattern")) engine ??= await openExpressions();
    const opened = contractIn(bytes, file, engine?.faultOf);
    faults.push(...opened.faults);
    warnings.push(...opened.warnings);
    if (opened.read !== undefined) byFile.set(file, opened.read);
  }
  return { byFile, complaints, faults, warnings };
}

/** The upstream with what its files say. */
export function withContracts(upstream: Upstream, { byFile }: Contracts): Upstream {
  const { body } = upstream.expect;
  if (body === undefined) return upstream;
  const filled = body.map((each): BodyAssertion => {
    const { check } = each;
    if (check.kind !== "json_schema") return each;
    return { ...each, check: { ...check, read: byFile.get(check.file) } };
  });
  return { ...upstream, expect: { ...upstream.expect, body: filled } };
}

function contractIn(
  bytes: Uint8Array,
  file: string,
  patternFault: Expressions["faultOf"] | undefined,
): { readonly read?: Read; readonly faults: readonly Fault[]; readonly warnings: readonly Fault[] } {
  // JSON is YAML, and this tells where something stands.
  const yaml = readYaml(bytes, file);
  if (yaml.tree === undefined || yaml.faults.length > 0) return { faults: yaml.faults, warnings: [] };
  const reading = readContract(plainOf(yaml.tree, undefined, ""), patternFault);
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
    read: { digest: digestOf(bytes), contract: reading.contract },
    faults: [],
    warnings: faultsOf(warnings, yaml),
  };
}
