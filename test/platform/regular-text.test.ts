import { execFileSync } from "node:child_process";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { readRegularText } from "../../src/platform/regular-file.ts";

async function place(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "regular-file-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return join(folder, "ca.pem");
}

test("a file that a certificate is in is read whole", async () => {
  const path = await place();
  await writeFile(path, "é".repeat(300_000));
  expect(await readRegularText(path)).toBe("é".repeat(300_000));
});

test.skipIf(process.platform !== "linux")(
  "a file that says that it is empty is read all the same",
  async () => {
    expect(await readRegularText("/proc/self/status")).toContain("VmRSS");
  },
);

test("what took the place of a file is not read: a pipe, a device, a directory, a gigabyte of nothing", async () => {
  const path = await place();
  execFileSync("mkfifo", [path]);
  await expect(readRegularText(path)).rejects.toThrow(`cannot read ${path}: it is a pipe, not a file`);
  await expect(readRegularText("/dev/zero")).rejects.toThrow("it is a device, not a file");
  await expect(readRegularText(tmpdir())).rejects.toThrow("it is a directory");
  await rm(path);
  await writeFile(path, "");
  await truncate(path, 1_073_741_824);
  await expect(readRegularText(path)).rejects.toThrow("it is longer than 8MiB");
});

test("a file is read once at a time, however many ask and wait: it may be on a file system that hangs", async () => {
  const path = await place();
  await writeFile(path, "one");
  const underWay = (): number =>
    process.getActiveResourcesInfo().filter((name) => name.startsWith("FSReq")).length;
  const before = underWay();
  const reads = Array.from({ length: 20 }, () => readRegularText(path));
  expect(underWay() - before).toBe(1);
  expect(await Promise.all(reads)).toEqual(Array(20).fill("one"));
  await writeFile(path, "two");
  expect(await readRegularText(path)).toBe("two");
});
