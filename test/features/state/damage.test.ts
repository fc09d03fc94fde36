import { execFileSync } from "node:child_process";
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, test } from "vitest";
import { StateFile } from "../../../src/features/state/file.ts";
import { noteRow } from "../../../src/features/state/tables.ts";
import { rewriteNotes } from "../../../src/features/state/rewriting.ts";
import { withUsed } from "../../../src/features/quota/command.ts";
import {
  type KeptQuotas,
  NOTHING_KEPT,
  type QuotaKey,
  quotaNotes,
  quotasIn,
} from "../../../src/features/quota/quota.ts";
import { Quotas } from "../../../src/features/quota/quotas.ts";
import { quotasKept } from "../../support/kept-quotas.ts";
import { sampleBudget, sampleConfig } from "../../support/kernel-samples.ts";
import { sampleQuotaNote } from "../../support/samples.ts";
import type { StateStore } from "../../../src/features/history/state.ts";
import { batchAt, NOW_MS, StateBench, stateErrors } from "./bench.ts";
import { aLife, COUNTED, overwrite } from "./damage.ts";

function truncate(path: string, length: number): void {
  const file = openSync(path, "r+");
  ftruncateSync(file, length);
  closeSync(file);
}

function execute(path: string, sql: string): void {
  const database = new DatabaseSync(path);
  database.exec(sql);
  database.close();
}

function dropTable(path: string, table: string): void {
  execute(path, `DROP TABLE ${table}`);
}

/** It lacks a poll. A quick check of the file does not see that, and whoever deletes that poll does. */
function breakIndex(path: string, index: string): void {
  using database = new DatabaseSync(path, { defensive: false });
  const { rootpage, sql } =
    database.prepare("SELECT rootpage, sql FROM sqlite_schema WHERE name = ?").get(index) ?? {};
  const changeSchema = (change: string): void =>
    database.exec(`PRAGMA writable_schema = ON; ${change}; PRAGMA writable_schema = RESET`);
  changeSchema(`DELETE FROM sqlite_schema WHERE name = '${index}'`);
  database.exec("UPDATE polls SET ended_at_ms = ended_at_ms + 1 WHERE id = 3");
  changeSchema(
    `INSERT INTO sqlite_schema VALUES ('index', '${index}', 'polls', ${Number(rootpage)}, '${String(sql)}')`,
  );
}

function startInNoRoom({ path }: StateBench): string {
  const script = fileURLToPath(new URL("./no-room.ts", import.meta.url));
  const limited = ["-c", 'ulimit -f 1 && exec "$@"', "sh", process.execPath, script, path];
  return execFileSync("sh", limited, { encoding: "utf8" });
}

describe("a damaged file is moved aside and told, and a new one is begun", () => {
  test.each<[what: string, damage: (path: string) => void, changed?: number]>([
    ["truncated in the middle", (path: string) => truncate(path, Math.floor(statSync(path).size / 2))],
    ["truncated within a page", (path: string) => truncate(path, 4_096 * 3 + 100)],
    [
      "overwritten in the middle",
      (path: string) =>
        overwrite(path, Math.floor(statSync(path).size / 2), new Uint8Array(8_192).fill(0xa5)),
    ],
    ["of an unknown format", (path: string) => overwrite(path, 47, new Uint8Array([9]))],
    ["without one of its tables", (path: string) => dropTable(path, "hours")],
    [
      "with a trigger that makes no sense, which shows where it is about to be written",
      (path: string) =>
        writeFileSync(path, readFileSync(path, "latin1").replaceAll("old.bucket", "old.basket"), "latin1"),
      // Its header counts the attempt to write it.
      100,
    ],
    [
      "with a number that no double holds",
      (path: string) => execute(path, "UPDATE polls SET ended_at_ms = 9007199254740993 WHERE id = 400"),
    ],
  ])("%s", async (_, damage, changed = 0) => {
    await using bench = await StateBench.make();
    await aLife(bench);
    damage(bench.path);
    const damaged = readFileSync(bench.path).subarray(changed);

    const store = await bench.open();
    const aside = `${bench.path}.corrupt-1`;
    expect(readFileSync(aside).subarray(changed).equals(damaged)).toBe(true);
    expect(stateErrors(bench)).toEqual([expect.stringContaining(`it was moved to "${aside}"`)]);
    expect(store.isUp).toBe(true);
    const record = bench.recordOf(store);
    expect(record.history.lastPolls).toEqual([]);
    bench.poll(record);
    await bench.written(1);
  });
});

