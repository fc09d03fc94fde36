import type { SecretSource } from "../kernel/config/config.ts";
import { followed, type Reading } from "./followed.ts";
import type { Opened } from "./opened.ts";
import { fileProblem, readRegularFile } from "./regular-file.ts";
import { sharedWhileUnderWay } from "./shared-work.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** The key as it is now; never rejects. A file is read again each time, so that keys rotate; a variable stays. */
export type ReadKey = () => string | Promise<string>;

/**
 * Reads a key for the first time. `onWarning` is called when its file becomes unreadable (the last key is kept) and
 * when it is readable again: once for each change, not for each poll.
 */
export async function openSecret(
  { env, file = "" }: SecretSource,
  environment: Environment,
  onWarning: (message: string) => void,
): Promise<Opened<ReadKey>> {
  const reading = env === undefined ? await readKeyFile(file) : readVariable(env, environment);
  if (reading.kind === "unusable")
    return { kind: "refused", faults: [`cannot read key: ${reading.problem}`] };
  if (env !== undefined) return { kind: "opened", what: () => reading.value };
  const { reread } = followed(
    reading.value,
    () => readKeyFile(file),
    (problem) =>
      onWarning(problem === undefined ? READABLE_AGAIN : `cannot read key, the last one is kept: ${problem}`),
  );
  return { kind: "opened", what: reread };
}

const READABLE_AGAIN = "the key's file is readable again";
const MAX_KEY_BYTES = 64 * 1024;

function readVariable(name: string, environment: Environment): Reading<string> {
  // It may be a key that was pasted instead of its variable's name: those of AWS are capitals and digits.
  const shown = /^[A-Z_]+$|^[A-Z0-9]+_[A-Z0-9_]+$/.test(name)
    ? `the variable ${name}`
    : "the variable named here";
  const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
  return value === undefined ? { kind: "unusable", problem: `${shown} is not set` } : keyOf(value, shown);
}

const readKeyFile: (path: string) => Promise<Reading<string>> = sharedWhileUnderWay(readKeyOnce);

async function readKeyOnce(path: string): Promise<Reading<string>> {
  try {
    return keyOf((await readRegularFile(path, MAX_KEY_BYTES)).toString("utf8"), "its file");
  } catch (error) {
    return { kind: "unusable", problem: `its file cannot be read: ${fileProblem(error)}` };
  }
}

function keyOf(text: string, where: string): Reading<string> {
  const key = text.trim();
  if (key === "") return { kind: "unusable", problem: `${where} is empty` };
  if (/^[\x20-\x7e]+$/.test(key)) return { kind: "read", value: key };
  return {
    kind: "unusable",
    problem: `${where} must contain one line of printable ASCII characters, received others`,
  };
}
