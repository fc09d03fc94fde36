import { dirname } from "node:path";
import type { Config, Upstream } from "../core/config/config.ts";
import { type Finding, sharedKeys, type Subject } from "../core/proof/findings.ts";
import { type Proof, prove } from "../core/proof/proof.ts";
import { cronOf } from "../core/schedule/schedule.ts";
import { formatDuration } from "../core/time/duration.ts";
import { type Complaint, complain, faultsOf } from "./check/faults.ts";
import { openContracts, withContracts } from "./check/contracts.ts";
import { expanded } from "./check/defaults.ts";
import { type Named, namedIn, openFilesAndKeys } from "./check/files-and-keys.ts";
import { type Parts, validate } from "./check/validate.ts";
import { type Fault, listed } from "./read/fault.ts";
import { type Environment, variablesIn } from "./read/interpolate.ts";
import { fileProblem, readRegularFile } from "../files/regular-file.ts";
import { type Marks, UNREADABLE, digestOf, marksOf } from "../files/mark.ts";
import { type Path, type Tree, treeAt } from "./read/tree.ts";
import { type WhenUnset, readYaml } from "./read/yaml.ts";
import { notesAt } from "./keys/notes.ts";
import { configSchema } from "./schema/schema.ts";
import { isCleartext } from "./keys/upstream-url.ts";

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
    } & ReadFiles);

const NO_FILES: Pick<ReadFiles, "files" | "parts"> = { files: new Map(), parts: new Map() };

/** Never rejects for anything that a file can hold. */
export async function load(configPath: string, options: LoadOptions): Promise<Loading> {
  let bytes: Uint8Array;
  try {
    bytes = await readRegularFile(configPath);
  } catch (error) {
    const fault = firstOf(configPath, `cannot read config: ${fileProblem(error)}`);
    return refused([fault], { digest: UNREADABLE, ...NO_FILES });
  }
  return await loadBytes(bytes, configPath, options);
}

async function loadBytes(bytes: Uint8Array, file: string, options: LoadOptions): Promise<Loading> {
  const { environment } = options;
  const digest = digestOf(bytes);
  const isStructure = options.resolve === "structure";
  const asWritten = readYaml(bytes, file, { environment, mustBeSet: !isStructure, whenUnset });
  if (asWritten.tree === undefined) return refused(asWritten.faults, { digest, ...NO_FILES });
  const { tree, complaints: ofExpanding, writtenAt } = expanded(asWritten.tree);
  const reading = { ...asWritten, tree };
  if (tree.kind === "scalar" && tree.value === null) {
    const fault = firstOf(file, "the config is empty: it needs at least budgets and upstreams");
    return refused([fault], { digest, ...NO_FILES });
  }
  const parts = validate(tree, dirname(file));
  const { general, budgets, upstreams } = parts;
  const named = namedIn(parts);
  const read = { digest, ...(isStructure ? NO_FILES : await marksOfFiles(named)) };
  const contracts = await openContracts(named, !isStructure);
  const { complaints, keys } = isStructure
    ? { complaints: [], keys: new Map<string, string>() }
    : await openFilesAndKeys(named, upstreams, environment);
  // An upstream that is not valid is missing from the sums. What does not fit without it does not fit with it.
  const proof = prove({ budgets, upstreams: [...upstreams.values()], fleet: general?.fleet });
  const found = [
    ...(isStructure ? [] : environmentFaults(environment, file)),
    ...reading.faults,
    ...contracts.faults,
    ...faultsOf(
      [...ofExpanding, ...parts.complaints, ...complaints, ...contracts.complaints],
      reading,
      writtenAt,
    ),
  ];
  // Nothing is wrong but that something is missing: what was left out.
  const wrong = general === undefined && found.length === 0 ? asWritten.omitted : found;
  const unfit = faultsOf(complaintsAbout(proof.faults, parts, tree), reading, writtenAt);
  if (general === undefined || wrong.length > 0 || unfit.length > 0) {
    return refused([...wrong, ...unfit], read, wrong.length === 0 ? proof : undefined);
  }
  const warnings = [
    ...[...upstreams].flatMap(([index, upstream]) => warningsOf(upstream, ["upstreams", index])),
    ...complaintsAbout([...sharedKeys([...upstreams.values()], keys), ...proof.warnings], parts, tree),
  ];
  return {
    kind: "loaded",
    config: {
      ...general,
      budgets,
      upstreams: [...upstreams.values()].map((upstream) => withContracts(upstream, contracts)),
    },
    proof,
    warnings: listed([...faultsOf(warnings, reading, writtenAt), ...contracts.warnings]),
    ...read,
  };
}

