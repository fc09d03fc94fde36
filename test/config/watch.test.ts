import { appendFile, mkdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/adapters/clock.ts";
import type { Clock } from "../../src/core/time/clock.ts";
import { ConfigWatch, digestOf } from "../../src/config/watch.ts";
import { eventually } from "../support/eventually.ts";
import { ConfigDirectory } from "./config-file.ts";

/** A poll that never comes within a test: what is seen was told by the directory. */
const NEVER_MS = 3_600_000;

class Seen implements AsyncDisposable {
  readonly contents: string[] = [];
  readonly errors: unknown[] = [];
  readonly #watch: ConfigWatch;

  constructor(path: string, running: string, pollMs: number, onChange: () => void = () => {}) {
    const note = async (): Promise<void> => {
      this.contents.push(await readFile(path, "utf8").catch(() => "unreadable"));
      onChange();
    };
    this.#watch = new ConfigWatch(
      path,
      {
        clock: systemClock,
        digest: digestOf(Buffer.from(running)),
        onChange: note,
        onError: (error) => this.errors.push(error),
        debounceMs: 20,
        pollMs,
      },
      new AbortController().signal,
    );
  }

  /** What was seen, once there were so many changes. */
  async after(changes: number): Promise<readonly string[]> {
    return await eventually(
      `${changes} changes are seen`,
      () => this.contents,
      ({ length }) => length >= changes,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch[Symbol.asyncDispose]();
  }
}

describe("a config file that changes", () => {
  test("in place, is seen once for each content", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    await using seen = new Seen(path, "one", NEVER_MS);
    await writeFile(path, "two");
    expect(await seen.after(1)).toEqual(["two"]);
    await appendFile(path, "+");
    expect(await seen.after(2)).toEqual(["two", "two+"]);
  });

  test("by an editor that renames a new one over it, is seen each time", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    await using seen = new Seen(path, "one", NEVER_MS);
    const contents = ["two", "three", "four"];
    for (const [index, content] of contents.entries()) {
      await rename(await directory.write(content, ".pacewatch.yaml.swp"), path);
      expect(await seen.after(index + 1)).toEqual(contents.slice(0, index + 1));
    }
  });

  test("by Kubernetes, which swaps the link to a whole directory, is seen at every swap", async () => {
    await using directory = await ConfigDirectory.create();
    await mkdir(directory.file("..2026_1"));
    await directory.write("one", "..2026_1/pacewatch.yaml");
    await symlink("..2026_1", directory.file("..data"));
    await symlink("..data/pacewatch.yaml", directory.file());
    await using seen = new Seen(directory.file(), "one", NEVER_MS);
    const contents = ["two", "three", "four", "five"];
    for (const [index, content] of contents.entries()) {
      const version = `..2026_${index + 2}`;
      await mkdir(directory.file(version));
      await directory.write(content, `${version}/pacewatch.yaml`);
      await symlink(version, directory.file("..data_tmp"));
      await rename(directory.file("..data_tmp"), directory.file("..data"));
      await rm(directory.file(`..2026_${index + 1}`), { recursive: true });
      expect(await seen.after(index + 1)).toEqual(contents.slice(0, index + 1));
    }
  });

  test("between its reading and the start of the watch, is seen", async () => {
    await using directory = await ConfigDirectory.create();
    await using seen = new Seen(await directory.write("two"), "one", NEVER_MS);
    expect(await seen.after(1)).toEqual(["two"]);
  });

  test("into something that cannot be read, and back, is seen both times", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    await using seen = new Seen(path, "one", 10);
    await rm(path);
    expect(await seen.after(1)).toEqual(["unreadable"]);
    await writeFile(path, "one");
    expect(await seen.after(2)).toEqual(["unreadable", "one"]);
  });

  test("is seen where nothing tells of it: through a link out of the directory", async () => {
    await using directory = await ConfigDirectory.create();
    await using elsewhere = await ConfigDirectory.create();
    await elsewhere.write("one");
    await symlink(elsewhere.file(), directory.file());
    await using seen = new Seen(directory.file(), "one", 10);
    await elsewhere.write("two");
    expect(await seen.after(1)).toEqual(["two"]);
  });

  test("is seen where its directory is replaced by another", async () => {
    await using directory = await ConfigDirectory.create();
    await mkdir(directory.file("etc"));
    const path = await directory.write("one", "etc/pacewatch.yaml");
    await using seen = new Seen(path, "one", 10);
    await rm(directory.file("etc"), { recursive: true });
    expect(await seen.after(1)).toEqual(["unreadable"]);
    await mkdir(directory.file("etc"));
    await directory.write("two", "etc/pacewatch.yaml");
    expect(await seen.after(2)).toEqual(["unreadable", "two"]);
  });
});

describe("what is no change", () => {
  test("a touch, the same content again, and other files in the directory", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    await using seen = new Seen(path, "one", NEVER_MS);
    await writeFile(path, "one");
    await rename(await directory.write("one", "new"), path);
    await directory.write("anything", "pacewatch.db");
    await writeFile(path, "two");
    expect(await seen.after(1)).toEqual(["two"]);
  });
});

test("a bug in the reload is told, and watching goes on", async () => {
  await using directory = await ConfigDirectory.create();
  const path = await directory.write("one");
  await using seen = new Seen(path, "one", NEVER_MS, () => {
    throw new Error("a bug");
  });
  await writeFile(path, "two");
  expect(await seen.after(1)).toEqual(["two"]);
  await writeFile(path, "three");
  expect(await seen.after(2)).toEqual(["two", "three"]);
  await eventually(
    "two errors are told",
    () => seen.errors.length,
    (errors) => errors >= 2,
  );
  expect(seen.errors).toHaveLength(2);
});

test("a file that is read while it is being written is seen once, as a whole", async () => {
  await using directory = await ConfigDirectory.create();
  const path = await directory.write("half");
  const parts = [" and more", " and the rest"];
  const contents: string[] = [];
  const onChange = async (): Promise<void> => void contents.push(await readFile(path, "utf8"));
  // The writer goes on whenever the watch pauses to look again.
  const clock: Clock = {
    ...systemClock,
    sleep: async (delayMs, signal) => {
      const part = delayMs === 20 ? parts.shift() : undefined;
      if (part !== undefined) await appendFile(path, part);
      await systemClock.sleep(delayMs, signal);
    },
  };
  const options = { clock, digest: "another", onChange, onError: () => {}, debounceMs: 20, pollMs: NEVER_MS };
  await using stack = new AsyncDisposableStack();
  stack.use(new ConfigWatch(path, options, new AbortController().signal));
  await eventually("the change is seen", () => contents.length);
  expect(contents).toEqual(["half and more and the rest"]);
});

test("nothing is seen once it has ended, also by its signal", async () => {
  await using directory = await ConfigDirectory.create();
  const path = await directory.write("one");
  const controller = new AbortController();
  let changes = 0;
  const watch = new ConfigWatch(
    path,
    {
      clock: systemClock,
      digest: digestOf(Buffer.from("one")),
      onChange: async () => void (changes += 1),
      onError: () => {},
      debounceMs: 1,
      pollMs: 1,
    },
    controller.signal,
  );
  controller.abort();
  await watch[Symbol.asyncDispose]();
  await writeFile(path, "two");
  // Thirty looks would have been taken by now.
  await sleep(30);
  expect(changes).toBe(0);
});
