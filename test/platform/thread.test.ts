import { getPriority } from "node:os";
import { describe, expect, it } from "vitest";
import { Thread } from "../../src/platform/thread.ts";

/** Tells how it runs. */
const TELLER = `
  import { readlinkSync } from "node:fs";
  import { getPriority } from "node:os";
  import { basename } from "node:path";
  import { parentPort } from "node:worker_threads";
  const thread = Number(basename(readlinkSync("/proc/thread-self")));
  parentPort.postMessage({ niceness: getPriority(thread), environment: { ...process.env } });
`;

async function told(canWait: boolean): Promise<unknown> {
  const module = new URL(`data:text/javascript,${encodeURIComponent(TELLER)}`);
  const thread = new Thread({ name: "teller", module, canWait });
  const answer = await thread.ask<unknown>("how do you run?");
  await thread.end();
  return answer;
}

describe.skipIf(process.platform !== "linux")("a thread", () => {
  it("that can wait runs behind the one that polls, and leaves that where it is", async () => {
    const ours = getPriority();
    expect(await told(true)).toMatchObject({ niceness: Math.min(ours + 10, 19) });
    expect(getPriority()).toBe(ours);
  });

  it("that cannot runs beside it", async () => {
    expect(await told(false)).toMatchObject({ niceness: getPriority() });
  });

  it("is given nothing of the environment", async () => {
    expect(await told(false)).toMatchObject({ environment: {} });
  });
});
