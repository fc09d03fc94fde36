import { execFileSync } from "node:child_process";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readRegularFile } from "../../src/adapters/regular-file.ts";

async function place(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "regular-file-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, "ca.pem");
}

test("a file that a certificate is in is read whole", async () => {
  const path = await place();
  await writeFile(path, "é".repeat(300_000));
  expect(await readRegularFile(path)).toBe("é".repeat(300_000));
});

test.skipIf(process.platform !== "linux")(
  "a file that says that it is empty is read all the same",
  async () => {
    expect(await readRegularFile("/proc/self/status")).toContain("VmRSS");
  },
);

test("what took the place of a file is not read: a pipe, a device, a directory, a gigabyte of nothing", async () => {
  const path = await place();
  execFileSync("mkfifo", [path]);
  for (const other of [path, "/dev/zero", tmpdir()])
    await expect(readRegularFile(other)).rejects.toThrow("it is not a regular file");
  await rm(path);
  await writeFile(path, "");
  await truncate(path, 1_073_741_824);
  await expect(readRegularFile(path)).rejects.toThrow("it is longer than 8MiB");
});

test("a file is read once at a time, however many ask and wait: it may be on a file system that hangs", async () => {
  const path = await place();
  await writeFile(path, "one");
  const underWay = (): number =>
    process.getActiveResourcesInfo().filter((name) => name.startsWith("FSReq")).length;
  const before = underWay();
  const reads = Array.from({ length: 20 }, () => readRegularFile(path));
  expect(underWay() - before).toBe(1);
  expect(await Promise.all(reads)).toEqual(Array(20).fill("one"));
  await writeFile(path, "two");
  expect(await readRegularFile(path)).toBe("two");
});
