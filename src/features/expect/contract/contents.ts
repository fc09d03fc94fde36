/** The JSON Schemas of assertions, each in a file of its own. */

import type { ContentKind, Contents } from "../../../config/schema/section.ts";
import { digestOf } from "../../../platform/mark.ts";
import { plainOf } from "../../../config/check/plain.ts";
import { faultsOf } from "../../../config/check/faults.ts";
import { complain, complainOfKey } from "../../../config/read/fault.ts";
import { nameOfPath } from "../../../config/read/wording.ts";
import { readYaml } from "../../../config/read/yaml.ts";
import type { Contract } from "./contracts.ts";
import { openSchemaReader, type SchemaReading } from "./schema-reader.ts";

export const CONTRACTS: ContentKind = {
  kind: "contract",
  mostBytes: 1024 * 1024,
  open: async () => {
    const readSchema = await openSchemaReader();
    const contracts = new Map<string, Contract>();
    return {
      read: (bytes, file) => {
        const { contract, ...told } = contractIn(bytes, file, readSchema);
        if (contract !== undefined) contracts.set(file, contract);
        return told;
      },
      filled: (upstream) => {
        const { expect } = upstream;
        const body = expect.body?.map((each) => ({
          ...each,
          contract: contracts.get(each.jsonSchema ?? ""),
        }));
        return body === undefined ? upstream : { ...upstream, expect: { ...expect, body } };
      },
    };
  },
};

function contractIn(
  bytes: Uint8Array,
  file: string,
  readSchema: (document: unknown) => SchemaReading,
): ReturnType<Contents["read"]> & { readonly contract?: Contract } {
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
    contract: { digest: digestOf(bytes), text: reading.text },
    faults: [],
    warnings: faultsOf(warnings, yaml),
  };
}
