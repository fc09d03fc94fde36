import { parentPort } from "node:worker_threads";
import { compareSync } from "bcryptjs";

/** bcrypt on the main thread would delay polls and distort the latencies that they measure. */
parentPort?.on("message", ({ password, hash }: { password: string; hash: string }) => {
  parentPort?.postMessage(compareSync(password, hash), []);
});
