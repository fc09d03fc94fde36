import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commandLine } from "../../support/processes/daemon.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "pacewatch-output-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** `"$@"` is the command; what the shell prints. */
function shell(script: string, ...parameters: readonly string[]): Promise<string> {
  const { args, env } = commandLine(parameters);
  return new Promise((resolve, reject) => {
    const whole = ["-c", script, "sh", process.execPath, ...args];
    execFile("/bin/sh", whole, { cwd: folder, env: { PATH: process.env["PATH"], ...env } }, (error, said) =>
      error === null ? resolve(said) : reject(error),
    );
  });
}

describe.concurrent("what a command prints", () => {
  it("is whole, however late it is read", async () => {
    await shell('"$@" > whole.json', "schema");
    const whole = await readFile(join(folder, "whole.json"), "utf8");
    // More than a pipe holds.
    expect(whole.length).toBeGreaterThan(65_536);
    expect(await shell('"$@" | (sleep 3; cat)', "schema")).toBe(whole);
  });

  it("need not be read to its end", async () => {
    expect(await shell('("$@"; echo $? > code) | head -c 1', "schema")).toBe("{");
    expect(await readFile(join(folder, "code"), "utf8")).toBe("0\n");
  });

  it.runIf(existsSync("/dev/full"))("fails the command where the disk is full", async () => {
    expect(await shell('"$@" 2>&1 > /dev/full; echo $?', "schema")).toMatch(
      /^cannot write all output: .*ENOSPC.*\n1\n$/,
    );
  });

  it("fails the command where it does not fit on the disk", async () => {
    const script = 'export NODE_DISABLE_COMPILE_CACHE=1; ulimit -f 8; "$@" 2>&1 > cut.json; echo $?';
    expect(await shell(script, "schema")).toMatch(/^cannot write all output: .*EFBIG.*\n1\n$/);
  });
});

describe.concurrent("a command that reads a config", () => {
  const shipped = join(import.meta.dirname, "../../../config/pacewatch.yaml");

  it.each([
    ["check --no-secrets", "pacewatch.yaml fits:"],
    ["rules", "groups:"],
    ["dashboard", '"panels"'],
  ])("does what it is for with the shipped one: %s", async (command, says) => {
    const said = await shell('"$@" 2>&1; echo $?', ...command.split(" "), "--config", shipped);
    expect(said).toContain(says);
    expect(said).toMatch(/\n0\n$/);
  });
});
