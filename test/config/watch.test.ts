import { appendFile, mkdir, readFile, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import type { Clock } from "../../src/kernel/time/clock.ts";
import { UNREADABLE, digestOf, marksOf } from "../../src/platform/mark.ts";
import { watchConfig, type LastReload } from "../../src/config/watch.ts";
import { VirtualClock, settle } from "../support/virtual/clock.ts";
import { ConfigDirectory } from "./config-file.ts";

const LOOK_MS = 1_000;
const SETTLED_MS = LOOK_MS + 250;

/** A watch of real files in virtual time, and reloads that take or refuse what they read. */
class Scene implements AsyncDisposable {
  /** What each reload of the watch read. */
  readonly seen: string[] = [];
  readonly causes: string[] = [];
  readonly errors: unknown[] = [];
  /** Called at the beginning of each reload. */
  onReload: () => void = () => {};
  onSleep: (delayMs: number) => Promise<void> = async () => {};
  /** The files that a refused config names. Without them, every reload is a success. */
  refuseWith: readonly string[] | undefined = undefined;
  /** The files that are parts of the config. */
  parts: readonly string[] = [];
  readonly #clock = new VirtualClock();
  readonly #path: string;
  readonly #watch: AsyncDisposable;
  readonly #ending = new AbortController();
  #last: LastReload;
  #sleepers = 0;

  constructor(path: string, running: string) {
    this.#path = path;
    this.#last = { digest: digestOf(Buffer.from(running)), files: new Map(), refusedAtMs: undefined };
    const clock: Clock = {
      now: () => this.#clock.now(),
      wallNow: () => this.#clock.wallNow(),
      sleep: async (delayMs, signal) => {
        await this.onSleep(delayMs);
        this.#sleepers += 1;
        await this.#clock.sleep(delayMs, signal);
        this.#sleepers -= 1;
      },
    };
    const options = {
      clock,
      last: () => this.#last,
      reload: async (cause: string) => {
        this.causes.push(cause);
        this.onReload();
        this.seen.push(await this.reload());
      },
      onError: (error: unknown) => void this.errors.push(error),
    };
    this.#watch = watchConfig(path, options, this.#ending.signal);
  }

  /** As somebody else may ask for it. */
  async reload(): Promise<string> {
    const files = await marksOf(this.refuseWith ?? this.parts);
    const text = await readFile(this.#path, "utf8").catch(() => UNREADABLE);
    const refusedAtMs = this.refuseWith && this.#clock.now();
    const digest = text === UNREADABLE ? UNREADABLE : digestOf(Buffer.from(text));
    this.#last = { digest, files, refusedAtMs };
    return text;
  }

  async pass(ms: number): Promise<void> {
    for (let passedMs = 0; passedMs < ms; passedMs += 250) {
      await this.#idle();
      await this.#clock.advance(250);
    }
    await this.#idle();
  }

  end(): void {
    this.#ending.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#watch[Symbol.asyncDispose]();
  }

  /** Until the watch waits for the time. */
  async #idle(): Promise<void> {
    while (this.#sleepers === 0 && !this.#ending.signal.aborted) await settle();
  }
}

test("a file that is a part of the config is seen when it changes, goes or comes back", async () => {
  await using directory = await ConfigDirectory.create();
  const path = await directory.write("one");
  const part = await directory.write("true", "contract.json");
  await using scene = new Scene(path, "one");
  scene.parts = [part];
  await scene.reload();
  await scene.pass(10 * LOOK_MS);
  expect(scene.causes).toEqual([]);
  const steps = [() => writeFile(part, "false"), () => rm(part), () => writeFile(part, "{}")];
  for (const [index, step] of steps.entries()) {
    await step();
    await scene.pass(LOOK_MS + SETTLED_MS);
    expect(scene.causes).toEqual(Array.from({ length: index + 1 }, () => "changed"));
  }
});

describe("a config file that changes", () => {
  test("in place, is seen once for each content", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    await using scene = new Scene(path, "one");
    await writeFile(path, "two");
    await scene.pass(SETTLED_MS);
    expect(scene.seen).toEqual(["two"]);
    await appendFile(path, "+");
    await scene.pass(60_000);
    expect(scene.seen).toEqual(["two", "two+"]);
    expect(scene.causes).toEqual(["changed", "changed"]);
  });

  test("by an editor that renames a new one over it, is seen each time", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    await using scene = new Scene(path, "one");
    const contents = ["two", "three", "four"];
    for (const content of contents) {
      await rename(await directory.write(content, ".pacewatch.yaml.swp"), path);
      await scene.pass(SETTLED_MS);
    }
    expect(scene.seen).toEqual(contents);
  });

  test("by Kubernetes, which swaps the link to a whole directory, is seen at every swap", async () => {
    await using directory = await ConfigDirectory.create();
    await mkdir(directory.file("..2026_1"));
    await directory.write("one", "..2026_1/pacewatch.yaml");
    await symlink("..2026_1", directory.file("..data"));
    await symlink("..data/pacewatch.yaml", directory.file());
    await using scene = new Scene(directory.file(), "one");
    const contents = ["two", "three", "four", "five"];
    for (const [index, content] of contents.entries()) {
      const version = `..2026_${index + 2}`;
      await mkdir(directory.file(version));
      await directory.write(content, `${version}/pacewatch.yaml`);
      await symlink(version, directory.file("..data_tmp"));
      await rename(directory.file("..data_tmp"), directory.file("..data"));
      await rm(directory.file(`..2026_${index + 1}`), { recursive: true });
      await scene.pass(SETTLED_MS);
    }
    expect(scene.seen).toEqual(contents);
  });

  test("between its reading and the start of the watch, is seen", async () => {
    await using directory = await ConfigDirectory.create();
    await using scene = new Scene(await directory.write("two"), "one");
    await scene.pass(250);
    expect(scene.seen).toEqual(["two"]);
  });

  test("into something that cannot be read, and back, is seen both times", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    await using scene = new Scene(path, "one");
    await rm(path);
    await scene.pass(SETTLED_MS);
    expect(scene.seen).toEqual([UNREADABLE]);
    await writeFile(path, "one");
    await scene.pass(SETTLED_MS);
    expect(scene.seen).toEqual([UNREADABLE, "one"]);
  });

  test("is seen through a link out of the directory", async () => {
    await using directory = await ConfigDirectory.create();
    await using elsewhere = await ConfigDirectory.create();
    await elsewhere.write("one");
    await symlink(elsewhere.file(), directory.file());
    await using scene = new Scene(directory.file(), "one");
    await elsewhere.write("two");
    await scene.pass(SETTLED_MS);
    expect(scene.seen).toEqual(["two"]);
  });

  test("is seen where its directory is replaced by another", async () => {
    await using directory = await ConfigDirectory.create();
    await mkdir(directory.file("etc"));
    const path = await directory.write("one", "etc/pacewatch.yaml");
    await using scene = new Scene(path, "one");
    await scene.pass(LOOK_MS);
    await rm(directory.file("etc"), { recursive: true });
    await mkdir(directory.file("etc"));
    await directory.write("two", "etc/pacewatch.yaml");
    await scene.pass(SETTLED_MS);
    expect(scene.seen).toEqual(["two"]);
  });

  test("while it is being read is seen once, as a whole", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("half");
    const parts = [" and more", " and the rest"];
    await using scene = new Scene(path, "another");
    // The writer goes on whenever the watch pauses to look again.
    scene.onSleep = async () => await appendFile(path, parts.shift() ?? "");
    await scene.pass(60_000);
    expect(scene.seen).toEqual(["half and more and the rest"]);
  });
});

