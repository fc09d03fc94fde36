import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Config, Upstream } from "../kernel/config/config.ts";
import { sharedKeys } from "../proof/findings.ts";
import type { Finding, ProofPart, Subject } from "../proof/part.ts";
import { type Proof, prove } from "../proof/proof.ts";
import { knownKeysIn } from "./check/literal-keys.ts";
import { faultsOf } from "./check/faults.ts";
import { type AllContents, contentKinds, openContents } from "./check/contents.ts";
import { expanded } from "./check/defaults.ts";
import { type Named, namedIn, openFilesAndKeys, readNamedFile } from "./check/files-and-keys.ts";
import { shownConfig } from "./check/plain.ts";
import { type SoundConfig, validate, warningsOf } from "./check/validate.ts";
import { type Complaint, complain, type Fault, listed } from "./read/fault.ts";
import { type Environment, withoutDefaults } from "./read/interpolate.ts";
import { secretVariables } from "./read/secrets.ts";
import { codeOf } from "../kernel/text/escape.ts";
import { fileProblem, readRegularFile } from "../platform/regular-file.ts";
import { type Marks, UNREADABLE, digestOf, marksOf } from "../platform/mark.ts";
import { type Path, type Tree, treeAt } from "./read/tree.ts";
import { readYaml } from "./read/yaml.ts";
import { notesAt } from "./keys/notes.ts";
import type { ConfigSchema } from "./schema/schema.ts";
import type { ContentKind } from "./schema/section.ts";
import { SCHEDULE_KEYS } from "./schema/schedule.ts";

