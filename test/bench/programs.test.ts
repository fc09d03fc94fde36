import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const BENCH = fileURLToPath(new URL("../../bench/run.ts", import.meta.url));

test("where a program is missing, the bench says which in one line and fails", async () => {
  const ended = promisify(execFile)(process.execPath, [BENCH], { env: { PATH: "" } });
  await expect(ended).rejects.toMatchObject({
    code: 1,
    stderr: "cannot measure: nginx must be on the PATH (apt-get install nginx-light)\n",
  });
});