describe("what is no change", () => {
  test("a touch, the same content again, and other files in the directory", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    await using scene = new Scene(path, "one");
    await scene.pass(LOOK_MS);
    await utimes(path, 1, 1);
    await writeFile(path, "one");
    await scene.pass(LOOK_MS);
    await rename(await directory.write("one", "new"), path);
    await directory.write("anything", "pacewatch.db");
    await scene.pass(60_000);
    expect(scene.seen).toEqual([]);
  });

  test("a content that somebody else's reload has read already", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    await using scene = new Scene(path, "one");
    await writeFile(path, "two");
    await scene.reload();
    await scene.pass(60_000);
    expect(scene.seen).toEqual([]);
  });
});

describe("a reload that was refused", () => {
  test("is tried again every 10 s until it succeeds, and then no more", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    await using scene = new Scene(path, "one");
    await scene.pass(LOOK_MS);
    scene.refuseWith = [];
    await writeFile(path, "two");
    await scene.pass(SETTLED_MS);
    expect(scene.causes).toEqual(["changed"]);
    await scene.pass(60_000);
    expect(scene.causes).toEqual(["changed", ...Array.from({ length: 6 }, () => "again")]);
    scene.refuseWith = undefined;
    await scene.pass(600_000);
    expect(scene.causes).toHaveLength(8);
  });

  test("is tried again within a second when a file that it names appears, changes or goes", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    const key = directory.file("key.txt");
    await using scene = new Scene(path, "one");
    scene.refuseWith = [key, directory.file("ca.pem")];
    await writeFile(path, "two");
    await scene.pass(SETTLED_MS);
    const steps = [() => writeFile(key, "a"), () => appendFile(key, "b"), () => rm(key)];
    for (const [index, step] of steps.entries()) {
      await step();
      await scene.pass(LOOK_MS);
      expect(scene.causes).toEqual(["changed", ...Array.from({ length: index + 1 }, () => "again")]);
    }
  });

  test("is tried at once when the config itself changes, and that is a change", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    await using scene = new Scene(path, "one");
    scene.refuseWith = [];
    await writeFile(path, "two");
    await scene.pass(SETTLED_MS);
    await writeFile(path, "three");
    await scene.pass(SETTLED_MS);
    expect(scene.seen).toEqual(["two", "three"]);
    expect(scene.causes).toEqual(["changed", "changed"]);
  });

  test("is tried again, too, where somebody else had asked for it and the config is as it was", async () => {
    await using directory = await ConfigDirectory.create();
    const path = await directory.write("one");
    const key = directory.file("key.txt");
    await using scene = new Scene(path, "one");
    await scene.pass(LOOK_MS);
    scene.refuseWith = [key];
    await scene.reload();
    await writeFile(key, "test-key-late");
    await scene.pass(LOOK_MS);
    expect(scene.causes).toEqual(["again"]);
  });
});

