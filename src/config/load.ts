import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { Budget, Config, Upstream } from "../core/config/config.ts";
import type { Finding, Subject } from "../core/proof/findings.ts";
import { type Proof, prove } from "../core/proof/proof.ts";
import { type Complaint, complain, faultsOf } from "./check/complaint.ts";
import { checkConfig } from "./check/config.ts";
import { checkFleetFiles, checkWebFile, openResources } from "./check/files-and-keys.ts";
import { type Validated, validate } from "./check/validate.ts";
import { warningsOf } from "./check/warnings.ts";
import { whenUnset } from "./names-only.ts";
import { type Fault, listed } from "./read/fault.ts";
import type { Environment } from "./read/interpolate.ts";
import { fileProblem } from "./read/secrets.ts";
import { type Path, type Tree, treeAt } from "./read/tree.ts";
import { readYaml } from "./read/yaml.ts";
import type { General } from "./schema/schema.ts";
import { digestOf } from "./watch.ts";

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
      /** Allowed, but probably not intended. */
      readonly warnings: readonly Fault[];
      /** Tells whether the file has changed since. */
      readonly digest: string;
    }
  | {
      readonly kind: "refused";
      /** All of them, in the order of their places. */
      readonly faults: readonly Fault[];
      /** The numbers, if nothing else is wrong. */
      readonly proof: Proof | undefined;
    };

/** Never rejects for anything that a file can hold. */
export async function load(configPath: string, options: LoadOptions): Promise<Loading> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(configPath);
  } catch (error) {
    return refused([firstOf(configPath, `cannot read config: ${fileProblem(error)}`)]);
  }
  return await loadBytes(bytes, configPath, options);
}

async function loadBytes(bytes: Uint8Array, file: string, options: LoadOptions): Promise<Loading> {
  const { environment } = options;
  const isStructure = options.resolve === "structure";
  const reading = readYaml(bytes, file, { environment, mustBeSet: !isStructure, whenUnset });
  const { tree } = reading;
  if (tree === undefined) return refused(reading.faults);
  if (tree.kind === "scalar" && tree.value === null) {
    return refused([firstOf(file, "the config is empty: it needs at least budgets and upstreams")]);
  }
  const validated = validate(tree);
  const parts = buildParts(validated, dirname(file));
  const { general, budgets, upstreams } = parts;
  const { complaints, keys } = isStructure
    ? { complaints: [], keys: new Map<string, string>() }
    : await openParts(parts, environment);
  // An upstream that is not valid is missing from the sums. What does not fit without it does not fit with it.
  const proof = prove({ budgets, upstreams: [...upstreams.values()], fleet: general?.fleet }, ({ name }) =>
    keys.get(name),
  );
  const wrong = [
    ...reading.faults,
    ...faultsOf([...validated.complaints, ...checkConfig(tree), ...complaints], reading),
  ];
  const unfit = faultsOf(complaintsAbout(proof.faults, parts, tree), reading);
  if (general === undefined || wrong.length > 0 || unfit.length > 0) {
    return refused([...wrong, ...unfit], wrong.length === 0 ? proof : undefined);
  }
  const warnings = [
    ...[...upstreams].flatMap(([index, upstream]) => warningsOf(upstream, ["upstreams", index])),
    ...complaintsAbout(proof.warnings, parts, tree),
  ];
  return {
    kind: "loaded",
    config: { ...general, budgets, upstreams: [...upstreams.values()] },
    proof,
    warnings: listed(faultsOf(warnings, reading)),
    digest: digestOf(bytes),
  };
}

function refused(faults: readonly Fault[], proof?: Proof): Loading {
  return { kind: "refused", faults: listed(faults), proof };
}

function firstOf(file: string, message: string): Fault {
  return { file, line: 1, column: 1, message };
}

/** The parts of a config that are valid. */
type Parts = {
  readonly general: General | undefined;
  readonly budgets: readonly Budget[];
  /** By their place in the list. */
  readonly upstreams: ReadonlyMap<number, Upstream>;
};

function buildParts(validated: Validated, directory: string): Parts {
  const general = validated.general?.(directory);
  const fleet = general?.fleet;
  const vantage = fleet?.mode === "everywhere" ? fleet.name : undefined;
  const upstreams = new Map<number, Upstream>();
  for (const [index, build] of validated.upstreams) {
    const upstream = build(directory, vantage);
    if (upstream !== undefined) upstreams.set(index, upstream);
  }
  return { general, budgets: [...validated.budgets].map(([name, terms]) => ({ name, ...terms })), upstreams };
}

type Opened = {
  readonly complaints: readonly Complaint[];
  /** The upstreams' keys by their names: only to be compared, never to be shown. */
  readonly keys: ReadonlyMap<string, string>;
};

async function openParts({ general, upstreams }: Parts, environment: Environment): Promise<Opened> {
  const keys = new Map<string, string>();
  const web = general === undefined ? [] : await checkWebFile(general.web);
  const fleet = general?.fleet === undefined ? [] : await checkFleetFiles(general.fleet, environment);
  const opened = await Promise.all(
    [...upstreams].map(async ([index, upstream]) => {
      const { complaints, key } = await openResources(upstream, ["upstreams", index], environment);
      if (key !== undefined) keys.set(upstream.name, key);
      return complaints;
    }),
  );
  return { complaints: [...web, ...fleet, ...opened.flat()], keys };
}

function complaintsAbout(findings: readonly Finding[], parts: Parts, tree: Tree): readonly Complaint[] {
  return findings.map(({ subject, message }) => complain(pathOf(subject, parts, tree), message));
}

function pathOf(subject: Subject, { upstreams }: Parts, tree: Tree): Path {
  switch (subject.kind) {
    case "rate": {
      const path = ["budgets", subject.budget, "rate"];
      return treeAt(tree, path)?.kind === "list" ? [...path, subject.index] : path;
    }
    case "quota":
      return ["budgets", subject.budget, "quota"];
    case "budget":
      return ["budgets", subject.budget];
    case "upstream": {
      const index = [...upstreams].find(([, { name }]) => name === subject.upstream)?.[0] ?? 0;
      return ["upstreams", index, "budget"];
    }
    default:
      return subject satisfies never;
  }
}