test("a file whose damage shows where old polls are deleted is moved aside too, and all notes are in the new one", async () => {
  await using bench = await StateBench.make();
  await aLife(bench, 300);
  breakIndex(bench.path, "polls_by_end");
  const store = await bench.open();
  store.readAfterTrouble(() => [sampleQuotaNote(COUNTED)]);
  const record = bench.recordOf(store);
  bench.clock.stall(2 * 86_400_000);
  for (let turn = 0; turn < 10; turn += 1) {
    bench.poll(record);
    await bench.clock.advance(1_000);
  }
  expect(stateErrors(bench)).toEqual([
    expect.stringMatching(/^the state file is damaged: history and quotas are kept in memory/),
    expect.stringContaining(`it was moved to "${bench.path}.corrupt-1"`),
  ]);
  await store.close();
  // The first one was written before that, to the damaged one.
  expect(bench.count("polls")).toBe(9);
  bench.logged.length = 0;
  expect(quotasKept(await bench.open(), NOW_MS).rows).toEqual([COUNTED]);
  expect(stateErrors(bench)).toEqual([]);
});

test("a damaged file stays where it is while no new one can be begun, however often that is tried", async () => {
  await using bench = await StateBench.make();
  await aLife(bench, 1);
  dropTable(bench.path, "hours");
  const damaged = readFileSync(bench.path);
  for (let start = 0; start < 2; start += 1) {
    expect(startInNoRoom(bench)).toMatch(
      /^cannot keep state: .* received one that cannot be read or written/,
    );
    expect(readFileSync(bench.path).equals(damaged)).toBe(true);
  }
  const store = await bench.open();
  expect(readFileSync(`${bench.path}.corrupt-1`).equals(damaged)).toBe(true);
  expect(quotasKept(store, NOW_MS).rows).toEqual([COUNTED]);
});

test("a damaged file behind a link is moved aside where it is, and the loss is told after a restart too", async () => {
  await using bench = await StateBench.make();
  const folder = join(bench.directory, "disk");
  mkdirSync(folder);
  const target = join(folder, "state.db");
  symlinkSync(target, bench.path);
  await (await bench.open()).close();
  expect(stateErrors(bench)).toEqual([]);
  dropTable(target, "hours");
  const store = await bench.open();
  expect(existsSync(`${target}.corrupt-1`)).toBe(true);
  expect(store.lostAtMs).toBeGreaterThan(0);
  await store.close();
  expect((await bench.open()).lostAtMs).toBeGreaterThan(0);
});

describe("a file that nothing shows to be ours stays as it was, and the start is refused:", () => {
  test.each([
    ["a text", Buffer.from("upstreams:\n  - name: email\n".repeat(50)), /is not a database$/],
    ["a few letters", Buffer.from("a"), /is not a database$/],
    ["zeros", Buffer.alloc(65_536), /is not a database$/],
    [
      "another program's database, damaged",
      Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(8_192, 0xa5)]),
      /is not a database, and its header does not say that pacewatch wrote it$/,
    ],
  ])("%s", async (_, bytes, why) => {
    await using bench = await StateBench.make();
    writeFileSync(bench.path, bytes);
    expect(await bench.refusal()).toMatch(why);
    expect(readFileSync(bench.path).equals(bytes)).toBe(true);
    expect(readdirSync(bench.directory).filter((name) => name.includes("corrupt"))).toEqual([]);
  });

  test("nor is anything put beside it", async () => {
    await using bench = await StateBench.make();
    writeFileSync(bench.path, "keys of the house\n");
    expect(await bench.refusal()).toMatch(/is not a database$/);
    expect(readdirSync(bench.directory)).toEqual(["pacewatch.db"]);
  });

  test("a pipe is told at once", async () => {
    await using bench = await StateBench.make();
    execFileSync("mkfifo", [bench.path]);
    expect(await bench.refusal()).toMatch(/received one that is a pipe, a socket or a device$/);
  });

  test("also while it runs: what took the place of the state file is not touched, and polls are kept in memory", async () => {
    await using bench = await StateBench.make();
    await aLife(bench);
    const store = await bench.open();
    const record = bench.recordOf(store);
    rmSync(bench.path);
    writeFileSync(bench.path, "keys of the house\n");
    await bench.until(() => {
      bench.poll(record);
      return !store.isUp;
    });
    await bench.clock.advance(20_000);
    expect(readFileSync(bench.path, "utf8")).toBe("keys of the house\n");
    expect(readdirSync(bench.directory).filter((name) => name.includes("corrupt"))).toEqual([]);
  });
});

const API = { budget: "api", of: "requests" } as const;

