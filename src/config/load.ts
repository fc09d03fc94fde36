import { readFile } from "node:fs/promises";
import type { Config } from "../core/config/config.ts";
import type { Proof } from "../core/proof/proof.ts";
import { type Complaint, faultOf } from "./check/complaint.ts";
import { checkConfig } from "./check/config.ts";
import { decodeConfig } from "./read/text.ts";
import { digestOf } from "./watch.ts";
import { type Fault, byPlace, formatFault } from "./read/fault.ts";
import { fileProblem } from "./read/secrets.ts";
import type { Environment } from "./read/interpolate.ts";
import { buildParts, complaintsAbout, openParts, proveParts, warningsAbout } from "./parts.ts";
import { validate } from "./check/validate.ts";
import { readYaml } from "./read/yaml-tree.ts";

export type LoadOptions = {
  readonly environment: Environment;
  /**
   * `everything`: keys and files must be there too. `structure`: names and schedules only, so a variable or a
   * key that is not set is no fault.
   */
  readonly resolve?: "everything" | "structure";
};

export type Loading =
  | {
      readonly kind: "loaded";
      readonly config: Config;
      readonly proof: Proof;
      /** Allowed, and probably not meant. */
      readonly warnings: readonly Fault[];
      /** Tells whether the file has changed since. */
      readonly digest: string;
    }
  | {
      readonly kind: "refused";
      /** All of them, in the order of their places. */
      readonly faults: readonly Fault[];
      /** The numbers, where they are all that is wrong. */
      readonly proof: Proof | undefined;
    };

/** Never rejects for anything that a file can hold. */
export async function load(configPath: string, options: LoadOptions): Promise<Loading> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(configPath);
  } catch (error) {
    const message = `cannot read config: ${fileProblem(error)}`;
    return refused([{ file: configPath, line: 1, column: 1, message }]);
  }
  return await loadBytes(bytes, configPath, options);
}

async function loadBytes(bytes: Uint8Array, file: string, options: LoadOptions): Promise<Loading> {
  const decoded = decodeConfig(bytes, file);
  if (decoded.kind === "refused") return refused([decoded.fault]);
  const { environment } = options;
  const isStructure = options.resolve === "structure";
  const {
    tree,
    faults: unreadable,
    placeOf,
  } = readYaml(decoded.text, { file, environment, needsVariables: !isStructure });
  if (tree === undefined) return refused(unreadable);
  const place = (complaints: readonly Complaint[]): readonly Fault[] =>
    complaints
      .map((complaint) => faultOf(complaint, tree, file, placeOf))
      .filter((fault) => fault !== undefined);

  const validated = validate(tree);
  const parts = buildParts(validated, file);
  const { complaints, keys } = isStructure
    ? { complaints: [], keys: new Map<string, string>() }
    : await openParts(parts, environment);
  const proof = proveParts(parts, keys);
  const wrong = [...unreadable, ...place([...validated.complaints, ...checkConfig(tree), ...complaints])];
  const unfit = place(complaintsAbout(proof.faults, parts, tree));
  const { general, budgets, upstreams } = parts;
  if (general === undefined || wrong.length > 0 || unfit.length > 0) {
    return refused([...wrong, ...unfit], wrong.length === 0 ? proof : undefined);
  }
  return {
    kind: "loaded",
    config: { ...general, budgets, upstreams: [...upstreams.values()] },
    proof,
    warnings: distinct(place(warningsAbout(parts, proof, tree))),
    digest: digestOf(bytes),
  };
}

const MAX_FAULTS = 200;

function refused(found: readonly Fault[], proof?: Proof): Loading {
  const all = distinct(found);
  const next = all[MAX_FAULTS];
  if (next === undefined) return { kind: "refused", faults: all, proof };
  const more = { ...next, message: `${all.length - MAX_FAULTS} more faults from here on` };
  return { kind: "refused", faults: [...all.slice(0, MAX_FAULTS), more], proof };
}

/** An alias shows the same place twice. */
function distinct(faults: readonly Fault[]): readonly Fault[] {
  return [...new Map(faults.map((fault) => [formatFault(fault), fault])).values()].sort(byPlace);
}