test("a bug in the reload is told, and what it should have read is tried again after 10 s", async () => {
  await using directory = await ConfigDirectory.create();
  const path = await directory.write("one");
  await using scene = new Scene(path, "one");
  scene.onReload = () => {
    throw new Error("a bug");
  };
  await writeFile(path, "two");
  await scene.pass(SETTLED_MS);
  expect(scene.errors).toHaveLength(1);
  scene.onReload = () => {};
  await scene.pass(9_000);
  expect(scene.seen).toEqual([]);
  await scene.pass(SETTLED_MS);
  expect(scene.seen).toEqual(["two"]);
  expect(scene.errors).toHaveLength(1);
});

test("nothing is seen once it has ended, also by its signal", async () => {
  await using directory = await ConfigDirectory.create();
  const path = await directory.write("one");
  await using scene = new Scene(path, "one");
  scene.end();
  await writeFile(path, "two");
  await scene.pass(60_000);
  expect(scene.causes).toEqual([]);
});

test("it ends while a look does not, as on a file system that hangs, but not while a reload is in progress", async () => {
  await using directory = await ConfigDirectory.create();
  const path = await directory.write("one");
  const hanging = new Scene(path, "one");
  hanging.onSleep = () => new Promise(() => {});
  await hanging[Symbol.asyncDispose]();

  const reloading = new Scene(path, "one");
  await writeFile(path, "two");
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  reloading.onReload = begin;
  const passing = reloading.pass(SETTLED_MS);
  await begun;
  expect(reloading.seen).toEqual([]);
  await reloading[Symbol.asyncDispose]();
  expect(reloading.seen).toEqual(["two"]);
  reloading.end();
  await passing;
});
