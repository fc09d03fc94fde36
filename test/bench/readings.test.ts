import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { totalOf } from "../../bench/programs/counters.ts";
import { commandIn, imageCommand } from "../../tools/image-command.ts";
import { errorsOfPolls, errorsOfProbes, partsOf } from "../../bench/measure/errors.ts";
import { requestsIn } from "../../bench/programs/nginx.ts";
import { cpuMs, cpuMsOf, rssBytes, rssBytesOf } from "../../bench/programs/process-usage.ts";

test("CPU time is user and system time, also of a program whose name holds brackets", () => {
  const stat = "42 (a (b) c) S 1 42 42 0 -1 4194560 9 0 0 0 150 25 7 3 20 0 11 0 100 1 1";
  expect(cpuMsOf(stat)).toBe(1_750);
});

test("resident memory is told in bytes", () => {
  expect(rssBytesOf("Name:\tnode\nVmHWM:\t  9999 kB\nVmRSS:\t   2048 kB\n")).toBe(2_097_152);
});

test("this very process has used both", async () => {
  expect(await cpuMs(process.pid)).toBeGreaterThan(0);
  expect(await rssBytes(process.pid)).toBeGreaterThan(1_000_000);
});

test("a counter is summed over all upstreams, and no other metric of a like name with it", () => {
  const text = [
    'polls_total{upstream="a",outcome="ok"} 3',
    'polls_total{upstream="b",outcome="failed"} 2',
    'more_polls_total{upstream="a",outcome="ok"} 100',
    "",
  ].join("\n");
  expect(totalOf(text, "polls_total")).toBe(5);
  expect(totalOf(text, "polls_total", 'outcome="ok"')).toBe(3);
});

test("the command is the last stage's entry point, with its environment", () => {
  const dockerfile = [
    "FROM node AS first",
    "ENV FIRST=1",
    "FROM node",
    'ENV A=1 \\\n    B="two words"',
    "ENV C=/app/c",
    'ENTRYPOINT ["node", "--flag", "bin/main.mjs"]',
    "",
  ].join("\n");
  expect(commandIn(dockerfile)).toEqual({
    args: ["--flag", "bin/main.mjs"],
    env: { A: "1", B: "two words", C: "/app/c" },
  });
});

test("an entry point that is not Node.js is refused", () => {
  expect(() => commandIn('FROM x\nENTRYPOINT ["sh"]\n')).toThrow('must start "node", received sh');
});

test("the image's own command starts a file that is there", async () => {
  const { args, env } = await imageCommand("source");
  const file = args.find((arg) => !arg.startsWith("-"));
  expect(await readFile(file ?? "", "utf8")).not.toBe("");
  expect(env["NODE_ENV"]).toBe("production");
});

test("a probe is compared with the request that bears its number", () => {
  const served = [
    { path: "/v1/resources?n=1", atMs: 0, durationMs: 5 },
    { path: "/v1/resources?n=0", atMs: 9, durationMs: 6 },
  ];
  const probed = [
    { number: 0, durationMs: 8 },
    { number: 1, durationMs: 6 },
    { number: 2, durationMs: 6 },
  ];
  expect(errorsOfProbes(probed, served)).toEqual([2, 1]);
});

test("a poll is compared with the nearest request of its own upstream", () => {
  const served = [
    { path: "/u1/v1/resources", atMs: 1_000, durationMs: 5 },
    { path: "/u1/v1/resources", atMs: 2_000, durationMs: 7 },
    { path: "/u2/v1/resources", atMs: 2_010, durationMs: 1 },
  ];
  expect(errorsOfPolls([{ upstream: 1, atMs: 2_012, durationMs: 10 }], served, 400)).toEqual([3]);
});

test("a poll that the upstream has not seen has no error", () => {
  const served = [{ path: "/u1/v1/resources", atMs: 1_000, durationMs: 5 }];
  expect(errorsOfPolls([{ upstream: 1, atMs: 2_000, durationMs: 10 }], served, 400)).toEqual([]);
  expect(errorsOfPolls([{ upstream: 2, atMs: 1_000, durationMs: 10 }], served, 400)).toEqual([]);
});

test("parts are as equal as can be, and lose nothing", () => {
  expect(partsOf([1, 2, 3, 4, 5], 2)).toEqual([
    [1, 2, 3],
    [4, 5],
  ]);
});

test("nginx tells its requests behind two counts of connections", () => {
  const status =
    "Active connections: 1 \nserver accepts handled requests\n 31 30 29 \nReading: 0 Writing: 1 Waiting: 0 \n";
  expect(requestsIn(status)).toBe(29);
});