function setUsed(
  path: string,
  used: { readonly quota: QuotaKey; readonly used: number; readonly nowMs: number },
): string | undefined {
  return rewriteNotes(path, (notes, isLoss) => withUsed(quotasIn([{ notes }]), isLoss, used));
}

/** As a life does it that begins with it. */
async function writeAll(store: StateStore): Promise<void> {
  const notes = quotaNotes(quotasKept(store, NOW_MS));
  store.readAfterTrouble(() => notes);
  await store.write([]);
  await store.write(notes);
  await store.close();
}

describe("quota counts are money:", () => {
  test("from a damaged file they are saved, where they can be read", async () => {
    await using bench = await StateBench.make();
    await aLife(bench);
    // The last pages hold polls and their indexes.
    overwrite(bench.path, statSync(bench.path).size - 40_960, new Uint8Array(8_192).fill(0xa5));
    const store = await bench.open();
    expect(stateErrors(bench)).toEqual([expect.stringMatching(/starting with empty history$/)]);
    expect(quotasKept(store, NOW_MS).rows).toEqual([COUNTED]);
    await store.close();
    expect(quotasKept(await bench.open(), NOW_MS).rows).toEqual([COUNTED]);
  });

  test("also from one that was truncated, if they are before its end", async () => {
    await using bench = await StateBench.make();
    await aLife(bench);
    truncate(bench.path, statSync(bench.path).size - 40_960);
    expect(quotasKept(await bench.open(), NOW_MS).rows).toEqual([COUNTED]);
    expect(stateErrors(bench)).toEqual([expect.stringMatching(/starting with empty history$/)]);
  });

  test.each([
    ["the file is empty", (path: string) => truncate(path, 0)],
    ["only its first pages are left", (path: string) => truncate(path, 3 * 4_096)],
    ["one of them was changed", (path: string) => changeCount(path)],
  ])(
    "where %s, what is not known counts as used in every later life, and that is told",
    async (_, damage) => {
      await using bench = await StateBench.make();
      await aLife(bench);
      damage(bench.path);
      const store = await bench.open();
      expect(stateErrors(bench)).toEqual([expect.stringContaining("run: pacewatch quota BUDGET --used N")]);
      expect(quotasKept(store, NOW_MS).lostHours).toEqual([COUNTED.hour]);
      expect(store.lostAtMs).toBeGreaterThan(0);
      await writeAll(store);
      expect(quotasKept(await bench.open(), NOW_MS).lostHours).toEqual([COUNTED.hour]);
    },
  );

  test("who knows better says what was used, while nobody else has the file", async () => {
    await using bench = await StateBench.make();
    await aLife(bench);
    truncate(bench.path, 0);
    const store = await bench.open();
    const used = { quota: API, used: 7, nowMs: NOW_MS + 3_600_000 };
    expect(setUsed(bench.path, used)).toContain("is in use by another pacewatch");
    await store.close();
    expect(setUsed(bench.path, used)).toBeUndefined();
    expect(await usedOfTwo(bench)).toEqual(SAID_AND_UNKNOWN);
  });

  test("also where a kill left the file empty", async () => {
    await using bench = await StateBench.make();
    await aLife(bench);
    truncate(bench.path, 0);
    const used = { quota: API, used: 7, nowMs: NOW_MS + 3_600_000 };
    expect(setUsed(bench.path, used)).toBeUndefined();
    expect(await usedOfTwo(bench)).toEqual(SAID_AND_UNKNOWN);
  });

  const SAID_AND_UNKNOWN = [
    { sent: 7, unconfirmed: 0, isSpent: false },
    { sent: 50, unconfirmed: 50, isSpent: true },
  ];

  async function usedOfTwo(bench: StateBench) {
    const quotas = new Quotas(bench.clock, quotasKept(await bench.open(), NOW_MS));
    bench.clock.stall(3_600_000);
    const quota = { most: 50, perMs: 30 * 86_400_000, onExhaust: "stop" } as const;
    const budgets = ["api", "ai"].map((name) => sampleBudget({ name, quota }));
    quotas.change(sampleConfig({ budgets, upstreams: [] }), new Map());
    return ["api", "ai"].map((budget) => {
      const count = quotas.of(budget, "requests");
      return { sent: count?.used, unconfirmed: count?.unconfirmed, isSpent: count?.hasRoomFor(1) === false };
    });
  }
});

