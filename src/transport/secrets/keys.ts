import { type SecretSource, sourcesOf, type Upstream } from "../../kernel/config/config.ts";
import type { Log } from "../../kernel/text/log.ts";
import type { Opened, Refused } from "../../platform/opened.ts";
import { openSecret, type ReadKey } from "../../platform/secret.ts";
import type { KnownKeys } from "./known-keys.ts";

export type KeyParts = {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Learns every key that is read. */
  readonly keys: KnownKeys;
  readonly log: Log;
};

export async function credentialOf(
  { auth, name }: Upstream,
  parts: KeyParts,
): Promise<Opened<ReadKey | undefined>> {
  const opened: ReadKey[] = [];
  for (const [index, source] of sourcesOf(auth).entries()) {
    const owner = index === 0 ? name : `${name} key ${index}`;
    const key = await openKey(source, owner, { upstream: name }, parts);
    if (key.kind === "refused") return key;
    opened.push(key.what);
  }
  const [only] = opened;
  // No key has a line break in it.
  const readAll = async (): Promise<string> => {
    const keys = await Promise.all(opened.map(async (read) => read()));
    return keys.join("\n");
  };
  return { kind: "opened", what: opened.length > 1 ? readAll : only };
}

/** `fields` are logged with every warning about it. */
export async function openKey(
  source: SecretSource,
  owner: string,
  fields: object,
  { environment, keys, log }: KeyParts,
): Promise<Opened<ReadKey>> {
  const opened = await openSecret(source, environment, (message) => log.warn(fields, message));
  if (opened.kind === "refused") return opened;
  const learned = (key: string): string => {
    keys.learn(owner, key);
    return key;
  };
  const read = (): string | Promise<string> => {
    const key = opened.what();
    return typeof key === "string" ? learned(key) : key.then(learned);
  };
  return { kind: "opened", what: read };
}

/** The fault of every key that cannot be read. */
export async function faultsOfKeys(
  upstreams: readonly Upstream[],
  parts: KeyParts,
): Promise<readonly string[]> {
  const faults: string[] = [];
  for (const upstream of upstreams) {
    const credential = await credentialOf(upstream, parts);
    if (credential.kind === "refused") faults.push(...faultsOf(upstream, credential));
  }
  return faults;
}

export function faultsOf({ name }: Pick<Upstream, "name">, { faults }: Refused): readonly string[] {
  return faults.map((fault) => `upstream "${name}": ${fault}`);
}

/** A query may hold a key, and a fragment is never sent: neither is shown. */
export function urlWithoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, "");
}
