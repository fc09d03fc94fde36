import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Immutable, SmallDisk } from "../../features/state/disks.ts";
import { type ConfigFolder, openConfigFolder } from "../../support/config-folder.ts";
import { type Daemon, launch, type LogLine, startDaemon } from "../../support/processes/daemon.ts";
import { eventually } from "../../support/eventually.ts";
import { Api, configOf, detailOf, polled, stateFileOf, valueOf } from "./daemon.ts";

describe.concurrent("in trouble, polls go on, and metric and log tell", () => {
  /** What was logged meanwhile; three polls ended meanwhile, or this does not. */
  async function loggedDuring(daemon: Daemon, begin: () => Disposable): Promise<readonly LogLine[]> {
    await polled(daemon, 1);
    const trouble = begin();
    await storeIs(daemon, 0);
    const before = (await detailOf(daemon)).upstream.counts.polls;
    await eventually(
      "three more polls have ended",
      async () => (await detailOf(daemon)).upstream.counts.polls,
      (polls) => polls >= before + 3,
    );
    const logged = daemon.logs.filter(({ level }) => level === "error");
    trouble[Symbol.dispose]();
    await storeIs(daemon, 1);
    await daemon.logged("the state file can be written again");
    return logged;
  }

  async function storeIs(daemon: Daemon, up: 0 | 1): Promise<void> {
    await eventually(
      `pacewatch_state_store_up is ${up}`,
      () => valueOf(daemon, "pacewatch_state_store_up"),
      (value) => value === up,
    );
  }

  const told = [
    { level: "error", msg: expect.stringMatching(/^the state file .* in memory until it can be written$/) },
  ];

  test("a disk that is full", async ({ skip }) => {
    await using api = await Api.open();
    await using folder = await openConfigFolder(configOf(api.url, "disk/pacewatch.db"));
    using disk = SmallDisk.mount(join(folder.folder, "disk"), "1m") ?? skip("needs the right to mount");
    await using daemon = await startDaemon({ configPath: folder.path });
    // What the files beside it have room for already may still be written.
    const logged = await loggedDuring(daemon, () => {
      disk.fill();
      return { [Symbol.dispose]: () => disk.empty() };
    });
    expect(logged).toMatchObject(told);
  });

  test("a file that is made read-only", async ({ skip }) => {
    await using api = await Api.open();
    await using folder = await openConfigFolder(configOf(api.url));
    await using daemon = await startDaemon({ configPath: folder.path });
    const path = stateFileOf(folder);
    const logged = await loggedDuring(
      daemon,
      () => Immutable.make(path) ?? skip("needs the right to make files immutable"),
    );
    expect(logged).toMatchObject(told);
  });
});

describe.concurrent("does not start, and says why in one sentence", () => {
  async function refusalOf(folder: ConfigFolder): Promise<string> {
    await using daemon = launch(["run", "--config", folder.path, "--listen", "127.0.0.1:0"]);
    expect(await daemon.exited).toEqual({ code: 1, signal: null });
    return daemon.stderr;
  }

  test("a second daemon on the same file", async () => {
    await using api = await Api.open();
    await using folder = await openConfigFolder(configOf(api.url));
    await using first = await startDaemon({ configPath: folder.path });
    expect(await refusalOf(folder)).toBe(
      `cannot keep state: "${stateFileOf(folder)}" must be a file that can be read and written, received one that is in use by another pacewatch, or locked by another program\n`,
    );
    await polled(first, 2);
  });

  test("a directory in the file's place", async () => {
    await using api = await Api.open();
    await using folder = await openConfigFolder(configOf(api.url));
    mkdirSync(stateFileOf(folder), { recursive: true });
    expect(await refusalOf(folder)).toContain(
      `"state.path" must be a file that can be written: it is not a file: ${stateFileOf(folder)}`,
    );
  });
});