describe("what is not in the file is not forgotten:", () => {
  const ALL_USED: KeptQuotas = {
    rows: [{ ...COUNTED, requests: Infinity, unconfirmed: Infinity }],
    lostHours: [COUNTED.hour],
  };
  const rows = [noteRow(sampleQuotaNote(COUNTED))];

  /** A process that could not write the last of these batches; `ends` is how it went on. */
  async function aLifeThatFails(bench: StateBench, ends: (file: StateFile, away: string) => void) {
    const file = new StateFile(bench.path);
    file.open(NOW_MS);
    file.write(batchAt(NOW_MS, { rows }));
    const away = `${bench.path}.away`;
    renameSync(bench.path, away);
    expect(file.write(batchAt(NOW_MS, { rows })).kind).toBe("failed");
    ends(file, away);
    file.close();
    return bench.open();
  }

  test("where it could not be written until the process ended, all of each quota counts as used", async () => {
    await using bench = await StateBench.make();
    const store = await aLifeThatFails(bench, (_, away) => renameSync(away, bench.path));
    expect(stateErrors(bench)).toEqual([
      expect.stringMatching(/^the state file lacks what was counted while it could not be written: .*quota/),
    ]);
    expect(store.lostAtMs).toBe(NOW_MS);
    expect(quotasKept(store, NOW_MS)).toEqual(ALL_USED);
    await writeAll(store);
    bench.logged.length = 0;
    expect(quotasKept(await bench.open(), NOW_MS)).toEqual(ALL_USED);
    expect(stateErrors(bench)).toEqual([]);
  });

  test("where it could be read at the start, and never written, all of each quota counts as used", async () => {
    await using bench = await StateBench.make();
    await aLife(bench, 1);
    expect(startInNoRoom(bench)).toBe("cannot be read or written (an I/O error)");
    const store = await bench.open();
    expect(stateErrors(bench)).toEqual([
      expect.stringMatching(/^the state file lacks what was counted while it could not be written: .*quota/),
    ]);
    expect(quotasKept(store, NOW_MS)).toEqual(ALL_USED);
  });

  test("where it could be written again before the end, nothing is lost", async () => {
    await using bench = await StateBench.make();
    const store = await aLifeThatFails(bench, (file) => {
      for (let batch = 0; batch < 2; batch += 1) file.write(batchAt(NOW_MS, { rows }));
    });
    expect(stateErrors(bench)).toEqual([]);
    expect(quotasKept(store, NOW_MS).rows).toEqual([COUNTED]);
  });

  test("a file that was deleted as a whole is told, and counts as used", async () => {
    await using bench = await StateBench.make();
    await aLife(bench, 1);
    rmSync(bench.path);
    const store = await bench.open();
    expect(stateErrors(bench)).toEqual([expect.stringMatching(/^the state file was removed: .*quota/)]);
    expect(quotasKept(store, NOW_MS)).toEqual({ rows: [], lostHours: [COUNTED.hour] });
  });

  test("where somebody deletes its note while it cannot be written, that is written again", async () => {
    await using bench = await StateBench.make();
    const store = await aLifeThatFails(bench, (file, away) => {
      rmSync(`${bench.path}.complete`);
      file.write(batchAt(NOW_MS, { rows }));
      renameSync(away, bench.path);
    });
    expect(quotasKept(store, NOW_MS)).toEqual(ALL_USED);
  });

  test("who deletes both files begins anew", async () => {
    await using bench = await StateBench.make();
    await aLife(bench, 1);
    for (const name of readdirSync(bench.directory)) rmSync(join(bench.directory, name));
    expect(quotasKept(await bench.open(), NOW_MS)).toEqual(NOTHING_KEPT);
    expect(stateErrors(bench)).toEqual([]);
  });

  test("who knows what was used says so before the next start", async () => {
    await using bench = await StateBench.make();
    const store = await aLifeThatFails(bench, (file, away) => {
      renameSync(away, bench.path);
      file.close();
      const used = { quota: API, used: 7, nowMs: NOW_MS };
      expect(setUsed(bench.path, used)).toBeUndefined();
    });
    expect(quotasKept(store, NOW_MS)).toEqual({
      rows: [{ ...COUNTED, requests: 7, unconfirmed: 0 }],
      lostHours: [COUNTED.hour],
    });
  });
});

/** As a disk that flips a bit: SQLite does not notice. */
function changeCount(path: string): void {
  using database = new DatabaseSync(path);
  database.exec("UPDATE notes SET json = replace(json, '40', '39')");
}

test("of damaged files the last three are kept", async () => {
  await using bench = await StateBench.make();
  await (await bench.open()).close();
  for (let turn = 1; turn <= 5; turn += 1) {
    truncate(bench.path, 4_096 + 100);
    await (await bench.open()).close();
  }
  const kept = [1, 2, 3, 4, 5].filter((number) => existsSync(`${bench.path}.corrupt-${number}`));
  expect(kept).toEqual([3, 4, 5]);
});
