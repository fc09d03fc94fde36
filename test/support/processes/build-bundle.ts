import { rm } from "node:fs/promises";
import type { TestProject } from "vitest/node";
import { buildProgram } from "../../../tools/build.ts";

/** Builds what `bundle` means in daemon.ts, unless the caller built it. */
export async function setup({ config }: TestProject): Promise<(() => Promise<void>) | undefined> {
  const folder = config.env["PACEWATCH_BUNDLE"];
  if (folder === undefined) return undefined;
  await buildProgram(folder, "0".repeat(40));
  return () => rm(folder, { recursive: true, force: true });
}