export type LoadOptions = {
  readonly environment: Environment;
  /**
   * `everything`: keys and files must be there too. `structure`: no key or file is read, and only a variable that
   * names, schedules and budgets need must be set.
   */
  readonly resolve?: "everything" | "structure";
  /** To be compared with those of another config. */
  readonly withKeys?: boolean;
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
      /** See `shownConfig`. */
      readonly shown: string;
      readonly proof: Proof;
      /** Allowed, but probably not intended. */
      readonly warnings: readonly Fault[];
      readonly requests: readonly RequestLine[];
      /** The variables that hold a secret. */
      readonly secretVariables: readonly string[];
      /** The upstreams' keys by their names, if asked for, and as far as they were read. Never to be shown. */
      readonly keys?: ReadonlyMap<string, string>;
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

/** The request that an upstream is polled with: secrets are variables, as they are in the config. */
export type RequestLine = {
  readonly upstream: string;
  readonly method: string;
  readonly url: string;
  /** The config says none. */
  readonly isDefaultPath: boolean;
};

/** Features add this to loading. */
type Features = { readonly schema: ConfigSchema; readonly proof: readonly ProofPart[] };

const NO_FILES: Pick<ReadFiles, "files" | "parts"> = { files: new Map(), parts: new Map() };

const SAMPLE = fileURLToPath(new URL("../../config/pacewatch.yaml", import.meta.url));
const HOW_TO_MAKE_ONE = `Give yours with --config FILE, or begin with a copy of ${SAMPLE}; docs/configuration.md in the package describes every key`;

/** Never rejects for anything that a file can hold. */
export async function load(configPath: string, options: LoadOptions, features: Features): Promise<Loading> {
  let bytes: Uint8Array;
  try {
    bytes = await readRegularFile(configPath);
  } catch (error) {
    const otherwise = codeOf(error) === "ENOENT" ? `. ${HOW_TO_MAKE_ONE}` : "";
    return unreadable(configPath, `${fileProblem(error)}${otherwise}`);
  }
  return await loadBytes(bytes, configPath, options, features);
}

/** Nothing is known of a config that cannot be read. It may be readable later. */
export function unreadable(configPath: string, why: string): Loading {
  const fault = firstOf(configPath, `cannot read config: ${why}`);
  return { ...refused([fault], { digest: UNREADABLE, ...NO_FILES }), isForGood: false };
}

async function loadBytes(
  bytes: Uint8Array,
  file: string,
  options: LoadOptions,
  { schema, proof: ofFeatures }: Features,
): Promise<Loading> {
  const { environment, resolve } = options;
  const justRead = { digest: digestOf(bytes), ...NO_FILES };
  const yaml = readYaml(bytes, file, {
    environment,
    mustBeSet: resolve !== "structure",
    notesAt: (path) => notesAt(schema.config, path),
  });
  if (yaml.tree === undefined) return refused([...yaml.faults, ...yaml.unset], justRead);
  const { tree, complaints: ofExpanding, writtenAt } = expanded(yaml.tree, environment, schema);
  if (tree.kind === "scalar" && tree.value === null) {
    const empty = "the config is empty: it needs at least budgets and upstreams";
    return refused([firstOf(file, empty)], justRead);
  }
  const placed: Placed = (complaints) => faultsOf(complaints, { ...yaml, tree }, writtenAt);
  const parts = validate(tree, dirname(file), schema);
  const named = namedIn(parts, schema);
  const kinds = contentKinds(schema.sections);
  const around = await openAround({ named, kinds, parts, file, options, placed });
  const { general, budgets } = parts;
  const upstreams = [...parts.upstreams.values()];
  const proof = prove({ budgets, upstreams: distinct(upstreams) }, ofFeatures);
  const about = (findings: readonly Finding[]): readonly Complaint[] =>
    findings.map(({ subject, message }) => complain(pathOf(subject, parts, tree), message));

  const inConfig = [...yaml.faults, ...placed([...ofExpanding, ...parts.complaints])];
  const wrong = [...inConfig, ...yaml.unset, ...around.faults];
  // Nothing is wrong but that something is missing: what was left out.
  if (general === undefined && wrong.length === 0) wrong.push(...yaml.omitted);
  const unfit = placed(about(proof.faults));
  const read = { digest: justRead.digest, files: around.files, parts: around.parts };
  if (general === undefined || wrong.length + unfit.length > 0) {
    return {
      ...refused([...wrong, ...unfit], read),
      proof: wrong.length === 0 ? proof : undefined,
      isForGood: inConfig.length + unfit.length > 0,
    };
  }
  const config: Config = { ...general, budgets, upstreams: upstreams.map(around.contents.filled) };
  const warnings = [
    ...[...parts.upstreams].flatMap(([index, upstream]) => warningsOf(upstream, ["upstreams", index])),
    ...schema.sections.flatMap((section) => section.warnings?.(config) ?? []),
    ...about([...sharedKeys(upstreams, around.keys), ...proof.warnings]),
  ];
  return {
    kind: "loaded",
    config,
    shown: shownConfig(yaml.tree),
    proof,
    requests: [...parts.upstreams].map(([index, upstream]) =>
      requestOf(upstream, ["upstreams", index], tree),
    ),
    secretVariables: secretVariables(
      named.sources.map(({ source }) => source),
      upstreams,
      environment,
    ),
    warnings: listed([...placed(warnings), ...around.warnings]),
    ...(options.withKeys === true && { keys: around.keys }),
    ...read,
  };
}

function requestOf({ name, method = "GET", url }: Upstream, path: Path, tree: Tree): RequestLine {
  const at = (key: string): Tree | undefined => treeAt(tree, [...path, key]);
  const [base, own] = [unsetAt(at("base_url")), unsetAt(at("path"))];
  const { origin, pathname, search } = new URL(url);
  // An example of a base URL has no path, and one of a path ends the URL.
  const shown =
    base === undefined
      ? own === undefined
        ? url
        : `${(origin + pathname).replace(/\/[^/]*$/, "")}${own}`
      : `${base}${own ?? pathname + search}`;
  return { upstream: name, method, url: shown, isDefaultPath: at("path") === undefined };
}

function unsetAt(tree: Tree | undefined): string | undefined {
  return tree?.kind === "scalar" && tree.standsFor !== undefined
    ? withoutDefaults(tree.standsFor)
    : undefined;
}

/**
 * The first of several with one name stands for all: the sums are those of one. An upstream that is not valid is missing from them too.
 * A config that does not fit without it does not fit with it.
 */
function distinct(upstreams: readonly Upstream[]): readonly Upstream[] {
  const byName = Map.groupBy(upstreams, ({ name }) => name);
  return [...byName.values()].flatMap((alike) => alike.slice(0, 1));
}

/** Finds the places of what is wrong in the config. */
type Placed = (complaints: readonly Complaint[]) => readonly Fault[];

type Around = Omit<ReadFiles, "digest"> & {
  readonly contents: AllContents;
  readonly keys: ReadonlyMap<string, string>;
  /** They lie in the config, in the files that it names, and in the environment. */
  readonly faults: readonly Fault[];
  readonly warnings: readonly Fault[];
};

type Opening = {
  readonly named: Named;
  readonly kinds: readonly ContentKind[];
  readonly parts: SoundConfig;
  readonly file: string;
  readonly options: LoadOptions;
  readonly placed: Placed;
};

/** Opens what a config names. Of its structure, only the contents are a part, and they may be missing. */
async function openAround({ named, kinds, parts, file, options, placed }: Opening): Promise<Around> {
  const { environment, resolve } = options;
  const { upstreams } = parts;
  const isStructure = resolve === "structure";
  const contents = await openContents(named, kinds, !isStructure);
  if (isStructure) {
    const faults = [...contents.faults, ...placed(contents.complaints)];
    return { ...NO_FILES, contents, keys: new Map(), faults, warnings: contents.warnings };
  }
  const opened = await openFilesAndKeys(named, upstreams, environment);
  const web = await openWebConfig(named);
  const complaints = [
    ...contents.complaints,
    ...opened.complaints,
    ...web.complaints,
    ...knownKeysIn(upstreams, contents, opened.secrets),
  ];
  return {
    ...(await marksOfFiles(named, new Set(kinds.map(({ kind }) => kind)))),
    contents,
    keys: opened.keys,
    warnings: [...placed(opened.warnings), ...contents.warnings],
    faults: [
      ...environmentFaults(environment, file),
      ...contents.faults,
      ...web.faults,
      ...placed(complaints),
    ],
  };
}

/** Its faults have their places in that file. The libraries that read it are large: only for those who have one. */
async function openWebConfig({ files }: Named): Promise<Pick<AllContents, "complaints" | "faults">> {
  const named = files.find(({ kind }) => kind === "web");
  const { complaints } = await readNamedFile(named?.file, named?.path ?? []);
  if (named === undefined || complaints.length > 0) return { complaints, faults: [] };
  const { readWebConfig } = await import("./web/read.ts");
  const reading = await readWebConfig(named.file, (name) => readRegularFile(name));
  return { complaints, faults: reading.kind === "refused" ? reading.faults : [] };
}

async function marksOfFiles(
  { files }: Named,
  kinds: ReadonlySet<string>,
): Promise<Pick<ReadFiles, "files" | "parts">> {
  const read = files.filter(({ kind }) => kind !== "written");
  const marks = await marksOf(new Set(read.map(({ file }) => file)));
  const parts = files.filter(({ kind }) => kinds.has(kind));
  return { files: marks, parts: new Map(parts.map(({ file }) => [file, marks.get(file) ?? ""])) };
}

/** Node.js would believe whoever comes between it and an upstream. */
function environmentFaults(environment: Environment, file: string): readonly Fault[] {
  if (environment["NODE_TLS_REJECT_UNAUTHORIZED"] !== "0") return [];
  const why = "as then anybody in between could read the keys: for an authority of your own, set tls.ca_file";
  return [firstOf(file, `the variable NODE_TLS_REJECT_UNAUTHORIZED must not be 0, ${why}`)];
}

function refused(faults: readonly Fault[], read: ReadFiles): Extract<Loading, { kind: "refused" }> {
  return { kind: "refused", faults: listed(faults), proof: undefined, isForGood: true, ...read };
}

function firstOf(file: string, message: string): Fault {
  return { file, line: 1, column: 1, message };
}

function pathOf(subject: Subject, { upstreams }: SoundConfig, tree: Tree): Path {
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
