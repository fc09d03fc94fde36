import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { callsIn, countedOf, type Counted } from "../../bench/programs/counted.ts";
import { build } from "../../tools/build.ts";
import { requireBinary } from "../support/processes/binaries.ts";
import limits from "./counts.json" with { type: "json" };

/**
 * What a poll may make in the daemon that is shipped. A busy machine makes these numbers no larger, so a change that
 * adds a timer or a kilobyte to each poll is seen when it is made, and not as a hundredth of a second among others.
 */

const STRACE = requireBinary("strace");

/** Of a system call for each poll: what the machine, V8 and the libraries decide when to do, and not we. */
const AS_IT_COMES =
  /^(epoll_p?wait|futex|mmap|munmap|mprotect|madvise|sched_\w+|rt_sig\w+|io_uring_enter|getpid)$/;

let root: string;

beforeAll(async () => {
  root = join(await mkdtemp(join(tmpdir(), "pacewatch-counts-")), "/");
  await build({ folder: join(root, "dist"), commit: "0123abc", epochS: 1_750_000_000 });
  await copyFile(new URL("../../Dockerfile", import.meta.url), join(root, "Dockerfile"));
});

afterAll(() => rm(root, { recursive: true, force: true }));

describe.skipIf(STRACE === undefined)("a poll over a fresh connection", () => {
  test.concurrent.each(["http", "https"] as const)("makes no more than its limits, over %s", async (over) => {
    const counted = summed(await countedOf({ over, connection: "fresh", strace: STRACE, root }));
    const limit: Summed = limits[over];
    const tooMany = COUNTS.filter((what) => counted[what] > limit[what]);
    expect(tooMany.map((what) => `${what}: ${counted[what]}, at most ${limit[what]}`)).toEqual([]);
  });
});

const COUNTS = ["bytes", "promises", "timers", "otherObjects", "systemCalls", "turns"] as const;
type Summed = Readonly<Record<(typeof COUNTS)[number], number>>;

function summed({ heapBytes, bufferBytes, made, systemCalls, turns }: Counted): Summed {
  const { PROMISE: promises = 0, Timeout: timers = 0, ...others } = made;
  const ours = Object.entries(systemCalls).filter(([name]) => !AS_IT_COMES.test(name));
  return {
    bytes: heapBytes + bufferBytes,
    promises,
    timers,
    otherObjects: sum(Object.values(others)),
    systemCalls: sum(ours.map(([, calls]) => calls)),
    turns,
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, each) => all + each, 0);
}

test("what strace says of its calls is read, with errors and without", () => {
  const table = `% time     seconds  usecs/call     calls    errors syscall
------ ----------- ----------- --------- --------- ----------------
 62.50    0.000500           1       300           write
 37.50    0.000300           2        20         4 read
------ ----------- ----------- --------- --------- ----------------
100.00    0.000800           1       320         4 total
`;
  expect(callsIn(table)).toEqual({ write: 300, read: 20 });
});
