import { readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import type { RawConfig } from "../../test/support/config-folder.ts";
import { HOSTILITIES } from "./answers.ts";

/** Where an attack goes: always a port of this machine. */
export type Target = {
  readonly url: string;
  /** Where nothing but probes are answered. */
  readonly probesUrl: string;
  readonly upstreams: readonly string[];
  /** Of its config. */
  readonly folder: string;
};

/**
 * One way to do harm, as one file in the folder `attacks`. It is bounded, goes on until the signal comes, and leaves
 * nothing open.
 */
export type Attack = {
  /** As the row of the table says it. */
  readonly name: string;
  readonly run: (target: Target, signal: AbortSignal) => Promise<void>;
  /** Whom the daemon lets in, as "name:password", where it asks for one. */
  readonly user?: string;
  /** All upstreams but the first answer by it: see answers.ts. */
  readonly hostility?: string;
  /** What the daemon must be configured with, beside its upstreams; files are written into the folder. */
  readonly config?: (folder: string) => Promise<Partial<RawConfig>>;
};

const FOLDER = new URL("attacks/", import.meta.url);

/** In the order of their files, then those by upstreams. */
export async function loadAttacks(): Promise<readonly Attack[]> {
  const files = (await readdir(FOLDER)).filter((file) => file.endsWith(".ts")).toSorted();
  const floods = await Promise.all(
    files.map(async (file) => {
      const { attack }: { readonly attack: Attack } = await import(new URL(file, FOLDER).href);
      return attack;
    }),
  );
  const byUpstreams = Object.entries(HOSTILITIES).map(([hostility, { name }]): Attack => ({
    name,
    hostility,
    run: async (_, signal) => {
      await sleep(60_000, undefined, { signal }).catch(() => {});
    },
  }));
  return [...floods, ...byUpstreams];
}
