import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { VERSION } from "../../src/version.ts";
import type { Programs } from "../stage.ts";

const run = promisify(execFile);

export async function versionsOf({ nginx, blackbox }: Programs): Promise<Readonly<Record<string, string>>> {
  const said = async (program: string, flag: string, pattern: RegExp): Promise<string> => {
    const { stdout, stderr } = await run(program, [flag]);
    return pattern.exec(stdout + stderr)?.[1] ?? "unknown";
  };
  return {
    pacewatch: VERSION,
    node: process.versions.node,
    blackbox_exporter: await said(blackbox, "--version", /version (\S+)/),
    go: await said(blackbox, "--version", /go version:\s+go(\S+)/),
    nginx: await said(nginx, "-v", /nginx\/(\S+)/),
  };
}
