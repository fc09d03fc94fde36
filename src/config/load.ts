import { dirname } from "node:path";
import type { Config } from "../core/config/config.ts";
import { type Finding, sharedKeys, type Subject } from "../core/proof/findings.ts";
import { type Proof, prove } from "../core/proof/proof.ts";
import { knownKeysIn } from "./check/literal-keys.ts";
import { type Complaint, complain, faultsOf } from "./check/faults.ts";
import { type Contents, openContents, withContents } from "./check/contents.ts";
import { expanded } from "./check/defaults.ts";
import { type Named, namedIn, openFilesAndKeys, readNamedFile } from "./check/files-and-keys.ts";
import { type Parts, validate } from "./check/validate.ts";
import { warningsOf, warningsOfReceivers } from "./check/warnings.ts";
import { type Fault, listed } from "./read/fault.ts";
import type { Environment } from "./read/interpolate.ts";
import { codeOf } from "../core/text/escape.ts";
import { fileProblem, readRegularFile } from "../files/regular-file.ts";
import { type Marks, UNREADABLE, digestOf, marksOf } from "../files/mark.ts";
import { type Path, type Tree, treeAt } from "./read/tree.ts";
import { type WhenUnset, readYaml } from "./read/yaml.ts";
import { notesAt } from "./keys/notes.ts";
import { configSchema } from "./schema/schema.ts";
import { SCHEDULE_KEYS } from "./schema/upstream.ts";

export type LoadOptions = {
  readonly environment: Environment;
  /**
   * `everything`: keys and files must be there too. `structure`: no key or file is read, and only a variable that
   * names, schedules and budgets need must be set.
   */
  readonly resolve?: "everything" | "structure";
};

/** These tell later whether anything has changed since. */
export type ReadFiles = {
  /** Of the config's content. */
  readonly digest: string;
  /** The files that the config names, in as far as it could be understood. */
  readonly files: Marks;
  /** Those of them whose content is a part of the config. */
  readonly parts: Marks;
};

export type Loading =
  | ({
      readonly kind: "loaded";
      readonly config: Config;
      readonly proof: Proof;
      /** Allowed, but probably not intended. */
      readonly warnings: readonly Fault[];
    } & ReadFiles)
  | ({
      readonly kind: "refused";
      /** All of them, in the order of their places. */
      readonly faults: readonly Fault[];
      /** The numbers, if nothing else is wrong. */
      readonly proof: Proof | undefined;
      /** What is wrong stands in the config: it is not a variable, a key or another file, which may come later. */
      readonly isForGood: boolean;
    } & ReadFiles);

const NO_FILES: Pick<ReadFiles, "files" | "parts"> = { files: new Map(), parts: new Map() };

/** Never rejects for anything that a file can hold. */
export async function load(configPath: string, options: LoadOptions): Promise<Loading> {
  let bytes: Uint8Array;
  try {
    bytes = await readRegularFile(configPath);
  } catch (error) {
    const otherwise = codeOf(error) === "ENOENT" ? "; give yours with --config FILE" : "";
    const fault = firstOf(configPath, `cannot read config: ${fileProblem(error)}${otherwise}`);
    return { ...refused([fault], { digest: UNREADABLE, ...NO_FILES }), isForGood: false };
  }
  return await loadBytes(bytes, configPath, options);
}

async function loadBytes(bytes: Uint8Array, file: string, options: LoadOptions): Promise<Loading> {
  const { environment } = options;
  const digest = digestOf(bytes);
  const mustBeSet = options.resolve !== "structure";
  const asWritten = readYaml(bytes, file, { environment, mustBeSet, whenUnset });
  if (asWritten.tree === undefined) return refused(asWritten.faults, { digest, ...NO_FILES });
  const { tree, complaints: ofExpanding, writtenAt } = expanded(asWritten.tree, environment);
  if (tree.kind === "scalar" && tree.value === null) {
    const fault = firstOf(file, "the config is empty: it needs at least budgets and upstreams");
    return refused([fault], { digest, ...NO_FILES });
  }
  const inFile = (complaints: readonly Complaint[]): readonly Fault[] =>
    faultsOf(complaints, { ...asWritten, tree }, writtenAt);
  const parts = validate(tree, dirname(file));
  const around = await openAround(parts, file, options);
  const read = { digest, files: around.files, parts: around.parts };
  const { general, budgets } = parts;
  const upstreams = [...parts.upstreams.values()];
  // An upstream that is not valid, or has the name of another, is missing from the sums. What does not fit without it
  // does not fit with it.
  const distinct = [
    ...new Map(upstreams.toReversed().map((each) => [each.name, each])).values(),
  ].toReversed();
  const proof = prove({ budgets, upstreams: distinct, fleet: general?.fleet });
  const ofConfig = inFile([...ofExpanding, ...parts.complaints]);
  const found = [...asWritten.faults, ...around.faults, ...ofConfig, ...inFile(around.complaints)];
  // Nothing is wrong but that something is missing: what was left out.
  const wrong = general === undefined && found.length === 0 ? asWritten.omitted : found;
  const unfit = inFile(complaintsAbout(proof.faults, parts, tree));
  if (general === undefined || wrong.length > 0 || unfit.length > 0) {
    const isForGood =
      ofConfig.length + unfit.length > 0 ||
      asWritten.faults.some((fault) => !asWritten.unset.includes(fault));
    return { ...refused([...wrong, ...unfit], read, wrong.length === 0 ? proof : undefined), isForGood };
  }
  const warnings = [
    ...[...parts.upstreams].flatMap(([index, upstream]) => warningsOf(upstream, ["upstreams", index])),
    ...warningsOfReceivers(general, upstreams),
    ...complaintsAbout([...sharedKeys(upstreams, around.keys), ...proof.warnings], parts, tree),
  ];
  return {
    kind: "loaded",
    config: {
      ...general,
      budgets,
      upstreams: upstreams.map((upstream) => withContents(upstream, around.contents)),
    },
    proof,
    warnings: listed([...inFile(warnings), ...around.contents.warnings]),
    ...read,
  };
}

