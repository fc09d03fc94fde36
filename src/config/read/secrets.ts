import type { SecretSource, Upstream } from "../../kernel/config/config.ts";
import type { Opened } from "../../platform/opened.ts";
import { percentDecoded } from "../../kernel/text/percent.ts";
import { Followed, type Reading } from "../../platform/followed.ts";
import { fileProblem, readRegularFile } from "../../platform/regular-file.ts";
import { sharedWhileUnderWay } from "../../platform/shared-work.ts";
import { type Environment, variablesIn } from "./interpolate.ts";

export interface Secret {
  /** The key as it is now; never rejects. A file is read again each time, so that keys rotate; a variable stays. */
  read(): string | Promise<string>;
}

/**
 * Reads a key for the first time. `onWarning` is called when its file becomes unreadable (the last key is kept) and
 * when it is readable again: once for each change, not for each poll.
 */
export async function openSecret(
  { env, file = "" }: SecretSource,
  environment: Environment,
  onWarning: (message: string) => void,
): Promise<Opened<Secret>> {
  const reading = env === undefined ? await readKeyFile(file) : readVariable(env, environment);
  if (reading.kind === "unusable")
    return { kind: "refused", faults: [`cannot read key: ${reading.problem}`] };
  if (env !== undefined) return { kind: "opened", what: { read: () => reading.value } };
  const followed = new Followed(
    reading.value,
    () => readKeyFile(file),
    (problem) =>
      onWarning(problem === undefined ? READABLE_AGAIN : `cannot read key, the last one is kept: ${problem}`),
  );
  return { kind: "opened", what: { read: () => followed.reread() } };
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

const PROXY_VARIABLE = /_proxy$/i;
const USER_AND_PASSWORD = /^(?:[a-z][a-z0-9+.-]*:\/\/)?[^/:@]*:([^/]*)@/i;

/** Finds them by the names of their variables. Whether other variables hold a secret cannot be known here. */
export function proxyPasswords(environment: Environment): ReadonlyMap<string, string> {
  const passwords = Object.entries(environment)
    .filter(([name]) => PROXY_VARIABLE.test(name))
    .map(
      ([name, value]) =>
        [name, percentDecoded(USER_AND_PASSWORD.exec(value?.trim() ?? "")?.[1] ?? "")] as const,
    );
  return new Map(passwords.filter(([, password]) => password !== ""));
}

/** Which variables hold a secret: those where a key is found, what is in paths and bodies, and the passwords of proxies. */
export function secretVariables(
  sources: readonly SecretSource[],
  upstreams: readonly Upstream[],
  environment: Environment,
): readonly string[] {
  const keys = sources.flatMap(({ env }) => env ?? []);
  const inRequests = upstreams.flatMap(variablesInRequest);
  return [...new Set([...keys, ...inRequests, ...proxyPasswords(environment).keys()])];
}

/** The texts of a body are searched in one: in JSON, a variable is written as it is. */
export function variablesInRequest({
  pathTemplate,
  body,
}: Pick<Upstream, "pathTemplate" | "body">): readonly string[] {
  const texts = body === undefined || "file" in body ? "" : JSON.stringify(body);
  return [...variablesIn(pathTemplate?.path ?? ""), ...variablesIn(texts)];
}
