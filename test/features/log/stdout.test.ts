import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, expect, test } from "vitest";

const PINO = new URL("../../../src/features/log/logger.ts", import.meta.url).href;

let child: ChildProcess | undefined;
let file: number | undefined;

afterEach(() => {
  child?.kill("SIGKILL");
  if (file !== undefined) closeSync(file);
  child = undefined;
  file = undefined;
});

/** A process that logs; what it has to say about itself comes on its standard error. */
function runLogger(
  stdout: "pipe" | number,
  program: string,
  wrapper: readonly string[] = [],
): { child: ChildProcess; said: Promise<string> } {
  const module = `
    import { createLogger } from ${JSON.stringify(PINO)};
    const log = createLogger({ level: "info" });
    const filler = "x".repeat(1000);
    const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    ${program}`;
  const [command, ...rest] = [...wrapper, process.execPath, "--input-type=module", "-e", module];
  const started = spawn(command, rest, {
    stdio: ["ignore", stdout, "pipe"],
  });
  child = started;
  if (started.stderr === null) throw new Error("standard error is a pipe");
  return { child: started, said: text(started.stderr) };
}

test("lines reach a file", async () => {
  const folder = mkdtempSync(join(tmpdir(), "pacewatch-"));
  try {
    file = openSync(join(folder, "log"), "w");
    const { child } = runLogger(file, `log.info({ n: 1 }, "one"); log.info({ n: 2 }, "two");`);
    await once(child, "close");
    const lines = readFileSync(join(folder, "log"), "utf8").trim().split("\n");
    expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([{ msg: "one" }, { msg: "two" }]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test.skipIf(!existsSync("/dev/full"))(
  "a full disk neither stops the process nor keeps it from ending",
  async () => {
    file = openSync("/dev/full", "w");
    const { child, said } = runLogger(
      file,
      `for (let i = 0; i < 3; i += 1) { log.info({}, "lost"); await wait(10); }
     console.error("alive");`,
    );
    const [code] = await once(child, "close");
    expect({ code, said: await said }).toEqual({ code: 0, said: "alive\n" });
  },
);

test.each([1, 3])(
  "a disk that has room again is written to again, and told what was lost: %i",
  async (lost) => {
    const folder = mkdtempSync(join(tmpdir(), "pacewatch-"));
    try {
      file = openSync(join(folder, "log"), "a");
      const { child } = runLogger(
        file,
        `import { ftruncateSync } from "node:fs";
       for (let i = 0; i < ${3 + lost}; i += 1) log.info({ filler }, "line");
       ftruncateSync(1, 3600);
       log.info({}, "awake");
       log.info({}, "and goes on");`,
        ["sh", "-c", 'ulimit -f 8 && exec "$@"', "sh"],
      );
      await once(child, "close");
      const lines = readFileSync(join(folder, "log"), "utf8").trim().split("\n");
      const [cut] = lines.splice(3, 1);
      expect(cut).toMatch(/^\{.*x$/);
      expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
        { msg: "line" },
        { msg: "line" },
        { msg: "line" },
        { msg: "log lines were lost", lines: lost, level: "warn" },
        { msg: "awake" },
        { msg: "and goes on" },
      ]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
);

test("a reader that sleeps stops nothing and fills no memory; when it wakes it is told what was lost", async () => {
  const { child, said } = runLogger(
    "pipe",
    `for (let i = 0; i < 10_000; i += 1) log.info({ filler }, "line");
     console.error(process.stdout.writableLength);
     while (process.stdout.writableLength > 0) await wait(5);
     log.info({}, "awake");`,
  );
  if (child.stdout === null || child.stderr === null) throw new Error("both are pipes");
  await once(child.stderr, "data");
  const lines = (await text(child.stdout)).trim().split("\n");
  const told = lines.map((line): { msg: string; lines?: number } => JSON.parse(line));
  const lost = told.find(({ msg }) => msg === "log lines were lost")?.lines ?? 0;
  const arrived = told.filter(({ msg }) => msg === "line").length;
  expect(lost).toBeGreaterThan(0);
  expect(arrived + lost).toBe(10_000);
  expect(told.slice(-2).map(({ msg }) => msg)).toEqual(["log lines were lost", "awake"]);
  expect(Number(await said)).toBeLessThan(2_000_000);
});

test("a reader that went away is no reason to end", async () => {
  const { child, said } = runLogger(
    "pipe",
    `log.info({}, "first");
     while (process.stdout.errored === null) { await wait(5); log.info({}, "nobody listens"); }
     for (let i = 0; i < 3; i += 1) { await wait(5); log.info({}, "nobody listens"); }
     console.error("alive");`,
  );
  if (child.stdout === null) throw new Error("it is a pipe");
  await once(child.stdout, "data");
  child.stdout.destroy();
  const [code] = await once(child, "close");
  expect({ code, said: await said }).toEqual({ code: 0, said: "alive\n" });
});