async function marksOfFiles({ files }: Named): Promise<Pick<ReadFiles, "files" | "parts">> {
  const marks = await marksOf(new Set(files.map(({ file }) => file)));
  const contracts = files.filter(({ kind }) => kind === "contract");
  return { files: marks, parts: new Map(contracts.map(({ file }) => [file, marks.get(file) ?? ""])) };
}

/** Node.js would believe whoever comes between it and an upstream. */
function environmentFaults(environment: Environment, file: string): readonly Fault[] {
  if (environment["NODE_TLS_REJECT_UNAUTHORIZED"] !== "0") return [];
  const why = "as then anybody in between could read the keys: for an authority of your own, set tls.ca_file";
  return [firstOf(file, `the variable NODE_TLS_REJECT_UNAUTHORIZED must not be 0, ${why}`)];
}

function refused(faults: readonly Fault[], read: ReadFiles, proof?: Proof): Loading {
  return { kind: "refused", faults: listed(faults), proof, ...read };
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

/** Allowed, but probably not intended. */
function warningsOf(upstream: Upstream, path: Path): readonly Complaint[] {
  const { name, auth, url, pathTemplate, tls, schedule, degradedAboveMs, timeoutMs } = upstream;
  const warnings: Complaint[] = [];
  if (pathTemplate !== undefined) {
    const names = variablesIn(pathTemplate.path)
      .map((variable) => `\${${variable}}`)
      .join(" and ");
    const message = `upstream "${name}" has ${names} in its path: treated as a secret here, but proxies and servers log URLs, so a key belongs into auth`;
    warnings.push(complain([...path, "path"], message));
  }
  if ((auth.kind !== "none" || pathTemplate !== undefined) && isCleartext(url)) {
    warnings.push(
      complain([...path, "base_url"], `upstream "${name}" sends its key unencrypted: use https://`),
    );
  }
  if (auth.kind === "oauth2" && isCleartext(auth.token.url)) {
    const at = [...path, "auth", "oauth2", "token_url"];
    warnings.push(complain(at, `upstream "${name}" sends its client secret unencrypted: use https://`));
  }
  if (tls.insecureSkipVerify) {
    const at = [...path, "tls", "insecure_skip_verify"];
    warnings.push(
      complain(at, `upstream "${name}" trusts any certificate, so anybody in between can read its key`),
    );
  }
  if (cronOf(schedule).restrictsBothDayFields) {
    const message = `upstream "${name}" is polled only on days that match both day-of-month and day-of-week`;
    warnings.push(complain([...path, "cron"], message));
  }
  if (degradedAboveMs !== undefined && degradedAboveMs >= timeoutMs) {
    const message = `upstream "${name}" can never be degraded: a poll ends after ${formatDuration(timeoutMs)}, its timeout`;
    warnings.push(complain([...path, "degraded_above"], message));
  }
  return warnings;
}

/** Structure is names, schedules and budgets. */
function whenUnset(path: Path): WhenUnset {
  const { isNeeded, example } = notesAt(configSchema, path);
  if (isNeeded) return "needed";
  return example === undefined ? "omitted" : { placeholder: example };
}