type Around = Omit<ReadFiles, "digest"> & {
  readonly contents: Contents;
  readonly keys: ReadonlyMap<string, string>;
  /** About the config. */
  readonly complaints: readonly Complaint[];
  /** In the files that it names, and in the environment. */
  readonly faults: readonly Fault[];
};

/** Opens what a config names. Of its structure, only the contents are a part, and they may be missing. */
async function openAround(
  parts: Parts,
  file: string,
  { environment, resolve }: LoadOptions,
): Promise<Around> {
  const named = namedIn(parts);
  const isStructure = resolve === "structure";
  const contents = await openContents(named, !isStructure);
  const { complaints, faults } = contents;
  if (isStructure) return { ...NO_FILES, contents, keys: new Map(), complaints, faults };
  const opened = await openFilesAndKeys(named, parts, environment);
  const web = await openWebConfig(named);
  return {
    ...(await marksOfFiles(named)),
    contents,
    keys: opened.keys,
    complaints: [
      ...complaints,
      ...opened.complaints,
      ...web.complaints,
      ...knownKeysIn(parts.upstreams, contents.bodies, opened.secrets),
    ],
    faults: [...environmentFaults(environment, file), ...faults, ...web.faults],
  };
}

/** Its faults have their places in that file. The libraries that read it are large: only for those who have one. */
async function openWebConfig({ files }: Named): Promise<Pick<Around, "complaints" | "faults">> {
  const named = files.find(({ kind }) => kind === "web");
  const { complaints } = await readNamedFile(named?.file, named?.path ?? []);
  if (named === undefined || complaints.length > 0) return { complaints, faults: [] };
  const { readWebConfig } = await import("./web/read.ts");
  const reading = await readWebConfig(named.file, (name) => readRegularFile(name));
  return { complaints, faults: reading.kind === "refused" ? reading.faults : [] };
}

async function marksOfFiles({ files }: Named): Promise<Pick<ReadFiles, "files" | "parts">> {
  const marks = await marksOf(new Set(files.map(({ file }) => file)));
  const parts = files.filter(({ kind }) => kind === "contract" || kind === "body");
  return { files: marks, parts: new Map(parts.map(({ file }) => [file, marks.get(file) ?? ""])) };
}

/** Node.js would believe whoever comes between it and an upstream. */
function environmentFaults(environment: Environment, file: string): readonly Fault[] {
  if (environment["NODE_TLS_REJECT_UNAUTHORIZED"] !== "0") return [];
  const why = "as then anybody in between could read the keys: for an authority of your own, set tls.ca_file";
  return [firstOf(file, `the variable NODE_TLS_REJECT_UNAUTHORIZED must not be 0, ${why}`)];
}

function refused(
  faults: readonly Fault[],
  read: ReadFiles,
  proof?: Proof,
): Extract<Loading, { kind: "refused" }> {
  return { kind: "refused", faults: listed(faults), proof, isForGood: true, ...read };
}

function firstOf(file: string, message: string): Fault {
  return { file, line: 1, column: 1, message };
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
    case "spend":
      return ["budgets", subject.budget, subject.kind];
    case "budget":
      return ["budgets", subject.budget];
    case "upstream": {
      const index = [...upstreams].find(([, { name }]) => name === subject.upstream)?.[0] ?? 0;
      const at = ["upstreams", index];
      if (subject.about !== "schedule") return [...at, subject.about];
      return [...at, SCHEDULE_KEYS.find((key) => treeAt(tree, [...at, key]) !== undefined) ?? "every"];
    }
    default:
      return subject satisfies never;
  }
}

/** Structure is names, schedules and budgets. */
function whenUnset(path: Path): WhenUnset {
  const { isNeeded, example } = notesAt(configSchema, path);
  if (isNeeded) return "needed";
  return example === undefined ? "omitted" : { placeholder: example };
}
