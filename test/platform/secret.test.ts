import { opened as whatOpened } from "../support/opened.ts";
import { mkdir, rm, symlink } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { type ReadKey, openSecret } from "../../src/platform/secret.ts";
import { ConfigDirectory } from "../config/config-file.ts";

async function refusalOf(...given: Parameters<typeof openSecret>): Promise<string> {
  const opening = await openSecret(...given);
  return opening.kind === "refused" ? opening.faults.join("\n") : "opened";
}

async function opened(...given: Parameters<typeof openSecret>): Promise<ReadKey> {
  return whatOpened(await openSecret(...given));
}

const quiet = (): void => {};

describe("a key in a variable", () => {
  const source = { env: "TEST_KEY" } as const;

  test("is read without the line end that came with it", async () => {
    const secret = await opened(source, { TEST_KEY: " test-key-1\n" }, quiet);
    expect(await secret()).toBe("test-key-1");
  });

  test.each([
    [{}, "cannot read key: the variable TEST_KEY is not set"],
    [{ TEST_KEY: " \n" }, "cannot read key: the variable TEST_KEY is empty"],
    [
      { TEST_KEY: "test-key-1\r\nX-Evil: 1" },
      "cannot read key: the variable TEST_KEY must contain one line of printable ASCII characters, received others",
    ],
    [
      { TEST_KEY: "test\u0000key" },
      "cannot read key: the variable TEST_KEY must contain one line of printable ASCII characters, received others",
    ],
    [
      { TEST_KEY: "test-kéy" },
      "cannot read key: the variable TEST_KEY must contain one line of printable ASCII characters, received others",
    ],
  ])("is refused where it cannot be one: %j", async (environment, message) => {
    expect(await refusalOf(source, environment, quiet)).toBe(message);
  });

  test("whose name is a key that was pasted there is not named", async () => {
    const pasted = { env: "sk_test_key_1234" } as const;
    expect(await refusalOf(pasted, {}, quiet)).toBe("cannot read key: the variable named here is not set");
  });
});

describe("a key in a file", () => {
  test("rotates without a restart", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("test-key-1\n", "key");
    const secret = await opened({ file: path }, {}, quiet);
    expect(await secret()).toBe("test-key-1");
    await directory.write("test-key-2\n", "key");
    expect(await secret()).toBe("test-key-2");
  });

  test("is read once at a time, however many ask and wait: it may be on a file system that hangs", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("test-key-1", "key");
    const secrets = [await opened({ file: path }, {}, quiet), await opened({ file: path }, {}, quiet)];
    const underWay = (): number =>
      process.getActiveResourcesInfo().filter((name) => name.startsWith("FSReq")).length;
    const before = underWay();
    const reads = Array.from({ length: 20 }, (_, index) => (async () => secrets[index % 2]?.())());
    expect(underWay() - before).toBe(1);
    expect(await Promise.all(reads)).toEqual(Array(20).fill("test-key-1"));
  });

  test("that turns unreadable keeps its last key, and says so once until it is back", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("test-key-1", "key");
    const warnings: string[] = [];
    const secret = await opened({ file: path }, {}, (message) => warnings.push(message));
    await rm(path);
    expect([await secret(), await secret(), await secret()]).toEqual(Array(3).fill("test-key-1"));
    await directory.write("", "key");
    expect([await secret(), await secret()]).toEqual(Array(2).fill("test-key-1"));
    await directory.write("test-key-2", "key");
    expect([await secret(), await secret()]).toEqual(Array(2).fill("test-key-2"));
    expect(warnings).toEqual([
      "cannot read key, the last one is kept: its file cannot be read: there is no such file",
      "cannot read key, the last one is kept: its file is empty",
      "the key's file is readable again",
    ]);
  });

  test("is read through links, as Kubernetes mounts it", async () => {
    await using directory = await ConfigDirectory.create();
    await mkdir(directory.file("..one"));
    await directory.write("test-key-1", "..one/key");
    await symlink("..one", directory.file("..data"));
    await symlink("..data/key", directory.file("key"));
    const secret = await opened({ file: directory.file("key") }, {}, quiet);
    expect(await secret()).toBe("test-key-1");
  });

  test("that cannot be read at the start is refused, without its path", async () => {
    await using directory = await ConfigDirectory.create();
    expect(await refusalOf({ file: directory.file("nowhere") }, {}, quiet)).toBe(
      "cannot read key: its file cannot be read: there is no such file",
    );
    expect(await refusalOf({ file: directory.path }, {}, quiet)).toBe(
      "cannot read key: its file cannot be read: it is a directory",
    );
    expect(await refusalOf({ file: "/dev/zero" }, {}, quiet)).toBe(
      "cannot read key: its file cannot be read: it is a device, not a file",
    );
    const long = await directory.write("k".repeat(70_000), "long");
    expect(await refusalOf({ file: long }, {}, quiet)).toBe(
      "cannot read key: its file cannot be read: it is longer than 64KiB",
    );
    const binary = await directory.write(Uint8Array.of(0xff, 0xfe, 0x00), "binary");
    expect(await refusalOf({ file: binary }, {}, quiet)).toBe(
      "cannot read key: its file must contain one line of printable ASCII characters, received others",
    );
  });
});
