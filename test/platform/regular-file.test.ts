import { execFileSync } from "node:child_process";
import { createServer } from "node:net";
import { once } from "node:events";
import { expect, test } from "vitest";
import { readRegularFile } from "../../src/platform/regular-file.ts";
import { ConfigDirectory } from "../config/config-file.ts";

async function problemOf(path: string, maxBytes?: number): Promise<string> {
  try {
    return `read: ${(await readRegularFile(path, maxBytes)).toString()}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

test("a file is read up to its bound, and no further", async () => {
  await using directory = await ConfigDirectory.create();
  const path = await directory.write("x".repeat(5000));
  expect((await readRegularFile(path, 5000)).length).toBe(5000);
  expect(await problemOf(path, 4999)).toMatch(/^it is longer than /);
  expect(await problemOf(await directory.write("", "empty"))).toBe("read: ");
});

test("a file of the system that says it is empty is read all the same", async () => {
  expect((await readRegularFile("/proc/self/stat")).toString()).toContain(`${process.pid} `);
});

test("a pipe, a device, a socket and a directory are told at once", async () => {
  await using directory = await ConfigDirectory.create();
  const pipe = directory.file("pipe");
  execFileSync("mkfifo", [pipe]);
  const server = createServer().listen(directory.file("socket"));
  await once(server, "listening");
  expect(await problemOf(pipe)).toBe("it is a pipe, not a file");
  expect(await problemOf("/dev/zero")).toBe("it is a device, not a file");
  expect(await problemOf(directory.file("socket"))).toBe("it is a socket, not a file");
  expect(await problemOf(directory.path)).toBe("it is a directory");
  server.close();
  await once(server, "close");
});
